import { expect, it } from 'vitest';
import type { RunningRuns } from '../../../src/actors/start.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createIds, type Harness, must, task, tasks } from '../run-harness.ts';

const ada = { customer: 'ada' };
type Started = { readonly runId: string };

/** A service that is started anew before each call: nothing that matters stands in memory alone. */
const opened = async (createHarness: (options: object) => Promise<Harness>, concurrency: object = {}) => {
  const service = await createHarness({
    definitions: [
      aDefinition('flow', tasks('one', 'two'), {
        concurrency: { key: '${input.customer}', limit: 1, ...concurrency },
        limits: { run_timeout_ms: 60_000 },
      }),
    ],
  });
  const anew = async (): Promise<RunningRuns> => {
    const runs = await service.reopen();
    await runs.tick();
    return runs;
  };
  const call = async <T>(work: (runs: RunningRuns) => Promise<T>): Promise<T> => {
    const runs = await anew();
    const answer = await work(runs);
    await runs.tick();
    return answer;
  };
  return {
    service,
    call,
    start: async (): Promise<Started> =>
      call(async (runs) => must(await runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: ada })).run),
    cancel: async ({ runId }: Started) => call(async (runs) => must(await runs.cancelRun({ ...ALL, runId }))),
    pause: async ({ runId }: Started) => call(async (runs) => must(await runs.pauseRun({ ...ALL, runId }))),
    resume: async ({ runId }: Started) => call(async (runs) => must(await runs.resumeRun({ ...ALL, runId }))),
    look: async ({ runId }: Started) => call(async (runs) => must(await runs.getRun({ ...ALL, runId }))),
    key: async () => (await service.store.listLimits({ reach: 'all', limit: 1 }))[0],
  };
};

onEachEngine(
  'a run that waits for its key, in a service that is started anew before each call',
  ({ createHarness }) => {
    it('is paused, lets others go first, is resumed, and has its turn', async () => {
      const { start, pause, resume, cancel, look, key } = await opened(createHarness);
      const holder = await start();
      const waits = await start();
      await pause(waits);
      await cancel(holder);
      expect((await look(waits)).status).toBe('paused');
      expect(await key()).toBeUndefined();
      const next = await start();
      expect((await look(next)).cursor).toBe('one');
      await resume(waits);
      expect(await key()).toMatchObject({ used: 1, waiting: 1, lines: 1 });
      await cancel(next);
      expect((await look(waits)).cursor).toBe('one');
      await cancel(waits);
      expect(await key()).toBeUndefined();
    });

    it('is cancelled, and leaves the line to those behind it', async () => {
      const { start, cancel, look, key } = await opened(createHarness);
      const holder = await start();
      const first = await start();
      const second = await start();
      await cancel(first);
      expect(await key()).toMatchObject({ used: 1, waiting: 1, lines: 1 });
      await cancel(holder);
      expect((await look(second)).cursor).toBe('one');
      expect(await key()).toMatchObject({ used: 1, waiting: 0, lines: 0 });
    });

    it('times out in the line, and while it is paused there', async () => {
      const { service, start, pause, cancel, look, call, key } = await opened(createHarness);
      const holder = await start();
      const waits = await start();
      const rests = await start();
      await pause(rests);
      service.time.advance(30_000);
      await cancel(holder);
      await cancel(waits);
      const later = await start();
      service.time.advance(30_000);
      await call((runs) => runs.tick());
      expect((await look(rests)).status).toBe('failed');
      expect((await look(later)).cursor).toBe('one');
      service.time.advance(31_000);
      await call((runs) => runs.tick());
      expect((await look(later)).status).toBe('failed');
      expect(await key()).toBeUndefined();
    });

    it('is a restart of one that has ended: it asks for the key anew, and goes on at its step', async () => {
      const { start, cancel, look, call, key } = await opened(createHarness);
      const ended = await start();
      await cancel(ended);
      const holder = await start();
      const restarted = await call(
        async (runs) => must(await runs.restartRun({ ...ALL, runId: ended.runId, fromStep: 'one' })).run,
      );
      expect(await look(restarted)).toMatchObject({ status: 'queued', queuedReason: 'concurrency_key' });
      await cancel(holder);
      expect((await look(restarted)).cursor).toBe('one');
      await cancel(restarted);
      expect(await key()).toBeUndefined();
    });
  },
);

onEachEngine('bursts of starts that cancel the oldest, each in a service that is started anew', ({ createHarness }) => {
  it('leave the newest as many as the limit says, and nobody waits', async () => {
    const { service, call, look, key } = await opened(createHarness, { on_limit: 'cancel_oldest', limit: 2 });
    const all: Started[] = [];
    for (let burst = 0; burst < 3; burst += 1) {
      const runs = await call((open) =>
        Promise.all(
          Array.from(
            { length: 20 },
            async () => must(await open.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: ada })).run,
          ),
        ),
      );
      all.push(...runs);
      expect(await key()).toMatchObject({ used: 2, waiting: 0, lines: 0, state: 'full' });
    }
    const statuses = [];
    for (const run of all) statuses.push((await look(run)).status);
    expect(statuses.slice(0, -2).every((status) => status === 'cancelled')).toBe(true);
    expect(statuses.slice(-2)).toEqual(['queued', 'queued']);
    expect((await look(all.at(-1) ?? { runId: '' })).cursor).toBe('one');
    expect(service.faults).toEqual([]);
  });
});

onEachEngine('steps that were admitted to their rate when the service stopped', ({ createHarness }) => {
  const RATE_MS = 10_000;

  it.each([
    ['and go before those who came after the stop', 0],
    ['also where the clock was set back, so that their numbers are given away again', -4 * (RATE_MS + 1000)],
  ] as const)(
    'wait again where their start no longer counts, in a place that nobody has, %s',
    async (_what, jumpMs) => {
      const given = {
        definitions: [aDefinition('flow', [task('call', { rate: { key: 'provider', limit: 1, per_ms: RATE_MS } })])],
        newId: createIds(),
      };
      const before = await createHarness(given);
      const runs: Started[] = [];
      // Each is admitted in a window of its own, and no worker comes.
      for (let n = 0; n < 4; n += 1) {
        runs.push(await before.start('flow'));
        await before.pass(RATE_MS + 1000);
      }
      before.time.jumpWall(jumpMs);
      const service = await createHarness({ ...given, store: before.store, time: before.time });
      for (let n = 0; n < 6; n += 1) runs.push(await service.start('flow'));
      const ended: string[] = [];
      for (let window = 0; window < 2 * runs.length; window += 1) {
        for (const lease of await service.claim('w1', 10)) {
          must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
          must(await service.complete(lease));
          ended.push(lease.runId);
        }
        await service.pass(RATE_MS + 1000);
      }
      expect(ended.toSorted()).toEqual(runs.map(({ runId }) => runId));
      expect(service.faults).toEqual([]);
      if (jumpMs < 0) return;
      // But for the one that had found a place.
      const [placed = '', ...line] = runs.slice(4).map(({ runId }) => runId);
      expect(ended).toEqual([placed, ...runs.slice(0, 4).map(({ runId }) => runId), ...line]);
    },
  );
});
