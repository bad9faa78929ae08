/** A definition that is paused and resumed while the service is killed, and whether its runs rested meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ask, insist } from './runs-asking.ts';
import { CLOCKS_DIFFER_MS } from './runs-pauses.ts';
import type { Run, Tree } from './runs-verify.ts';

/** From the answer to a pause until its resume was sent, by the clock of this process. */
export type Pause = { readonly from: number; readonly to: number };
export type Shop = { readonly runIds: readonly string[]; readonly pauses: readonly Pause[] };

const DEFINITION = 'shop';
const BEFORE = 3;
const MEANWHILE = 2;
const BETWEEN_MS = 300;
const LONGEST_PAUSE_MS = 1500;

/**
 * Starts runs of one definition, pauses it, starts more, and resumes it, until it is over.
 * @throws Error when a run that was started meanwhile is not held back for that reason
 */
export const keepShop = async (options: {
  readonly ask: Ask;
  readonly seed: number;
  readonly random: () => number;
  readonly isOver: () => boolean;
}): Promise<Shop> => {
  const { ask, seed, random } = options;
  const runIds: string[] = [];
  const pauses: Pause[] = [];
  const start = async (): Promise<string> => {
    const given = { definition_id: DEFINITION, input: {}, idempotency_key: `${seed}-shop-${runIds.length}` };
    for (;;) {
      // 404: no worker has brought the definition yet.
      const { status, body } = await insist(ask, 'POST', '/runs', given, [200, 201, 404]);
      if (status === 404) {
        await sleep(BETWEEN_MS);
        continue;
      }
      const runId = body['run_id'] as string;
      runIds.push(runId);
      return runId;
    }
  };
  while (!options.isOver()) {
    for (let count = 0; count < BEFORE; count += 1) await start();
    await sleep(random() * BETWEEN_MS);
    await insist(ask, 'POST', `/definitions/${DEFINITION}/pause`, { reason: 'stocktaking' }, [200]);
    const from = Date.now();
    const meanwhile: string[] = [];
    for (let count = 0; count < MEANWHILE; count += 1) meanwhile.push(await start());
    await sleep(random() * LONGEST_PAUSE_MS);
    for (const id of meanwhile) {
      const run = (await insist(ask, 'GET', `/runs/${id}`, undefined, [200])).body as unknown as Run;
      if (run.status !== 'queued' || run.queued_reason !== 'definition_paused')
        throw new Error(`run ${id} of a paused definition is ${run.status}, ${run.queued_reason}`);
    }
    pauses.push({ from, to: Date.now() });
    await insist(ask, 'POST', `/definitions/${DEFINITION}/resume`, {}, [200]);
    await sleep(random() * BETWEEN_MS);
  }
  return { runIds, pauses };
};

/** Says what a run did while its definition was paused, or nothing: nothing of it was offered, and it did not begin. */
export const shopFault = ({ run, journal }: Tree, pauses: readonly Pause[]): string | undefined => {
  const isHeldAt = (text: string): boolean => {
    const at = Date.parse(text);
    return pauses.some(({ from, to }) => at > from + CLOCKS_DIFFER_MS && at < to - CLOCKS_DIFFER_MS);
  };
  const offered = run.attempts.find(({ offered_at }) => isHeldAt(offered_at));
  if (offered !== undefined)
    return `lease ${offered.lease_id} was offered at ${offered.offered_at}, while its definition was paused`;
  const first = journal.find(({ kind }) => kind === 'cursor.moved');
  return first !== undefined && isHeldAt(first.at)
    ? `it began at ${first.at}, while its definition was paused`
    : undefined;
};
