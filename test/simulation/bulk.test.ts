import { describe, expect, it } from 'vitest';
import type { BulkAction } from '../../src/actors/bulk/messages.ts';
import type { RunningRuns } from '../../src/actors/start.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { ALL, aDefinition, createHarness, type Harness, must, task } from '../actors/run-harness.ts';

/** A commit of a life that fails, before it was written or behind that. Mostly the service dies of it. */
type Death = { readonly at: number; readonly isWritten: boolean; readonly isSurvived?: boolean };

const actions: readonly BulkAction[] = [
  { action: 'cancel' },
  { action: 'pause' },
  { action: 'restart' },
  { action: 'signal', event: 'go', payload: {} },
];
const definitions = [
  aDefinition('flow', [task('one'), task('two')]),
  aDefinition('asks', [{ id: 'wait', kind: 'wait_event', event: 'go' }, task('then')]),
];

/** The store of one life. When that is over nothing is written or read any more. */
const mortal = (store: RunStore, death: Death | undefined) => {
  let commits = 0;
  let hasFailed = false;
  let isDead = false;
  const living = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (isDead) throw new StoreUnavailable('the service is dead');
      return call(...args);
    };
  };
  return {
    hasFailed: () => hasFailed,
    hasDied: () => isDead,
    store: {
      ...store,
      load: living(store.load),
      resume: living(store.resume),
      dueTimers: living(store.dueTimers),
      matchingRuns: living(store.matchingRuns),
      commit: living(async (changes) => {
        commits += 1;
        const fails = commits === death?.at;
        if (fails) hasFailed = true;
        isDead = fails && death.isSurvived !== true;
        if (fails && !death.isWritten) throw new StoreUnavailable('before the commit');
        await store.commit(changes);
        if (fails) throw new StoreUnavailable('behind the commit');
      }),
    } satisfies RunStore,
  };
};

/** Runs that take the action: they wait for an event, or failed. */
const crowdFor = async (harness: Harness, { action }: BulkAction, count: number): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    ids.push((await harness.start(action === 'restart' ? 'flow' : 'asks')).runId);
    if (action === 'restart') must(await harness.fail(await harness.take(), 'fatal'));
  }
  return ids;
};

/** How often a run took the action. */
const timesTaken = async (runs: RunningRuns, { action }: BulkAction, runId: string): Promise<number> => {
  if (action === 'restart') return must(await runs.listRuns({ ...ALL, restartedFrom: runId, limit: 10 })).items.length;
  const kind = { cancel: 'run.finished', pause: 'run.paused', signal: 'event.delivered', resume: 'run.unpaused' }[
    action
  ];
  const { events } = must(await runs.journal({ ...ALL, runId, after: -1, limit: 1000 }));
  return events.filter((entry) => entry.kind === kind).length;
};

/**
 * One action over the lives of a service, each but the last with a commit that fails; its client sends the call again in each.
 * @returns whether the first life came so far
 */
const play = async (work: BulkAction, count: number, deaths: readonly Death[]): Promise<boolean> => {
  const file = createMemoryRunStore();
  const harness = await createHarness({ store: file, definitions });
  const ids = await crowdFor(harness, work, count);
  harness.time.advance(1);
  const filter = { reach: ['p'], ...(work.action === 'restart' ? { status: 'failed' as const } : {}) };
  const call = { ...ALL, filter, work, dryRun: false, idempotency: { key: 'k', asked: { action: work.action } } };
  let firstFailed = false;
  for (const [life, death] of [...deaths, undefined].entries()) {
    const { store, hasDied, hasFailed } = mortal(file, death);
    const runs = await harness.reopen({ store });
    const begun = await runs.startBulk(call);
    for (let look = 0; look < 3; look += 1) await runs.tick().catch(() => {});
    if (life === 0) firstFailed = hasFailed();
    if (hasDied() || (hasFailed() && !begun.ok)) continue;
    const { bulkId = '' } = must(begun);
    expect(must(await runs.getBulk({ ...ALL, bulkId }))).toMatchObject({
      status: 'done',
      count,
      done: count,
      refused: 0,
    });
    expect(must(await runs.listActors({ ...ALL, type: 'bulk', limit: 10 })).items).toHaveLength(1);
  }
  const { runs } = harness;
  const taken = await Promise.all(ids.map((runId) => timesTaken(runs, work, runId)));
  expect(taken).toEqual(ids.map(() => 1));
  return firstFailed;
};

describe('an action on many runs takes each run once, and counts right', () => {
  it.each(actions)('whichever commit fails in a service that goes on: $action', async (work) => {
    let met = 0;
    for (const isWritten of [false, true])
      for (let at = 1; at < 100; at += 1) {
        if (!(await play(work, 20, [{ at, isWritten, isSurvived: true }]))) break;
        met += 1;
      }
    expect(met).toBeGreaterThanOrEqual(4);
  });

  it.each(actions)('wherever the service dies: $action', async (work) => {
    const met = { before: 0, behind: 0 };
    for (const isWritten of [false, true])
      for (let at = 1; at < 100; at += 1) {
        // Every other time the next life is cut off as well.
        const again = at % 2 === 0 ? [] : [{ at: 1 + (at % 3), isWritten: !isWritten }];
        if (!(await play(work, 20, [{ at, isWritten }, ...again]))) break;
        met[isWritten ? 'behind' : 'before'] += 1;
      }
    // Its beginning and its one slice at the least.
    expect(Math.min(met.before, met.behind)).toBeGreaterThanOrEqual(2);
  });

  it.each(actions)('over several slices: $action', async (work) => {
    for (const [at, isWritten] of [
      [2, true],
      [3, false],
      [3, true],
      [18, true],
      [19, false],
    ] as const)
      await play(work, 110, [
        { at, isWritten },
        { at: 2, isWritten: true },
      ]);
  });
});
