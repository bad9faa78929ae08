import { SERVICE } from '../../../src/model/definition/owner.ts';
import { afterEach } from 'vitest';
import {
  type ActorRecord,
  type AttemptRecord,
  type Changes,
  type KeptActorType,
  type Lookup,
  noChanges,
  type RunRecord,
  type RunStore,
  type RunUpdate,
  type StoredRun,
} from '../../../src/store/runs/run-store.ts';

export const AT = 1_000_000;

export const aRun = (runId: string, more: Partial<RunRecord> = {}): RunRecord => ({
  runId,
  traceId: 't'.repeat(32),
  project: 'p',
  definitionOwner: SERVICE,
  definitionId: 'flow',
  definitionVersion: 1,
  correlation: '{}',
  createdAt: AT,
  depth: 0,
  priority: 0,
  status: 'queued',
  cursor: 'one',
  snapshot: '{"m":1,"v":{"active":{"one":"queued"}},"c":{"stepCount":1}}',
  version: 1,
  updatedAt: AT,
  ...more,
});
export const anAttempt = (leaseId: string, runId: string, more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  leaseId,
  runId,
  stepId: 'one',
  visit: 1,
  attempt: 1,
  workerId: 'w',
  delivery: 'at_least_once',
  offeredAt: AT,
  machineVersion: 1,
  version: 1,
  state: 'offered',
  bodyRan: false,
  expiresAt: AT + 5000,
  ...more,
});
export const anActor = (type: KeptActorType, id: string, more: Partial<ActorRecord> = {}): ActorRecord => ({
  type,
  id,
  project: 'p',
  document: '{}',
  snapshot: '{"m":1,"v":"active","c":{}}',
  status: 'active',
  version: 1,
  createdAt: AT,
  updatedAt: AT,
  ...more,
});
const input = (runId: string) => ({ runId, name: 'input', body: '{}' }) as const;

/** Run `a` on its way to a version from the one before. */
export const moved = (version: number): RunUpdate => ({
  before: aRun('a', { version: version - 1 }),
  after: aRun('a', { version }),
});
/** Asks for run `a`, and reads its version off the answer. */
export const RUN: readonly Lookup[] = [{ kind: 'run', runId: 'a' }];
export const versionOf = ([found]: readonly unknown[]): number | undefined =>
  (found as StoredRun | undefined)?.record.version;

/** What the contract needs of an engine: an empty store of its own. */
export type OpenRunStore = () => Promise<RunStore>;

/** An empty store for each test, closed after it, and short ways to write to it and to look things up. */
export const storesOf = (open: OpenRunStore) => {
  const stores: RunStore[] = [];
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });
  return async () => {
    const store = await open();
    stores.push(store);
    const commit = (fill: (changes: Changes) => unknown): Promise<void> => {
      const changes = noChanges();
      fill(changes);
      return store.commit(changes);
    };
    return {
      store,
      commit,
      put: (...runs: RunRecord[]): Promise<void> =>
        commit((changes) => {
          changes.runsInserted.push(...runs);
          changes.documents.push(...runs.map(({ runId }) => input(runId)));
        }),
      find: async (lookup: Lookup): Promise<unknown> => (await store.load([lookup]))[0],
    };
  };
};
