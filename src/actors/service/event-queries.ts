import { pageOf } from '../../model/page.ts';
import type { UnixMs } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { PARKED_LIFETIME_MS } from '../event/event-mailbox.ts';
import { attempt } from './calls.ts';
import type { EventQueries } from './runs-service.ts';

/** What is asked about events. */
export const createEventQueries = (host: {
  readonly store: Pick<RunStore, 'listParkedEvents'>;
  readonly now: () => UnixMs;
}): EventQueries => ({
  listParkedEvents: ({ reach, limit, after }) =>
    attempt(async () => {
      const rows = await host.store.listParkedEvents({
        reach,
        // An event past its time can be taken by no run, also before the sweep deletes its row.
        parkedAfter: host.now() - PARKED_LIFETIME_MS,
        limit: limit + 1,
        ...(after === undefined ? {} : { before: Number(after[0]) }),
      });
      const { items, ...more } = pageOf(rows, limit, (last) => [last.order]);
      return {
        ok: true,
        value: {
          ...more,
          items: items.map((row) => {
            const { order: _, at, ...event } = row;
            return { ...event, parkedAt: at, expiresAt: at + PARKED_LIFETIME_MS };
          }),
        },
      };
    }),
});
