import { signalStoreContract } from '../signals/contract.ts';
import type { OpenStore } from '../signals/opening.ts';
import { openTemporary } from './temporary-store.ts';

// One instance a file: the store is its own replica.
const open: OpenStore = async () => {
  const { store, remove } = await openTemporary();
  return { store, replica: async () => store, remove };
};

signalStoreContract('sqlite', open);
