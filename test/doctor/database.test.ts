import { expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/cli/doctor/database.ts';
import type { DatabaseInspection } from '../../src/store/postgres/signals/inspect.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/signals/schema.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

const close = vi.fn<DatabaseInspection['close']>(async () => {});
vi.mock('../../src/store/postgres/signals/inspect.ts', () => ({
  inspectDatabase: async (): Promise<Pick<DatabaseInspection, 'facts' | 'probe' | 'close'>> => ({
    facts: {
      serverVersion: 150_018,
      serverVersionText: '15.18',
      schemaVersion: SCHEMA_VERSION,
      isReadOnly: false,
      settings: {
        fsync: 'on',
        full_page_writes: 'on',
        synchronous_commit: 'on',
        synchronous_standby_names: '',
        autovacuum: 'on',
      },
      standbys: 0,
      services: 0,
    },
    probe: async () => {
      throw new StoreUnavailable('signal store: the connection to the database was lost');
    },
    close,
  }),
}));

// A server that is frozen at that moment keeps its connections, and they would keep the command from its end.
it('a database that goes away under the probe span is a fault, and no connection to it is left', async () => {
  const opened = await openDatabase('postgres://svc@127.0.0.1/d', false);
  expect(opened.findings).toMatchObject([{ level: 'fault', message: expect.stringContaining('was lost') as string }]);
  expect(close).toHaveBeenCalledTimes(1);
});
