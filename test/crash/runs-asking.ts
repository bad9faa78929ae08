/** Calls that are made until they are answered, as the service may be away. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './runs-verify.ts';

/** One call of the API. @throws Error when the connection broke */
export type Ask = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Answer>;

/** An answer that the service must not give: it ends the campaign. */
export class WrongAnswer extends Error {}

/** What was not answered by then never will be. */
export const GIVE_UP_MS = 300_000;
const AGAIN_MS = 20;

/**
 * Makes a call until its answer has one of the statuses. A 503 and a broken connection are tried again.
 * @throws WrongAnswer for any other status, and when nothing was answered for five minutes
 */
export const insist = async (
  ask: Ask,
  method: 'GET' | 'POST',
  path: string,
  body: object | undefined,
  expected: readonly number[],
): Promise<Answer> => {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      const answer = await ask(method, path, body);
      if (expected.includes(answer.status)) return answer;
      if (answer.status !== 503)
        throw new WrongAnswer(`${method} ${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    } catch (error) {
      if (error instanceof WrongAnswer) throw error;
    }
    if (performance.now() > giveUpAt) throw new WrongAnswer(`${method} ${path} was not answered`);
    await sleep(AGAIN_MS);
  }
};
