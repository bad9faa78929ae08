import { api, ask } from '../../api/client.ts';
import type { QueryOf } from '../../api/types.ts';
import { countText, waitedFor, type WaitingCount } from '../../model/limits.ts';
import { Button } from '../../widgets/button.tsx';
import { filtersCss } from '../../widgets/filters.tsx';
import { usePolled } from '../../widgets/live.tsx';

type WaitingOn = NonNullable<NonNullable<QueryOf<'listRuns'>>['waiting_on']>;

/** How many runs of the list wait for what; one of them narrows the list. Counting reads no run, so nothing is audited. */
export const WaitingFacets = ({
  query,
  chosen,
  onChoose,
}: {
  /** Of the list. */
  readonly query: QueryOf<'listRuns'>;
  readonly chosen: WaitingOn | undefined;
  readonly onChoose: (waitingOn: WaitingOn | undefined) => void;
}) => {
  const { waiting_on: _, ...filters } = query ?? {};
  const counts = usePolled({
    queryKey: ['runs', 'waiting', filters],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/runs/waiting', { params: { query: filters }, signal })),
  });
  const shown = (counts.data?.waiting ?? []).filter(
    ({ waiting_on, count, capped }) => count > 0 || capped === true || waiting_on === chosen,
  );
  if (shown.length === 0) return null;
  return (
    <div role="group" aria-label="Waiting for" className={filtersCss['filters']}>
      <span>Waiting for</span>
      {shown.map((one: WaitingCount) => (
        <Button
          key={one.waiting_on}
          aria-pressed={one.waiting_on === chosen}
          onClick={() => onChoose(one.waiting_on === chosen ? undefined : one.waiting_on)}
        >
          {waitedFor(one.waiting_on)} {countText(one)}
        </Button>
      ))}
    </div>
  );
};
