import { describe, expect, it } from 'vitest';
import { createDispatcher } from '../../../src/actors/workers/dispatcher.ts';
import { SERVICE } from '../../../src/model/definition/owner.ts';
import type { Runnable, WorkerRecord } from '../../../src/store/runs/run-store.ts';
import { createFakeClock } from '../run-harness.ts';

const aDispatcher = () =>
  createDispatcher({
    clock: createFakeClock().clock,
    now: () => 0,
    queuedRuns: async () => [],
    offerTtlMs: 1000,
  });

/** A worker of some definitions; `looks` counts how often the dispatcher looks at what else it may have. */
const aWorker = (workerId: string, ...ids: string[]) => {
  let looks = 0;
  const worker = {
    workerId,
    owner: SERVICE,
    definitions: ids.map((id) => ({ id, version: 1 })),
    get project() {
      looks += 1;
      return undefined;
    },
  } as unknown as WorkerRecord;
  return { worker, looks: () => looks };
};
const aRun = (runId: string, definitionId: string, order: number): Runnable => ({
  runId,
  project: 'p',
  definitionOwner: SERVICE,
  definitionId,
  definitionVersion: 1,
  order,
});

/** The runs that are offered until nothing is left to do; the store holds none that memory does not. */
const offers = (dispatcher: ReturnType<typeof aDispatcher>): string[] => {
  const offered: string[] = [];
  for (let next = dispatcher.follow(); next !== undefined; next = dispatcher.follow())
    if ('lookup' in next) next.found([]);
    else {
      offered.push(next.offer.id);
      (next.offer.body as { granted: (lease: object) => void }).granted({});
    }
  return offered;
};
const claim = (dispatcher: ReturnType<typeof aDispatcher>, worker: WorkerRecord, more: object = {}): void => {
  void dispatcher.claim({ worker, max: 1, waitMs: 1000, reach: 'all', ...more }, undefined);
};

describe('claims that wait', () => {
  it('for other definitions are not looked at', () => {
    const dispatcher = aDispatcher();
    const idle = aWorker('idle', ...Array.from({ length: 10 }, (_, n) => `idle-${n}`));
    for (let n = 0; n < 1000; n += 1) claim(dispatcher, idle.worker);
    expect(offers(dispatcher)).toEqual([]);
    const before = idle.looks();
    claim(dispatcher, aWorker('busy', 'flow').worker, { max: 50 });
    for (let n = 0; n < 50; n += 1) dispatcher.ready(aRun(`r${n}`, 'flow', n));
    expect(offers(dispatcher)).toHaveLength(50);
    expect(idle.looks()).toBe(before);
  });

  it('are served in the order in which they came, whatever they wait for; each gets the oldest run that it may have', () => {
    const dispatcher = aDispatcher();
    claim(dispatcher, aWorker('first', 'a', 'b').worker);
    claim(dispatcher, aWorker('second', 'b').worker);
    claim(dispatcher, aWorker('third', 'c').worker, { runId: 'named' });
    claim(dispatcher, aWorker('fourth', 'c').worker);
    for (const run of [aRun('b1', 'b', 1), aRun('a2', 'a', 2), aRun('c0', 'c', 0), aRun('named', 'c', 9)])
      dispatcher.ready(run);
    expect(offers(dispatcher)).toEqual(['b1', 'named', 'c0']);
    // The second waits on: what came for it went to the first, which came before.
    dispatcher.ready(aRun('b3', 'b', 3));
    expect(offers(dispatcher)).toEqual(['b3']);
    expect(offers(dispatcher)).toEqual([]);
  });

  it('are found again after a group that failed', () => {
    const dispatcher = aDispatcher();
    claim(dispatcher, aWorker('w', 'a').worker);
    expect(offers(dispatcher)).toEqual([]);
    dispatcher.dropped(new Error('gone'));
    let asked = 0;
    for (let next = dispatcher.follow(); next !== undefined && 'lookup' in next; next = dispatcher.follow()) {
      asked += 1;
      next.found(asked === 1 ? [aRun('r', 'a', 1)] : []);
    }
    expect(asked).toBe(1);
  });
});
