import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { chartOf, openedAtFirst } from '../../model/statechart.ts';
import { plural } from '../../model/units.ts';
import { text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { download } from '../../widgets/download.ts';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { Split } from '../../widgets/split.tsx';
import { StateFacts, StateList } from '../../widgets/statechart/state-facts.tsx';
import { Statechart, Transitions } from '../../widgets/statechart/statechart.tsx';
import { Loaded } from '../../widgets/states.tsx';

const grammar = { hi: text() } as const;

type NamedMachine = { readonly name: string; readonly project: string | undefined };

const readMachine = ({ name, project }: NamedMachine, signal?: AbortSignal) =>
  ask(
    api.GET('/v1/api/machines/{name}', {
      params: { path: { name }, query: project === undefined ? {} : { project } },
      ...(signal === undefined ? {} : { signal }),
    }),
  );

/** A definition and its version, of a machine that was compiled from one. */
const definitionOf = (name: string): { readonly id: string; readonly version: string } | undefined => {
  const [, id, version] = /^run:([^@]+)@(\d+)$/.exec(name) ?? [];
  return id === undefined || version === undefined ? undefined : { id, version };
};

const Exports = ({ machine, config }: { readonly machine: NamedMachine; readonly config: unknown }) => {
  const { name, project } = machine;
  const asSvg = async (): Promise<void> => {
    const [{ layoutChart }, { svgOf }] = await Promise.all([
      import('../../model/statechart-layout.ts'),
      import('../../model/statechart-svg.ts'),
    ]);
    const chart = chartOf(config);
    download(`${name}.svg`, 'image/svg+xml', svgOf(name, layoutChart(chart, openedAtFirst(chart))));
  };
  const asMermaid = async (): Promise<void> => {
    const drawn = await ask(
      api.GET('/v1/api/machines/{name}', {
        params: { path: { name }, query: { format: 'mermaid', ...(project === undefined ? {} : { project }) } },
        parseAs: 'text',
      }),
    );
    download(`${name}.mmd`, 'text/plain', drawn);
  };
  return (
    <>
      <Button onClick={() => void asSvg()}>
        <Download size={14} aria-hidden /> SVG
      </Button>
      <Button onClick={() => void asMermaid()}>
        <Download size={14} aria-hidden /> Mermaid
      </Button>
      <Button onClick={() => download(`${name}.json`, 'application/json', `${JSON.stringify(config, null, 2)}\n`)}>
        <Download size={14} aria-hidden /> xstate JSON
      </Button>
    </>
  );
};

const Machine = ({ config }: { readonly config: unknown; readonly machine: NamedMachine }) => {
  const [{ hi }, setState] = usePageState(grammar);
  const chart = useMemo(() => chartOf(config), [config]);
  const select = (id: string | undefined): void => setState({ hi: id });
  return (
    <Split
      sideName="States and transitions"
      side={
        <>
          {hi === undefined ? (
            <>
              {chart.description !== undefined && <p>{chart.description}</p>}
              <StateList chart={chart} onSelect={select} />
            </>
          ) : (
            <StateFacts chart={chart} selected={hi} onSelect={select} />
          )}
          <h2>{hi === undefined ? plural(chart.transitions.length, 'transition') : 'Its transitions'}</h2>
          <Transitions chart={chart} selected={hi} onSelect={select} />
        </>
      }
    >
      <Statechart name={`Statechart of ${chart.id}`} chart={chart} selected={hi} onSelect={select} />
    </Split>
  );
};

export default function MachinePage() {
  const name = useParam('name');
  const [{ project }] = useShared();
  const machine = { name, project };
  const query = useQuery({
    queryKey: ['machines', name, project],
    queryFn: ({ signal }) => readMachine(machine, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const definition = definitionOf(name);
  return (
    <>
      <PageHead
        title={name}
        of="Machine"
        actions={query.data === undefined ? undefined : <Exports machine={machine} config={query.data} />}
      >
        {definition !== undefined && (
          <PageLink to={`/definitions/${definition.id}`} params={{ v: definition.version }}>
            Definition
          </PageLink>
        )}
      </PageHead>
      <Loaded query={query} what={`the machine ${name}`}>
        {(config) => <Machine machine={machine} config={config} />}
      </Loaded>
    </>
  );
}
