import { describe, expect, it } from 'vitest';
import { emptyBatch } from '../../src/model/signal.ts';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import { createFakeClock } from '../actors/run-harness.ts';
import { temporaryFolder } from '../daemon.ts';
import { aLog, aSpan, noon, spanId, traceId } from '../ingest/signals.ts';
import { retentionWindows, runRetentionPass, scheduleHourly } from '../../src/cli/retention.ts';

const DAY = 86_400_000_000_000n;
const DAY_MS = Number(DAY / 1_000_000n);
const NOW = 1_000n * DAY;

/** Runs by the days (since the epoch) on which each project's runs ended. */
const runsOf = (ended: Record<string, number[]> = {}) => {
  const slices: string[] = [];
  return {
    ended,
    slices,
    trimFinishedRuns: async (project: string, beforeMs: number, limit: number): Promise<number> => {
      slices.push(project);
      const held = ended[project] ?? [];
      const old = held.filter((day) => day * DAY_MS < beforeMs).slice(0, limit);
      ended[project] = held.filter((day) => !old.includes(day));
      return old.length;
    },
  };
};

/** A store that holds the days (since the epoch) on which each project's traces started. */
const storeOf = (traces: Record<string, number[]>) => {
  const slices: string[] = [];
  const records: bigint[][] = [];
  return {
    traces,
    slices,
    records,
    trim: async (project: string, before: bigint, limit: number): Promise<number> => {
      slices.push(project);
      const held = traces[project] ?? [];
      const old = held.filter((day) => BigInt(day) * DAY < before).slice(0, limit);
      traces[project] = held.filter((day) => !old.includes(day));
      return old.length;
    },
    trimRecords: async (auditBefore: bigint, keysBefore: bigint): Promise<void> => {
      records.push([auditBefore / DAY, keysBefore / DAY]);
    },
  };
};
type Store = ReturnType<typeof storeOf>;

const passOver = async (
  store: Store,
  windows: { project: string; days: number }[],
  isStopping = () => false,
  runs = runsOf(),
) => {
  const removed: [string, number][] = [];
  await runRetentionPass(
    {
      store,
      runs,
      windows,
      auditRetentionDays: 400,
      rest: async () => {},
      isStopping,
      removed: ({ project }, rows) => removed.push([project, rows]),
    },
    NOW,
  );
  return removed;
};

describe('which projects are trimmed', () => {
  it('every project of the block by its own retention_days, else by --retention-days, and the project of --project', () => {
    const projects = { shop: { retention_days: 7 }, docs: {}, main: { retention_days: 3 } };
    expect(retentionWindows({ projects, project: 'main', retentionDays: 30 })).toEqual([
      { project: 'shop', days: 7 },
      { project: 'docs', days: 30 },
      { project: 'main', days: 3 },
    ]);
    expect(retentionWindows({ projects: {}, project: 'default', retentionDays: 30 })).toEqual([
      { project: 'default', days: 30 },
    ]);
  });

  it('none that neither value covers', () => {
    expect(retentionWindows({ projects: { shop: { retention_days: 7 }, docs: {} }, project: 'default' })).toEqual([
      { project: 'shop', days: 7 },
    ]);
    expect(retentionWindows({ projects: {}, project: 'toString' })).toEqual([]);
  });
});

describe('a retention pass', () => {
  it('removes what started before the boundary, keeps what is on or after it, and leaves other projects alone', async () => {
    const store = storeOf({ shop: [992, 993, 994], sender: [1] });
    expect(await passOver(store, [{ project: 'shop', days: 7 }])).toEqual([['shop', 1]]);
    expect(store.traces).toEqual({ shop: [993, 994], sender: [1] });
  });

  it('goes on in slices until nothing is left to remove', async () => {
    const store = storeOf({ shop: Array.from({ length: 450 }, (_, index) => index) });
    expect(await passOver(store, [{ project: 'shop', days: 1 }])).toEqual([['shop', 450]]);
    expect(store.slices).toHaveLength(4);
  });

  it('removes finished runs whose root ended before the boundary, in slices, by the same windows', async () => {
    const runs = runsOf({ shop: [992, 993, 994], docs: Array.from({ length: 250 }, (_, day) => day), sender: [1] });
    const windows = [
      { project: 'shop', days: 7 },
      { project: 'docs', days: 1 },
    ];
    expect(await passOver(storeOf({}), windows, () => false, runs)).toEqual([
      ['shop', 1],
      ['docs', 250],
    ]);
    expect(runs.ended).toEqual({ shop: [993, 994], docs: [], sender: [1] });
    expect(runs.slices).toEqual(['shop', 'shop', 'docs', 'docs', 'docs', 'docs']);
  });

  it('removes audit rows after --audit-retention-days and ingest keys after 30 days', async () => {
    const store = storeOf({});
    await passOver(store, []);
    expect(store.records).toEqual([[600n, 970n]]);
  });

  it('ends between two slices when the daemon stops', async () => {
    const store = storeOf({ shop: Array.from({ length: 450 }, (_, index) => index) });
    await passOver(store, [{ project: 'shop', days: 1 }], () => store.slices.length === 1);
    expect(store.slices).toHaveLength(1);
    expect(store.records).toEqual([]);
  });
});

