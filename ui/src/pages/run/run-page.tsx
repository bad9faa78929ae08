import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useCallback, useRef } from 'react';
import { api, ask } from '../../api/client.ts';
import type { JournalEntry } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { formatCount, formatMoney, plural, shortId } from '../../model/units.ts';
import { text } from '../../model/url.ts';
import { CopyButton } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { useLive } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { type Tab, Tabs } from '../../widgets/tabs.tsx';
import { RunActions } from './actions.tsx';
import { Children, Journal, Steps, Timeline, Waits } from './parts.tsx';
import css from './run.module.css';
import { type Following, useJournal } from './use-journal.ts';

export type RunDetail = components['schemas']['RunDetail'];

const grammar = { tab: text() } as const;

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

const tabsOf = (detail: RunDetail, entries: readonly JournalEntry[], nowMs: number): Tab[] => {
  return [
    { id: 'timeline', name: 'Timeline', content: () => <Timeline run={detail} entries={entries} nowMs={nowMs} /> },
    { id: 'journal', name: 'Journal', content: () => <Journal entries={entries} /> },
    {
      id: 'state',
      name: 'State',
      content: () => <PayloadView value={detail.state} name={`${detail.run_id}-state`} />,
    },
    {
      id: 'waits',
      name: `Waits & timers ${formatCount(detail.waits.length + detail.timers.length)}`,
      content: () => <Waits run={detail} nowMs={nowMs} />,
    },
    { id: 'input', name: 'Input', content: () => <PayloadView value={detail.input} name={`${detail.run_id}-input`} /> },
    ...(detail.output === undefined
      ? []
      : [
          {
            id: 'output',
            name: 'Output',
            content: () => <PayloadView value={detail.output} name={`${detail.run_id}-output`} />,
          },
        ]),
    ...(detail.children.length === 0
      ? []
      : [
          {
            id: 'children',
            name: `Children ${formatCount(detail.children.length)}`,
            content: () => <Children run={detail} />,
          },
        ]),
  ];
};

/** One durable run: where it is, how it came there, and what can be done. */
export default function RunPage() {
  const { runId } = useParams({ strict: false }) as { readonly runId: string };
  const [state, setState] = usePageState(grammar);
  const { isLive } = useLive();
  const client = useQueryClient();
  const run = useQuery({
    queryKey: ['run', runId],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/runs/{run}', { params: { path: { run: runId } }, signal })),
    // Each read leaves a row in the audit log.
    refetchOnWindowFocus: false,
  });
  const readAgain = useCallback(() => void client.invalidateQueries({ queryKey: ['run', runId] }), [client, runId]);
  const journal = useJournal(runId, isLive && run.data !== undefined, useThrottled(readAgain, READ_EACH_MS));

  return (
    <Loaded query={run} what="the run">
      {(detail) => {
        const tabs = tabsOf(detail, journal.entries, run.dataUpdatedAt);
        return (
          <>
            <PageHead title={detail.definition_id} of="Run" actions={<RunActions run={detail} onDone={readAgain} />}>
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
              {detail.parent_run_id !== undefined && (
                <PageLink to={`/runs/${detail.parent_run_id}`}>Parent run</PageLink>
              )}
              <span role="status" className={css['soft']}>
                {FOLLOWING_WORDS[journal.following]}
              </span>
            </PageHead>
            {detail.error !== undefined && (
              <p className={css['failure']}>
                <b>{detail.error.step_id ?? 'The run'}</b> failed with{' '}
                <code>{detail.error.code ?? detail.error.class}</code>: {detail.error.message}
              </p>
            )}
            {detail.fault !== undefined && <p className={css['failure']}>Quarantined: {detail.fault}</p>}
            {detail.status === 'queued' && detail.queued_reason !== undefined && (
              <p className={css['notice']}>It waits for a worker: {detail.queued_reason.replaceAll('_', ' ')}.</p>
            )}
            <div className={css['panes']}>
              <Steps run={detail} />
              <div className={css['tabs']}>
                <Tabs label="Parts of the run" tabs={tabs} chosen={state.tab} onChoose={(tab) => setState({ tab })} />
                <p className={css['foot']}>
                  Payloads of runs are shown as they were sent. Each look at a run leaves a row in the audit log.
                </p>
              </div>
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
