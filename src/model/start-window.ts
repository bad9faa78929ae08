import type { UnixMs } from './run.ts';

/**
 * The starts of a rate that may still count: times on a clock that does not jump, oldest first, at most as many as the limit had
 * places while they were taken. A start at `t` counts until `t + perMs` inclusive: times are whole milliseconds, and so
 * two starts that are `perMs` apart by them may be nearer than that in truth.
 */
export type Starts = readonly UnixMs[];

/** The starts that still count. */
export const startsWithin = (starts: Starts, perMs: number, now: UnixMs): Starts => {
  let first = 0;
  while (first < starts.length && now - (starts[first] as UnixMs) > perMs) first += 1;
  return first === 0 ? starts : starts.slice(first);
};

/** When there is room for one more, where nobody takes it before; `undefined` where there is room now. */
export const roomAt = (starts: Starts, limit: number, perMs: number): UnixMs | undefined => {
  const passing = starts[starts.length - limit];
  return passing === undefined ? undefined : passing + perMs + 1;
};

/** When none of them counts any more. */
export const emptyAt = (starts: Starts, perMs: number): UnixMs | undefined => {
  const last = starts.at(-1);
  return last === undefined ? undefined : last + perMs + 1;
};

/**
 * A few characters a start: the first as its distance from `from`, each further one as its distance from the one before, those of one
 * millisecond counted. So a row moves in time with `from` alone.
 */
export const encodeStarts = (starts: Starts, from: UnixMs): string => {
  const parts: string[] = [];
  let before = from;
  for (let at = 0; at < starts.length; ) {
    const time = starts[at] as UnixMs;
    let next = at + 1;
    while (starts[next] === time) next += 1;
    const distance = (time - before).toString(36);
    parts.push(next - at === 1 ? distance : `${distance}*${(next - at).toString(36)}`);
    before = time;
    at = next;
  }
  return parts.join(',');
};

const ENCODED = /^-?[0-9a-z]{1,11}(?:\*[0-9a-z]{1,5})?(?:,-?[0-9a-z]{1,11}(?:\*[0-9a-z]{1,5})?)*$/;
/** More than any limit of a rate: a text that says so was damaged. */
const MOST_STARTS = 10_000;

/**
 * What `encodeStarts` made. A text that is damaged counts as `limit` starts at `from`: so the rate is not broken, and goes on after one
 * window.
 */
export const decodeStarts = (text: string, from: UnixMs, limit: number): Starts => {
  if (text === '') return [];
  const full = (): Starts => new Array<UnixMs>(limit).fill(from);
  if (!ENCODED.test(text)) return full();
  const starts: UnixMs[] = [];
  let time = from;
  for (const part of text.split(',')) {
    const [distance = '', count] = part.split('*');
    time += Number.parseInt(distance, 36);
    const times = count === undefined ? 1 : Number.parseInt(count, 36);
    if (starts.length + times > MOST_STARTS) return full();
    for (let left = times; left > 0; left -= 1) starts.push(time);
  }
  return starts;
};
