import { afterAll, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { runStoreContract } from '../runs/contract.ts';
import { durableRunsContract } from '../runs/durable-contract.ts';
import { emptyRunsOn, openOwned } from './temporary-runs.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

runStoreContract(
  'postgres',
  emptyRunsOn(() => server),
);
durableRunsContract('postgres', () => {
  let url: string | undefined;
  return () => openOwned((url ??= server.create()));
});
