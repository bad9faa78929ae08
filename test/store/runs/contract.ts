import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { runCommitsContract } from './commits-contract.ts';
import { type OpenRunStore, storesOf } from './factories.ts';
import { limitsContract } from './limits-contract.ts';
import { runQueriesContract } from './queries-contract.ts';

/** What every engine promises. Called once an engine. */
export const runStoreContract = (engine: string, open: OpenRunStore): void => {
  runCommitsContract(engine, open);
  runQueriesContract(engine, open);
  limitsContract(engine, open);

  describe(`${engine}: run store`, () => {
    const opened = storesOf(open);

    it('refuses what comes after its close', async () => {
      const { store, commit } = await opened();
      await store.ping();
      await store.close();
      await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(commit((changes) => changes.waitsClosed.push('a'))).rejects.toBeInstanceOf(StoreUnavailable);
    });
  });
};
