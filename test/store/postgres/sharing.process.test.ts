import { afterAll, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { sharingContract } from '../signals/sharing-contract.ts';
import { storesOn } from './temporary-stores.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

sharingContract(
  'PostgreSQL',
  storesOn(() => server),
);
