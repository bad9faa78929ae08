import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Pulse, startHeart } from '../../sdk/typescript/src/heart.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A heart whose beats are noted, each with when it came and what it carried. */
const heartOf = (heartbeatMs: number, answer: (beat: number) => Pulse | Promise<Pulse> = () => 'again') => {
  const beats: [number, string | undefined][] = [];
  const signals: AbortSignal[] = [];
  const heart = startHeart(heartbeatMs, async (details, signal) => {
    beats.push([Date.now() - from, details]);
    signals.push(signal);
    return answer(beats.length);
  });
  const from = Date.now();
  return { heart, beats, signals };
};
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('a heart', () => {
  it('beats every heartbeat_ms, and not once more after it was stopped', async () => {
    const { heart, beats } = heartOf(10_000);
    await pass(30_000);
    expect(beats).toEqual([
      [10_000, undefined],
      [20_000, undefined],
      [30_000, undefined],
    ]);
    heart.stop();
    await pass(60_000);
    expect(beats).toHaveLength(3);
  });

  it('tells details within a second, once, the newest of those that waited', async () => {
    const { heart, beats } = heartOf(10_000);
    await pass(500);
    heart.tell('1');
    heart.tell('2');
    await pass(20_500);
    expect(beats).toEqual([
      [1000, '2'],
      [11_000, undefined],
      [21_000, undefined],
    ]);
  });

  it('tries a quarter of heartbeat_ms later when nobody answered, with the same details unless there are newer', async () => {
    const { heart, beats } = heartOf(4000, (beat) => (beat < 3 ? 'sooner' : 'again'));
    heart.tell('1');
    await pass(2000);
    heart.tell('2');
    await pass(1000);
    expect(beats).toEqual([
      [1000, '1'],
      [2000, '1'],
      [3000, '2'],
    ]);
    await pass(4000);
    expect(beats.at(-1)).toEqual([7000, undefined]);
  });

  it('ends for good when a beat says that it is over', async () => {
    const { heart, beats } = heartOf(1000, () => 'over');
    await pass(10_000);
    heart.tell('late');
    await heart.flush(1000);
    await pass(10_000);
    expect(beats).toEqual([[1000, undefined]]);
  });

  it('sends waiting details at once when it is flushed, after the beat that is on its way', async () => {
    let answer = (_pulse: Pulse): void => {};
    const { heart, beats } = heartOf(1000, (beat) =>
      beat > 1
        ? 'again'
        : new Promise((resolve) => {
            answer = resolve;
          }),
    );
    await pass(1000);
    heart.tell('mark');
    const flushed = heart.flush(60_000);
    await pass(0);
    expect(beats).toHaveLength(1);
    answer('again');
    await flushed;
    expect(beats).toEqual([
      [1000, undefined],
      [1000, 'mark'],
    ]);
  });

  it('repeats details in a flush until they arrive', async () => {
    const { heart, beats } = heartOf(4000, (beat) => (beat < 3 ? 'sooner' : 'again'));
    heart.tell('mark');
    const flushed = heart.flush(60_000);
    await pass(2000);
    await flushed;
    expect(beats).toEqual([
      [0, 'mark'],
      [1000, 'mark'],
      [2000, 'mark'],
    ]);
  });

  it('ends a flush when its time is over, and when it is stopped', async () => {
    const unanswered = () => heartOf(4000, () => 'sooner');
    for (const end of [() => pass(500), () => Promise.resolve()]) {
      const { heart, beats } = unanswered();
      heart.tell('mark');
      const flushed = heart.flush(500);
      await end();
      heart.stop();
      await flushed;
      expect(beats).toEqual([[0, 'mark']]);
    }
  });

  it('cuts the beat that is on its way when it is stopped', async () => {
    const { heart, signals } = heartOf(1000, () => new Promise(() => {}));
    await pass(1000);
    expect(signals[0]?.aborted).toBe(false);
    heart.stop();
    expect(signals[0]?.aborted).toBe(true);
  });
});
