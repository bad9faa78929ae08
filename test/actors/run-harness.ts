import { createPrices } from './run-prices.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import type { JournalEntry, Lease, Run, RunDetail } from '../../src/model/run.ts';
import type { Result } from '../../src/model/failure.ts';
import type { Span } from '../../src/model/span.ts';
import type { Clock } from '../../src/actors/kernel/clock.ts';
import { type RunningRuns, type RunsOptions, startRuns } from '../../src/actors/start.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';

/** A clock that stands still until it is moved. The wall and the monotonic clock can be moved apart. */
export const createFakeClock = (start = Date.parse('2026-03-01T12:00:00Z')) => {
  let wall = start;
  let mono = 1000;
  let next = 0;
  const timers = new Map<number, { ms: number; at: number; callback: () => void }>();
  const clock: Clock = {
    wall: () => wall,
    monotonic: () => mono,
    after: (ms, callback) => {
      if (ms <= 0) {
        const due = setImmediate(callback);
        return () => clearImmediate(due);
      }
      const id = (next += 1);
      timers.set(id, { ms, at: mono + ms, callback });
      return () => {
        timers.delete(id);
      };
    },
  };
  return {
    clock,
    now: () => wall,
    /** The lengths of the timers that wait, in milliseconds. */
    timers: () => [...timers.values()].map(({ ms }) => ms),
    jumpWall: (ms: number) => {
      wall += ms;
    },
    advance: (ms: number) => {
      wall += ms;
      mono += ms;
      for (const [id, timer] of timers)
        if (timer.at <= mono) {
          timers.delete(id);
          timer.callback();
        }
    },
  };
};

/** The value of a result that must be one. */
export const must = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Error(`${result.failure.code}: ${result.failure.message}`);
  return result.value;
};
export const codeOf = (result: Result<unknown>): string => (result.ok ? 'ok' : result.failure.code);

/** A version 7 id from a counter: the same in each run of a test. */
/** Ids in the order in which they are made. */
export const createIds = () => {
  let n = 0;
  return (): string => {
    n += 1;
    const hex = n.toString(16).padStart(12, '0');
    return `01900000-0000-7000-8000-${hex}`;
  };
};

export const ALL = { reach: 'all' } as const;

export type Harness = Awaited<ReturnType<typeof createHarness>>;

/** A service on a fake clock with one worker, and the calls of a test in short. */
export const createHarness = async (
  options: Partial<RunsOptions> & {
    definitions?: readonly Json[];
    store?: RunStore;
    /** That of the service whose store this one takes over. */
    time?: ReturnType<typeof createFakeClock>;
  } = {},
) => {
  const time = options.time ?? createFakeClock();
  const store = options.store ?? createMemoryRunStore();
  const spans: Span[] = [];
  const faults: unknown[] = [];
  const { definitions = [], time: _time, ...rest } = options;
  const open = (more: Partial<RunsOptions> = {}): Promise<RunningRuns> =>
    startRuns({
      store,
      writeSpans: async (batch) => {
        spans.push(...batch);
      },
      price: createPrices(),
      onFault: (error) => faults.push(error),
      clock: time.clock,
      newId: ids,
      random: () => 0.5,
      ticks: false,
      ...rest,
      ...more,
    });
  const ids = options.newId ?? createIds();
  const runs = await open();
  if (definitions.length > 0) must(await runs.registerWorker({ ...ALL, workerId: 'w1', definitions }));

  const detail = async (runId: string): Promise<RunDetail> => must(await runs.getRun({ ...ALL, runId }));
  const journal = async (runId: string): Promise<readonly JournalEntry[]> =>
    must(await runs.journal({ ...ALL, runId, after: -1, limit: 1000 })).events;

  return {
    runs,
    store,
    time,
    spans,
    faults,
    reopen: open,
    detail,
    journal,
    kinds: async (runId: string) => (await journal(runId)).map(({ kind }) => kind),
    start: async (definitionId: string, input: Json = {}, more: object = {}): Promise<Run> =>
      must(await runs.startRun({ ...ALL, project: 'p', definitionId, input, ...more })).run,
    claim: async (workerId = 'w1', max = 1): Promise<readonly Lease[]> => {
      const aborted = new AbortController();
      const claimed = runs.claim({ ...ALL, workerId, max, waitMs: 1000 }, aborted.signal);
      await settled(runs);
      aborted.abort();
      return must(await claimed);
    },
    /** Claims exactly one lease and declares it running. */
    take: async (workerId = 'w1'): Promise<Lease> => {
      const aborted = new AbortController();
      const claimed = runs.claim({ ...ALL, workerId, max: 1, waitMs: 1000 }, aborted.signal);
      await settled(runs);
      aborted.abort();
      const [lease] = must(await claimed);
      if (lease === undefined) throw new Error('nothing to claim');
      must(await runs.started({ ...ALL, leaseId: lease.leaseId, workerId }));
      return lease;
    },
    complete: (
      lease: Lease,
      output?: Json,
      more: { statePatch?: JsonObject; usage?: never } | object = {},
      workerId = 'w1',
    ) =>
      runs.complete({ ...ALL, leaseId: lease.leaseId, workerId, ...(output === undefined ? {} : { output }), ...more }),
    fail: (lease: Lease, errorClass: string, more: object = {}, workerId = 'w1') =>
      runs.fail({
        ...ALL,
        leaseId: lease.leaseId,
        workerId,
        error: { class: errorClass, message: 'it broke', ...more },
      }),
    /** Moves the clock a second at a time, as the service would see it. */
    pass: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1000) {
        time.advance(Math.min(1000, left));
        await runs.tick();
      }
    },
  };
};

/** Waits until the group that a claim set off is through. */
export const settled = async (runs: RunningRuns): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await runs.tick();
  }
};

/** A definition of tasks that follow each other. */
export const aDefinition = (id: string, steps: readonly object[], more: object = {}): Json =>
  JSON.parse(JSON.stringify({ id, version: 1, steps, ...more })) as Json;
export const task = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });
export const tasks = (...ids: string[]) => ids.map((id) => task(id));
