import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { tellEntry } from '../../model/journal.ts';
import { formatCount, formatDurationMs, formatMoney, shortId, UNKNOWN } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { PagedTable } from '../../widgets/paged-table.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './run.module.css';

type RunDetail = components['schemas']['RunDetail'];
type Attempt = RunDetail['attempts'][number];

/** `pay, attempt 2`; a step that was entered more than once says at which visit. */
const nameOf = ({ step_id, visit, attempt }: Attempt): string =>
  `${step_id}${visit > 1 ? `, visit ${visit}` : ''}, attempt ${attempt}`;

const tookOf = ({ started_at, ended_at }: Attempt): string =>
  started_at === undefined || ended_at === undefined
    ? UNKNOWN
    : formatDurationMs(Date.parse(ended_at) - Date.parse(started_at));

/** What is not known is left out; nothing known is not zero. */
const tokensOf = ({ usage }: Attempt): number | undefined => {
  const known = (usage ?? []).flatMap(({ total_tokens: total, input_tokens: input, output_tokens: output }) =>
    total !== undefined ? [total] : input === undefined && output === undefined ? [] : [(input ?? 0) + (output ?? 0)],
  );
  return known.length === 0 ? undefined : known.reduce((sum, tokens) => sum + tokens, 0);
};

const columnsOf = (traceId: string, onWhy: (lease: string) => void): readonly Column<Attempt>[] => [
  { id: 'step', head: 'Step', cell: ({ step_id, visit }) => (visit > 1 ? `${step_id} (visit ${visit})` : step_id) },
  { id: 'attempt', head: 'Attempt', isNumber: true, cell: ({ attempt }) => attempt },
  { id: 'status', head: 'Status', cell: ({ status }) => <StatusMark state={status} /> },
  {
    id: 'why',
    head: 'Why',
    cell: (attempt) => (
      <Button look="plain" aria-label={`Why ${nameOf(attempt)}`} onClick={() => onWhy(attempt.lease_id)}>
        Why?
      </Button>
    ),
  },
  { id: 'took', head: 'Took', isNumber: true, cell: tookOf },
  { id: 'tokens', head: 'Tokens', isNumber: true, cell: (attempt) => formatCount(tokensOf(attempt)) },
  { id: 'cost', head: 'Cost', isNumber: true, cell: ({ cost }) => formatMoney(cost) },
  {
    id: 'span',
    head: 'Span',
    cell: (attempt) => (
      <PageLink
        to={`/traces/${traceId}`}
        params={{ span: attempt.span_id }}
        label={`Span ${attempt.span_id.slice(0, 8)} of ${nameOf(attempt)}`}
      >
        <code>{attempt.span_id.slice(0, 8)}</code>
      </PageLink>
    ),
  },
  { id: 'worker', head: 'Worker', cell: ({ worker_id }) => worker_id },
  {
    id: 'lease',
    head: 'Lease',
    cell: (attempt) => (
      <PageLink
        to={`/actors/lease/${encodeURIComponent(attempt.lease_id)}`}
        label={`Lease ${shortId(attempt.lease_id)} of ${nameOf(attempt)}`}
      >
        <code>{shortId(attempt.lease_id)}</code>
      </PageLink>
    ),
  },
  {
    id: 'heartbeat',
    head: 'Last heartbeat',
    cell: ({ last_heartbeat_at: at }) => <Instant at={at} />,
  },
  { id: 'error', head: 'Error', cell: ({ error }) => <span title={error?.message}>{error?.message ?? UNKNOWN}</span> },
];

/** The chain of entries that led to an attempt. Each look at it leaves a row in the audit log: it is read on request. */
const Causes = ({
  runId,
  attempt: { step_id: step, visit, attempt, lease_id },
  onLook,
}: {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly onLook: (seq: number) => void;
}) => {
  const query = useQuery({
    queryKey: ['run', runId, 'cause', lease_id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/runs/{run}/steps/{step}/cause', {
          params: { path: { run: runId, step }, query: { visit, attempt } },
          signal,
        }),
      ),
  });
  return (
    <Loaded query={query} what="why it ran">
      {({ chain }) => (
        <>
          <p>Each entry of the journal came of the one below it.</p>
          <ol aria-label="Causes" className={css['list']}>
            {chain.map((entry) => (
              <li key={entry.seq}>
                <b>{tellEntry(entry)}</b> <Instant at={entry.at} />{' '}
                <Button look="plain" onClick={() => onLook(entry.seq)}>
                  Look at seq {entry.seq}
                </Button>
              </li>
            ))}
          </ol>
        </>
      )}
    </Loaded>
  );
};

/**
 * Every attempt with its worker, usage and error, and one press away why it ran.
 * @param chosen the lease of the attempt of which the address asks why
 */
export const Attempts = ({
  run,
  chosen,
  onChoose,
  onLook,
}: {
  readonly run: RunDetail;
  readonly chosen: string | undefined;
  readonly onChoose: (lease: string | undefined) => void;
  readonly onLook: (seq: number) => void;
}) => {
  const columns = useMemo(() => columnsOf(run.trace_id, onChoose), [run.trace_id, onChoose]);
  const close = useCallback(() => onChoose(undefined), [onChoose]);
  const attempt = run.attempts.find(({ lease_id }) => lease_id === chosen);
  if (run.attempts.length === 0) return null;
  return (
    <>
      <PagedTable name="Attempts" columns={columns} rows={run.attempts} idOf={({ lease_id }) => lease_id} />
      <Dialog
        title={attempt === undefined ? 'Why' : `Why ${nameOf(attempt)}`}
        isOpen={attempt !== undefined}
        onClose={close}
      >
        {attempt !== undefined && (
          <>
            <Causes runId={run.run_id} attempt={attempt} onLook={onLook} />
            <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
              <Button onClick={close}>Close</Button>
            </div>
          </>
        )}
      </Dialog>
    </>
  );
};
