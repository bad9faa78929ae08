/** What scenarios judge with: waiting for what must come, and for what must not. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A scenario that this library cannot run, and why: reported as skipped, never as passed. */
export class Skipped extends Error {}

const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 5;

/**
 * Looks until there is something.
 * @param what is waited for, for the message
 * @param withinMs far above what a correct library takes on a busy machine
 * @throws Error when the time is over
 */
export const until = async <T>(
  what: string,
  withinMs: number | undefined,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> => {
  const limit = withinMs ?? PATIENCE_MS;
  const late = AbortSignal.timeout(limit);
  const refuse = (): never => {
    throw new Error(`no ${what} within ${limit} ms`);
  };
  const aborted = new Promise<undefined>((resolve) => {
    late.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  for (;;) {
    // One look after the other is what this function is for.
    // oxlint-disable-next-line eslint/no-await-in-loop
    const found = await Promise.race([look(), aborted]);
    if (found !== undefined && found !== false) return found;
    if (late.aborted) return refuse();
    // oxlint-disable-next-line eslint/no-await-in-loop
    await sleep(LOOK_EVERY_MS);
  }
};

/** Lets time pass in which something wrong could happen; what is wrong is judged after it. */
export const meanwhile = (ms: number): Promise<void> => sleep(ms);

/** @throws Error where a time lies outside its bounds */
export const between = (what: string, ms: number, least: number, most: number): void => {
  if (ms < least || ms > most) throw new Error(`${what}: ${Math.round(ms)} ms, not between ${least} and ${most} ms`);
};
