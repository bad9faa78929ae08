import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { type Chart, chartOf, countsByState, openedAtFirst, sumsOf } from '../../model/statechart.ts';
import type { ChartLayout } from '../../model/statechart-view.ts';
import { formatCount, plural } from '../../model/units.ts';
import { number, oneOf, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { download } from '../../widgets/download.ts';
import { filtersCss } from '../../widgets/filters.tsx';
import { requestLayout } from '../../widgets/layout/request-layout.ts';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { Split } from '../../widgets/split.tsx';
import { StateFacts, StateList } from '../../widgets/statechart/state-facts.tsx';
import { Statechart, Transitions } from '../../widgets/statechart/statechart.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';

type NamedMachine = { readonly name: string; readonly project: string | undefined };

const readMachine = ({ name, project }: NamedMachine, signal?: AbortSignal) =>
  ask(
    api.GET('/v1/api/machines/{name}', {
      params: { path: { name }, query: project === undefined ? {} : { project } },
      ...(signal === undefined ? {} : { signal }),
    }),
  );

/** A definition, and the version of it that is named, of a machine that was compiled from one. */
const definitionOf = (name: string): { readonly id: string; readonly version?: number } | undefined => {
  const [, id, version] = /^run:([^@]+)(?:@(\d+))?$/.exec(name) ?? [];
  return id === undefined ? undefined : { id, ...(version === undefined ? {} : { version: Number(version) }) };
};

const formats = ['svg', 'mermaid', 'json'] as const;
type Format = (typeof formats)[number];
const files: Readonly<Record<Format, { readonly name: string; readonly ending: string; readonly type: string }>> = {
  svg: { name: 'SVG', ending: 'svg', type: 'image/svg+xml' },
  mermaid: { name: 'Mermaid', ending: 'mmd', type: 'text/plain' },
  json: { name: 'xstate JSON', ending: 'json', type: 'application/json' },
};

const grammar = { v: number(), hi: text(), format: oneOf(formats) } as const;

/** The machine as a text of a format, made of the configuration that the service runs. */
const exported = async (format: Format, { name, project }: NamedMachine, config: unknown): Promise<string> => {
  switch (format) {
    case 'svg': {
      const chart = chartOf(config);
      const [layout, { svgOf }] = await Promise.all([
        requestLayout<ChartLayout>({ kind: 'chart', chart, opened: openedAtFirst(chart) }),
        import('../../model/statechart-svg.ts'),
      ]);
      return svgOf(name, layout);
    }
    case 'mermaid':
      return ask(
        api.GET('/v1/api/machines/{name}', {
          params: { path: { name }, query: { format: 'mermaid', ...(project === undefined ? {} : { project }) } },
          parseAs: 'text',
        }),
      );
    case 'json':
      return `${JSON.stringify(config, null, 2)}\n`;
    default:
      return format satisfies never;
  }
};

const Exports = ({ machine, config }: { readonly machine: NamedMachine; readonly config: unknown }) => {
  const save = async (format: Format): Promise<void> => {
    const { ending, type } = files[format];
    download(`${machine.name}.${ending}`, type, await exported(format, machine, config));
  };
  return formats.map((format) => (
    <Button key={format} onClick={() => void save(format)}>
      <Download size={14} aria-hidden /> {files[format].name}
    </Button>
  ));
};

/** An export as a text to read and to copy. */
const Exported = ({
  format,
  machine,
  config,
}: {
  readonly format: Format;
  readonly machine: NamedMachine;
  readonly config: unknown;
}) => {
  const query = useQuery({
    queryKey: ['machines', machine.name, machine.project, 'as', format],
    queryFn: () => exported(format, machine, config),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={query} what={`the machine as ${files[format].name}`}>
      {(text) => <PayloadView value={text} name={machine.name} />}
    </Loaded>
  );
};

/** Most actors that are counted: the newest that are active. */
const COUNTED = 1000;

const actorTypes = [
  'run',
  'lease',
  'limit',
  'monitor',
  'slo',
  'schedule',
  'definition',
  'bulk',
  'timer',
  'pipeline',
  'dispatcher',
  'outbox',
] as const;

/** How many active actors are in each state, as far as they are counted. */
const useCounts = ({ name }: NamedMachine, chart: Chart) => {
  const [{ project }] = useShared();
  const type = actorTypes.find((one) => one === (name.startsWith('run:') ? 'run' : name));
  const query = usePolled({
    queryKey: ['actors', 'counts', type, project],
    enabled: type !== undefined,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/actors', {
          params: {
            query: {
              ...(type === undefined ? {} : { type }),
              status: 'active',
              limit: COUNTED,
              ...(project === undefined ? {} : { project }),
            },
          },
          signal,
        }),
      ),
  });
  const { data } = query;
  const counts = useMemo(
    () => (data === undefined ? undefined : sumsOf(chart, countsByState(data.actors, name))),
    [data, chart, name],
  );
  const isCut = data?.next_cursor !== undefined;
  return { type, counts, isCut, error: query.error };
};

