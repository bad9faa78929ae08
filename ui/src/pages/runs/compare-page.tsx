import { serverNow } from '../../api/server-clock.ts';
import { useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { readJournal } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { nearestRun, pairVisits, type Visit, type VisitPair, visitsOf } from '../../model/run-diff.ts';
import { formatCount, formatDurationMs, formatMoney, shortId } from '../../model/units.ts';
import { flag, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { Filters } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { JsonChanges } from '../../widgets/json-changes.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from '../schedules/schedule.module.css';

type RunDetail = components['schemas']['RunDetail'];
type RunRow = components['schemas']['RunSummary'];

const grammar = { a: text(), b: text(), row: text(), differs: flag() } as const;

type Side = { readonly run: RunDetail; readonly visits: readonly Visit[]; readonly isCut: boolean };

/** A run with its journal. Each read leaves a row in the audit log, so it is read once. */
const useSide = (id: string | undefined) =>
  useQuery({
    queryKey: ['runs', 'compared', id],
    enabled: id !== undefined,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Side> => {
      const run = await ask(api.GET('/v1/api/runs/{run}', { params: { path: { run: id ?? '' } }, signal }));
      const { entries, isCut } = await readJournal(run.run_id, signal);
      return { run, visits: visitsOf(run, entries, serverNow()), isCut };
    },
  });

const HOUR_MS = 3_600_000;
/** Looked at one after the other, until one of them holds a good run. */
const WINDOWS_MS = [HOUR_MS, 24 * HOUR_MS, 30 * 24 * HOUR_MS] as const;
const MOST_LOOKED_AT = 200;

const findNearest = async (run: RunDetail, signal: AbortSignal): Promise<RunRow | null> => {
  const at = Date.parse(run.created_at);
  for (const span of WINDOWS_MS) {
    const query = {
      project: run.project,
      definition_id: run.definition_id,
      status: 'succeeded' as const,
      from: new Date(at - span).toISOString(),
      to: new Date(at + span).toISOString(),
      limit: MOST_LOOKED_AT,
    };
    const { runs } = await ask(api.GET('/v1/api/runs', { params: { query }, signal }));
    const nearest = nearestRun(run, runs);
    if (nearest !== undefined) return nearest;
  }
  return null;
};

/** A run that went well is proposed; any other can be named. */
const Proposal = ({ run, onChoose }: { readonly run: RunDetail; readonly onChoose: (id: string) => void }) => {
  const nearest = useQuery({
    queryKey: ['runs', 'nearest', run.run_id],
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => findNearest(run, signal),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const id = new FormData(event.currentTarget).get('b');
    if (typeof id === 'string' && id.trim() !== '') onChoose(id.trim());
  };
  return (
    <section aria-label="A run to compare with">
      <h2>A run to compare with</h2>
      <Loaded query={nearest} what="a good run">
        {(row) =>
          row === null ? (
            <p>No other run of {run.definition_id} succeeded within 30 days of this one.</p>
          ) : (
            <p>
              The nearest that succeeded: <code>{shortId(row.run_id.replaceAll('-', '').slice(-12))}</code> of version{' '}
              {row.definition_version}, created <Instant at={row.created_at} />.{' '}
              <Button look="primary" onClick={() => onChoose(row.run_id)}>
                Compare with it
              </Button>
            </p>
          )
        }
      </Loaded>
      <form onSubmit={submit}>
        <label>
          Another run, by its id <input name="b" spellCheck={false} autoComplete="off" />
        </label>{' '}
        <Button type="submit">Compare</Button>
      </form>
    </section>
  );
};

const keyOf = ({ step, visit }: Pick<VisitPair, 'step' | 'visit'>): string => `${visit} ${step}`;
const timeOf = (visit: Visit | undefined): string =>
  visit === undefined ? '—' : `${formatDurationMs(visit.durationMs)}${visit.isOpen ? ', open' : ''}`;
const triesOf = (visit: Visit | undefined): string =>
  visit === undefined || visit.attempts === 0 ? '—' : formatCount(visit.attempts);

const comparisonColumns = (
  chosen: VisitPair | undefined,
  onChoose: (key: string | undefined) => void,
): readonly Column<VisitPair>[] => [
  {
    id: 'step',
    head: 'Step',
    cell: (pair) => (
      <Button
        look="plain"
        aria-pressed={pair === chosen}
        onClick={() => onChoose(pair === chosen ? undefined : keyOf(pair))}
      >
        {pair.step}
        {pair.visit > 1 ? `, visit ${formatCount(pair.visit)}` : ''}
      </Button>
    ),
  },
  { id: 'differs', head: 'Differs', cell: ({ differences }) => differences.join(', ') },
  { id: 'time-a', head: 'Time in A', isNumber: true, cell: ({ a }) => timeOf(a) },
  { id: 'time-b', head: 'Time in B', isNumber: true, cell: ({ b }) => timeOf(b) },
  { id: 'tries-a', head: 'Attempts in A', isNumber: true, cell: ({ a }) => triesOf(a) },
  { id: 'tries-b', head: 'Attempts in B', isNumber: true, cell: ({ b }) => triesOf(b) },
  { id: 'error-a', head: 'Error in A', cell: ({ a }) => a?.error ?? '' },
  { id: 'error-b', head: 'Error in B', cell: ({ b }) => b?.error ?? '' },
];

const RUN_COLUMNS = [
  {
    id: 'run',
    head: 'Run',
    cell: ({ name, run }: { name: string; run: RunDetail }) => (
      <>
        {name}{' '}
        <PageLink to={`/runs/${encodeURIComponent(run.run_id)}`}>
          <code>{shortId(run.run_id.replaceAll('-', '').slice(-12))}</code> {run.definition_id}
        </PageLink>
      </>
    ),
  },
  { id: 'status', head: 'Status', cell: ({ run }: { run: RunDetail }) => <StatusMark state={run.status} /> },
  { id: 'version', head: 'Version', isNumber: true, cell: ({ run }: { run: RunDetail }) => run.definition_version },
  { id: 'created', head: 'Created', cell: ({ run }: { run: RunDetail }) => <Instant at={run.created_at} /> },
  {
    id: 'took',
    head: 'Took',
    isNumber: true,
    cell: ({ run }: { run: RunDetail }) =>
      run.ended_at === undefined ? '—' : formatDurationMs(Date.parse(run.ended_at) - Date.parse(run.created_at)),
  },
  { id: 'steps', head: 'Steps', isNumber: true, cell: ({ run }: { run: RunDetail }) => formatCount(run.step_count) },
  {
    id: 'cost',
    head: 'Cost',
    isNumber: true,
    cell: ({ run }: { run: RunDetail }) => formatMoney(run.tree_cost ?? run.cost),
  },
  { id: 'error', head: 'Error', cell: ({ run }: { run: RunDetail }) => run.error?.message ?? '' },
] as const;

const Both = ({ a, b }: { readonly a: Side; readonly b: Side }) => {
  const [{ row, differs }, setState] = usePageState(grammar);
  const pairs = useMemo(() => pairVisits(a.visits, b.visits), [a, b]);
  const shown = differs === true ? pairs.filter(({ differences }) => differences.length > 0) : pairs;
  const chosen = pairs.find((pair) => keyOf(pair) === row);
  return (
    <>
      <PlainTable
        name="Compared runs"
        columns={RUN_COLUMNS}
        rows={[
          { name: 'A', run: a.run },
          { name: 'B', run: b.run },
        ]}
        idOf={({ name }) => name}
      />
      {(a.isCut || b.isCut) && <p>Only the first 10,000 entries of a journal are compared.</p>}
      <Filters
        active={
          differs === true ? [{ name: 'differs', value: 'true', onRemove: () => setState({ differs: undefined }) }] : []
        }
      >
        <Button
          aria-pressed={differs === true}
          onClick={() => setState({ differs: differs === true ? undefined : true })}
        >
          Only what differs
        </Button>
      </Filters>
      {shown.length === 0 ? (
        <p>{pairs.length === 0 ? 'Neither has entered a step.' : 'No visit of a step differs.'}</p>
      ) : (
        <PlainTable
          name="Comparison"
          rows={shown}
          idOf={keyOf}
          columns={comparisonColumns(chosen, (key) => setState({ row: key }))}
        />
      )}
      {chosen !== undefined && (
        <section aria-label={`Outputs of ${chosen.step}`}>
          <h2>Outputs of {chosen.step}</h2>
          <JsonChanges before={chosen.a?.output} after={chosen.b?.output} heads={['A', 'B']} />
        </section>
      )}
    </>
  );
};

/** Two runs side by side, step by step. */
export default function CompareRunsPage() {
  const [{ a, b }, setState] = usePageState(grammar);
  const first = useSide(a);
  const second = useSide(b);
  return (
    <>
      <PageHead title="Compare runs" />
      <div className={css['page']} style={{ maxWidth: 'none' }}>
        {a === undefined ? (
          <EmptyState title="No run to compare">
            <p>
              Choose <b>Compare</b> on the page of a <PageLink to="/runs">run</PageLink>.
            </p>
          </EmptyState>
        ) : (
          <Loaded query={first} what="the run">
            {(one) =>
              b === undefined ? (
                <Proposal run={one.run} onChoose={(id) => setState({ b: id }, 'push')} />
              ) : (
                <Loaded query={second} what="the other run">
                  {(other) => <Both a={one} b={other} />}
                </Loaded>
              )
            }
          </Loaded>
        )}
      </div>
    </>
  );
}
