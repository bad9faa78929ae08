import { describe, expect, it } from 'vitest';
import { createAdmission, MEMORY_PER_BODY_BYTE } from '../../src/ingest/admission.ts';
import { Refusal } from '../../src/model/failure.ts';

const failureOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
  return undefined;
};

/** Room for exactly this many bytes of bodies. */
const roomFor = (bodyBytes: number, maxRequests = 100) =>
  createAdmission(bodyBytes * MEMORY_PER_BODY_BYTE, maxRequests);

describe('admission', () => {
  it('lets bodies in up to the bound, and refuses the byte beyond it with 429 overloaded and a time to retry', () => {
    const admission = roomFor(100);
    admission.enter().hold(60);
    const second = admission.enter();
    second.hold(40);
    expect(failureOf(() => second.hold(1))).toEqual({
      code: 'overloaded',
      message: 'the requests in flight hold 400 of 400 bytes (--max-inflight-bytes); send this request again later',
      retryAfterSeconds: 1,
    });
  });

  it('refuses an announced body that would not fit now before a byte of it is read', () => {
    const admission = roomFor(100);
    admission.enter().hold(60);
    expect(failureOf(() => admission.enter(40))).toBeUndefined();
    expect(failureOf(() => admission.enter(41))).toMatchObject({ code: 'overloaded' });
  });

  it('takes nothing from others for what is announced and not sent', () => {
    const admission = roomFor(100);
    admission.enter(100);
    expect(failureOf(() => admission.enter(100).hold(100))).toBeUndefined();
  });

  it('lets a request that is alone pass whatever its size, so that the largest legal body passes under any bound', () => {
    const admission = roomFor(10);
    const alone = admission.enter(1000);
    alone.hold(500);
    alone.hold(500);
    expect(admission.heldBytes()).toBe(4000);
    expect(failureOf(() => admission.enter().hold(1))).toMatchObject({ code: 'overloaded' });
  });

  it('takes the room of the body that has brought least for one that is further on', () => {
    const admission = roomFor(100);
    const given: string[] = [];
    const arriving = (name: string, bodyBytes: number) => {
      const request = admission.enter();
      request.hold(bodyBytes);
      request.whenEvicted((refusal) => void given.push(`${name} ${refusal.failure.code}`));
      return request;
    };
    const [far, near] = [arriving('far', 40), arriving('near', 20)];
    arriving('middle', 30);
    far.hold(20);
    expect([given, admission.heldBytes()]).toEqual([['near overloaded'], 90 * MEMORY_PER_BODY_BYTE]);
    far.hold(20);
    expect(given).toEqual(['near overloaded', 'middle overloaded']);
    near.release();
    expect(admission.heldBytes()).toBe(80 * MEMORY_PER_BODY_BYTE);
  });

  it('takes no room from a body that is further on, nor from one that has been read', () => {
    const admission = roomFor(100);
    const evicted: string[] = [];
    const read = admission.enter();
    read.hold(10);
    read.whenEvicted(() => void evicted.push('read'));
    read.whenEvicted(undefined);
    const further = admission.enter();
    further.hold(80);
    further.whenEvicted(() => void evicted.push('further'));
    const late = admission.enter();
    late.hold(10);
    expect(failureOf(() => late.hold(1))).toMatchObject({ code: 'overloaded' });
    expect(evicted).toEqual([]);
  });

  it('has an eighth more room for small requests, while large ones hold all of it', () => {
    const room = 16 * 1024 * 1024;
    const small = 64 * 1024;
    const admission = roomFor(room);
    admission.enter().hold(room - small);
    const large = admission.enter();
    large.hold(small);
    expect(failureOf(() => large.hold(1))).toMatchObject({ code: 'overloaded' });
    expect(failureOf(() => admission.enter(small + 1))).toMatchObject({ code: 'overloaded' });
    for (let held = 0; held < room / 8; held += small) admission.enter(small).hold(small);
    expect(admission.heldBytes()).toBe((room + room / 8) * MEMORY_PER_BODY_BYTE);
    expect(failureOf(() => admission.enter(1))).toMatchObject({ code: 'overloaded' });
  });

  it('bounds the number of requests', () => {
    const admission = roomFor(100, 2);
    admission.enter();
    const second = admission.enter();
    expect(failureOf(() => admission.enter())).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
    second.release();
    expect(failureOf(() => admission.enter())).toBeUndefined();
  });

  it('gives back what a request held, once', () => {
    const admission = roomFor(100);
    const request = admission.enter();
    request.hold(100);
    request.release();
    request.release();
    request.hold(50);
    expect([admission.heldBytes(), admission.requests()]).toEqual([0, 0]);
  });

  it('is empty when the last request has left', async () => {
    const admission = roomFor(100);
    await admission.empty();
    const [first, second] = [admission.enter(), admission.enter()];
    const seen: string[] = [];
    const empty = admission.empty().then(() => seen.push('empty'));
    first.release();
    await Promise.resolve();
    seen.push('second leaves');
    second.release();
    await empty;
    expect(seen).toEqual(['second leaves', 'empty']);
  });
});
