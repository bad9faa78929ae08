import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';
import { api, ask } from '../../api/client.ts';
import { serverTimeOf } from '../../api/server-clock.ts';
import type { JournalEntry } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { formatCount, formatMoney, plural, shortId } from '../../model/units.ts';
import { messagesOf, sequenceAt } from '../../model/run-messages.ts';
import { queuedBecause } from '../../model/queued-reason.ts';
import { pastRunOf, placeOfSnapshot } from '../../model/run-past.ts';
import { number, oneOf, type StateOf, text } from '../../model/url.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { useLive } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { SequenceDiagram } from '../../widgets/sequence/sequence.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { type Tab, Tabs } from '../../widgets/tabs.tsx';
import { RunActions } from './actions.tsx';
import { Attempts } from './attempts.tsx';
import { CopyRun } from './copy-run.tsx';
import { Graph, type Place } from './graph.tsx';
import { Children, Journal, Timeline, Waits } from './parts.tsx';
import { Past, PastChanges, PastTree, useSnapshot } from './past.tsx';
import css from './run.module.css';
import { TraceLag } from './trace-lag.tsx';
import { Troubles } from './troubles.tsx';
import { type Following, useJournal } from './use-journal.ts';

export type RunDetail = components['schemas']['RunDetail'];

const grammar = {
  tab: text(),
  seq: number(),
  vs: number(),
  node: text(),
  attempt: text(),
  kind: text(),
  /** `0`: the page stays as it was when it was opened. */
  follow: oneOf(['0']),
} as const;

type State = StateOf<typeof grammar>;

/** After entries of the journal the run is read again, at most this often. */
const READ_EACH_MS = 2_000;

const FOLLOWING_WORDS: Readonly<Record<Following, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  paused: 'Paused',
  ended: 'Ended',
};

/** Calls once for all that happens within a while, and once more for what happened meanwhile. */
const useThrottled = (run: () => void, eachMs: number): (() => void) => {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef(0);
  return useCallback(() => {
    if (timer.current !== undefined) return;
    const wait = Math.max(0, eachMs - (performance.now() - last.current));
    timer.current = setTimeout(() => {
      timer.current = undefined;
      last.current = performance.now();
      run();
    }, wait);
  }, [run, eachMs]);
};

/** Where a run is now. */
const placeNow = ({ attempts, waits, cursor }: RunDetail, visits: ReadonlyMap<string, number>): Place => {
  const steps = new Map<string, { attempts: number; state: string | undefined }>();
  for (const { step_id: step, status } of attempts)
    steps.set(step, { attempts: (steps.get(step)?.attempts ?? 0) + 1, state: status });
  for (const { step_id: step } of waits)
    steps.set(step, { attempts: steps.get(step)?.attempts ?? 0, state: 'waiting' });
  return { cursor, visits, steps };
};

type Shown = {
  readonly run: RunDetail;
  readonly entries: readonly JournalEntry[];
  readonly nowMs: number;
  readonly past: ReturnType<typeof pastRunOf> | undefined;
  readonly snapshot: ReturnType<typeof useSnapshot>;
  readonly pinned: ReturnType<typeof useSnapshot>;
  readonly state: State;
  readonly setState: (change: Partial<State>) => void;
};

const Messages = ({ entries, seq }: Pick<Shown, 'entries'> & { readonly seq: number | undefined }) => {
  const messages = useMemo(() => messagesOf(entries), [entries]);
  return <SequenceDiagram name="Messages of the run" sequence={sequenceAt(messages, seq)} />;
};

