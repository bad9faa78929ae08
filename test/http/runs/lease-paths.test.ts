import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getShortestPaths, getSimplePaths } from 'xstate/graph';
import {
  isLive,
  leaseMachine,
  type LeaseEvent,
  type LeaseSnapshot,
  takeCall,
  type WorkerEvent,
} from '../../../src/machines/lease.ts';
import { initialSnapshot, step } from '../../../src/machines/transition.ts';
import { aFlow, aTask, type RunsHttp, startRunsService, type WireLease } from './service.ts';

// Every simple path through the lease machine, walked over HTTP; at its end each worker call is made by the holder and by a
// stranger, and must be answered as the machine says.

const TTL = 30_000;
const WINDOW = 5000;
const OFFER = 5000;
const TIMEOUT = 60_000;

const deliveries = ['at_least_once', 'at_most_once'] as const;
type Delivery = (typeof deliveries)[number];
const eventsOf = (delivery: Delivery): LeaseEvent[] => [
  { type: 'lease.offered', delivery, expiresAt: 1 },
  { type: 'lease.started', expiresAt: 1 },
  { type: 'lease.beat', expiresAt: 1 },
  { type: 'lease.completed' },
  { type: 'lease.failed' },
  { type: 'lease.refused' },
  // An offer lapses by its deadline here. That a claimer gives it back is a matter of hanging up: `endpoints.test.ts`.
  { type: 'deadline.due', dueAt: 1, reclaimAt: 1 },
  { type: 'lease.timed_out' },
  { type: 'lease.cancelled' },
];

/** What distinguishes places of the machine as far as a worker can tell. */
const placeOf = ({ value, context }: LeaseSnapshot): string => `${value} ${context.delivery} ${context.bodyRan}`;
const verbs = ['started', 'heartbeat', 'complete', 'fail', 'unservable'] as const;
const eventsOfVerbs = {
  started: { type: 'lease.started', expiresAt: 1 },
  heartbeat: { type: 'lease.beat', expiresAt: 1 },
  complete: { type: 'lease.completed' },
  fail: { type: 'lease.failed' },
  unservable: { type: 'lease.refused' },
} as const satisfies Record<(typeof verbs)[number], WorkerEvent>;

let service: RunsHttp;
beforeAll(async () => {
  service = await startRunsService({
    definitions: deliveries.map((delivery) =>
      aFlow(delivery, [
        aTask('one', { delivery, timeout_ms: TIMEOUT, retry: { backoff_ms: 60_000_000, jitter: 'none' } }),
      ]),
    ),
  });
  await service.must(service.register('stranger'));
});
afterAll(() => service.close());

const call = (verb: (typeof verbs)[number], lease: WireLease, worker: string) =>
  verb === 'fail' || verb === 'unservable'
    ? service.fail(lease, verb === 'fail' ? 'fatal' : 'unservable', {}, worker)
    : service[verb](lease, {}, worker);

/** Brings a lease where the path leads. */
const walk = async (delivery: Delivery, events: readonly LeaseEvent[]): Promise<WireLease> => {
  // A worker that was handed what it could not serve is not offered it again until it registers anew.
  await service.must(service.register('w1'));
  const { run_id } = await service.start(delivery);
  let lease: WireLease | undefined;
  let snapshot = initialSnapshot(leaseMachine);
  for (const event of events) {
    const { value: state } = snapshot;
    snapshot = step(leaseMachine, snapshot, event).next;
    if (event.type === 'lease.offered') {
      [lease] = await service.claim('w1', { wait_ms: 2000, run_id });
      continue;
    }
    if (lease === undefined) throw new Error(`the path begins with ${event.type}`);
    switch (event.type) {
      case 'lease.started':
        await service.must(service.started(lease));
        break;
      case 'lease.beat':
        await service.must(service.heartbeat(lease));
        break;
      case 'lease.completed':
        await service.must(service.complete(lease));
        break;
      case 'lease.failed':
        await service.must(service.fail(lease, 'retryable'));
        break;
      case 'lease.refused':
        await service.must(service.fail(lease, 'unservable'));
        break;
      case 'deadline.due':
        await service.leap(state === 'offered' ? OFFER + 1000 : state === 'running' ? TTL + 100 : WINDOW + 1000);
        break;
      case 'lease.timed_out':
        // Heartbeats keep the lease alive; they do not put the timeout off.
        for (let passed = 0; passed <= TIMEOUT; passed += TTL / 2) {
          await service.heartbeat(lease);
          await service.leap(TTL / 2);
        }
        break;
      case 'lease.cancelled':
        await service.must(service.post(`/runs/${run_id}/cancel`));
        break;
      default:
        throw new Error(`nobody can cause ${JSON.stringify(event)}`);
    }
  }
  if (lease === undefined) throw new Error('the path offers nothing');
  return lease;
};

describe.each(deliveries)('every simple path of the lease machine, delivered %s', (delivery) => {
  const options = {
    events: eventsOf(delivery),
    serializeState: (snapshot: unknown) => placeOf(snapshot as LeaseSnapshot),
    // The service causes no expiry event on a lease that it does not watch; guards say the rest.
    filterEvents: (snapshot: unknown, event: { type: string }) =>
      !(event.type === 'lease.timed_out' && (snapshot as LeaseSnapshot).value === 'orphaned'),
  };
  const paths = getSimplePaths(leaseMachine, options as never)
    .filter(({ steps }) => steps.some(({ event }) => event.type === 'lease.offered'))
    .map(({ state, steps }) => ({
      state,
      events: steps.map(({ event }) => event).filter(({ type }) => type !== ('xstate.init' as string)),
    }));

  it('reaches every state', () => {
    const reached = new Set(paths.map(({ state }) => state.value));
    const all = getShortestPaths(leaseMachine, options as never).map(({ state }) => state.value);
    for (const value of all) if (value !== 'unissued') expect([...reached]).toContain(value);
    expect(paths.length).toBeGreaterThan(8);
  });

  for (const { state, events } of paths) {
    const name = events.map(({ type }) => type.replace('lease.', '')).join(' → ');
    it(`${name}: each call is answered as the machine says`, async () => {
      const runHasEnded =
        state.value === 'cancelled' ||
        state.value === 'succeeded' ||
        (delivery === 'at_most_once' &&
          (state.value === 'failed' || state.value === 'timed_out' || state.value === 'reclaimed')) ||
        (delivery === 'at_most_once' && state.value === 'unservable' && state.context.bodyRan);
      for (const worker of ['stranger', 'w1'])
        for (const verb of verbs) {
          const lease = await walk(delivery, events);
          const answer = takeCall(state, eventsOfVerbs[verb], { isHolder: worker === 'w1', runHasEnded });
          const expected = 'refusal' in answer ? answer.refusal : undefined;
          const { status, body } = await call(verb, lease, worker);
          expect([worker, verb, status, body.code]).toEqual([
            worker,
            verb,
            expected === undefined ? 200 : 409,
            expected,
          ]);
          expect(expected === undefined).toBe(isLive(state.value) && status === 200);
          await service.post(`/runs/${lease.run_id}/cancel`);
        }
    });
  }
});
