import { afterEach } from 'vitest';
import type { Page, Position, TraceSummary } from '../../../src/store/signals/query.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { aUnit } from './factories.ts';

/**
 * What the contract needs of an engine: an empty store of its own, twice, and a way to be rid of it. `replica` is a second service's way
 * in to the same data; of an engine with one process a store it is the store itself.
 */
export type OpenStore = () => Promise<{
  readonly store: SignalStore;
  readonly replica: () => Promise<SignalStore>;
  readonly remove: () => Promise<void>;
}>;

/** Stores for the tests of one suite, removed after each. */
export const storesOf = (open: OpenStore) => {
  const opened: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const remove of opened.splice(0)) await remove();
  });
  const empty = async (): Promise<SignalStore> => {
    const { store, remove } = await open();
    opened.push(remove);
    return store;
  };
  /** Two replicas on one empty store. */
  const pair = async (): Promise<readonly [SignalStore, SignalStore]> => {
    const { store, replica, remove } = await open();
    opened.push(remove);
    return [store, await replica()];
  };
  /** A store that these units were written to, one after the other. */
  const holding = async (...units: Parameters<typeof aUnit>[0][]): Promise<SignalStore> => {
    const store = await empty();
    for (const unit of units) await store.write(aUnit(unit));
    return store;
  };
  return { empty, pair, holding };
};

export const idsOf = (page: Page<TraceSummary>): string[] => page.items.map(({ traceId }) => traceId);

/** Reads all pages of a list. */
export const allPages = async <T>(read: (after: Position | undefined) => Promise<Page<T>>): Promise<T[]> => {
  const items: T[] = [];
  let after: Position | undefined;
  do {
    const page = await read(after);
    items.push(...page.items);
    // A cursor goes over the wire as text.
    after = page.next === undefined ? undefined : (JSON.parse(JSON.stringify(page.next)) as Position);
  } while (after !== undefined);
  return items;
};
