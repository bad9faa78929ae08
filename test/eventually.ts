import { setTimeout as sleep } from 'node:timers/promises';

/** Below the time after which a test counts as hung, so that it is this that says what was waited for. */
const GIVEN_UP_MS = 240_000;
const LOOK_EVERY_MS = 10;

/**
 * Looks again and again until there is something other than `false`: for what another process or a thread does, which sends no event. How long that takes
 * is nobody's affair here, for a machine may be busy.
 * @param what what is waited for, as the error names it
 * @returns what was found
 */
export const eventually = async <T>(
  what: string,
  look: () => T | false | undefined | Promise<T | false | undefined>,
): Promise<T> => {
  const givenUpAt = performance.now() + GIVEN_UP_MS;
  for (;;) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    if (performance.now() > givenUpAt) throw new Error(`waited ${GIVEN_UP_MS / 1000} s for ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
};
