import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';
import { runStoreContract } from './contract.ts';

runStoreContract('memory', async () => createMemoryRunStore());
