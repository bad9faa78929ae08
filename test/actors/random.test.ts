import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/model/run.ts';
import type { RunningRuns } from '../../src/actors/start.ts';
import { ALL, aDefinition, createHarness, must, settled } from './run-harness.ts';
import { createFaultyStore } from './store-faults.ts';

const definitions = [
  aDefinition('kid', [{ id: 'work', kind: 'task', retry: { max_attempts: 2, backoff_ms: 1000 } }]),
  aDefinition(
    'flow',
    [
      { id: 'first', kind: 'task', timeout_ms: 20_000, on_error: [{ class: 'fatal', to: 'ask' }] },
      { id: 'once', kind: 'task', delivery: 'at_most_once', on_error: [{ to: 'nap' }] },
      {
        id: 'ask',
        kind: 'wait_event',
        event: 'go',
        key: '${input.k}',
        accept_parked: true,
        timeout_ms: 15_000,
        on_timeout: 'continue',
      },
      { id: 'nap', kind: 'sleep', sleep_ms: 3000 },
      {
        id: 'kids',
        kind: 'child',
        definition: 'kid',
        for_each: '${input.l}',
        max_parallel: 2,
        on_error: [{ code: 'child_failed', to: 'last' }],
      },
      { id: 'last', kind: 'task', next: [{ when: 'visits.last < 2', to: 'first' }, { to: 'end' }] },
    ],
    { limits: { run_timeout_ms: 600_000, max_steps: 40 } },
  ),
];

type Act =
  | { readonly do: 'start' | 'serve' | 'claim' | 'reopen' | 'cancel' | 'publish' | 'giveBack' }
  | { readonly do: 'pass' | 'jump'; readonly ms: number }
  | { readonly do: 'fault'; readonly at: 'before' | 'after' }
  | {
      readonly do: 'call';
      readonly call: 'started' | 'heartbeat' | 'complete' | 'fail' | 'unservable' | 'retryable';
      readonly nth: number;
    };

const acts = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Act>({ do: 'start' }) },
    { weight: 6, arbitrary: fc.constant<Act>({ do: 'claim' }) },
    { weight: 14, arbitrary: fc.constant<Act>({ do: 'serve' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Act>({ do: 'reopen' }, { do: 'cancel' }, { do: 'publish' }, { do: 'giveBack' }),
    },
    {
      weight: 4,
      arbitrary: fc
        .oneof(fc.integer({ min: 500, max: 4000 }), fc.integer({ min: 4000, max: 40_000 }))
        .map((ms): Act => ({ do: 'pass', ms })),
    },
    {
      weight: 2,
      // The machine's clock is set, by a second to ten years, forth or back.
      arbitrary: fc
        .tuple(
          fc.constantFrom(1, -1),
          fc.constantFrom(1000, 60_000, 86_400_000, 315_360_000_000),
          fc.double({ min: 0.1, max: 1, noNaN: true }),
        )
        .map(([way, most, part]): Act => ({ do: 'jump', ms: way * Math.ceil(most * part) })),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom<'before' | 'after'>('before', 'after').map((at): Act => ({ do: 'fault', at })),
    },
    {
      weight: 12,
      arbitrary: fc
        .record({
          call: fc.constantFrom(
            'started',
            'started',
            'heartbeat',
            'complete',
            'complete',
            'fail',
            'unservable',
            'retryable',
          ),
          nth: fc.nat(5),
        })
        .map(({ call, nth }): Act => ({ do: 'call', call: call as 'started', nth })),
    },
  ),
  { minLength: 20, maxLength: 200, size: 'max' },
);

