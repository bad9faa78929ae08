/** Actions on groups of runs while the service is killed, and whether each run of a group took its action, once. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { components } from '../../src/model/generated/openapi.ts';
import { type Ask, GIVE_UP_MS, insist } from './runs-asking.ts';
import { CLOCKS_DIFFER_MS, type Hold } from './runs-pauses.ts';
import type { Run, Tree } from './runs-verify.ts';

type Bulk = components['schemas']['Bulk'];
type Action = 'cancel' | 'pause' | 'restart';

/** Runs of `crowd` that were acted on together. */
export type Group = {
  readonly action: Action;
  readonly runIds: readonly string[];
  /** When it was answered to be done. */
  readonly doneAt: number;
  /** Of a pause: until the group was resumed. */
  readonly holds: readonly Hold[];
};

const ACTIONS: readonly Action[] = ['cancel', 'pause', 'restart'];
const GROUP = 12;
const LOOK_MS = 50;
const LONGEST_HOLD_MS = 1000;
const BETWEEN_MS = 200;

/**
 * Begins an action on a group and waits until all of its runs were looked at. A call whose answer was lost is sent again under its key.
 * @returns when it was done
 * @throws Error when its counts are not those of the group
 */
const act = async (
  ask: Ask,
  action: Bulk['action'],
  filter: object,
  expected: number,
  key: string,
): Promise<number> => {
  const { body } = await insist(ask, 'POST', '/runs/bulk', { action, filter, idempotency_key: key }, [200, 202]);
  const bulkId = body['bulk_id'] as string;
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (;;) {
    const bulk = (await insist(ask, 'GET', `/runs/bulk/${bulkId}`, undefined, [200])).body as unknown as Bulk;
    if (bulk.status === 'done') {
      if (bulk.count !== expected || bulk.done !== expected)
        throw new Error(`a ${action} of ${expected} runs ended as ${JSON.stringify(bulk)}`);
      return Date.now();
    }
    if (performance.now() > giveUpAt) throw new Error(`${action} ${bulkId} did not end: ${JSON.stringify(bulk)}`);
    await sleep(LOOK_MS);
  }
};

const detailsOf = (ask: Ask, runIds: readonly string[]): Promise<Run[]> =>
  Promise.all(
    runIds.map(async (id) => (await insist(ask, 'GET', `/runs/${id}`, undefined, [200])).body as unknown as Run),
  );

/**
 * Starts groups of runs and cancels, pauses and resumes, or restarts each with one call, until it is over.
 * @throws Error when an action ends with other counts than those of its group, or a run of a paused group is not paused
 */
export const actOnGroups = async (options: {
  readonly ask: Ask;
  readonly seed: number;
  readonly random: () => number;
  readonly isOver: () => boolean;
}): Promise<Group[]> => {
  const { ask, seed, random } = options;
  const groups: Group[] = [];
  while (!options.isOver()) {
    const action = ACTIONS[groups.length % ACTIONS.length] ?? 'cancel';
    const name = `${seed}-crowd-${groups.length}`;
    const start = async (at: number): Promise<string> => {
      const n = `${name}-${at}`;
      const given = { definition_id: 'crowd', input: { n, broken: action === 'restart' }, idempotency_key: n };
      for (;;) {
        // 404: no worker has brought the definition yet.
        const answer = await insist(
          ask,
          'POST',
          '/runs',
          { ...given, correlation: { session_id: name } },
          [200, 201, 404],
        );
        if (answer.status !== 404) return answer.body['run_id'] as string;
        await sleep(LOOK_MS);
      }
    };
    const runIds = await Promise.all(Array.from({ length: GROUP }, (_, at) => start(at)));
    await sleep(random() * BETWEEN_MS);
    if (action === 'restart')
      while ((await detailsOf(ask, runIds)).some(({ status }) => status !== 'failed')) await sleep(LOOK_MS);
    // What a restart starts is of the same session: it is none of the group.
    await sleep(CLOCKS_DIFFER_MS);
    const filter = {
      definition_id: 'crowd',
      correlation: { session_id: name },
      to: new Date().toISOString(),
      ...(action === 'restart' ? { status: 'failed' } : {}),
    };
    const doneAt = await act(ask, action, filter, GROUP, `${name}-${action}`);
    const holds: Hold[] = [];
    if (action === 'pause') {
      const lost = (await detailsOf(ask, runIds)).find(({ status }) => status !== 'paused');
      if (lost !== undefined) throw new Error(`run ${lost.run_id} was paused with its group, and is ${lost.status}`);
      await sleep(random() * LONGEST_HOLD_MS);
      const to = Date.now();
      holds.push(...runIds.map((runId) => ({ runId, from: doneAt, to })));
      await act(ask, 'resume', filter, GROUP, `${name}-resume`);
      const kept = (await detailsOf(ask, runIds)).find(({ status }) => status === 'paused');
      if (kept !== undefined) throw new Error(`run ${kept.run_id} was resumed with its group, and is paused`);
      for (const at of runIds.keys()) {
        const event = { event: 'gate', key: `${name}-${at}`, payload: {}, event_id: `${name}-${at}` };
        await insist(ask, 'POST', '/events', event, [200]);
      }
    }
    groups.push({ action, runIds, doneAt, holds });
  }
  return groups;
};

/** How a run of a group ends. */
export const endOf = ({ action }: Group): 'succeeded' | 'failed' | 'cancelled' =>
  (({ cancel: 'cancelled', pause: 'succeeded', restart: 'failed' }) as const)[action];

/** Says what a cancelled run did after its cancel was answered to be done, or nothing. */
export const cancelFault = ({ journal }: Tree, { doneAt }: Pick<Group, 'doneAt'>): string | undefined => {
  const late = journal.find(({ at }) => Date.parse(at) > doneAt + CLOCKS_DIFFER_MS);
  return late === undefined
    ? undefined
    : `entry ${late.seq} is ${late.kind} at ${late.at}, after the cancel of its group was done`;
};

/** Says how often a run was restarted that was to be restarted once, or nothing. */
export const restartsFault = (restarts: number): string | undefined =>
  restarts === 1 ? undefined : `it was restarted ${restarts} times by one action`;
