import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { loopOf } from '../../model/run-loops.ts';
import { formatCount, formatDurationMs } from '../../model/units.ts';
import { useLive } from '../../widgets/live.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import css from './run.module.css';

type RunDetail = components['schemas']['RunDetail'];

/** Each look leaves a row in the audit log. */
const EACH_MS = 60_000;
const MOVING = new Set<RunDetail['status']>(['queued', 'running', 'waiting']);

/** What is unusual of a run: a step that is open for too long, and a loop that gets nowhere. */
export const Troubles = ({ run, nowMs }: { readonly run: RunDetail; readonly nowMs: number }) => {
  const { isLive } = useLive();
  const { data } = useQuery({
    queryKey: ['runs', 'stalled', run.run_id, run.cursor],
    enabled: MOVING.has(run.status),
    refetchInterval: isLive ? EACH_MS : false,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/runs/stalled', { params: { query: { run_id: run.run_id } }, signal })),
  });
  const stalled = data?.runs.find(({ cursor }) => cursor === run.cursor);
  const loop = useMemo(() => loopOf(run.attempts), [run.attempts]);
  return (
    <>
      {stalled !== undefined && MOVING.has(run.status) && (
        <p className={css['notice']}>
          The step <b>{stalled.cursor}</b> is open for {formatDurationMs(nowMs - Date.parse(stalled.entered_at))}. 95 of
          100 of its last {formatCount(stalled.visits)} finished visits took at most{' '}
          {formatDurationMs(stalled.usual_ms)}.{' '}
          <PageLink to="/runs" params={{ stalled: 'true' }}>
            All such runs
          </PageLink>
        </p>
      )}
      {loop !== undefined && (
        <p className={css['notice']}>
          The step <b>{loop.step}</b> gave the same result {formatCount(loop.times)} times in a row: the loop may get
          nowhere.
        </p>
      )}
    </>
  );
};
