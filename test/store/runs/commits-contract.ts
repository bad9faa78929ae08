import { SERVICE } from '../../../src/model/definition/owner.ts';
import { describe, expect, it } from 'vitest';
import type { ProjectReach } from '../../../src/model/scope.ts';
import type {
  ActorRecord,
  CarriedOverTimer,
  Changes,
  ChildResult,
  DocumentName,
  EventMailbox,
  Lookup,
  PastDocuments,
  RunRecord,
  StoredRun,
  WaitRecord,
} from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { AT, anActor, anAttempt, aRun, moved, type OpenRunStore, RUN, storesOf, versionOf } from './factories.ts';

/** The snapshot of a run whose step is out under this lease. */
const leasedUnder = (leaseId: string): string =>
  JSON.stringify({ m: 1, v: { active: { one: 'leased' } }, c: { leaseId } });

const byFirst = (a: readonly unknown[], b: readonly unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);

/** What a commit needs of every engine. @see RunCommits */
export const runCommitsContract = (engine: string, open: OpenRunStore): void => {
  describe(`${engine}: commits and lookups`, () => {
    const opened = storesOf(open);

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
        descendants: { inputTokens: 1, outputTokens: 2, totalTokens: 3, cost: 0.1, prices: 1 },
      });
      await put(bare, full);
      expect(await find({ kind: 'run', runId: 'a' })).toEqual({ record: bare, nextSeq: 0 });
      expect(await find({ kind: 'run', runId: 'b' })).toEqual({ record: full, nextSeq: 0 });
      expect(await find({ kind: 'run', runId: 'c' })).toBeUndefined();
    });

    it('keeps what the runs below a run spent, with an update that moves it and with one that changes more', async () => {
      const { put, commit, find } = await opened();
      await put(aRun('a'));
      const spent = { inputTokens: 1, outputTokens: 0, totalTokens: 1 };
      const moved = aRun('a', { version: 2, descendants: spent });
      await commit((changes) => changes.runsUpdated.push({ before: aRun('a'), after: moved }));
      expect(await find({ kind: 'run', runId: 'a' })).toEqual({ record: moved, nextSeq: 0 });
      const ended = { ...moved, version: 3, endedAt: AT, descendants: { ...spent, cost: 0.5 } };
      await commit((changes) => changes.runsUpdated.push({ before: moved, after: ended }));
      expect(await find({ kind: 'run', runId: 'a' })).toEqual({ record: ended, nextSeq: 0 });
    });

    it('takes an update that starts from the stored version, and fails the complete commit on any other', async () => {
      const { put, commit, find } = await opened();
      await put(aRun('a'));
      const next = aRun('a', { version: 2, status: 'running' });
      await commit((changes) => changes.runsUpdated.push({ before: aRun('a'), after: next }));
      const stale = commit((changes) => {
        changes.runsInserted.push(aRun('z'));
        changes.runsUpdated.push({ before: aRun('a'), after: next });
      });
      await expect(stale).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await find({ kind: 'run', runId: 'z' })).toBeUndefined();
      expect(await find({ kind: 'run', runId: 'a' })).toMatchObject({ record: { status: 'running' } });
    });

    it('keeps actors with a row of their own: each change starts from the stored version', async () => {
      const { commit, find } = await opened();
      const first = anActor('schedule', 'p:nightly');
      await commit((changes) => changes.actorsInserted.push(first, anActor('bulk', 'p:nightly')));
      expect(await find({ kind: 'kept_actor', type: 'schedule', id: 'p:nightly' })).toEqual(first);
      const moved = { ...first, version: 2, snapshot: '{"m":1,"v":"paused","c":{}}', updatedAt: AT + 1 };
      await commit((changes) => changes.actorsUpdated.push({ before: first, after: moved }));
      const changed = { ...moved, version: 3, document: '{"cron":"0 9 * * *"}', status: 'done', fault: 'f' } as const;
      await commit((changes) => changes.actorsUpdated.push({ before: moved, after: changed }));
      expect(await find({ kind: 'kept_actor', type: 'schedule', id: 'p:nightly' })).toEqual(changed);
      const stale = commit((changes) => {
        changes.runsInserted.push(aRun('z'));
        changes.actorsUpdated.push({ before: moved, after: changed });
      });
      await expect(stale).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await find({ kind: 'run', runId: 'z' })).toBeUndefined();
      await expect(commit((changes) => changes.actorsInserted.push(first))).rejects.toThrow(/already|constraint/i);
    });

    it('removes such an actor with its timer, and makes one of the same name anew in one commit', async () => {
      const { store, commit, find } = await opened();
      await commit((changes) => {
        changes.actorsInserted.push(anActor('schedule', 'p:a'), anActor('schedule', 'p:b'));
        for (const runId of ['p:a', 'p:b']) changes.timersSet.push({ runId, name: 'schedule', dueAt: AT });
      });
      expect((await store.dueTimers(AT, 10, AT)).map(({ runId }) => runId)).toEqual(['p:a', 'p:b']);
      expect(await store.dueTimers(AT - 1, 10, AT)).toEqual([]);
      expect(await store.backlog(AT, AT)).toMatchObject({ overdueTimers: 2, nextTimerAt: AT });
      await commit((changes) => {
        changes.actorsRemoved.push({ type: 'schedule', id: 'p:a' });
        changes.actorsInserted.push(anActor('schedule', 'p:a', { createdAt: AT + 5 }));
        changes.timersCleared.push({ runId: 'p:b', name: 'schedule' });
      });
      expect(await store.dueTimers(AT, 10, AT)).toEqual([]);
      expect(await find({ kind: 'kept_actor', type: 'schedule', id: 'p:a' })).toMatchObject({ createdAt: AT + 5 });
    });

    it('counts the timers of such actors on over a restart', async () => {
      const { store, commit } = await opened();
      await commit((changes) => {
        changes.actorsInserted.push(anActor('bulk', 'b'));
        changes.timersSet.push({
          runId: 'b',
          name: 'bulk',
          dueAt: AT + 100,
          countdown: { dueAt: AT + 9_000_100, setAt: AT, ms: 100 },
        });
      });
      await store.resume(AT, AT + 40);
      expect(await store.dueTimers(AT, 10, AT + 99)).toEqual([]);
      expect(await store.dueTimers(AT, 10, AT + 100)).toHaveLength(1);
    });

    it('finds the runs of a list by id, a page of rows at a time, and says when there are no more', async () => {
      const { store, put, find } = await opened();
      await put(
        aRun('a'),
        aRun('b', { status: 'failed' }),
        aRun('c', { project: 'q' }),
        aRun('d', { definitionId: 'x' }),
      );
      const matching = async (query: object, after: string, scan: number) => {
        const filter = { reach: ['p'], ...query };
        const found = await find({ kind: 'matching_runs', query: filter, after, scan });
        expect(await store.matchingRuns(filter, after, scan)).toEqual(found);
        return found;
      };
      expect(await matching({}, '', 3)).toEqual({ runIds: ['a', 'b'], upTo: 'c' });
      expect(await matching({}, 'c', 3)).toEqual({ runIds: ['d'] });
      expect(await matching({ reach: 'all', definitionId: 'flow' }, '', 9)).toEqual({ runIds: ['a', 'b', 'c'] });
      expect(await matching({ status: 'failed' }, '', 9)).toEqual({ runIds: ['b'] });
      expect(await matching({ to: AT }, '', 9)).toEqual({ runIds: [] });
    });

    it('gives such actors of a type that were changed after a time, and those that carry a fault, by id', async () => {
      const { store, commit, find } = await opened();
      await commit((changes) =>
        changes.actorsInserted.push(
          anActor('schedule', 'p:c'),
          anActor('schedule', 'p:a', { fault: 'f' }),
          anActor('schedule', 'q:b', { project: 'q' }),
          anActor('bulk', 'p:b'),
        ),
      );
      type Which = (Lookup & { kind: 'kept_actors' })['which'];
      const ids = async (which: Which, after: string, limit: number) =>
        ((await find({ kind: 'kept_actors', type: 'schedule', which, after, limit })) as ActorRecord[]).map(
          ({ id }) => id,
        );
      expect(await ids({ changedAfter: AT - 1 }, '', 10)).toEqual(['p:a', 'p:c', 'q:b']);
      expect(await ids({ changedAfter: AT - 1 }, 'p:a', 1)).toEqual(['p:c']);
      expect(await ids({ changedAfter: AT }, '', 10)).toEqual([]);
      expect(await ids('quarantined', '', 10)).toEqual(['p:a']);
      const listed = async (reach: ProjectReach, after?: string) =>
        (
          await store.listKeptActors({ type: 'schedule', reach, limit: 10, ...(after === undefined ? {} : { after }) })
        ).map(({ id }) => id);
      expect(await listed('all')).toEqual(['p:a', 'p:c', 'q:b']);
      expect(await listed(['q', 'r'])).toEqual(['q:b']);
      expect(await listed('all', 'p:a')).toEqual(['p:c', 'q:b']);
      const rows = await store.listActors({ type: 'schedule', reach: ['p'], limit: 10 });
      expect(rows).toEqual([
        expect.objectContaining({ id: 'p:c', machine: 'schedule', value: '"active"', status: 'active' }),
        expect.objectContaining({ id: 'p:a', status: 'quarantined' }),
      ]);
    });

    it('gives back attempts, and extends the live ones when a service resumes', async () => {
      const { store, commit, put, find } = await opened();
      await put(
        aRun('a', { status: 'running', snapshot: leasedUnder('l1') }),
        aRun('b', { status: 'running', snapshot: leasedUnder('l2'), project: 'q' }),
        aRun('c'),
      );
      const whole = anAttempt('l2', 'b', {
        state: 'running',
        bodyRan: true,
        startedAt: AT,
        timeoutAt: AT + 9,
        heartbeatAt: AT + 3,
        details: '1',
        expiresAt: AT + 60_000,
        machineVersion: 2,
        version: 3,
      });
      const over = anAttempt('l3', 'c', { state: 'failed', endedAt: AT, error: '{}', usage: '[]', cost: '{}' });
      await commit((changes) => changes.attemptsInserted.push(anAttempt('l1', 'a'), whole, over));
      expect(await find({ kind: 'lease', leaseId: 'l2' })).toEqual(whole);
      expect(await find({ kind: 'lease', leaseId: 'l3' })).toEqual(over);
      const { liveLeases } = await store.resume(AT + 30_000);
      expect(liveLeases.toSorted((a, b) => (a.leaseId < b.leaseId ? -1 : 1))).toEqual([
        { leaseId: 'l1', workerId: 'w', expiresAt: AT + 30_000 },
        { leaseId: 'l2', workerId: 'w', expiresAt: AT + 30_000, startedAt: AT, timeoutAt: AT + 9 },
      ]);
      expect(await find({ kind: 'lease', leaseId: 'l1' })).toMatchObject({ expiresAt: AT + 30_000 });
      expect((await store.listLiveLeases('all', undefined, 10)).map(({ leaseId }) => leaseId)).toEqual(['l1', 'l2']);
      expect((await store.listLiveLeases(['q'], undefined, 10)).map(({ leaseId }) => leaseId)).toEqual(['l2']);
      const ended = {
        ...whole,
        state: 'succeeded',
        endedAt: AT + 1,
        heartbeatAt: AT + 4,
        machineVersion: 3,
        version: 4,
      } as const;
      await commit((changes) => changes.attemptsUpdated.push(ended));
      expect(await find({ kind: 'lease', leaseId: 'l2' })).toEqual(ended);
      expect((await store.resume(0)).liveLeases.map(({ leaseId }) => leaseId)).toEqual(['l1']);
    });

    it('every live lease lasts until the time that a resume names, be it later or earlier than what its row says', async () => {
      const { store, commit, put, find } = await opened();
      await put(aRun('a', { status: 'running', snapshot: leasedUnder('l') }), aRun('b'));
      await commit((changes) =>
        changes.attemptsInserted.push(anAttempt('l', 'a', { startedAt: AT, timeoutAt: AT + 9 })),
      );
      for (const until of [AT + 10 ** 12, AT + 5]) {
        expect((await store.resume(until)).liveLeases).toEqual([
          { leaseId: 'l', workerId: 'w', expiresAt: until, startedAt: AT, timeoutAt: AT + 9 },
        ]);
        expect(await find({ kind: 'lease', leaseId: 'l' })).toMatchObject({ expiresAt: until });
      }
    });

    it('says the latest place in the queue of each priority', async () => {
      const { store, put } = await opened();
      await put(
        aRun('a', { queueOrder: 3 }),
        aRun('b', { queueOrder: 8, definitionId: 'x' }),
        aRun('c'),
        aRun('d', { queueOrder: 5, priority: -7 }),
        aRun('e', { priority: 100 }),
      );
      expect((await store.resume(0)).highest.queueOrders).toEqual([
        { priority: -7, queueOrder: 5 },
        { priority: 0, queueOrder: 8 },
      ]);
    });

    it('finds the runs of a definition that are held back for a reason, quarantined ones aside, and the definitions that have any', async () => {
      const { put, find } = await opened();
      const held = 'definition_paused';
      await put(
        aRun('a', { held }),
        aRun('b', { held, fault: 'broken' }),
        aRun('c', { held }),
        aRun('d'),
        aRun('e', { held, definitionOwner: 'p' }),
        aRun('f', { held: 'rate' }),
        aRun('g', { held: 'rate', definitionId: 'other' }),
      );
      const runs = (more: object = {}) =>
        find({ kind: 'held_runs', definitionOwner: '', definitionId: 'flow', held, after: '', limit: 9, ...more });
      expect(await runs()).toEqual(['a', 'c']);
      expect(await runs({ limit: 1 })).toEqual(['a']);
      expect(await runs({ after: 'a' })).toEqual(['c']);
      expect(await runs({ definitionOwner: 'p' })).toEqual(['e']);
      expect(await runs({ held: 'rate' })).toEqual(['f']);
      expect(await find({ kind: 'held_definitions', held })).toEqual(['flow@', 'flow@p']);
      expect(await find({ kind: 'held_definitions', held: 'rate' })).toEqual(['flow@', 'other@']);
    });

    it('what a step does not move of a run is written where it changes: why it is held back', async () => {
      const { commit, put, find } = await opened();
      const before = aRun('a', { held: 'definition_paused' });
      await put(before);
      const { held: _held, ...free } = before;
      await commit((changes) => {
        changes.runsUpdated.push({ before, after: { ...free, version: 2 } });
      });
      expect(await find({ kind: 'run', runId: 'a' })).toMatchObject({ record: { version: 2 } });
      expect(((await find({ kind: 'run', runId: 'a' })) as StoredRun).record).not.toHaveProperty('held');
    });

    it('keeps a lease alive over a restart while its run is paused', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a', { status: 'paused', snapshot: '{"m":1,"v":{},"c":{"leaseId":"l"}}' }));
      await commit((changes) => {
        changes.attemptsInserted.push(anAttempt('l', 'a', { state: 'running' }));
      });
      expect((await store.resume(AT + 9)).liveLeases).toMatchObject([{ leaseId: 'l', expiresAt: AT + 9 }]);
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
      expect(await store.dueTimers(30, 10, 30)).toEqual([
        { runId: 'b', name: 'sleep', dueAt: 10 },
        { runId: 'a', name: 'sleep', dueAt: 20, stepId: 's' },
      ]);
      expect((await store.dueTimers(30, 1, 30)).length).toBe(1);
      await commit((changes) => {
        changes.timersCleared.push({ runId: 'b', name: 'sleep' });
        changes.timersSet.push({ runId: 'a', name: 'sleep', dueAt: 40 });
      });
      expect((await store.dueTimers(50, 10, 50)).map(({ dueAt }) => dueAt)).toEqual([31, 40]);
    });

    it('a countdown is due by the steady clock, and every other timer by the wall clock', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'), aRun('b'));
      const counted = { runId: 'a', name: 'wait', dueAt: 500, countdown: { dueAt: 20, setAt: 490, ms: 10 } };
      const named = { runId: 'b', name: 'sleep', dueAt: 15 };
      await commit((changes) => changes.timersSet.push(counted, named));
      expect(await store.dueTimers(14, 9, 19)).toEqual([]);
      expect(await store.dueTimers(15, 9, 19)).toEqual([named]);
      expect(await store.dueTimers(14, 9, 20)).toEqual([counted]);
      expect(await store.dueTimers(15, 9, 20)).toEqual([named, counted]);
      expect(await store.dueTimers(15, 1, 20)).toEqual([named]);
      expect(await store.backlog(14, 19)).toMatchObject({ overdueTimers: 0, nextTimerAt: 15 });
      expect(await store.backlog(10, 19)).toMatchObject({ overdueTimers: 0, nextTimerAt: 11 });
      expect(await store.backlog(15, 20)).toMatchObject({ overdueTimers: 2, nextTimerAt: 15 });
    });

    it('work carried over is found by run and name, a page at a time, when it is due, and is no other due timer', async () => {
      const { store, commit, put, find } = await opened();
      const [a, b, c] = [aRun('a', { project: 'q' }), aRun('b', { traceId: 'b'.repeat(32) }), aRun('c')] as const;
      await put(a, b, c);
      await commit((changes) =>
        changes.timersSet.push(
          { runId: 'b', name: 'children', dueAt: 10 },
          { runId: 'a', name: 'children', dueAt: 20 },
          { runId: 'b', name: 'cancel', dueAt: 15 },
          { runId: 'c', name: 'cancel', dueAt: 21 },
          { runId: 'a', name: 'sleep', dueAt: 5 },
          { runId: 'c', name: 'children', dueAt: 900, countdown: { dueAt: 40, setAt: 1, ms: 899 } },
        ),
      );
      const look = async (more: { wall?: number; steady?: number; limit?: number; after?: CarriedOverTimer } = {}) =>
        (await find({ kind: 'carried_over', wall: 20, steady: 39, limit: 10, ...more })) as readonly CarriedOverTimer[];
      const due = await look();
      const of = ({ runId, project, traceId }: RunRecord, name: string, dueAt: number): CarriedOverTimer => ({
        runId,
        name,
        dueAt,
        project,
        traceId,
      });
      expect(due).toEqual([of(a, 'children', 20), of(b, 'cancel', 15), of(b, 'children', 10)]);
      expect(await look({ wall: 19 })).toEqual(due.slice(1));
      expect(await look({ wall: 21, steady: 40 })).toEqual([...due, of(c, 'cancel', 21), of(c, 'children', 900)]);
      const [first, second, third] = due;
      expect(await look({ limit: 1 })).toEqual([first]);
      expect(await look({ limit: 1, ...(first === undefined ? {} : { after: first }) })).toEqual([second]);
      expect(await look({ limit: 10, ...(second === undefined ? {} : { after: second }) })).toEqual([third]);
      expect((await store.dueTimers(20, 10, 39)).map(({ name }) => name)).toEqual(['sleep']);
      await commit((changes) => changes.timersCleared.push({ runId: 'b', name: 'cancel' }));
      expect(await look()).toEqual([first, third]);
    });

    it('a start counts on by the wall clock, and from the beginning what was set later than that shows', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'), aRun('b'), aRun('c'), aRun('d'));
      const timer = (runId: string, dueAt: number, setAt: number, ms: number) => ({
        runId,
        name: 'wait',
        dueAt: setAt + ms,
        countdown: { dueAt, setAt, ms },
      });
      await commit((changes) =>
        changes.timersSet.push(
          timer('a', 130, 90, 40), // no jump
          timer('b', 9000, 90, 60), // the steady clock stood elsewhere
          timer('c', 120, 101, 30), // set a millisecond after what the wall clock shows
          timer('d', 9000, 100, 30), // set just when
        ),
      );
      const due = async () =>
        (await store.dueTimers(0, 9, 9999))
          .toSorted((a, b) => (a.runId < b.runId ? -1 : 1))
          .map(({ runId, countdown }) => [runId, countdown?.dueAt, countdown?.setAt]);
      const before = await due();
      await store.resume(0);
      expect(await due()).toEqual(before);
      await store.resume(0, 100);
      expect(await due()).toEqual([
        ['a', 130, 90],
        ['b', 150, 90],
        ['c', 130, 100],
        ['d', 130, 100],
      ]);
      // What began again goes on: the next start does not begin again.
      await store.resume(0, 110);
      expect((await due()).find(([runId]) => runId === 'c')).toEqual(['c', 130, 100]);
      expect(await store.dueTimers(0, 9, 129)).toEqual([]);
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
      const mailbox = (limit: number, parkedAfter = 0) =>
        find({ kind: 'event_mailbox', project: 'p', event: 'e', key: 'k', parkedAfter, limit });
      expect(await mailbox(1)).toEqual({
        waits: [wait('b', 1)],
        moreWaits: true,
        parked: [parked(4, AT - 100)],
        moreParked: true,
      });
      expect(await mailbox(9, AT - 100)).toMatchObject({
        waits: [wait('b', 1), wait('a', 2)],
        moreWaits: false,
        parked: [{ order: 5 }],
        moreParked: false,
      });
      expect(await mailbox(9)).toMatchObject({ parked: [{ eventId: 'named' }, parked(5, AT)] });
      expect((await store.resume(0)).highest.order).toBe(5);
      await commit((changes) => {
        changes.waitsClosed.push('a');
        changes.unparked.push(5);
        changes.parkedBefore = AT;
      });
      expect(await mailbox(9)).toEqual({ waits: [wait('b', 1)], moreWaits: false, parked: [], moreParked: false });
      // No event reaches the wait of a quarantined run, and it does not hide those behind it.
      await put(aRun('aside', { fault: 'f' }), aRun('behind'));
      await commit((changes) => changes.waitsOpened.push(wait('aside', 0), wait('behind', 7)));
      expect(await mailbox(1)).toMatchObject({ waits: [{ runId: 'b' }], moreWaits: true });
      await commit((changes) => changes.waitsClosed.push('b'));
      expect(await mailbox(1)).toMatchObject({ waits: [{ runId: 'behind' }], moreWaits: false });
    });

    it('gives payloads as they were when a run entered a step: each value says by which step it was written', async () => {
      const { put, commit, find } = await opened();
      await put(aRun('a'));
      const write = (name: DocumentName, body: string, entry: number) =>
        commit((changes) => changes.documents.push({ runId: 'a', name, body, entry }));
      await commit((changes) => {
        changes.documents.push({ runId: 'a', name: 'input', body: '"in"' });
        changes.documents.push({ runId: 'a', name: 'output', body: '"out"' });
      });
      await write('state/x', '1', 1);
      await write('state/y', '1', 1);
      await write('event', '{"n":2}', 2);
      await write('state/x', '3', 3);
      await write('event', '{"n":4}', 4);
      // Two steps in one commit.
      await commit((changes) => {
        changes.documents.push({ runId: 'a', name: 'state/x', body: '5', entry: 5 });
        changes.documents.push({ runId: 'a', name: 'state/x', body: '6', entry: 6 });
        for (const visit of [1, 2, 3])
          changes.outputs.push({ runId: 'a', stepId: 's', visit, body: `"visit ${visit}"` });
      });
      const at = (entry: number, outputs: readonly (readonly [string, number])[] = []) =>
        find({ kind: 'documents_at', runId: 'a', entry, outputs });
      const byKey = (found: unknown) => {
        const { state, ...rest } = found as PastDocuments;
        return { ...rest, state: Object.fromEntries(state) };
      };
      const bare = { input: '"in"', steps: [] };
      expect(byKey(await at(1))).toEqual({ ...bare, state: {} });
      expect(byKey(await at(2))).toEqual({ ...bare, state: { x: '1', y: '1' } });
      expect(byKey(await at(3))).toEqual({ ...bare, state: { x: '1', y: '1' }, event: '{"n":2}' });
      expect(byKey(await at(5))).toEqual({ ...bare, state: { x: '3', y: '1' }, event: '{"n":4}' });
      expect(byKey(await at(6))).toMatchObject({ state: { x: '5' } });
      expect(byKey(await at(7))).toMatchObject({ state: { x: '6' } });
      expect(await at(1, [['s', 2]])).toMatchObject({ steps: [['s', '"visit 2"']] });
      expect(await at(1, [['s', 9]])).toMatchObject({ steps: [['s', '"visit 3"']] });
      expect(
        await at(1, [
          ['s', 0],
          ['never', 1],
        ]),
      ).toMatchObject({ steps: [] });
      expect(await find({ kind: 'documents_at', runId: 'gone', entry: 1, outputs: [] })).toBeUndefined();
      // What carries no number was written by nobody knows which step.
      await commit((changes) => changes.documents.push({ runId: 'a', name: 'state/old', body: '1' }));
      expect(await at(1)).toMatchObject({ ageUnknown: true });
    });

    it('copies the payloads of an ended run to the one that takes it up; each owns its own', async () => {
      const { put, commit, find, store } = await opened();
      await put(aRun('a'));
      await commit((changes) => {
        changes.documents.push({ runId: 'a', name: 'input', body: '"in"' });
        changes.documents.push({ runId: 'a', name: 'output', body: '"out"' });
        changes.documents.push({ runId: 'a', name: 'state/x', body: '1', entry: 1 });
        changes.documents.push({ runId: 'a', name: 'state/x', body: '2', entry: 2 });
        changes.documents.push({ runId: 'a', name: 'state/late', body: '2', entry: 2 });
        changes.documents.push({ runId: 'a', name: 'event', body: '{}', entry: 1 });
        for (const visit of [1, 2, 3]) changes.outputs.push({ runId: 'a', stepId: 's', visit, body: `${visit}` });
      });
      const restartedFrom = { runId: 'a', traceId: 't', stepId: 's', visit: 3, cameFrom: 's' };
      await commit((changes) => {
        for (const [runId, input] of [
          ['b', true],
          ['c', false],
        ] as const) {
          changes.runsInserted.push(aRun(runId, { restartedFrom }));
          changes.takenOver.push({ runId, from: 'a', entry: 2, outputs: [['s', 2]], input });
        }
        changes.documents.push({ runId: 'c', name: 'input', body: '"other"' });
        changes.documents.push({ runId: 'c', name: 'state/x', body: '"patched"', entry: 0 });
        changes.outputs.push({ runId: 'c', stepId: 's', visit: 3, body: '3' });
        changes.erased.push('a');
      });
      expect(await store.findRun('a')).toBeUndefined();
      expect((await store.findRun('b'))?.stored.record.restartedFrom).toEqual(restartedFrom);
      const of = (runId: string) => find({ kind: 'documents', runId, steps: ['s'] });
      expect(await of('b')).toEqual({ input: '"in"', event: '{}', state: [['x', '1']], steps: [['s', '2']] });
      expect(await of('c')).toEqual({
        input: '"other"',
        event: '{}',
        state: [['x', '"patched"']],
        steps: [['s', '3']],
      });
      // As of its own first step, by its own numbers.
      expect(await find({ kind: 'documents_at', runId: 'c', entry: 1, outputs: [['s', 2]] })).toEqual({
        input: '"other"',
        event: '{}',
        state: [['x', '"patched"']],
        steps: [['s', '2']],
      });
      expect(
        (await store.listRuns({ reach: 'all', limit: 9, restartedFrom: 'a' })).map(({ runId }) => runId).toSorted(),
      ).toEqual(['b', 'c']);
    });

    it('keeps several waits of one run, each in its own mailbox, and closes them together', async () => {
      const { put, commit, find, store } = await opened();
      await put(aRun('a'), aRun('b'));
      const wait = (runId: string, order: number, event: string, key = 'k'): WaitRecord => ({
        runId,
        project: 'p',
        event,
        key,
        stepId: 's',
        since: AT,
        order,
      });
      const waiting = async (event: string) =>
        (
          (await find({
            kind: 'event_mailbox',
            project: 'p',
            event,
            key: 'k',
            parkedAfter: 0,
            limit: 9,
          })) as EventMailbox
        ).waits;
      const some = [wait('a', 2, 'paid'), wait('a', 3, 'refused'), wait('a', 4, 'paid', 'other')];
      await commit((changes) => changes.waitsOpened.push(...some, wait('b', 5, 'paid')));
      expect((await store.findRun('a'))?.waits).toEqual(some);
      expect(await waiting('paid')).toEqual([some[0], wait('b', 5, 'paid')]);
      expect(await waiting('refused')).toEqual([some[1]]);
      expect((await store.resume(0)).highest.order).toBe(5);
      // What a commit closes goes before what it opens.
      await commit((changes) => {
        changes.waitsClosed.push('a');
        changes.waitsOpened.push(wait('a', 6, 'refused'));
      });
      expect((await store.findRun('a'))?.waits).toEqual([wait('a', 6, 'refused')]);
      expect(await waiting('paid')).toEqual([wait('b', 5, 'paid')]);
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

    it('stamps anew what was parked later than a commit says, and nothing else', async () => {
      const { commit, find } = await opened();
      const parked = (order: number, at: number) => ({ order, project: 'p', event: 'e', key: 'k', payload: '1', at });
      await commit((changes) => {
        changes.parked.push(parked(1, 10), parked(2, 11), parked(3, 12));
        changes.eventsSeen.push(
          { project: 'p', eventId: 'ahead', at: 12 },
          { project: 'p', eventId: 'taken', at: 12, runId: 'a' },
        );
      });
      await commit((changes) => (changes.parkedUntil = 11));
      expect(
        await find({ kind: 'event_mailbox', project: 'p', event: 'e', key: 'k', parkedAfter: 0, limit: 9 }),
      ).toMatchObject({
        parked: [parked(1, 10), parked(2, 11), parked(3, 11)],
      });
      expect(await find({ kind: 'event_id', project: 'p', eventId: 'ahead' })).toMatchObject({ at: 11 });
      expect(await find({ kind: 'event_id', project: 'p', eventId: 'taken' })).toMatchObject({ at: 12 });
    });

    it('keeps the id of a parked event that a run took after all, and forgets it with the run', async () => {
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
        aRun('e', { queueOrder: 1 }),
      );
      const from = async (order: number, runId = '', limit = 9) =>
        (
          (await find({
            kind: 'runnable',
            definitionOwner: SERVICE,
            definitionId: 'flow',
            after: { order, runId },
            limit,
          })) as {
            runId: string;
          }[]
        ).map(({ runId }) => runId);
      expect(await from(-1)).toEqual(['b', 'e', 'a']);
      expect(await from(-1, '', 1)).toEqual(['b']);
      // Runs of one order are many: a slice may end among them, and the next goes on there.
      expect(await from(1, 'b')).toEqual(['e', 'a']);
      expect(await from(1, 'e')).toEqual(['a']);
      expect(await from(3, 'a')).toEqual([]);
    });

    it('knows how many runs stand below a root, by its trace, until the root is erased', async () => {
      const { put, commit, find } = await opened();
      const traceId = 'c'.repeat(32);
      const size = () => find({ kind: 'tree_size', traceId });
      await put(
        aRun('a', { traceId }),
        aRun('b', { traceId, parent: { runId: 'a', stepId: 's', visit: 1, index: 0 } }),
      );
      expect(await size()).toEqual({ traceId, descendants: 0 });
      await commit((changes) => changes.treeSizes.push({ traceId, descendants: 1 }));
      await commit((changes) => changes.treeSizes.push({ traceId, descendants: 7 }));
      expect(await size()).toEqual({ traceId, descendants: 7 });
      await commit((changes) => changes.erased.push('b'));
      expect(await size()).toEqual({ traceId, descendants: 7 });
      await commit((changes) => changes.erased.push('a'));
      expect(await size()).toEqual({ traceId, descendants: 0 });
    });

    it('finds runs by idempotency key within a project', async () => {
      const { put, find } = await opened();
      await put(aRun('a', { idempotencyKey: 'k' }));
      expect(await find({ kind: 'idempotency', project: 'p', key: 'k' })).toBe('a');
      expect(await find({ kind: 'idempotency', project: 'q', key: 'k' })).toBeUndefined();
      await expect(put(aRun('b', { idempotencyKey: 'k' }))).rejects.toThrow(/idempotency|constraint|storage engine/i);
    });

    it('notes when workers were last seen, and forgets silent ones that were not seen meanwhile', async () => {
      const { store, commit, find } = await opened();
      const worker = (workerId: string, lastSeenAt: number) => ({
        workerId,
        owner: SERVICE,
        definitions: [],
        lastSeenAt,
      });
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
      expect((await store.resume(0)).highest.outboxNo).toBe(3);
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

    it('knows the children of a run, how each ended, and which are open', async () => {
      const { store, commit, put, find } = await opened();
      const parent = (index: number, visit = 1) => ({ runId: 'a', stepId: 's', visit, index });
      await put(
        aRun('a'),
        aRun('c1', { parent: parent(1) }),
        aRun('c0', { parent: parent(0), endedAt: AT, status: 'succeeded' }),
        aRun('c2', { parent: parent(2), endedAt: AT, status: 'failed', snapshot: 'with its error' }),
        aRun('c3', { parent: parent(3), endedAt: AT, status: 'cancelled' }),
        aRun('old', { parent: parent(0, 2) }),
      );
      await commit((changes) => changes.documents.push({ runId: 'c0', name: 'output', body: '"zero"' }));
      expect(await find({ kind: 'open_children', runId: 'a' })).toEqual(['c1', 'old']);
      const results = (await find({ kind: 'child_results', runId: 'a', stepId: 's', visit: 1 })) as ChildResult[];
      expect(results.toSorted((a, b) => a.index - b.index)).toEqual([
        { index: 0, runId: 'c0', status: 'succeeded', output: '"zero"' },
        { index: 1, runId: 'c1', status: 'queued' },
        { index: 2, runId: 'c2', status: 'failed', snapshot: 'with its error' },
        { index: 3, runId: 'c3', status: 'cancelled' },
      ]);
      expect((await store.findRun('a'))?.children.length).toBe(5);
    });

    it('names the quarantined runs, by id from any place on, until they are released', async () => {
      const { commit, find, put } = await opened();
      await put(aRun('a', { fault: 'f' }), aRun('b'), aRun('c', { fault: 'f', version: 1 }), aRun('d', { fault: 'g' }));
      const quarantined = (after: string, limit: number) => find({ kind: 'quarantined', after, limit });
      expect(await quarantined('', 2)).toEqual(['a', 'c']);
      expect(await quarantined('c', 2)).toEqual(['d']);
      await commit((changes) =>
        changes.runsUpdated.push({ before: aRun('c', { fault: 'f' }), after: aRun('c', { version: 2 }) }),
      );
      expect(await quarantined('', 9)).toEqual(['a', 'd']);
    });
  });

  describe(`${engine}: what the kernel relies on`, () => {
    const opened = storesOf(open);
    it('commits take effect in the order of their calls, and a read sees those before it and none after it', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'));
      const answers = await Promise.all([
        store.load(RUN),
        commit((changes) => changes.runsUpdated.push(moved(2))),
        store.load(RUN),
        commit((changes) => changes.runsUpdated.push(moved(3))),
        commit((changes) => changes.runsUpdated.push(moved(4))),
        store.load([...RUN, ...RUN]),
        commit((changes) => changes.runsUpdated.push(moved(5))),
      ]);
      expect([versionOf(answers[0]), versionOf(answers[2])]).toEqual([1, 2]);
      expect(answers[5].map((found) => versionOf([found]))).toEqual([4, 4]);
    });

    it('what is due, what is to be sent and what a service resumes with are as of the commits called before', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'));
      const [, due, outbox, resumption] = await Promise.all([
        commit((changes) => {
          changes.timersSet.push({ runId: 'a', name: 'sleep', dueAt: 1 });
          changes.outbox.push({ no: 7, runId: 'a', span: 'x' });
          changes.parked.push({ order: 9, project: 'p', event: 'e', key: 'k', payload: '1', at: AT + 1 });
        }),
        store.dueTimers(1, 9, 1),
        store.readOutbox(0, 9),
        store.resume(0),
        commit((changes) => {
          changes.timersCleared.push({ runId: 'a', name: 'sleep' });
          changes.outboxDelivered = 7;
          changes.unparked.push(9);
        }),
      ]);
      expect(due).toEqual([{ runId: 'a', name: 'sleep', dueAt: 1 }]);
      expect(outbox).toEqual([{ no: 7, runId: 'a', span: 'x' }]);
      expect(resumption).toMatchObject({ liveLeases: [], highest: { outboxNo: 7, order: 9, queueOrders: [] } });
      expect((await store.resume(0)).highest).toEqual({ outboxNo: 0, order: 0, queueOrders: [] });
    });

    it('a service resumes with the number of runs in each open status, over all projects', async () => {
      const { store, put } = await opened();
      await put(aRun('a', { status: 'waiting' }));
      await put(aRun('b', { status: 'waiting', project: 'other' }));
      await put(aRun('c', { status: 'paused' }));
      await put(aRun('d', { status: 'failed' }));
      const { openRuns } = await store.resume(0);
      expect(openRuns).toEqual({ scheduled: 0, queued: 0, running: 0, waiting: 2, paused: 1 });
    });

    it('a question that is asked after a commit was answered sees it', async () => {
      const { store, commit, put } = await opened();
      await put(aRun('a'));
      for (let version = 2; version < 40; version += 1) {
        await commit((changes) => changes.runsUpdated.push(moved(version)));
        expect((await store.findRun('a'))?.stored.record.version).toBe(version);
      }
    });

    const refusals: readonly (readonly [why: string, refuse: (changes: Changes) => unknown])[] = [
      ['a run is at another version', (changes) => changes.runsUpdated.push(moved(3))],
      [
        'a run is not there',
        (changes) => changes.runsUpdated.push({ before: aRun('none'), after: aRun('none', { version: 2 }) }),
      ],
      ['a run of that id is there', (changes) => changes.runsInserted.push(aRun('a'))],
      ['an idempotency key is taken', (changes) => changes.runsInserted.push(aRun('b', { idempotencyKey: 'taken' }))],
      ['a lease of that id is there', (changes) => changes.attemptsInserted.push(anAttempt('taken', 'a'))],
      ['an outbox number is taken', (changes) => changes.outbox.push({ no: 1, runId: 'a', span: 'other' })],
      [
        'a definition of that version is there',
        (changes) =>
          changes.definitions.push({
            owner: SERVICE,
            id: 'taken',
            version: 1,
            document: 'other',
            hash: 'other',
            createdAt: 2,
          }),
      ],
    ];
    it.each(refusals)(
      'of a commit that fails because %s no row is left, and the next one is taken',
      async (_, refuse) => {
        const { store, commit, put, find } = await opened();
        await put(aRun('a', { idempotencyKey: 'taken' }));
        await commit((changes) => {
          changes.attemptsInserted.push(anAttempt('taken', 'a'));
          changes.outbox.push({ no: 1, runId: 'a', span: 'x' });
          changes.definitions.push({
            owner: SERVICE,
            id: 'taken',
            version: 1,
            document: '{}',
            hash: 'h',
            createdAt: 1,
          });
          changes.workers.push({ workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: 1 });
          changes.timersSet.push({ runId: 'a', name: 'kept', dueAt: 1 });
        });
        const looks = (): Promise<unknown> =>
          Promise.all([
            store.findRun('a'),
            store.findRun('new'),
            store.resume(AT + 5000),
            store.dueTimers(Number.MAX_SAFE_INTEGER, 9, Number.MAX_SAFE_INTEGER),
            store.readOutbox(0, 9),
            store.journal('a', -1, 9),
            store.listDefinitions({ reach: 'all', limit: 9 }),
            store.listWorkers({ reach: 'all', limit: 9 }),
            find({ kind: 'event_id', project: 'p', eventId: 'new' }),
            find({ kind: 'event_mailbox', project: 'p', event: 'e', key: 'k', parkedAfter: 0, limit: 9 }),
          ]);
        const before = await looks();
        const refused = commit((changes) => {
          changes.runsInserted.push(aRun('new'));
          changes.documents.push({ runId: 'new', name: 'input', body: '{}' });
          changes.attemptsUpdated.push(anAttempt('taken', 'a', { state: 'failed', endedAt: AT }));
          changes.journal.push({ runId: 'a', firstSeq: 0, lastSeq: 0, entries: '[{"at":1}]', events: '[]' });
          changes.timersSet.push({ runId: 'a', name: 'new', dueAt: 2 });
          changes.timersCleared.push({ runId: 'a', name: 'kept' });
          changes.waitsOpened.push({
            runId: 'a',
            project: 'p',
            event: 'e',
            key: 'k',
            stepId: 's',
            since: AT,
            order: 3,
          });
          changes.parked.push({ order: 4, project: 'p', event: 'e', key: 'k', payload: '1', at: AT });
          changes.eventsSeen.push({ project: 'p', eventId: 'new', at: AT });
          changes.definitions.push({ owner: SERVICE, id: 'new', version: 1, document: '{}', hash: 'h', createdAt: 1 });
          changes.workers.push({ workerId: 'new', owner: SERVICE, definitions: [], lastSeenAt: 1 });
          changes.outbox.push({ no: 2, runId: 'a', span: 'y' });
          changes.outboxDelivered = 1;
          changes.erased.push('a');
          refuse(changes);
        });
        const next = commit((changes) =>
          changes.runsUpdated.push({
            before: aRun('a', { idempotencyKey: 'taken' }),
            after: aRun('a', { idempotencyKey: 'taken', version: 2 }),
          }),
        );
        await expect(refused).rejects.toBeInstanceOf(Error);
        await next;
        expect(versionOf(await store.load(RUN))).toBe(2);
        await commit((changes) =>
          changes.runsUpdated.push({
            before: aRun('a', { idempotencyKey: 'taken', version: 2 }),
            after: aRun('a', { idempotencyKey: 'taken', version: 1 }),
          }),
        );
        expect(await looks()).toEqual(before);
      },
    );
  });
};
