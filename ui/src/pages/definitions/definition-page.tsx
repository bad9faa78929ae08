import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { chartOf } from '../../model/statechart.ts';
import { formatCount } from '../../model/units.ts';
import { keepShared, number, type Params, text } from '../../model/url.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { JsonTree } from '../../widgets/json-tree.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { Split } from '../../widgets/split.tsx';
import { StateFacts } from '../../widgets/statechart/state-facts.tsx';
import { Statechart, Transitions } from '../../widgets/statechart/statechart.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './definitions.module.css';

const grammar = { v: number(), hi: text() } as const;

type Overview = components['schemas']['DefinitionOverview'];

const Versions = ({ overview, shown }: { readonly overview: Overview; readonly shown: number }) => (
  <div role="region" aria-label="Versions, scrolls" tabIndex={0} className={css['scroller']}>
    <table aria-label="Versions" className={css['versions']}>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Stored</th>
          <th scope="col">Open runs</th>
          <th scope="col">Live workers</th>
        </tr>
      </thead>
      <tbody>
        {overview.versions.toReversed().map(({ version, created_at, open_runs, workers }) => (
          <tr key={version} aria-current={version === shown ? 'true' : undefined}>
            <td role="rowheader">
              <PageLink to={`/definitions/${overview.id}`} params={{ v: String(version) }}>
                {version}
              </PageLink>
            </td>
            <td>
              <Instant at={created_at} />
            </td>
            <td>{formatCount(open_runs)}</td>
            <td>{formatCount(workers)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Shown = ({ overview, version }: { readonly overview: Overview; readonly version: number }) => {
  const { id } = overview;
  const [{ hi }, setState] = usePageState(grammar);
  const [{ project }] = useShared();
  const owner = project === undefined ? {} : { project };
  const stored = useQuery({
    queryKey: ['definitions', id, version, project],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}/versions/{version}', {
          params: { path: { id, version }, query: owner },
          signal,
        }),
      ),
  });
  const name = `run:${id}@${version}`;
  const machine = useQuery({
    queryKey: ['machines', name, project],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/machines/{name}', { params: { path: { name }, query: owner }, signal })),
  });
  const chart = useMemo(() => (machine.data === undefined ? undefined : chartOf(machine.data)), [machine.data]);
  const select = (state: string | undefined): void => setState({ hi: state });
  return (
    <Split
      sideName="Versions and text"
      side={
        <>
          <Versions overview={overview} shown={version} />
          {chart !== undefined && hi !== undefined && (
            <>
              <StateFacts chart={chart} selected={hi} onSelect={select} />
              <Transitions chart={chart} selected={hi} onSelect={select} />
            </>
          )}
          <Loaded query={stored} what="the text">
            {({ definition }) => (
              <>
                <div className={css['bar']}>
                  <h2>Version {version}</h2>
                  <CopyButton label="Copy the definition" text={() => JSON.stringify(definition, null, 2)} />
                </div>
                <JsonTree name="Definition" value={definition} />
              </>
            )}
          </Loaded>
        </>
      }
    >
      <Loaded query={machine} what="the statechart">
        {() =>
          chart !== undefined && (
            <Statechart name={`Statechart of ${name}`} chart={chart} selected={hi} onSelect={select} />
          )
        }
      </Loaded>
    </Split>
  );
};

export default function DefinitionPage() {
  const id = useParam('id');
  const [{ v }] = usePageState(grammar);
  const [{ project }] = useShared();
  const navigate = useNavigate();
  const query = usePolled({
    queryKey: ['definitions', id, project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}', {
          params: { path: { id }, query: project === undefined ? {} : { project } },
          signal,
        }),
      ),
  });
  const version = v ?? query.data?.versions.at(-1)?.version;
  const edit = (): void =>
    void navigate({
      to: '/definitions',
      search: (before: Params) => ({ ...keepShared(before), view: 'editor', id, v: String(version ?? 1) }),
    });
  return (
    <>
      <PageHead title={id} of="Definition" actions={<Button onClick={edit}>Edit as a new version</Button>}>
        {version !== undefined && (
          <>
            <PageLink to="/runs" params={{ definition_id: id }}>
              Its runs
            </PageLink>
            <PageLink to={`/machines/${encodeURIComponent(`run:${id}@${version}`)}`}>Machine</PageLink>
          </>
        )}
      </PageHead>
      <Loaded query={query} what={`the definition ${id}`}>
        {(overview) => <Shown overview={overview} version={version ?? 1} />}
      </Loaded>
    </>
  );
}
