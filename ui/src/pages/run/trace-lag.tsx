import { api, ask } from '../../api/client.ts';
import { serverNow } from '../../api/server-clock.ts';
import type { components } from '../../api/types.ts';
import { spansOfSteps, traceLag } from '../../model/trace-lag.ts';
import { formatCount } from '../../model/units.ts';
import { usePolled } from '../../widgets/live.tsx';
import { useNow } from '../../widgets/now.ts';
import css from './run.module.css';

/** Whether the trace of a run holds the spans of its steps: the run is ahead of its trace, and a trace may be deleted before its run. */
export const TraceLag = ({ run }: { readonly run: components['schemas']['RunDetail'] }) => {
  const now = useNow();
  const ids = spansOfSteps(run.attempts)
    .map(({ span_id: id }) => id)
    .join(',');
  const { data } = usePolled(
    {
      queryKey: ['spans', 'of steps', run.trace_id, ids],
      enabled: ids !== '',
      queryFn: async ({ signal }) => {
        const { project, trace_id } = run;
        const query = { project, trace_id, span_ids: ids, payloads: 'none' as const, limit: 100 };
        const { spans } = await ask(api.GET('/v1/api/spans', { params: { query }, signal }));
        return spans.map(({ span_id: id }) => id);
      },
    },
    true,
    (stored) => traceLag(run.attempts, new Set(stored), serverNow())?.isCatchingUp === true,
  );
  const lag = data === undefined ? undefined : traceLag(run.attempts, new Set(data), now);
  if (lag === undefined) return null;
  const count = `${formatCount(lag.missing)} of ${formatCount(lag.of)} spans of its steps`;
  return (
    <span role="status" className={css['soft']}>
      {lag.isCatchingUp ? `trace catching up: ${count} to come` : `the trace lacks ${count}: deleted, or never stored`}
    </span>
  );
};
