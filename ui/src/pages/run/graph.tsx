import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { chartOfDefinition } from '../../model/statechart.ts';
import { Statechart } from '../../widgets/statechart/statechart.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './run.module.css';

type RunDetail = components['schemas']['RunDetail'];

/** Where a run is, or was, and the way that it took. */
export type Place = {
  readonly cursor: string | undefined;
  readonly visits: ReadonlyMap<string, number>;
  readonly steps: ReadonlyMap<string, StepState>;
};
/** Ends of the latest attempt that mark its step as failed. */
const BAD: ReadonlySet<string> = new Set(['failed', 'orphaned', 'unservable']);

export type StepState = { readonly attempts: number; readonly state: string | undefined };

/** The definition of a run, which never changes. */
export const useDefinition = ({ definition_id: id, definition_version: version, project }: RunDetail) =>
  useQuery({
    queryKey: ['definition', id, version, project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}/versions/{version}', {
          params: { path: { id, version }, query: { project } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

const Steps = ({
  steps,
  place,
  selected,
}: {
  readonly steps: readonly { readonly id: string; readonly kind: string }[];
  readonly place: Place;
  readonly selected: string | undefined;
}) => (
  <table aria-label="Steps" className={css['steps']}>
    <thead>
      <tr>
        <th scope="col">Step</th>
        <th scope="col">Kind</th>
        <th scope="col">Attempts</th>
        <th scope="col">Latest</th>
      </tr>
    </thead>
    <tbody>
      {steps.map(({ id, kind }) => {
        const { attempts = 0, state } = place.steps.get(id) ?? {};
        const isCursor = place.cursor === id;
        return (
          <tr key={id} data-cursor={isCursor || undefined} aria-current={selected === id || undefined}>
            <th scope="row">
              {id} {isCursor && <span className={css['cursor']}>cursor</span>}
            </th>
            <td>{kind.replaceAll('_', ' ')}</td>
            <td>{attempts === 0 ? '—' : attempts}</td>
            <td>{state === undefined ? '—' : <StatusMark state={state} />}</td>
          </tr>
        );
      })}
    </tbody>
  </table>
);

/**
 * The definition as a statechart, and its steps as a table: where the run is, and which way it took.
 * @param ghost where it is now, while the reader looks at an earlier moment
 */
export const Graph = ({
  run,
  place,
  ghost,
  selected,
  onSelect,
}: {
  readonly run: RunDetail;
  readonly place: Place;
  readonly ghost: string | undefined;
  readonly selected: string | undefined;
  readonly onSelect: (step: string | undefined) => void;
}) => {
  const { data } = useDefinition(run);
  const chart = useMemo(() => chartOfDefinition(data?.definition), [data]);
  const { cursor, visits, steps: states } = place;
  const marks = useMemo(
    () => ({
      active: new Set(cursor === undefined ? [] : [cursor]),
      visited: new Set(visits.keys()),
      visits,
      failed: new Set(
        [...states].flatMap(([step, { state }]) => (state !== undefined && BAD.has(state) ? [step] : [])),
      ),
      attempts: new Map([...states].map(([step, { attempts }]) => [step, attempts])),
      ...(ghost === undefined ? {} : { ghost: new Set([ghost]) }),
    }),
    [cursor, visits, states, ghost],
  );
  const drawn = chart.states.flatMap(({ id, stepKind }) => (stepKind === undefined ? [] : [{ id, kind: stepKind }]));
  const steps = drawn.length > 0 ? drawn : [...place.steps.keys()].map((id) => ({ id, kind: '' }));
  return (
    <section aria-label="Graph" className={css['graph']}>
      {drawn.length > 0 && (
        <div className={css['chart']}>
          <Statechart
            name={`Statechart of ${run.definition_id}`}
            chart={chart}
            marks={marks}
            selected={selected}
            onSelect={onSelect}
          />
        </div>
      )}
      <Steps steps={steps} place={place} selected={selected} />
    </section>
  );
};
