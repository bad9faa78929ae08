import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { createAnswerRoom } from '../../../src/http/answer/answer-room.ts';
import { createCounters } from '../../../src/model/counters.ts';
import { Refusal } from '../../../src/model/failure.ts';

const MEBIBYTE = 1024 * 1024;

const aRoom = (maxBytes: number) => {
  const counters = createCounters();
  const room = createAnswerRoom(counters, maxBytes);
  const answer = () => {
    const raw = Object.assign(new EventEmitter(), { closed: false });
    const end = (): void => {
      raw.closed = true;
      raw.emit('close');
    };
    return { ...room.shareOf({ raw } as unknown as FastifyReply), end };
  };
  return { room, counters, answer };
};
const overloaded = expect.objectContaining({
  failure: expect.objectContaining({ code: 'overloaded', retryAfterSeconds: 1 }) as unknown,
}) as Error;

describe('the room of answers under way', () => {
  it('is filled to its last byte and not beyond, and a refusal says so and is counted', () => {
    const { room, counters, answer } = aRoom(100);
    answer().expect(60);
    answer().expect(40);
    expect(room.heldBytes()).toBe(100);
    const third = answer();
    expect(() => third.expect(1)).toThrow(overloaded);
    expect(() => third.expect(1)).toThrow('hold 100 of 100 bytes (--max-answer-bytes)');
    expect([room.heldBytes(), counters.answersRefused]).toEqual([100, 2]);
    expect(() => third.expect(1)).toThrow(Refusal);
  });

  it('comes back when the connection has the answer, or is gone', () => {
    const { room, answer } = aRoom(100);
    const first = answer();
    first.expect(100);
    first.end();
    expect(room.heldBytes()).toBe(0);
    answer().expect(100);
    const late = answer();
    late.end();
    late.expect(100); // nobody waits for it
    late.hold(100);
    expect(room.heldBytes()).toBe(100);
  });

  it('serves an answer larger than all of it when it is the only large one, and no second one beside it', () => {
    const { room, answer } = aRoom(8 * MEBIBYTE);
    const large = answer();
    large.expect(1000 * MEBIBYTE);
    expect(room.heldBytes()).toBe(7 * MEBIBYTE);
    expect(() => answer().expect(MEBIBYTE + 1)).toThrow(overloaded);
    large.end();
    answer().expect(MEBIBYTE + 1);
  });

  it('keeps an eighth for answers that are not large', () => {
    const { answer } = aRoom(8 * MEBIBYTE);
    answer().expect(8 * MEBIBYTE);
    answer().expect(MEBIBYTE);
    expect(() => answer().expect(1)).toThrow(overloaded);
  });

  it('is corrected as pieces leave, down to what a stream holds at the least', () => {
    const { room, answer } = aRoom(100);
    const share = answer();
    share.expect(64);
    share.expect(80); // more is known
    share.expect(70); // an answer is never expected to be less
    expect(room.heldBytes()).toBe(80);
    share.left(30, 10);
    expect(room.heldBytes()).toBe(50);
    share.left(60, 10);
    expect(room.heldBytes()).toBe(10);
    share.hold(25);
    expect(room.heldBytes()).toBe(25);
    share.end();
    expect(room.heldBytes()).toBe(0);
  });
});