const Machine = ({ config, machine }: { readonly config: unknown; readonly machine: NamedMachine }) => {
  const [{ hi, format }, setState] = usePageState(grammar);
  const chart = useMemo(() => chartOf(config), [config]);
  const { type, counts, isCut, error } = useCounts(machine, chart);
  const marks = useMemo(() => ({ counts }), [counts]);
  const select = (id: string | undefined): void => setState({ hi: id });
  const here = hi === undefined ? undefined : counts?.get(hi);
  return (
    <Split
      sideName="States and transitions"
      side={
        <>
          {error !== null && <ProblemNotice error={error} />}
          <label className={filtersCss['field']}>
            As text
            <select
              value={format ?? ''}
              onChange={({ target }) => setState({ format: formats.find((one) => one === target.value) })}
            >
              <option value="">no</option>
              {formats.map((one) => (
                <option key={one} value={one}>
                  {files[one].name}
                </option>
              ))}
            </select>
          </label>
          {format !== undefined && <Exported format={format} machine={machine} config={config} />}
          {hi === undefined ? (
            <>
              {chart.description !== undefined && <p>{chart.description}</p>}
              {counts !== undefined && (
                <p>
                  Numbers are active actors
                  {isCut ? `, counted over the newest ${formatCount(COUNTED)} of their type` : ''}.
                </p>
              )}
              <StateList chart={chart} counts={counts} onSelect={select} />
            </>
          ) : (
            <StateFacts chart={chart} selected={hi} onSelect={select}>
              {type !== undefined && here !== undefined && (
                <p>
                  <PageLink to="/actors" params={{ type, machine: machine.name, state: hi, status: 'active' }}>
                    {plural(here, 'active actor')} in it
                  </PageLink>
                </p>
              )}
            </StateFacts>
          )}
          <h2>{hi === undefined ? plural(chart.transitions.length, 'transition') : 'Its transitions'}</h2>
          <Transitions chart={chart} selected={hi} onSelect={select} />
        </>
      }
    >
      <Statechart name={`Statechart of ${machine.name}`} chart={chart} marks={marks} selected={hi} onSelect={select} />
    </Split>
  );
};

const useDefinitionVersions = (id: string | undefined) => {
  const [{ project }] = useShared();
  return useQuery({
    queryKey: ['definitions', id, project, 'versions'],
    enabled: id !== undefined,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}', {
          params: { path: { id: id ?? '' }, query: project === undefined ? {} : { project } },
          signal,
        }),
      ),
  });
};

/** Versions of a definition, of which the chosen one is drawn. */
const VersionChoice = ({
  definition,
  chosen,
  onChoose,
}: {
  readonly definition: string;
  readonly chosen: number | undefined;
  readonly onChoose: (version: number | undefined) => void;
}) => {
  const { data } = useDefinitionVersions(definition);
  const versions = data?.versions.map(({ version }) => version) ?? [];
  const known = chosen === undefined || versions.includes(chosen) ? versions : [chosen, ...versions];
  return (
    <label className={filtersCss['field']}>
      Version
      <select value={chosen ?? ''} onChange={({ target }) => onChoose(Number(target.value))}>
        {known.map((version) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  );
};

/** One machine; that of a definition in the version of the address, else in the one that its name has, else in the newest. */
export default function MachinePage() {
  const named = useParam('name');
  const [{ project }] = useShared();
  const [{ v }, setState] = usePageState(grammar);
  const definition = definitionOf(named);
  const versions = useDefinitionVersions(definition !== undefined ? definition.id : undefined);
  const newest = versions.data?.versions.reduce((most, { version }) => Math.max(most, version), 0);
  const version = v ?? definition?.version ?? newest;
  const name = definition === undefined || version === undefined ? named : `run:${definition.id}@${version}`;
  const isNamed = definition === undefined || version !== undefined;
  const machine = { name, project };
  const query = useQuery({
    queryKey: ['machines', name, project],
    enabled: isNamed || versions.error !== null,
    queryFn: ({ signal }) => readMachine(machine, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <PageHead
        title={name}
        of="Machine"
        actions={query.data === undefined ? undefined : <Exports machine={machine} config={query.data} />}
      >
        {definition !== undefined && version !== undefined && (
          <>
            <VersionChoice
              definition={definition.id}
              chosen={version}
              onChoose={(chosen) =>
                setState({ v: chosen === definition.version ? undefined : chosen, hi: undefined }, 'push')
              }
            />
            <PageLink to={`/definitions/${definition.id}`} params={{ v: String(version) }}>
              Definition
            </PageLink>
          </>
        )}
      </PageHead>
      <Loaded query={query} what={`the machine ${name}`}>
        {(config) => <Machine key={name} machine={machine} config={config} />}
      </Loaded>
    </>
  );
}
