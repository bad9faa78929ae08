import { runSignalStoreContract } from '../signal-store-contract.ts';
import { openTemporary } from './temporary-store.ts';

runSignalStoreContract('sqlite', async () => {
  const { store, remove } = await openTemporary();
  return { store, remove };
});
