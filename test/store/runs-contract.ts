import { afterEach, describe, expect, it } from 'vitest';
import type { AttemptRecord, Changes, Lookup, RunRecord, RunStore } from '../../src/store/runs/run-store.ts';
import { noChanges } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

const AT = 1_000_000;

const aRun = (runId: string, more: Partial<RunRecord> = {}): RunRecord => ({
  runId,
  traceId: 't'.repeat(32),
  project: 'p',
  definitionId: 'flow',
  definitionVersion: 1,
  correlation: '{}',
  createdAt: AT,
  depth: 0,
  status: 'queued',
  cursor: 'one',
  snapshot: '{"m":1,"v":{"active":{"one":"queued"}},"c":{"stepCount":1}}',
  version: 1,
  updatedAt: AT,
  ...more,
});
const anAttempt = (leaseId: string, runId: string, more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  leaseId,
  runId,
  stepId: 'one',
  visit: 1,
  attempt: 1,
  workerId: 'w',
  delivery: 'at_least_once',
  offeredAt: AT,
  state: 'offered',
  bodyRan: false,
  expiresAt: AT + 5000,
  ...more,
});
const input = (runId: string) => ({ runId, name: 'input', body: '{}' }) as const;

const byFirst = (a: readonly unknown[], b: readonly unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);

