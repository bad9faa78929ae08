import { afterAll, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { alikeContract } from '../signals/alike-contract.ts';
import { storesOn } from './temporary-stores.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

alikeContract(
  'PostgreSQL',
  storesOn(() => server),
);
