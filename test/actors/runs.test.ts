import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { runsSuite } from './runs-suite.ts';

runsSuite(async () => createMemoryRunStore());
