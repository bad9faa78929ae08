import { expect, it } from 'vitest';
import { claimFromSeveral } from '../../../src/actors/service/claim-from-several.ts';
import type { ClaimSteps, WorkerCommands } from '../../../src/actors/service/runs-service.ts';
import type { Lease } from '../../../src/model/run.ts';
import { createFakeClock } from '../run-harness.ts';

type Claim = WorkerCommands['claim'];
const request = (waitMs: number): ClaimSteps => ({ reach: 'all', workerId: 'w', max: 1, waitMs });
const lease = (leaseId: string): Lease => ({ leaseId }) as Lease;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

/** A kernel that has nothing until it is given a lease, and answers claims that wait. */
const aKernel = () => {
  const waiting = new Set<(leases: readonly Lease[]) => void>();
  const asked: number[] = [];
  let ready: Lease[] = [];
  const claim: Claim = async ({ waitMs }, signal) => {
    asked.push(waitMs);
    if (ready.length > 0) return { ok: true, value: ready.splice(0) };
    if (waitMs === 0) return { ok: true, value: [] };
    const value = await new Promise<readonly Lease[]>((resolve) => {
      waiting.add(resolve);
      signal?.addEventListener('abort', () => resolve([]));
    });
    return { ok: true, value };
  };
  return {
    claim,
    asked,
    has: (leaseId: string): void => {
      ready = [lease(leaseId)];
    },
    offers: (leaseId: string): void => {
      for (const resolve of waiting) resolve([lease(leaseId)]);
    },
    waits: () => waiting.size,
  };
};
const scene = (kernels: readonly { readonly claim: Claim }[]) => {
  const time = createFakeClock();
  const returned: string[] = [];
  const listeners = new Set<() => void>();
  const places = [...kernels];
  return {
    time,
    returned,
    places,
    changed: () => {
      for (const listener of listeners) listener();
    },
    claim: (waitMs: number, first = 0, signal?: AbortSignal) =>
      claimFromSeveral({
        places: () => places.map(({ claim }) => claim),
        giveBack: (leases) => returned.push(...leases.map(({ leaseId }) => leaseId)),
        request: request(waitMs),
        signal,
        clock: time.clock,
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        first,
      }),
  };
};

it('a claim that does not wait is asked of each kernel in turn, and answered by the first that has something', async () => {
  const [one, other] = [aKernel(), aKernel()];
  const { claim } = scene([one, other]);
  expect(await claim(0)).toEqual({ ok: true, value: [] });
  other.has('l');
  expect(await claim(0)).toEqual({ ok: true, value: [lease('l')] });
  one.has('a');
  other.has('b');
  expect(await claim(0, 1)).toEqual({ ok: true, value: [lease('b')] });
});

it('a claim that waits does so at every kernel; what a second one offers in that moment goes back', async () => {
  const [one, other] = [aKernel(), aKernel()];
  const { claim, returned } = scene([one, other]);
  const claiming = claim(10_000);
  await settle();
  expect([one.waits(), other.waits()]).toEqual([1, 1]);
  other.offers('l');
  one.offers('surplus');
  expect(await claiming).toEqual({ ok: true, value: [lease('l')] });
  await settle();
  expect(returned).toEqual(['surplus']);
});

it('a claim that waits ends with nothing when its time is over or its client has gone', async () => {
  const { claim, time } = scene([aKernel(), aKernel()]);
  const claiming = claim(10_000);
  await settle();
  time.advance(10_000);
  expect(await claiming).toEqual({ ok: true, value: [] });
  const gone = new AbortController();
  const lost = claim(10_000, 0, gone.signal);
  await settle();
  gone.abort();
  expect(await lost).toEqual({ ok: true, value: [] });
});

it('a claim that waits reaches the kernel that took a shard over meanwhile', async () => {
  const late = aKernel();
  const { claim, places, changed } = scene([aKernel()]);
  const claiming = claim(10_000);
  await settle();
  late.has('l');
  places.push(late);
  changed();
  expect(await claiming).toEqual({ ok: true, value: [lease('l')] });
});

it('a service that does not answer keeps no claim from the others; where none answers the refusal says so', async () => {
  const away: Claim = async () => ({ ok: false, failure: { code: 'store_unavailable', message: 'away' } });
  const one = aKernel();
  one.has('l');
  expect(await scene([{ claim: away }, one]).claim(0)).toEqual({ ok: true, value: [lease('l')] });
  expect(await scene([{ claim: away }]).claim(0)).toMatchObject({ ok: false, failure: { message: 'away' } });
  const unknown: Claim = async () => ({ ok: false, failure: { code: 'not_found', message: 'register it' } });
  expect(await scene([one, { claim: unknown }]).claim(10_000)).toMatchObject({ failure: { code: 'not_found' } });
});