describe('any history, with faults of the store and restarts in it', () => {
  it('leaves no run stuck, no gap in a journal, one winner a lease and one span an attempt', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (history) => {
        const faulty = createFaultyStore();
        const service = await createHarness({ store: faulty.store, definitions });
        let runs: RunningRuns = service.runs;
        const held: Lease[] = [];
        const ends = new Map<string, number>();
        const runIds: string[] = [];
        const call = async (act: Act & { do: 'call' }): Promise<void> => {
          const lease = held.at(-1 - (act.nth % Math.max(1, held.length)));
          if (lease === undefined) return;
          const who = { ...ALL, leaseId: lease.leaseId, workerId: 'w1' };
          if (act.call === 'started' || act.call === 'heartbeat') {
            await runs[act.call](who);
            return;
          }
          const ended =
            act.call === 'complete'
              ? await runs.complete({ ...who, output: 1, statePatch: { n: act.nth } })
              : await runs.fail({ ...who, error: { class: act.call === 'fail' ? 'fatal' : act.call, message: 'm' } });
          if (ended.ok) ends.set(lease.leaseId, (ends.get(lease.leaseId) ?? 0) + 1);
        };
        const claim = async (): Promise<void> => {
          const gone = new AbortController();
          const claimed = runs.claim({ ...ALL, workerId: 'w1', max: 3, waitMs: 1000 }, gone.signal);
          await settled(runs).catch(() => {});
          gone.abort();
          const leases = await claimed;
          if (leases.ok) held.push(...leases.value);
        };
        const pass = async (ms: number): Promise<void> => {
          for (let left = ms; left > 0; left -= 1000) {
            service.time.advance(Math.min(1000, left));
            await runs.tick().catch(() => {});
          }
        };
        for (const act of history)
          switch (act.do) {
            case 'start': {
              const started = await runs.startRun({
                ...ALL,
                project: 'p',
                definitionId: 'flow',
                input: { k: 'k', l: [1, 2, 3] },
              });
              if (started.ok) runIds.push(started.value.run.runId);
              break;
            }
            case 'claim':
              await claim();
              break;
            case 'serve':
              await claim();
              for (const verb of ['started', 'complete'] as const) await call({ do: 'call', call: verb, nth: 0 });
              break;
            case 'call':
              await call(act);
              break;
            case 'pass':
              await pass(act.ms);
              break;
            case 'jump':
              service.time.jumpWall(act.ms);
              break;
            case 'fault':
              faulty.failNext(act.at);
              break;
            case 'reopen':
              runs = await service.reopen();
              break;
            case 'publish':
              await runs.publishEvent({ ...ALL, project: 'p', event: 'go', key: 'k', payload: 1 });
              break;
            case 'giveBack':
              await runs.giveBack(held.slice(-1).map(({ leaseId }) => leaseId));
              break;
            case 'cancel':
              await runs.cancelRun({ ...ALL, runId: runIds.at(-1) ?? 'none' });
              break;
            default:
              throw new Error('unknown act');
          }
        expect(await runs.findStuckRuns()).toEqual([]);
        expect(Math.max(0, ...ends.values())).toBeLessThanOrEqual(1);
        for (const runId of runIds) {
          const { events } = must(await runs.journal({ ...ALL, runId, after: -1, limit: 10_000 }));
          expect(events.map(({ seq }) => seq)).toEqual(events.map((_, seq) => seq));
          const now = must(await runs.getActor({ ...ALL, type: 'run', id: runId }));
          const folded = must(await runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: events.length - 1 }));
          expect({ value: folded.value, context: folded.context }).toEqual({ value: now.value, context: now.context });
        }
        // Left alone for the time that a run may take, with all faults over, every run ends.
        while (
          await runs.tick().then(
            () => false,
            () => true,
          )
        );
        await pass(700_000);
        for (const runId of runIds) {
          const run = must(await runs.getRun({ ...ALL, runId }));
          expect(['succeeded', 'failed', 'cancelled']).toContain(run.status);
          expect([run.timers, run.waits]).toEqual([[], []]);
          expect(run.children.every(({ status }) => ['succeeded', 'failed', 'cancelled'].includes(status))).toBe(true);
          expect(run.attempts.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
          await runs.flushOutbox();
          const spans = new Set(service.spans.map(({ spanId }) => spanId));
          for (const { spanId } of run.attempts) expect(spans.has(spanId)).toBe(true);
          for (const { stepId } of run.attempts.filter(({ stepId }) => stepId === 'once'))
            expect(
              run.attempts.filter((one) => one.stepId === stepId && one.startedAt !== undefined && one.visit === 1)
                .length,
            ).toBeLessThanOrEqual(1);
        }
        expect(service.faults.filter((fault) => !String(fault).includes('the disk'))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
