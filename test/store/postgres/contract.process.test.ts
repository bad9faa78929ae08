import { afterAll, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { signalStoreContract } from '../signals/contract.ts';
import { storesOn } from './temporary-stores.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const open = storesOn(() => server);

signalStoreContract('postgres', open);
