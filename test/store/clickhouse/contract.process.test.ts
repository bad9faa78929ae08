import { afterAll, beforeAll } from 'vitest';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { alikeContract } from '../signals/alike-contract.ts';
import { signalStoreContract } from '../signals/contract.ts';
import { sharingContract } from '../signals/sharing-contract.ts';
import { storesOn } from './temporary-stores.ts';

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());
const open = storesOn(() => server);

signalStoreContract('clickhouse', open);
sharingContract('ClickHouse', open);
alikeContract('ClickHouse', open);
