import { afterEach, describe, expect, it } from 'vitest';
import { noChanges, type RunStore, type RunUpdate } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { aRun, moved, RUN, versionOf } from './factories.ts';

/**
 * What engines promise whose data outlives the store: all that a daemon may run on.
 * @param place makes an empty place for data, and gives a way to open it; several stores may be opened on one place
 */
export const durableRunsContract = (engine: string, place: () => () => Promise<RunStore>): void => {
  describe(`${engine}: runs outlive their store`, () => {
    const stores: RunStore[] = [];
    afterEach(async () => {
      for (const store of stores.splice(0)) await store.close();
    });
    const opened = async (open: () => Promise<RunStore>): Promise<RunStore> => {
      const store = await open();
      stores.push(store);
      return store;
    };
    const move = (store: RunStore, update: RunUpdate): Promise<void> =>
      store.commit({ ...noChanges(), runsUpdated: [update] });

    it('has one writer: a second opener is refused, or from then on the first one writes nothing', async () => {
      const open = place();
      const first = await opened(open);
      await first.commit({ ...noChanges(), runsInserted: [aRun('a')] });
      const second = await opened(open).catch((error: unknown) => error);
      if (second instanceof Error) {
        expect(second).toBeInstanceOf(StoreUnavailable);
        await move(first, moved(2));
        expect(versionOf(await first.load(RUN))).toBe(2);
      } else {
        await expect(move(first, moved(2))).rejects.toBeInstanceOf(StoreUnavailable);
        expect(versionOf(await (second as RunStore).load(RUN))).toBe(1);
      }
    });

    it('what a commit wrote is there for the next service, and what was called before the close is written', async () => {
      const open = place();
      const first = await opened(open);
      await first.commit({ ...noChanges(), runsInserted: [aRun('a')] });
      const last = move(first, moved(2));
      await first.close();
      await last;
      const next = await opened(open);
      expect(versionOf(await next.load(RUN))).toBe(2);
      await move(next, moved(3));
      expect(versionOf(await next.load(RUN))).toBe(3);
    });
  });
};