/** What every engine promises. Called once an engine; `open` gives an empty store of its own. */
export const runStoreContract = (engine: string, open: () => Promise<RunStore>): void => {
  describe(`${engine}: run store`, () => {
    const stores: RunStore[] = [];
    const opened = async () => {
      const store = await open();
      stores.push(store);
      const commit = (fill: (changes: Changes) => void): Promise<void> => {
        const changes = noChanges();
        fill(changes);
        return store.commit(changes);
      };
      const put = (...runs: RunRecord[]): Promise<void> =>
        commit((changes) => {
          changes.runsInserted.push(...runs);
          changes.documents.push(...runs.map(({ runId }) => input(runId)));
        });
      const find = async (lookup: Lookup): Promise<unknown> => (await store.load([lookup]))[0];
      return { store, commit, put, find };
    };
    afterEach(async () => {
      await stores.pop()?.close();
    });

    it('gives back a run as it was written, absent fields absent', async () => {
      const { put, find } = await opened();
      const bare = aRun('a');
      const full = aRun('b', {
        userId: 'u',
        idempotencyKey: 'k',
        deadlineAt: AT + 1,
        parent: { runId: 'a', stepId: 's', visit: 2, index: 3 },
        depth: 1,
        endedAt: AT + 2,
        queueOrder: 7,
        fault: 'f',
      });
      await put(bare, full);
      expect(await find({ kind: 'run', runId: 'a' })).toEqual({ record: bare, nextSeq: 0 });
      expect(await find({ kind: 'run', runId: 'b' })).toEqual({ record: full, nextSeq: 0 });
      expect(await find({ kind: 'run', runId: 'c' })).toBeUndefined();
    });

    it('takes an update that starts from the stored version, and fails the whole commit on any other', async () => {
      const { put, commit, find } = await opened();
      await put(aRun('a'));
      const next = aRun('a', { version: 2, status: 'running' });
      await commit((changes) => changes.runsUpdated.push({ record: next, queueOrderChanged: false }));
      const stale = commit((changes) => {
        changes.runsInserted.push(aRun('z'));
        changes.runsUpdated.push({ record: next, queueOrderChanged: false });
      });
      await expect(stale).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await find({ kind: 'run', runId: 'z' })).toBeUndefined();
      expect(await find({ kind: 'run', runId: 'a' })).toMatchObject({ record: { status: 'running' } });
    });

    it('gives back attempts, and extends the live ones when a service resumes', async () => {
      const { store, commit, put, find } = await opened();
      const snapshot = (leaseId: string) => JSON.stringify({ m: 1, v: { active: { one: 'leased' } }, c: { leaseId } });
      await put(
        aRun('a', { status: 'running', snapshot: snapshot('l1') }),
        aRun('b', { status: 'running', snapshot: snapshot('l2'), project: 'q' }),
        aRun('c'),
      );
      const whole = anAttempt('l2', 'b', {
        state: 'running',
        bodyRan: true,
        startedAt: AT,
        timeoutAt: AT + 9,
        details: '1',
        expiresAt: AT + 60_000,
      });
      const over = anAttempt('l3', 'c', { state: 'failed', endedAt: AT, error: '{}', usage: '[]', cost: '{}' });
      await commit((changes) => changes.attemptsInserted.push(anAttempt('l1', 'a'), whole, over));
      expect(await find({ kind: 'lease', leaseId: 'l2' })).toEqual(whole);
      expect(await find({ kind: 'lease', leaseId: 'l3' })).toEqual(over);
      const { liveLeases } = await store.resume(AT + 30_000);
      expect(liveLeases.toSorted((a, b) => (a.leaseId < b.leaseId ? -1 : 1))).toEqual([
        { leaseId: 'l1', workerId: 'w', expiresAt: AT + 30_000 },
        { leaseId: 'l2', workerId: 'w', expiresAt: AT + 60_000, timeoutAt: AT + 9 },
      ]);
      expect(await find({ kind: 'lease', leaseId: 'l1' })).toMatchObject({ expiresAt: AT + 30_000 });
      expect((await store.listLiveLeases('all', undefined, 10)).map(({ leaseId }) => leaseId)).toEqual(['l1', 'l2']);
      expect((await store.listLiveLeases(['q'], undefined, 10)).map(({ leaseId }) => leaseId)).toEqual(['l2']);
      await commit((changes) => changes.attemptsUpdated.push({ ...whole, state: 'succeeded', endedAt: AT + 1 }));
      expect((await store.resume(0)).liveLeases.map(({ leaseId }) => leaseId)).toEqual(['l1']);
    });

    it('says the latest time that any row carries, be it of a run, a lease, a parked event or a worker', async () => {
      const { store, commit, put } = await opened();
      const latestAt = async () => (await store.resume(0)).latestAt;
      expect(await latestAt()).toBe(0);
      const snapshot = JSON.stringify({ m: 1, v: { active: { one: 'leased' } }, c: { leaseId: 'l' } });
      await put(aRun('a', { status: 'running', snapshot }), aRun('b', { updatedAt: AT + 1 }));
      expect(await latestAt()).toBe(AT + 1);
      await commit((changes) => {
        changes.attemptsInserted.push(anAttempt('l', 'a'));
        changes.journal.push({
          runId: 'a',
          firstSeq: 0,
          lastSeq: 1,
          entries: JSON.stringify([{ at: AT }, { at: AT + 2 }]),
          events: '[]',
        });
      });
      expect(await latestAt()).toBe(AT + 2);
      await commit((changes) =>
        changes.parked.push({ order: 1, project: 'p', event: 'e', key: 'k', payload: '1', at: AT + 3 }),
      );
      expect(await latestAt()).toBe(AT + 3);
      await commit((changes) => changes.workers.push({ workerId: 'w', definitions: [], lastSeenAt: AT + 4 }));
      expect(await latestAt()).toBe(AT + 4);
    });

    it('finds the attempt before another', async () => {
      const { commit, put, find } = await opened();
      await put(aRun('a'));
      await commit((changes) =>
        changes.attemptsInserted.push(anAttempt('l1', 'a'), anAttempt('l2', 'a', { attempt: 2 })),
      );
      const before = (attempt: number) =>
        find({ kind: 'attempt_before', runId: 'a', stepId: 'one', visit: 1, attempt });
      expect(await before(3)).toMatchObject({ leaseId: 'l2' });
      expect(await before(2)).toMatchObject({ leaseId: 'l1' });
      expect(await before(1)).toBeUndefined();
    });

    it('keeps documents by name and the newest output of each step', async () => {
      const { commit, put, find } = await opened();
      await put(aRun('a'));
      await commit((changes) => {
        changes.documents.push(
          { runId: 'a', name: 'state/x', body: '1' },
          { runId: 'a', name: 'state/__proto__', body: '2' },
          { runId: 'a', name: 'output', body: '3' },
        );
        changes.outputs.push(
          { runId: 'a', stepId: 'one', visit: 9, body: '"nine"' },
          { runId: 'a', stepId: 'one', visit: 10, body: '"ten"' },
        );
      });
      await commit((changes) => changes.documents.push({ runId: 'a', name: 'state/x', body: '4' }));
      const found = (await find({ kind: 'documents', runId: 'a', steps: ['one', 'two'] })) as { state: string[][] };
      expect({ ...found, state: found.state.toSorted(byFirst) }).toEqual({
        input: '{}',
        output: '3',
        state: [
          ['__proto__', '2'],
          ['x', '4'],
        ],
        steps: [['one', '"ten"']],
      });
      expect(await find({ kind: 'documents', runId: 'z', steps: [] })).toBeUndefined();
    });

    it('keeps the journal by page, from either side, and says which seq is next', async () => {
      const { store, commit, put, find } = await opened();
      await put(aRun('a'), aRun('b'));
      const row = (firstSeq: number, lastSeq: number) => ({
        runId: 'a',
        firstSeq,
        lastSeq,
        entries: '[]',
        events: '[]',
      });
      await commit((changes) => changes.journal.push(row(0, 2), { ...row(0, 0), runId: 'b' }));
      await commit((changes) => changes.journal.push(row(3, 3), row(4, 8)));
      expect(await find({ kind: 'run', runId: 'a' })).toMatchObject({ nextSeq: 9 });
      const after = async (seq: number, limit = 10) =>
        (await store.journal('a', seq, limit)).map(({ firstSeq }) => firstSeq);
      expect(await after(-1)).toEqual([0, 3, 4]);
      expect(await after(1)).toEqual([0, 3, 4]);
      expect(await after(2)).toEqual([3, 4]);
      expect(await after(5, 1)).toEqual([4]);
      expect(await after(8)).toEqual([]);
      expect((await store.journalBefore('a', 5, 10)).map(({ firstSeq }) => firstSeq)).toEqual([4, 3, 0]);
      expect((await store.journalBefore('a', 3, 1)).map(({ firstSeq }) => firstSeq)).toEqual([3]);
      await commit((changes) => changes.checkpoints.push({ runId: 'a', seq: 3, snapshot: 's' }));
      expect(await store.checkpoint('a', 2)).toBeUndefined();
      expect(await store.checkpoint('a', 7)).toEqual({ runId: 'a', seq: 3, snapshot: 's' });
    });

    it('gives due timers, oldest first; one that is never due is none of them', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'), aRun('b'), aRun('c'));
      await commit((changes) =>
        changes.timersSet.push(
          { runId: 'a', name: 'sleep', dueAt: 20, stepId: 's' },
          { runId: 'b', name: 'sleep', dueAt: 10 },
          { runId: 'c', name: 'sleep' },
          { runId: 'c', name: 'wait', dueAt: 31 },
        ),
      );
      expect(await store.dueTimers(30, 10)).toEqual([
        { runId: 'b', name: 'sleep', dueAt: 10 },
        { runId: 'a', name: 'sleep', dueAt: 20, stepId: 's' },
      ]);
      expect((await store.dueTimers(30, 1)).length).toBe(1);
      await commit((changes) => {
        changes.timersCleared.push({ runId: 'b', name: 'sleep' });
        changes.timersSet.push({ runId: 'a', name: 'sleep', dueAt: 40 });
      });
      expect((await store.dueTimers(50, 10)).map(({ dueAt }) => dueAt)).toEqual([31, 40]);
    });

    it('brings waits and parked events of one name and key together, oldest first', async () => {
      const { store, commit, put, find } = await opened();
      await put(aRun('a'), aRun('b'), aRun('c'));
      const wait = (runId: string, order: number, key = 'k') => ({
        runId,
        project: 'p',
        event: 'e',
        key,
        stepId: 's',
        since: AT,
        order,
      });
      const parked = (order: number, at: number) => ({
        order,
        project: 'p',
        event: 'e',
        key: 'k',
        payload: '1',
        at,
        ...(order === 4 ? { eventId: 'named' } : {}),
      });
      await commit((changes) => {
        changes.waitsOpened.push(wait('b', 1), wait('a', 2), wait('c', 3, 'other'));
        changes.parked.push(parked(5, AT), parked(4, AT - 100));
      });
      const meeting = (limit: number, parkedAfter = 0) =>
        find({ kind: 'meeting', project: 'p', event: 'e', key: 'k', parkedAfter, limit });
      expect(await meeting(1)).toEqual({
        waits: [wait('b', 1)],
        moreWaits: true,
        parked: [parked(4, AT - 100)],
        moreParked: true,
      });
      expect(await meeting(9, AT - 100)).toMatchObject({
        waits: [wait('b', 1), wait('a', 2)],
        moreWaits: false,
        parked: [{ order: 5 }],
        moreParked: false,
      });
      expect(await meeting(9)).toMatchObject({ parked: [{ eventId: 'named' }, parked(5, AT)] });
      expect((await store.resume(0)).nextOrder).toBe(6);
      await commit((changes) => {
        changes.waitsClosed.push('a');
        changes.unparked.push(5);
        changes.parkedBefore = AT;
      });
      expect(await meeting(9)).toEqual({ waits: [wait('b', 1)], moreWaits: false, parked: [], moreParked: false });
      // The wait of a run that was set aside is no one's to meet, and does not stand before those that are.
      await put(aRun('aside', { fault: 'f' }), aRun('behind'));
      await commit((changes) => changes.waitsOpened.push(wait('aside', 0), wait('behind', 7)));
      expect(await meeting(1)).toMatchObject({ waits: [{ runId: 'b' }], moreWaits: true });
      await commit((changes) => changes.waitsClosed.push('b'));
      expect(await meeting(1)).toMatchObject({ waits: [{ runId: 'behind' }], moreWaits: false });
    });

    it('remembers event ids by project, and forgets those that nobody took with their events', async () => {
      const { commit, find } = await opened();
      await commit((changes) =>
        changes.eventsSeen.push(
          { project: 'p', eventId: 'taken', at: 1, runId: 'a' },
          { project: 'p', eventId: 'parked', at: 1 },
        ),
      );
      const seen = (project: string, eventId: string) => find({ kind: 'event_id', project, eventId });
      expect(await seen('p', 'taken')).toEqual({ project: 'p', eventId: 'taken', at: 1, runId: 'a' });
      expect(await seen('q', 'taken')).toBeUndefined();
      await commit((changes) => (changes.parkedBefore = 2));
      expect(await seen('p', 'taken')).toBeDefined();
      expect(await seen('p', 'parked')).toBeUndefined();
    });

    it('keeps the id of a parked event that a run took after all, and lets go of it with the run', async () => {
      const { commit, put, find } = await opened();
      await put(aRun('a'));
      const id = { project: 'p', eventId: 'e' };
      const seen = () => find({ kind: 'event_id', ...id });
      await commit((changes) => changes.eventsSeen.push({ ...id, at: 1 }));
      // Parked again and taken within one commit: the last word counts.
      await commit((changes) => changes.eventsSeen.push({ ...id, at: 2 }, { ...id, at: 2, runId: 'a' }));
      await commit((changes) => (changes.parkedBefore = 3));
      expect(await seen()).toEqual({ ...id, at: 2, runId: 'a' });
      await commit((changes) => changes.erased.push('a'));
      expect(await seen()).toBeUndefined();
    });

    it('orders what can be offered, by definition', async () => {
      const { put, find } = await opened();
      await put(
        aRun('a', { queueOrder: 3 }),
        aRun('b', { queueOrder: 1 }),
        aRun('c', { queueOrder: 1, definitionId: 'x' }),
        aRun('d'),
      );
      const from = async (after: number, limit = 9) =>
        ((await find({ kind: 'runnable', definitionId: 'flow', after, limit })) as { runId: string }[]).map(
          ({ runId }) => runId,
        );
      expect(await from(-1)).toEqual(['b', 'a']);
      expect(await from(1)).toEqual(['a']);
      expect(await from(-1, 1)).toEqual(['b']);
    });

    it('finds runs by idempotency key within a project', async () => {
      const { put, find } = await opened();
      await put(aRun('a', { idempotencyKey: 'k' }));
      expect(await find({ kind: 'idempotency', project: 'p', key: 'k' })).toBe('a');
      expect(await find({ kind: 'idempotency', project: 'q', key: 'k' })).toBeUndefined();
      await expect(put(aRun('b', { idempotencyKey: 'k' }))).rejects.toThrow(/idempotency|constraint|storage engine/i);
    });

    it('keeps definitions and workers', async () => {
      const { store, commit, find } = await opened();
      const definition = (id: string, version: number) => ({ id, version, document: '{}', hash: 'h', createdAt: AT });
      const worker = {
        workerId: 'w',
        name: 'n',
        project: 'p',
        concurrency: 2,
        definitions: [{ id: 'a', version: 1 }],
        lastSeenAt: AT,
        registeredBy: ['p', 'q'],
      };
      await commit((changes) => {
        changes.definitions.push(definition('a', 9), definition('a', 10), definition('b', 1));
        changes.workers.push(worker);
      });
      expect(await find({ kind: 'latest', id: 'a' })).toEqual(definition('a', 10));
      expect(await find({ kind: 'definition', id: 'a', version: 9 })).toEqual(definition('a', 9));
      expect(await find({ kind: 'latest', id: 'z' })).toBeUndefined();
      expect(await store.listDefinitions(undefined, 10)).toEqual([definition('a', 10), definition('b', 1)]);
      expect(await store.listDefinitions('a', 10)).toEqual([definition('b', 1)]);
      await commit((changes) =>
        changes.workers.push({ ...worker, workerId: 'v', definitions: [{ id: 'a', version: 10 }] }),
      );
      await commit((changes) =>
        changes.workers.push({
          ...worker,
          workerId: 'u',
          definitions: [
            { id: 'a', version: 10 },
            { id: 'b', version: 9 },
          ],
        }),
      );
      expect(
        (await store.definitionVersions('a')).map(({ version, openRuns, workers }) => [version, openRuns, workers]),
      ).toEqual([
        [9, 0, 0],
        [10, 0, 2],
      ]);
      expect(await find({ kind: 'worker', workerId: 'w' })).toEqual(worker);
      await commit((changes) => changes.workers.push({ workerId: 'w', definitions: [], lastSeenAt: AT + 1 }));
      expect(await store.listWorkers({ reach: 'all', after: 'v', limit: 9 })).toEqual([
        { workerId: 'w', definitions: [], lastSeenAt: AT + 1 },
      ]);
    });

    it('lists workers by id from any place on, those of the projects in reach and those of none', async () => {
      const { store, commit } = await opened();
      const worker = (workerId: string, project?: string) => ({
        workerId,
        definitions: [],
        lastSeenAt: AT,
        ...(project === undefined ? {} : { project }),
      });
      await commit((changes) =>
        changes.workers.push(worker('d'), worker('b', 'p'), worker('c', 'q'), worker('a', 'r')),
      );
      const ids = async (reach: 'all' | string[], limit = 9, after?: string) =>
        (await store.listWorkers({ reach, limit, ...(after === undefined ? {} : { after }) })).map(
          ({ workerId }) => workerId,
        );
      expect(await ids('all')).toEqual(['a', 'b', 'c', 'd']);
      expect(await ids('all', 2)).toEqual(['a', 'b']);
      expect(await ids('all', 2, 'b')).toEqual(['c', 'd']);
      expect(await ids(['p', 'q'])).toEqual(['b', 'c', 'd']);
      expect(await ids(['p', 'q'], 1, 'b')).toEqual(['c']);
      expect(await ids([])).toEqual(['d']);
    });

    it('notes when workers were last heard of, and lets go of silent ones that were not heard of meanwhile', async () => {
      const { store, commit, find } = await opened();
      const worker = (workerId: string, lastSeenAt: number) => ({ workerId, definitions: [], lastSeenAt });
      await commit((changes) => changes.workers.push(worker('a', 30), worker('b', 10), worker('c', 20)));
      expect(await store.silentWorkers(30, 9)).toEqual(['b', 'c']);
      expect(await store.silentWorkers(31, 2)).toEqual(['b', 'c']);
      await commit((changes) =>
        changes.workersSeen.push({ workerId: 'b', at: 40 }, { workerId: 'c', at: 5 }, { workerId: 'nobody', at: 1 }),
      );
      expect(await store.silentWorkers(41, 9)).toEqual(['c', 'a', 'b']);
      expect(await find({ kind: 'worker', workerId: 'nobody' })).toBeUndefined();
      // One that registers in the same commit stays.
      await commit((changes) => {
        changes.workers.push(worker('c', 50));
        changes.workersForgotten.push(...['a', 'b', 'c'].map((workerId) => ({ workerId, before: 40 })));
      });
      expect(await store.silentWorkers(99, 9)).toEqual(['b', 'c']);
    });

    it('hands out the outbox in order, and forgets what was delivered', async () => {
      const { store, commit } = await opened();
      await commit((changes) =>
        changes.outbox.push({ no: 2, runId: 'a', span: 'x' }, { no: 3, runId: 'a', span: 'y' }),
      );
      expect((await store.readOutbox(0, 1)).map(({ no }) => no)).toEqual([2]);
      expect((await store.resume(0)).nextOutboxNo).toBe(4);
      await commit((changes) => (changes.outboxDelivered = 2));
      expect(await store.readOutbox(0, 9)).toEqual([{ no: 3, runId: 'a', span: 'y' }]);
      await commit((changes) =>
        changes.outbox.push({ no: 4, runId: 'a', span: 'long' }, { no: 5, runId: 'a', span: 'z' }),
      );
      const numbers = async (characters: number) => (await store.readOutbox(0, 9, characters)).map(({ no }) => no);
      expect(await numbers(1)).toEqual([3]);
      expect(await numbers(2)).toEqual([3, 4]);
      expect(await numbers(5)).toEqual([3, 4]);
      expect(await numbers(6)).toEqual([3, 4, 5]);
    });

    it('knows the children of a run, their outputs by index, and which are open', async () => {
      const { store, commit, put, find } = await opened();
      const parent = (index: number, visit = 1) => ({ runId: 'a', stepId: 's', visit, index });
      await put(
        aRun('a'),
        aRun('c1', { parent: parent(1) }),
        aRun('c0', { parent: parent(0), endedAt: AT, status: 'succeeded' }),
        aRun('old', { parent: parent(0, 2) }),
      );
      await commit((changes) => changes.documents.push({ runId: 'c0', name: 'output', body: '"zero"' }));
      expect(await find({ kind: 'open_children', runId: 'a' })).toEqual(['c1', 'old']);
      expect(
        ((await find({ kind: 'child_outputs', runId: 'a', stepId: 's', visit: 1 })) as [number, unknown][]).toSorted(
          byFirst,
        ),
      ).toEqual([
        [0, '"zero"'],
        [1, undefined],
      ]);
      expect((await store.findRun('a'))?.children.length).toBe(3);
    });

    it('lists newest-updated first and goes on from any place', async () => {
      const { store, put } = await opened();
      await put(
        ...Array.from({ length: 9 }, (_, n) =>
          aRun(`r${n}`, {
            updatedAt: AT + Math.floor(n / 2),
            project: n % 3 === 0 ? 'q' : 'p',
            status: n % 2 === 0 ? 'queued' : 'waiting',
            createdAt: n,
          }),
        ),
      );
      const list = async (query: object) =>
        (await store.listRuns({ reach: 'all', limit: 99, ...query })).map(({ runId }) => runId);
      expect(await list({})).toEqual(['r8', 'r7', 'r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0']);
      expect(await list({ after: { updatedAt: AT + 2, runId: 'r5' }, limit: 3 })).toEqual(['r4', 'r3', 'r2']);
      expect(await list({ reach: ['q'] })).toEqual(['r6', 'r3', 'r0']);
      expect(await list({ status: 'waiting' })).toEqual(['r7', 'r5', 'r3', 'r1']);
      expect(await list({ from: 3, to: 5 })).toEqual(['r4', 'r3']);
      expect(await list({ definitionId: 'nope' })).toEqual([]);
    });

    it('finds open runs that nothing will ever move, and no others', async () => {
      const { store, commit, put } = await opened();
      await put(
        aRun('stuck', { status: 'waiting' }),
        aRun('deadline-only', { status: 'waiting' }),
        aRun('queued', { queueOrder: 1 }),
        aRun('timed', { status: 'waiting' }),
        aRun('waits', { status: 'waiting' }),
        aRun('leased', { status: 'running' }),
        aRun('parent', { status: 'waiting' }),
        aRun('kid', { queueOrder: 1, parent: { runId: 'parent', stepId: 's', visit: 1, index: 0 } }),
        aRun('over', { status: 'failed', endedAt: AT }),
        aRun('aside', { status: 'waiting', fault: 'f' }),
      );
      await commit((changes) => {
        changes.timersSet.push(
          { runId: 'timed', name: 'sleep' },
          { runId: 'deadline-only', name: 'run_timeout', dueAt: 5 },
        );
        changes.waitsOpened.push({
          runId: 'waits',
          project: 'p',
          event: 'e',
          key: '',
          stepId: 's',
          since: 1,
          order: 1,
        });
        changes.attemptsInserted.push(anAttempt('l', 'leased'));
      });
      expect((await store.stuckRuns(10)).map(({ runId }) => runId).toSorted()).toEqual(['deadline-only', 'stuck']);
      expect(await store.counts()).toEqual({ definitionVersions: 0, openRuns: 9, quarantined: 1 });
    });

    it('names the runs that were set aside, by id from any place on, until they are taken back', async () => {
      const { commit, find, put } = await opened();
      await put(aRun('a', { fault: 'f' }), aRun('b'), aRun('c', { fault: 'f', version: 1 }), aRun('d', { fault: 'g' }));
      const aside = (after: string, limit: number) => find({ kind: 'set_aside', after, limit });
      expect(await aside('', 2)).toEqual(['a', 'c']);
      expect(await aside('c', 2)).toEqual(['d']);
      await commit((changes) =>
        changes.runsUpdated.push({ record: aRun('c', { version: 2 }), queueOrderChanged: true }),
      );
      expect(await aside('', 9)).toEqual(['a', 'd']);
    });

    it('erases a run with all that is its own', async () => {
      const { store, commit, put, find } = await opened();
      await put(
        aRun('a', { idempotencyKey: 'k', userId: 'u', endedAt: AT, status: 'succeeded' }),
        aRun('b', { userId: 'u' }),
      );
      await commit((changes) => {
        changes.attemptsInserted.push(anAttempt('l', 'a'));
        changes.journal.push({ runId: 'a', firstSeq: 0, lastSeq: 0, entries: '[]', events: '[]' });
        changes.outputs.push({ runId: 'a', stepId: 's', visit: 1, body: '1' });
        changes.timersSet.push({ runId: 'a', name: 't', dueAt: 1 });
        changes.outbox.push({ no: 1, runId: 'a', span: 's' }, { no: 2, runId: 'b', span: 's' });
        changes.eventsSeen.push({ project: 'p', eventId: 'e', at: 1, runId: 'a' });
      });
      expect(await store.subjectRuns('u', 'all', 10)).toEqual({
        finished: [{ runId: 'a', traceId: 't'.repeat(32) }],
        inFlight: 1,
      });
      expect(await store.finishedRuns('p', AT, 10)).toEqual([]);
      expect(await store.finishedRuns('p', AT + 1, 10)).toEqual(['a']);
      await commit((changes) => changes.erased.push('a'));
      expect(await store.findRun('a')).toBeUndefined();
      expect(await find({ kind: 'lease', leaseId: 'l' })).toBeUndefined();
      expect(await find({ kind: 'idempotency', project: 'p', key: 'k' })).toBeUndefined();
      expect(await find({ kind: 'event_id', project: 'p', eventId: 'e' })).toBeUndefined();
      expect(await store.journal('a', -1, 9)).toEqual([]);
      expect(await store.dueTimers(9, 9)).toEqual([]);
      expect((await store.readOutbox(0, 9)).map(({ runId }) => runId)).toEqual(['b']);
      expect((await store.findRun('b'))?.stored.record.runId).toBe('b');
    });

    it('knows the shape of ended runs', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a', { endedAt: AT, status: 'succeeded' }), aRun('b'));
      await commit((changes) =>
        changes.attemptsInserted.push(
          anAttempt('l1', 'a'),
          anAttempt('l2', 'a', { attempt: 2 }),
          anAttempt('l3', 'a', { stepId: 'two' }),
        ),
      );
      expect(await store.runShapes('p', AT, AT + 1, 9)).toMatchObject([
        { runId: 'a', definitionId: 'flow', maxStepAttempts: 2 },
      ]);
    });

    it('refuses what comes after its close', async () => {
      const { store, commit } = await opened();
      await store.ping();
      await store.close();
      await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(commit((changes) => changes.waitsClosed.push('a'))).rejects.toBeInstanceOf(StoreUnavailable);
    });
  });
};
