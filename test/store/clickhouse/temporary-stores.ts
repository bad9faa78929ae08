import type { ServerAddress } from '../../../src/store/clickhouse/address.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import type { ClickHouseServer } from '../../clickhouse.ts';
import type { OpenStore } from '../signals/opening.ts';

/** Empty stores on a server. A database that a test is done with is emptied for the next: that is faster than a new one. */
export const storesOn = (server: () => ClickHouseServer): OpenStore => {
  const free: ServerAddress[] = [];
  return async () => {
    const address = free.pop() ?? server().create();
    const opened: SignalStore[] = [];
    const open = async (): Promise<SignalStore> => {
      const store = await openClickHouseSignalStore({ address });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      replica: open,
      remove: async () => {
        await Promise.all(opened.map((store) => store.close()));
        await server().run(`TRUNCATE ALL TABLES FROM ${address.database} NOT LIKE 'schema_version'`);
        free.push(address);
      },
    };
  };
};
