import { runWatchStoreContract } from '../../signals/watch-contract.ts';
import { openTemporary } from '../temporary-store.ts';

runWatchStoreContract('sqlite', () => openTemporary());
