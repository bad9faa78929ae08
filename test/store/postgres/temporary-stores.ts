import { openPostgresSignalStore } from '../../../src/store/postgres/signals/open.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import type { PostgresServer } from '../../postgres.ts';
import type { OpenStore } from '../signals/opening.ts';
import { createAllowance } from '../../../src/store/signals/allowance.ts';
import type { LateTotals } from '../../../src/store/postgres/signals/late-totals.ts';
import { EMPTY_ALL } from './temporary-runs.ts';

/** Empty stores on a server. A database that a test is done with is emptied for the next: that is faster than a new one. */
export const storesOn = (server: () => PostgresServer): OpenStore => {
  const free: string[] = [];
  return async () => {
    const url = free.pop() ?? server().create();
    const opened: SignalStore[] = [];
    const open = async (): Promise<SignalStore> => {
      const store = await openPostgresSignalStore({ url, connections: 4 });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      replica: open,
      remove: async () => {
        await Promise.all(opened.map((store) => store.close()));
        server().run(EMPTY_ALL, url);
        free.push(url);
      },
    };
  };
};

/** Totals come with their transaction, however long that takes. */
export const withoutLateTotals: Omit<LateTotals, 'stop'> = {
  allowance: createAllowance(1, Number.POSITIVE_INFINITY),
  mayWait: () => false,
  wake: () => {},
};