const tabsOf = ({ run, entries, nowMs, past, snapshot, pinned, state, setState }: Shown): Tab[] => {
  const open = past ?? run;
  const { seq, vs } = state;
  return [
    {
      id: 'timeline',
      name: 'Timeline',
      content: () => (
        <>
          <Timeline run={run} entries={entries} nowMs={nowMs} />
          <Attempts
            run={run}
            chosen={state.attempt}
            onChoose={(attempt) => setState({ attempt })}
            onLook={(to) => setState({ seq: to, attempt: undefined })}
          />
        </>
      ),
    },
    { id: 'messages', name: 'Messages', content: () => <Messages entries={entries} seq={seq} /> },
    {
      id: 'journal',
      name: 'Journal',
      content: () => <Journal entries={entries} kind={state.kind} onKind={(kind) => setState({ kind })} />,
    },
    {
      id: 'state',
      name: 'State',
      content: () =>
        past === undefined ? (
          <PayloadView value={run.state} name={`${run.run_id}-state`} />
        ) : (
          <PastTree snapshot={snapshot} />
        ),
    },
    ...(vs === undefined
      ? []
      : [
          {
            id: 'changes',
            name: 'Changes',
            content: () => <PastChanges before={pinned} after={snapshot} vs={vs} />,
          },
        ]),
    {
      id: 'waits',
      name: `Waits & timers ${formatCount(open.waits.length + open.timers.length)}`,
      content: () => <Waits of={run} open={open} />,
    },
    { id: 'input', name: 'Input', content: () => <PayloadView value={run.input} name={`${run.run_id}-input`} /> },
    ...(run.output === undefined
      ? []
      : [
          {
            id: 'output',
            name: 'Output',
            content: () => <PayloadView value={run.output} name={`${run.run_id}-output`} />,
          },
        ]),
    ...(run.children.length === 0
      ? []
      : [
          {
            id: 'children',
            name: `Children ${formatCount(run.children.length)}`,
            content: () => <Children run={run} />,
          },
        ]),
  ];
};

/** The run and its parts, now or at the moment that the address names. */
const Panes = ({
  run,
  entries,
  nowMs,
}: {
  readonly run: RunDetail;
  readonly entries: readonly JournalEntry[];
  readonly nowMs: number;
}) => {
  const [state, setState] = usePageState(grammar);
  const { tab, seq, vs } = state;
  const last = entries.at(-1)?.seq;
  const snapshot = useSnapshot(run.run_id, seq ?? (vs === undefined ? undefined : last));
  const pinned = useSnapshot(run.run_id, vs);
  const past = useMemo(
    () => (seq === undefined ? undefined : pastRunOf(entries, seq, run.deadline_at)),
    [entries, seq, run.deadline_at],
  );
  const visitsNow = useMemo(() => pastRunOf(entries, Number.POSITIVE_INFINITY).steps, [entries]);
  const place = useMemo<Place>(() => {
    const visitsOf = (steps: typeof visitsNow) => new Map([...steps].map(([step, { visits }]) => [step, visits]));
    if (past === undefined) return placeNow(run, visitsOf(visitsNow));
    const waiting = new Set(past.waits.map((wait) => wait.step_id));
    const steps = new Map(
      [...past.steps].map(([step, { attempts, latest }]) => [
        step,
        { attempts, state: waiting.has(step) ? 'waiting' : latest },
      ]),
    );
    // Not read as far as this moment, as on a page that is not live: the service knows.
    if (last === undefined || (seq ?? 0) > last)
      return { ...placeOfSnapshot(snapshot.data?.value, snapshot.data?.context), steps };
    return { cursor: past.cursor, visits: visitsOf(past.steps), steps };
  }, [past, run, visitsNow, last, seq, snapshot.data]);
  const setPast = useCallback(
    (change: { readonly seq?: number | undefined; readonly vs?: number | undefined }) =>
      setState('vs' in change && change.vs !== undefined ? { ...change, tab: 'changes' } : change),
    [setState],
  );
  const tabs = tabsOf({ run, entries, nowMs, past, snapshot, pinned, state, setState });
  return (
    <>
      <Past entries={entries} state={{ seq, vs }} setState={setPast} />
      <div className={css['panes']}>
        <Graph
          run={run}
          place={place}
          ghost={seq === undefined ? undefined : run.cursor}
          selected={state.node}
          onSelect={(node) => setState({ node })}
        />
        <div className={css['tabs']}>
          <Tabs label="Parts of the run" tabs={tabs} chosen={tab} onChoose={(id) => setState({ tab: id })} />
          <p className={css['foot']}>
            Payloads of runs are shown as they were sent. Each look at a run leaves a row in the audit log.
          </p>
        </div>
      </div>
    </>
  );
};