it('a pass over the embedded store leaves what is inside its window, and projects without one', async () => {
  const folder = temporaryFolder();
  const store = await openSqliteSignalStore({ path: `${folder.path}/svc.db` });
  try {
    const spanOf = (n: number, project: string, daysAgo: bigint) =>
      aSpan({
        traceId: traceId(n),
        spanId: spanId(n),
        project,
        startTime: noon - daysAgo * DAY,
        endTime: noon - daysAgo * DAY + 1n,
      });
    await store.write({
      batch: {
        ...emptyBatch,
        spans: [
          spanOf(1, 'shop', 8n),
          spanOf(2, 'shop', 6n),
          spanOf(3, 'sender', 999n),
          spanOf(4, 'docs', 29n),
          spanOf(5, 'docs', 31n),
        ],
        logs: [aLog({ project: 'shop', timestamp: noon - 8n * DAY })],
      },
    });
    const removed: string[] = [];
    await runRetentionPass(
      {
        store,
        runs: runsOf(),
        windows: retentionWindows({ projects: { shop: { retention_days: 7 } }, project: 'docs', retentionDays: 30 }),
        auditRetentionDays: 400,
        rest: async () => {},
        isStopping: () => false,
        removed: ({ project }) => removed.push(project),
      },
      noon,
    );
    const { items } = await store.listTraces({ projects: 'all', limit: 10, sort: 'start_time', order: 'asc' });
    expect(items.map((trace) => trace.traceId).toSorted()).toEqual([2, 3, 4].map(traceId));
    expect((await store.listLogs({ projects: 'all', limit: 10, order: 'asc' })).items).toEqual([]);
    expect(removed).toEqual(['shop', 'docs']);
  } finally {
    await store.close();
    folder.remove();
  }
});

describe('the hourly schedule', () => {
  /** Moves the clock, and lets what was due then come to its end. */
  const moving = () => {
    const { clock, advance } = createFakeClock();
    const pass = async (ms: number): Promise<void> => {
      advance(ms);
      await new Promise(setImmediate);
    };
    return { clock, pass };
  };

  it('runs a minute after the start, then each hour', async () => {
    const { clock, pass } = moving();
    let passes = 0;
    const schedule = scheduleHourly(async () => {
      passes += 1;
    }, clock);
    await pass(59_999);
    expect(passes).toBe(0);
    await pass(1);
    expect(passes).toBe(1);
    await pass(3_599_999);
    expect(passes).toBe(1);
    await pass(1);
    expect(passes).toBe(2);
    await schedule.stop();
    await pass(3_600_000);
    await pass(3_600_000);
    expect(passes).toBe(2);
  });

  it('never runs two passes at once, and stop waits for the one under way', async () => {
    const { clock, pass } = moving();
    let ends = (): void => {};
    let begun = 0;
    let underWay = 0;
    const schedule = scheduleHourly(async () => {
      begun += 1;
      underWay += 1;
      await new Promise<void>((resolve) => {
        ends = resolve;
      });
      underWay -= 1;
    }, clock);
    await pass(60_000);
    for (let hour = 0; hour < 3; hour += 1) await pass(3_600_000);
    expect([begun, underWay]).toEqual([1, 1]);
    const stopped = schedule.stop();
    ends();
    await stopped;
    expect(underWay).toBe(0);
  });
});
