import { Fenced } from '../../src/store/postgres/runs/store-errors.ts';
import { shardOfProject } from '../../src/store/postgres/runs/shards.ts';
import type { SharedStore } from '../../src/cli/shared-store.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { Ownership } from '../../src/store/runs/ownership.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

/**
 * Runs in memory that several services share: shards with an owner and an epoch each, which each commit is checked by where it is written.
 * @param monotonic the clock of the database
 */
export const createEpochStore = (monotonic: () => number, shards = 1) => {
  const free = { epoch: 0, owner: '', address: '', until: Number.NEGATIVE_INFINITY, latestAt: 0 };
  const parts = Array.from({ length: shards }, () => {
    const { close: _close, ...memory } = createMemoryRunStore();
    return { memory, row: { ...free } };
  });
  const [{ memory }] = parts as [(typeof parts)[number]];
  const partOf = (shard: number): (typeof parts)[number] => parts[shard] as (typeof parts)[number];
  const services = new Map<string, { readonly address: string; readonly until: number }>();
  let commits = 0;
  /** What the half that only reads asks in the tests. */
  const queries: SharedStore['queries'] = {
    ...memory,
    listRuns: async (query) =>
      (await Promise.all(parts.map((part) => part.memory.listRuns(query))))
        .flat()
        .toSorted((a, b) => b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : -1))
        .slice(0, query.limit),
  };
  const ownersNow = () =>
    parts.flatMap(({ row: { epoch, owner, address, until } }, shard) =>
      epoch === 0 ? [] : [{ shard, owner, address, leftMs: until - monotonic() }],
    );

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
      take: (shard, owner, address, forMs) =>
        reach(() => {
          const part = partOf(shard);
          if (part.row.until > monotonic() && part.row.owner !== owner) return undefined;
          part.row = { ...part.row, epoch: part.row.epoch + 1, owner, address, until: monotonic() + forMs };
          return { epoch: part.row.epoch, latestAt: part.row.latestAt };
        }),
      renew: (shard, epoch, latestAt, forMs) =>
        reach(() => {
          const part = partOf(shard);
          if (part.row.epoch !== epoch) return false;
          part.row = { ...part.row, until: monotonic() + forMs, latestAt };
          return true;
        }),
      release: (shard, epoch, latestAt) =>
        reach(() => {
          const part = partOf(shard);
          const { row } = part;
          if (row.epoch === epoch)
            part.row = { ...row, until: monotonic(), latestAt: Math.max(row.latestAt, latestAt) };
        }),
      owners: () => reach(ownersNow),
      meet: (owner, address, forMs) =>
        reach(() => {
          services.set(owner, { address, until: monotonic() + forMs });
          const seen = [...services].filter(([, { until }]) => until > monotonic());
          return {
            shards,
            services: seen.map(([name, one]) => ({ owner: name, address: one.address })),
            owners: ownersNow(),
          };
        }),
      leave: (owner) => reach(() => void services.delete(owner)),
      secret: async () => 'secret',
      now: async () => 0,
    };
    const own: SharedStore['own'] = ({ shard, epoch }, fenced = () => {}): RunStore => {
      const part = partOf(shard);
      const { memory: rows } = part;
      let isClosed = false;
      const owning = <T>(work: () => Promise<T>): Promise<T> =>
        reach(() => {
          if (isClosed) throw new StoreUnavailable('the runs store is closed');
          if (part.row.epoch === epoch) return work();
          fenced();
          throw new Fenced('another service took over the runs');
        });
      return {
        ...rows,
        load: (lookups) => owning(() => rows.load(lookups)),
        commit: (changes) =>
          owning(() => {
            commits += 1;
            return rows.commit(changes);
          }),
        resume: (...args) => owning(() => rows.resume(...args)),
        dueTimers: (...args) => owning(() => rows.dueTimers(...args)),
        readOutbox: (...args) => owning(() => rows.readOutbox(...args)),
        close: async () => {
          isClosed = true;
        },
      };
    };
    const store: SharedStore = {
      shards,
      shardOfProject: (project) => shardOfProject(project, shards),
      findShard: async (kind, id) => {
        for (const [shard, part] of parts.entries()) {
          const lookup = kind === 'lease' ? ({ kind, leaseId: id } as const) : ({ kind: 'run', runId: id } as const);
          const [found] = await part.memory.load([lookup]);
          if (found !== undefined) return shard;
        }
        return undefined;
      },
      queries,
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
  return { openFor, memory, commits: () => commits, owners: ownersNow };
};