/** One durable run: where it is, how it came there, and what can be done. */
export default function RunPage() {
  const { runId } = useParams({ strict: false }) as { readonly runId: string };
  const { isLive } = useLive();
  const [{ follow }, setState] = usePageState(grammar);
  const client = useQueryClient();
  const run = useQuery({
    queryKey: ['run', runId],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/runs/{run}', { params: { path: { run: runId } }, signal })),
    // Each read leaves a row in the audit log.
    refetchOnWindowFocus: false,
  });
  const nowMs = useMemo(() => serverTimeOf(run.dataUpdatedAt), [run.dataUpdatedAt]);
  const readAgain = useCallback(() => void client.invalidateQueries({ queryKey: ['run', runId] }), [client, runId]);
  const journal = useJournal(
    runId,
    run.data === undefined ? 'not yet' : isLive && follow === undefined ? 'follow' : 'once',
    useThrottled(readAgain, READ_EACH_MS),
  );

  return (
    <Loaded query={run} what="the run" head="Run">
      {(detail) => {
        return (
          <>
            <PageHead
              title={detail.definition_id}
              of="Run"
              actions={
                <>
                  <RunActions run={detail} onDone={readAgain} />
                  <CopyRun run={detail} entries={journal.entries} nowMs={nowMs} />
                </>
              }
            >
              <StatusMark state={detail.status} />
              <span>version {detail.definition_version}</span>
              <span>
                <code>{shortId(runId.replaceAll('-', '').slice(-12))}</code>
                <CopyButton text={runId} label="Copy the run’s id" />
              </span>
              <span>{plural(detail.step_count, 'step')}</span>
              <span title="Of this run and those below it">{formatMoney(detail.tree_cost ?? detail.cost)}</span>
              <span>
                created <Instant at={detail.created_at} />
              </span>
              {detail.ended_at !== undefined && (
                <span>
                  ended <Instant at={detail.ended_at} />
                </span>
              )}
              <PageLink to={`/traces/${detail.trace_id}`}>Trace</PageLink>
              <TraceLag run={detail} />
              <PageLink to="/runs/compare" params={{ a: runId }}>
                Compare
              </PageLink>
              {detail.parent_run_id !== undefined && (
                <PageLink to={`/runs/${detail.parent_run_id}`}>Parent run</PageLink>
              )}
              <span role="status" className={css['soft']}>
                {FOLLOWING_WORDS[journal.following]}
              </span>
              {isLive && journal.following !== 'ended' && (
                <Button
                  aria-pressed={follow === undefined}
                  title="Show what happens as it happens"
                  onClick={() => setState({ follow: follow === undefined ? '0' : undefined })}
                >
                  Follow
                </Button>
              )}
              <CopyCurl paths={[`/v1/api/runs/${runId}`]} />
            </PageHead>
            {detail.error !== undefined && (
              <p className={css['failure']}>
                <b>{detail.error.step_id ?? 'The run'}</b> failed with{' '}
                <code>{detail.error.code ?? detail.error.class}</code>: {detail.error.message}
              </p>
            )}
            {detail.fault !== undefined && <p className={css['failure']}>Quarantined: {detail.fault}</p>}
            {detail.waiting_for !== undefined && (
              <p className={css['notice']}>
                It waits for the key{' '}
                <PageLink to={`/keys/${encodeURIComponent(detail.waiting_for.limit_id)}`}>
                  {detail.waiting_for.key}
                </PageLink>
                , in place {formatCount(detail.waiting_for.position)}
                {detail.waiting_for.holders.length > 0 &&
                  `; held by ${plural(detail.waiting_for.holders.length, 'run')}`}
                {detail.waiting_for.next_at !== undefined && (
                  <>
                    ; next room <Instant at={detail.waiting_for.next_at} />
                  </>
                )}
                .
              </p>
            )}
            {detail.status === 'queued' && detail.queued_reason !== undefined && detail.waiting_for === undefined && (
              <p className={css['notice']}>{queuedBecause(detail.queued_reason)}</p>
            )}
            <Troubles run={detail} nowMs={nowMs} />
            {journal.following === 'paused' && journal.error !== null && <ProblemNotice error={journal.error} />}
            {journal.more !== undefined && (
              <p className={css['notice']} role="status">
                The journal is longer than what is read of it: the first {formatCount(journal.entries.length)} entries.
                The past that the page shows ends there.{' '}
                <Button disabled={journal.more.isReading} onClick={journal.more.read}>
                  Read on
                </Button>
              </p>
            )}
            <Panes run={detail} entries={journal.entries} nowMs={nowMs} />
          </>
        );
      }}
    </Loaded>
  );
}
