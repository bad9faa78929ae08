/** Runs that fail and are restarted at the step that failed, again and again under one key. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ask, insist } from './runs-asking.ts';
import type { Tree } from './runs-verify.ts';

/** A run that failed, and the one that was restarted from it. */
export type Mended = { readonly failed: string; readonly again: string };

const FAILED_STEP = 'fragile';
const BETWEEN_MS = 100;

/**
 * Starts runs that fail, and restarts each when it has failed, until it is over.
 * @throws Error when the same key names two runs
 */
export const mendRuns = async (options: {
  readonly ask: Ask;
  readonly seed: number;
  readonly random: () => number;
  readonly isOver: () => boolean;
}): Promise<Mended[]> => {
  const { ask, seed, random } = options;
  const mended: Mended[] = [];
  while (!options.isOver()) {
    const n = `${seed}-mend-${mended.length}`;
    const start = { definition_id: 'mend', input: { broken: true }, idempotency_key: n };
    // 404: no worker has brought the definition yet.
    const { status, body } = await insist(ask, 'POST', '/runs', start, [200, 201, 404]);
    if (status === 404) {
      await sleep(BETWEEN_MS);
      continue;
    }
    const failed = body['run_id'] as string;
    while ((await insist(ask, 'GET', `/runs/${failed}`, undefined, [200])).body['status'] !== 'failed')
      await sleep(BETWEEN_MS);
    const restart = async (): Promise<string> => {
      const options = { idempotency_key: `${n}-again`, input: { broken: false } };
      const { body } = await insist(ask, 'POST', `/runs/${failed}/restart`, options, [200, 201]);
      return body['run_id'] as string;
    };
    const again = await restart();
    await sleep(random() * BETWEEN_MS);
    const same = await restart();
    if (same !== again) throw new Error(`run ${failed} was restarted under one key as ${again} and as ${same}`);
    mended.push({ failed, again });
  }
  return mended;
};

/**
 * Says how a restarted run does not begin where the other failed, or nothing.
 * @param ends `failed` where it was restarted with what had made it fail
 */
export const restartFault = (
  failed: Tree,
  again: Tree,
  ends: 'succeeded' | 'failed' = 'succeeded',
): string | undefined => {
  const { restarted_from: from, attempts, status } = again.run;
  if (failed.run.status !== 'failed' || failed.run.error?.step_id !== FAILED_STEP)
    return `the run that was to fail is ${failed.run.status}, at ${failed.run.error?.step_id}`;
  if (status !== ends) return `the restarted run is ${status}: ${JSON.stringify(again.run.error)}`;
  if (from?.run_id !== failed.run.run_id || from.step_id !== FAILED_STEP || from.visit !== 1)
    return `it says that it was restarted from ${JSON.stringify(from)}`;
  const [first] = again.journal.filter(({ kind }) => kind === 'cursor.moved');
  if (first?.step_id !== FAILED_STEP) return `it began at ${first?.step_id}`;
  if (attempts.some(({ step_id }) => step_id === 'prepare')) return 'it did again what had been done';
  return again.run.trace_id === failed.run.trace_id ? 'it shares the trace of the run that failed' : undefined;
};
