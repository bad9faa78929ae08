import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { formatAge, plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { useNow } from '../../widgets/now.ts';
import { PageLink } from '../../widgets/page-link.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './actors.module.css';

const Parts = ({ runId }: { readonly runId: string }) => {
  const now = useNow();
  const run = usePolled({
    queryKey: ['runs', runId],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/runs/{run}', { params: { path: { run: runId } }, signal })),
  });
  return (
    <Loaded query={run} what="the run">
      {({ timers, waits, children, attempts }) => (
        <div className={css['parts']}>
          <h2>{plural(timers.length, 'open timer')}</h2>
          <ul aria-label="Timers">
            {timers.map(({ name, due_at }) => (
              <li key={name}>
                {name}, {due_at === undefined ? 'never due' : `due ${formatAge(due_at, now)}`}
              </li>
            ))}
          </ul>
          <h2>{plural(waits.length, 'open wait')}</h2>
          <ul aria-label="Waits">
            {waits.map(({ event, key }) => (
              <li key={`${event} ${key}`}>
                <code>{event}</code> with the key <code>{key}</code>
              </li>
            ))}
          </ul>
          <h2>{plural(children.length, 'child', 'children')}</h2>
          <ul aria-label="Children">
            {children.map(({ run_id, status }) => (
              <li key={run_id}>
                <PageLink to={`/actors/run/${encodeURIComponent(run_id)}`}>{run_id}</PageLink>{' '}
                <StatusMark state={status} />
              </li>
            ))}
          </ul>
          <h2>{plural(attempts.length, 'lease')}</h2>
          <ul aria-label="Leases">
            {attempts.map(({ lease_id, step_id, status }) => (
              <li key={lease_id}>
                <PageLink to={`/actors/lease/${encodeURIComponent(lease_id)}`}>{step_id}</PageLink>{' '}
                <StatusMark state={status} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Loaded>
  );
};

/** Timers, waits, children and leases of a run. They come with its payloads, whose read is audited: so they are asked for. */
export const RunParts = ({ runId }: { readonly runId: string }) => {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <Parts runId={runId} />;
  return (
    <p>
      <Button onClick={() => setOpen(true)}>Show timers, waits, children and leases</Button>
      <br />
      This reads the run with its payloads, and the audit log notes it.
    </p>
  );
};
