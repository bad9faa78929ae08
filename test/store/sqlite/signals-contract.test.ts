import { signalStoreContract } from '../signals/contract.ts';
import { openTemporary } from './temporary-store.ts';

// One instance a file: the store is its own replica.
signalStoreContract('sqlite', async () => {
  const { store, remove } = await openTemporary();
  return { store, replica: async () => store, remove };
});
