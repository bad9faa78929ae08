import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { journalEntryToWire } from '../../../src/http/codec/run.ts';
import { ALL, aDefinition, createHarness, type Harness, must } from '../../../test/actors/run-harness.ts';
import { pastRunOf, placeOfSnapshot } from '../../src/model/run-past.ts';

const flow = aDefinition('flow', [
  { id: 'first', kind: 'task', retry: { max_attempts: 3, backoff_ms: 1000 }, on_error: [{ to: 'ask' }] },
  { id: 'ask', kind: 'wait_event', event: 'go', key: 'k', timeout_ms: 15_000, on_timeout: 'continue' },
  { id: 'nap', kind: 'sleep', sleep_ms: 3000 },
  { id: 'last', kind: 'task', next: [{ when: 'visits.last < 3', to: 'first' }, { to: 'end' }] },
]);

type Act = 'complete' | 'fail' | 'abandon' | 'publish' | 'pause' | 'resume' | 'cancel' | 'pass a little' | 'pass much';

/** Those that come too late are refused, which is nothing to the journal. */
const play = async (service: Harness, runId: string, act: Act): Promise<void> => {
  switch (act) {
    case 'complete':
    case 'fail':
    case 'abandon': {
      const [lease] = await service.claim();
      if (lease === undefined) return;
      await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' });
      if (act === 'complete') await service.complete(lease);
      if (act === 'fail') await service.fail(lease, 'retryable');
      return;
    }
    case 'publish':
      await service.runs.publishEvent({ ...ALL, project: 'p', event: 'go', key: 'k', payload: {} });
      return;
    case 'pause':
      await service.runs.pauseRun({ ...ALL, runId });
      return;
    case 'resume':
      await service.runs.resumeRun({ ...ALL, runId });
      return;
    case 'cancel':
      await service.runs.cancelRun({ ...ALL, runId });
      return;
    case 'pass a little':
      return service.pass(2000);
    case 'pass much':
      return service.pass(40_000);
    default:
      return act satisfies never;
  }
};

const acts = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Act>('complete') },
    { weight: 3, arbitrary: fc.constantFrom<Act>('fail', 'publish', 'pass a little') },
    { weight: 2, arbitrary: fc.constantFrom<Act>('abandon', 'pause', 'resume', 'pass much') },
    { weight: 1, arbitrary: fc.constant<Act>('cancel') },
  ),
  { minLength: 8, maxLength: 30 },
);

it('a run is folded as the service folds it, after every change of runs that were drawn', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(acts, async (drawn) => {
      const service = await createHarness({ definitions: [flow] });
      const { runId } = await service.start('flow');
      for (const act of drawn) await play(service, runId, act);
      const entries = (await service.journal(runId)).map(journalEntryToWire);
      const served = [];
      for (const { seq } of entries) {
        const { value, context } = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
        served.push({ value, context });
      }
      // One change may write several entries; the service says what was after the last of them.
      for (const [seq, { value, context }] of served.entries()) {
        const same = JSON.stringify(served[seq]);
        let last = seq;
        while (last + 1 < served.length && JSON.stringify(served[last + 1]) === same) last += 1;
        const { cursor, visits } = placeOfSnapshot(value, context);
        const past = pastRunOf(entries, last);
        expect({ seq, cursor: past.cursor }).toEqual({ seq, cursor });
        expect(new Map([...past.steps].map(([step, one]) => [step, one.visits]))).toEqual(visits);
        compared += 1;
      }
      await service.runs.close();
    }),
    { numRuns: 40 },
  );
  // Runs are drawn, and some end early.
  expect(compared).toBeGreaterThan(200);
});
