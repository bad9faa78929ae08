import { expect, it } from 'vitest';
import { claimFromSeveral, type Place } from '../../../src/actors/service/claim-from-several.ts';
import type { ClaimSteps, WorkerCommands } from '../../../src/actors/service/runs-service.ts';
import type { Lease } from '../../../src/model/run.ts';
import { createFakeClock } from '../run-harness.ts';

type Claim = WorkerCommands['claim'];
const request = (waitMs: number, max: number): ClaimSteps => ({ reach: 'all', workerId: 'w', max, waitMs });
const lease = (leaseId: string): Lease => ({ leaseId }) as Lease;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

/** A kernel that has nothing until it is given a lease, and answers claims that wait. @param isSlow it answers one whose wait ended when it is told to */
const aKernel = (isSlow = false) => {
  const waiting = new Set<(leases: readonly Lease[]) => void>();
  const asked: { readonly waitMs: number; readonly max: number }[] = [];
  let ready: Lease[] = [];
  const claim: Claim = async ({ waitMs, max }, signal) => {
    asked.push({ waitMs, max });
    if (ready.length > 0) return { ok: true, value: ready.splice(0) };
    if (waitMs === 0) return { ok: true, value: [] };
    const value = await new Promise<readonly Lease[]>((resolve) => {
      waiting.add(resolve);
      if (!isSlow) signal?.addEventListener('abort', () => resolve([]));
    });
    return { ok: true, value };
  };
  return {
    claim,
    asked,
    has: (leaseId: string): void => {
      ready = [lease(leaseId)];
    },
    offers: (...leaseIds: string[]): void => {
      for (const resolve of waiting) resolve(leaseIds.map(lease));
    },
    waits: () => waiting.size,
  };
};
const scene = (kernels: readonly (Pick<Place, 'claim'> & Partial<Place>)[]) => {
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
    claim: (waitMs: number, first = 0, { signal, max = 10 }: { signal?: AbortSignal; max?: number } = {}) =>
      claimFromSeveral({
        places: () => places.map(({ claim, shards = 1 }) => ({ claim, shards })),
        giveBack: (leases) => returned.push(...leases.map(({ leaseId }) => leaseId)),
        request: request(waitMs, max),
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

it('a claim that waits does so at every kernel, and what a second one was offering in that moment is part of its answer', async () => {
  const [one, other, third] = [aKernel(), aKernel(true), aKernel()];
  const { claim, returned } = scene([one, other, third]);
  const claiming = claim(10_000);
  await settle();
  expect([one.waits(), other.waits(), third.waits()]).toEqual([1, 1, 1]);
  one.offers('a', 'b');
  await settle();
  other.offers('c');
  expect(await claiming).toEqual({ ok: true, value: ['a', 'b', 'c'].map(lease) });
  expect(returned).toEqual([]);
});

it('places at which a claim waits may offer no more than it takes, each by its shards; one place is asked for one at least', async () => {
  const places = [aKernel(), { ...aKernel(), shards: 2 }, { ...aKernel(), shards: 3 }] as const;
  const asked = () => places.map((place) => place.asked.at(-1)?.max);
  const { claim, time } = scene(places);
  for (const [max, shares] of [
    [13, [3, 4, 6]],
    [6, [1, 2, 3]],
    [1, [1, 1, 1]],
  ] as const) {
    const claiming = claim(10_000, 0, { max });
    await settle();
    expect(asked()).toEqual(shares);
    time.advance(10_000);
    await claiming;
  }
});

it('what is offered beyond what a claim takes goes back, and what comes too late, too', async () => {
  const [one, other, hanging] = [aKernel(), aKernel(true), aKernel(true)];
  const { claim, returned, time } = scene([one, other, hanging]);
  const claiming = claim(10_000, 0, { max: 1 });
  await settle();
  one.offers('a');
  await settle();
  other.offers('surplus');
  await settle();
  time.advance(100);
  expect(await claiming).toEqual({ ok: true, value: [lease('a')] });
  hanging.offers('late');
  await settle();
  expect(returned).toEqual(['surplus', 'late']);
});

it('a service that hangs keeps no claim from what others have', async () => {
  const one = aKernel();
  one.has('l');
  const hangs: Claim = () => new Promise(() => {});
  const { claim, time } = scene([{ claim: hangs }, one]);
  const claiming = claim(10_000);
  await settle();
  time.advance(1_000);
  await settle();
  time.advance(100);
  expect(await claiming).toEqual({ ok: true, value: [lease('l')] });
});

it('a claim that waits ends with nothing when its time is over or its client has gone', async () => {
  const { claim, time } = scene([aKernel(), aKernel()]);
  const claiming = claim(10_000);
  await settle();
  time.advance(10_000);
  expect(await claiming).toEqual({ ok: true, value: [] });
  const gone = new AbortController();
  const lost = claim(10_000, 0, { signal: gone.signal });
  await settle();
  gone.abort();
  expect(await lost).toEqual({ ok: true, value: [] });
});

it('what was being offered to a client that has gone goes back', async () => {
  const [one, other] = [aKernel(true), aKernel()];
  const { claim, returned } = scene([one, other]);
  const gone = new AbortController();
  const lost = claim(10_000, 0, { signal: gone.signal });
  await settle();
  gone.abort();
  one.offers('l');
  expect(await lost).toEqual({ ok: true, value: [] });
  expect(returned).toEqual(['l']);
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
