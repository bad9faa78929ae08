import { signalStoreContract } from '../signals/contract.ts';
import { openTemporary } from './temporary-store.ts';

signalStoreContract('sqlite', () => openTemporary());
