import { Fenced } from '../../src/store/postgres/runs/store-errors.ts';
import type { SharedStore } from '../../src/cli/shared-runs.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { Ownership } from '../../src/store/runs/ownership.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

/**
 * Runs in memory that several services share: one shard with an owner and an epoch, which each commit is checked by where it is written.
 * @param monotonic the clock of the database
 */
export const createEpochStore = (monotonic: () => number) => {
  const { close: _close, ...memory } = createMemoryRunStore();
  let row = { epoch: 0, owner: '', address: '', until: Number.NEGATIVE_INFINITY, latestAt: 0 };
  let commits = 0;

  /** As one service sees it: what is away answers nothing, and what hangs answers later. */
  const openFor = () => {
    let isAway = false;
    let gate: Promise<void> = Promise.resolve();
    const reach = async <T>(work: () => T | Promise<T>): Promise<T> => {
      if (isAway) throw new StoreUnavailable('the database does not answer');
      await gate;
      return work();
    };
    const ownership: Ownership = {
      take: (_shard, owner, address, forMs) =>
        reach(() => {
          if (row.until > monotonic() && row.owner !== owner) return undefined;
          row = { ...row, epoch: row.epoch + 1, owner, address, until: monotonic() + forMs };
          return { epoch: row.epoch, latestAt: row.latestAt };
        }),
      renew: (_shard, epoch, latestAt, forMs) =>
        reach(() => {
          if (row.epoch !== epoch) return false;
          row = { ...row, until: monotonic() + forMs, latestAt };
          return true;
        }),
      release: (_shard, epoch, latestAt) =>
        reach(() => {
          if (row.epoch === epoch) row = { ...row, until: monotonic(), latestAt: Math.max(row.latestAt, latestAt) };
        }),
      owners: () =>
        reach(() =>
          row.epoch === 0
            ? []
            : [{ shard: 0, owner: row.owner, address: row.address, leftMs: row.until - monotonic() }],
        ),
      secret: async () => 'secret',
      now: async () => 0,
    };
    const own: SharedStore['own'] = ({ epoch }, fenced = () => {}): RunStore => {
      let isClosed = false;
      const owning = <T>(work: () => Promise<T>): Promise<T> =>
        reach(() => {
          if (isClosed) throw new StoreUnavailable('the runs store is closed');
          if (row.epoch === epoch) return work();
          fenced();
          throw new Fenced('another service took over the runs');
        });
      return {
        ...memory,
        load: (lookups) => owning(() => memory.load(lookups)),
        commit: (changes) =>
          owning(() => {
            commits += 1;
            return memory.commit(changes);
          }),
        resume: (...args) => owning(() => memory.resume(...args)),
        dueTimers: (...args) => owning(() => memory.dueTimers(...args)),
        readOutbox: (...args) => owning(() => memory.readOutbox(...args)),
        close: async () => {
          isClosed = true;
        },
      };
    };
    const store: SharedStore = {
      queries: memory,
      load: memory.load,
      ownership,
      own,
      ping: () => reach(() => {}),
      close: async () => {},
    };
    return {
      store,
      goAway: (away: boolean): void => {
        isAway = away;
      },
      /** Nothing is answered until the returned function is called. */
      hang: (): (() => void) => {
        let goOn = (): void => {};
        gate = new Promise((resolve) => {
          goOn = resolve;
        });
        return goOn;
      },
    };
  };
  return { openFor, memory, commits: () => commits };
};
