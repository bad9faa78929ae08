import type { Runnable } from '../../../src/store/runs/run-store.ts';
import { SERVICE } from '../../../src/model/definition/owner.ts';
import type { HeldReason } from '../../../src/model/run.ts';
import type { ProjectReach } from '../../../src/model/scope.ts';
import { describe, expect, it } from 'vitest';
import { AT, anAttempt, aRun, type OpenRunStore, storesOf } from './factories.ts';

/** What is asked of every engine. @see RunQueries */
export const runQueriesContract = (engine: string, open: OpenRunStore): void => {
  describe(`${engine}: questions about runs`, () => {
    const opened = storesOf(open);

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
      // Each row weighs four.
      const upTo = async (seq: number, maxBytes: number) =>
        (await store.journal('a', seq, 10, maxBytes)).map(({ firstSeq }) => firstSeq);
      expect(await upTo(-1, 1)).toEqual([0]);
      expect(await upTo(-1, 4)).toEqual([0]);
      expect(await upTo(-1, 5)).toEqual([0, 3]);
      expect(await upTo(1, 8)).toEqual([0, 3]);
      expect(await upTo(-1, 100)).toEqual([0, 3, 4]);
      expect((await store.journalBefore('a', 5, 10)).map(({ firstSeq }) => firstSeq)).toEqual([4, 3, 0]);
      expect((await store.journalBefore('a', 3, 1)).map(({ firstSeq }) => firstSeq)).toEqual([3]);
      await commit((changes) => changes.checkpoints.push({ runId: 'a', seq: 3, snapshot: 's' }));
      expect(await store.checkpoint('a', 2)).toBeUndefined();
      expect(await store.checkpoint('a', 7)).toEqual({ runId: 'a', seq: 3, snapshot: 's' });
    });

    it('keeps definitions and workers', async () => {
      const { store, commit, find } = await opened();
      const definition = (id: string, version: number) => ({
        owner: SERVICE,
        id,
        version,
        document: '{}',
        hash: 'h',
        createdAt: AT,
      });
      const worker = {
        workerId: 'w',
        name: 'n',
        project: 'p',
        concurrency: 2,
        owner: SERVICE,
        definitions: [{ id: 'a', version: 1 }],
        lastSeenAt: AT,
        registeredBy: ['p', 'q'],
      };
      await commit((changes) => {
        changes.definitions.push(definition('a', 9), definition('a', 10), definition('b', 1));
        changes.workers.push(worker);
      });
      expect(await find({ kind: 'latest', owner: SERVICE, id: 'a' })).toEqual(definition('a', 10));
      expect(await find({ kind: 'definition', owner: SERVICE, id: 'a', version: 9 })).toEqual(definition('a', 9));
      expect(await find({ kind: 'latest', owner: SERVICE, id: 'z' })).toBeUndefined();
      expect(await store.listDefinitions({ reach: 'all', limit: 10 })).toEqual([
        definition('a', 10),
        definition('b', 1),
      ]);
      expect(await store.listDefinitions({ reach: 'all', after: { id: 'a', owner: SERVICE }, limit: 10 })).toEqual([
        definition('b', 1),
      ]);
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
        (await store.definitionVersions(SERVICE, 'a', 'all')).map(({ version, openRuns }) => [version, openRuns]),
      ).toEqual([
        [9, 0],
        [10, 0],
      ]);
      expect(await find({ kind: 'worker', workerId: 'w' })).toEqual(worker);
      await commit((changes) =>
        changes.workers.push({ workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: AT + 1 }),
      );
      expect(await store.listWorkers({ reach: 'all', after: 'v', limit: 9 })).toEqual([
        { workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: AT + 1 },
      ]);
    });

    it('keeps definitions of one id and version apart by their owner', async () => {
      const { store, commit, put, find } = await opened();
      const definition = (owner: string, id: string, version: number) => ({
        owner,
        id,
        version,
        document: JSON.stringify(owner),
        hash: owner,
        createdAt: AT,
      });
      const [ofService, ofP, ofQ] = [definition(SERVICE, 'a', 3), definition('p', 'a', 3), definition('q', 'a', 1)];
      await commit((changes) =>
        changes.definitions.push(definition(SERVICE, 'a', 2), ofService, ofP, ofQ, definition('q', 'b', 1)),
      );
      const latest = (owner: string, id: string) => find({ kind: 'latest', owner, id });
      expect([await latest('p', 'a'), await latest('q', 'a'), await latest(SERVICE, 'a')]).toEqual([
        ofP,
        ofQ,
        ofService,
      ]);
      expect([await latest('r', 'a'), await latest('p', 'b'), await latest(SERVICE, 'b')]).toEqual([
        ofService,
        undefined,
        undefined,
      ]);
      const exact = (owner: string, version: number) => find({ kind: 'definition', owner, id: 'a', version });
      expect([await exact('p', 3), await exact(SERVICE, 3), await exact('p', 2)]).toEqual([ofP, ofService, undefined]);

      const listed = async (reach: 'all' | string[], limit = 9, after?: { id: string; owner: string }) =>
        (await store.listDefinitions({ reach, limit, ...(after === undefined ? {} : { after }) })).map(
          ({ owner, id, version }) => `${id} ${version} ${owner}`,
        );
      expect(await listed('all')).toEqual(['a 3 ', 'a 3 p', 'a 1 q', 'b 1 q']);
      expect(await listed(['p'])).toEqual(['a 3 ', 'a 3 p']);
      expect(await listed(['p', 'q'], 2, { id: 'a', owner: SERVICE })).toEqual(['a 3 p', 'a 1 q']);
      expect(await listed(['r'])).toEqual(['a 3 ']);

      await put(
        aRun('1', { definitionId: 'a', definitionVersion: 3, queueOrder: 1 }),
        aRun('2', { definitionId: 'a', definitionVersion: 3, queueOrder: 2, project: 'q' }),
        aRun('3', { definitionId: 'a', definitionVersion: 3, queueOrder: 3, definitionOwner: 'p' }),
      );
      const open = async (owner: string, reach: 'all' | string[]) =>
        (await store.definitionVersions(owner, 'a', reach)).map(({ version, openRuns }) => [version, openRuns]);
      expect(await open(SERVICE, 'all')).toEqual([
        [2, 0],
        [3, 2],
      ]);
      expect(await open(SERVICE, ['q'])).toEqual([
        [2, 0],
        [3, 1],
      ]);
      expect([await open('p', 'all'), await open('p', ['q'])]).toEqual([[[3, 1]], [[3, 0]]]);
      const runnable = async (definitionOwner: string) =>
        (
          (await find({
            kind: 'runnable',
            definitionOwner,
            definitionId: 'a',
            after: { order: -1, runId: '' },
            limit: 9,
          })) as Runnable[]
        ).map((entry) => [entry.runId, entry.definitionOwner]);
      expect([await runnable(SERVICE), await runnable('p'), await runnable('q')]).toEqual([
        [
          ['1', SERVICE],
          ['2', SERVICE],
        ],
        [['3', 'p']],
        [],
      ]);
    });

    it('lists workers by id from any place on, those of the projects in reach and those of none', async () => {
      const { store, commit } = await opened();
      const worker = (workerId: string, project?: string) => ({
        workerId,
        owner: SERVICE,
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

    it('lists parked events newest first from any place on, within a reach, with the size of a payload in bytes', async () => {
      const { store, commit } = await opened();
      const parked = (order: number, project: string, more: object = {}) => ({
        order,
        project,
        event: 'e',
        key: 'k',
        payload: '{}',
        at: AT + order,
        ...more,
      });
      await commit((changes) =>
        changes.parked.push(
          parked(1, 'p'),
          parked(2, 'q', { payload: '"é"', eventId: 'id' }),
          parked(3, 'p', { payload: '' }),
          parked(4, 'r'),
        ),
      );
      const list = (query: object = {}) =>
        store.listParkedEvents({ reach: 'all', parkedAfter: AT, limit: 9, ...query });
      const orders = async (query: object = {}) => (await list(query)).map(({ order }) => order);
      expect(await orders()).toEqual([4, 3, 2, 1]);
      expect(await orders({ limit: 2 })).toEqual([4, 3]);
      expect(await orders({ limit: 2, before: 3 })).toEqual([2, 1]);
      expect(await orders({ reach: ['p', 'q'] })).toEqual([3, 2, 1]);
      expect(await orders({ reach: ['p', 'q'], limit: 1, before: 3 })).toEqual([2]);
      expect(await orders({ reach: [] })).toEqual([]);
      expect(await orders({ parkedAfter: AT + 1 })).toEqual([4, 3, 2]);
      expect(await orders({ parkedAfter: AT + 2, reach: ['p'] })).toEqual([3]);
      expect(await list({ before: 3, limit: 1 })).toEqual([
        { order: 2, project: 'q', event: 'e', key: 'k', at: AT + 2, eventId: 'id', payloadBytes: 4 },
      ]);
      expect((await list({ before: 2 }))[0]).not.toHaveProperty('eventId');
      await commit((changes) => changes.unparked.push(4));
      expect(await orders()).toEqual([3, 2, 1]);
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

    it('lists and counts runs that wait for their start, for a key, and for a worker that fell silent', async () => {
      const { store, commit, put } = await opened();
      const RUNNING = { status: 'running', snapshot: '{"m":1,"v":{"active":{"one":"leased"}},"c":{}}' } as const;
      const held = (reason: HeldReason) => ({ status: 'queued', held: reason }) as const;
      await put(
        aRun('later', { updatedAt: AT + 9, status: 'scheduled', snapshot: '{"m":1,"v":"scheduled","c":{}}' }),
        aRun('key', { updatedAt: AT + 8, ...held('concurrency_key') }),
        aRun('rate', { updatedAt: AT + 7, ...held('rate'), definitionId: 'other' }),
        aRun('paused', { updatedAt: AT + 6, ...held('definition_paused') }),
        aRun('orphan', { updatedAt: AT + 5, ...RUNNING }),
        aRun('busy', { updatedAt: AT + 4, ...RUNNING }),
        aRun('again', { updatedAt: AT + 3, queueOrder: 1 }),
        aRun('elsewhere', { updatedAt: AT + 2, ...RUNNING, project: 'q' }),
        // Paused while it was held: it waits for its resume.
        aRun('rests', { updatedAt: AT + 1, ...held('rate'), status: 'paused' }),
      );
      await commit((changes) =>
        changes.attemptsInserted.push(
          anAttempt('l1', 'orphan', { state: 'orphaned' }),
          anAttempt('l2', 'busy', { state: 'reclaimed', endedAt: AT }),
          anAttempt('l3', 'busy', { state: 'running', attempt: 2 }),
          anAttempt('l4', 'again', { state: 'reclaimed', endedAt: AT }),
          anAttempt('l5', 'elsewhere', { state: 'orphaned' }),
        ),
      );
      const list = async (query: object) =>
        (await store.listRuns({ reach: 'all', limit: 99, ...query })).map(({ runId }) => runId);
      expect(await list({ waitingOn: 'timer' })).toEqual(['later']);
      expect(await list({ waitingOn: 'key' })).toEqual(['key', 'rate']);
      expect(await list({ waitingOn: 'key', limit: 1 })).toEqual(['key']);
      expect(await list({ waitingOn: 'key', after: { updatedAt: AT + 8, runId: 'key' } })).toEqual(['rate']);
      expect(await list({ waitingOn: 'key', definitionId: 'other' })).toEqual(['rate']);
      expect(await list({ waitingOn: 'worker' })).toEqual(['again']);
      expect(await list({ waitingOn: 'orphan' })).toEqual(['orphan', 'elsewhere']);
      expect(await list({ waitingOn: 'orphan', reach: ['q'] })).toEqual(['elsewhere']);
      expect(await list({ waitingOn: 'orphan', status: 'queued' })).toEqual([]);
      expect((await store.matchingRuns({ reach: ['p'], waitingOn: 'orphan' }, '', 99)).runIds).toEqual(['orphan']);
      expect((await store.matchingRuns({ reach: ['p'], waitingOn: 'key' }, '', 99)).runIds).toEqual(['key', 'rate']);

      const counts = async (query: object, most: number) =>
        (await store.countWaiting({ reach: 'all', ...query }, most))
          .filter(({ count, isCapped }) => count > 0 || isCapped)
          .map(({ waitingOn, count, isCapped }) => `${waitingOn} ${count}${isCapped ? '+' : ''}`);
      expect(await counts({}, 2)).toEqual(['timer 1', 'orphan 2', 'key 2']);
      expect(await counts({}, 1)).toEqual(['timer 1', 'orphan 2', 'key 1+']);
      expect(await counts({ reach: ['q'] }, 2)).toEqual(['orphan 1']);
      expect(await counts({ status: 'queued' }, 2)).toEqual(['key 2']);
      expect(await counts({ definitionId: 'other' }, 2)).toEqual(['key 1']);
      // It lies beyond those that were looked at.
      expect(await counts({ definitionId: 'other' }, 1)).toEqual(['key 0+']);
    });

    it('lists the runs that are queued, running or waiting, those that moved longest ago first', async () => {
      const { store, put } = await opened();
      await put(
        aRun('new', { updatedAt: AT + 9, status: 'running' }),
        aRun('b', { updatedAt: AT + 1, status: 'waiting' }),
        aRun('a', { updatedAt: AT + 1 }),
        aRun('old', { updatedAt: AT, project: 'q' }),
        aRun('paused', { updatedAt: AT, status: 'paused' }),
        aRun('later', { updatedAt: AT, status: 'scheduled' }),
        aRun('over', { updatedAt: AT, status: 'failed', endedAt: AT }),
      );
      const open = async (reach: ProjectReach, limit: number) =>
        (await store.openRuns(reach, limit)).map(({ runId }) => runId);
      expect(await open('all', 9)).toEqual(['old', 'a', 'b', 'new']);
      expect(await open('all', 2)).toEqual(['old', 'a']);
      expect(await open(['p'], 2)).toEqual(['a', 'b']);
      expect(await open([], 2)).toEqual([]);
    });

    it('lists runs by their parent, what they wait for, and members of their correlation', async () => {
      const { store, put } = await opened();
      const waits = (value: string, context: object = {}) => ({
        status: 'waiting' as const,
        snapshot: JSON.stringify({ m: 1, v: { active: { one: value } }, c: context }),
      });
      const of = (correlation: object) => ({ correlation: JSON.stringify(correlation) });
      const child = (parent: string) => ({ parent: { runId: parent, stepId: 's', visit: 1, index: 0 } });
      await put(
        aRun('queued', { queueOrder: 1, updatedAt: AT + 8, ...of({ session_id: 's1', release: 'r' }) }),
        aRun('event', { updatedAt: AT + 7, ...waits('waiting', { waitKey: 'k' }), ...of({ session_id: 's1' }) }),
        aRun('timer', { updatedAt: AT + 6, ...waits('waiting'), ...of({ session_id: 's2', release: 'r' }) }),
        aRun('backoff', { updatedAt: AT + 5, project: 'q', ...waits('backoff'), ...of({ session_id: 's1' }) }),
        aRun('parent', { updatedAt: AT + 4, ...waits('waiting', { children: { total: 2, started: 2, finished: 0 } }) }),
        aRun('kid', { updatedAt: AT + 3, ...waits('waiting'), ...child('parent') }),
        aRun('kin', { updatedAt: AT + 2, status: 'running', ...child('event') }),
        aRun('broken', { updatedAt: AT + 1, status: 'waiting', snapshot: 'not JSON', fault: 'f' }),
        aRun('over', { updatedAt: AT, ...waits('waiting'), ...child('parent'), status: 'failed', endedAt: AT }),
      );
      const list = async (query: object) =>
        (await store.listRuns({ reach: 'all', limit: 99, ...query })).map(({ runId }) => runId);
      expect(await list({ parentRunId: 'parent' })).toEqual(['kid', 'over']);
      expect(await list({ parentRunId: 'parent', limit: 1 })).toEqual(['kid']);
      expect(await list({ parentRunId: 'parent', after: { updatedAt: AT + 3, runId: 'kid' } })).toEqual(['over']);
      expect(await list({ parentRunId: 'parent', status: 'waiting' })).toEqual(['kid']);
      expect(await list({ parentRunId: 'parent', reach: ['q'] })).toEqual([]);
      expect(await list({ parentRunId: 'nobody' })).toEqual([]);
      expect(await list({ waitingOn: 'worker' })).toEqual(['queued']);
      expect(await list({ waitingOn: 'event' })).toEqual(['event']);
      expect(await list({ waitingOn: 'timer' })).toEqual(['timer', 'kid']);
      expect(await list({ waitingOn: 'backoff' })).toEqual(['backoff']);
      expect(await list({ waitingOn: 'children' })).toEqual(['parent']);
      expect(await list({ waitingOn: 'event', status: 'queued' })).toEqual([]);
      expect((await store.countWaiting({ reach: 'all' }, 9)).map(({ waitingOn, count }) => [waitingOn, count])).toEqual(
        [
          ['event', 1],
          ['timer', 2],
          ['backoff', 1],
          ['children', 1],
          ['orphan', 0],
          ['key', 0],
        ],
      );
      const session = (value: string) => ['session_id', value];
      expect(await list({ correlation: [session('s1')] })).toEqual(['queued', 'event', 'backoff']);
      expect(await list({ correlation: [session('s1')], reach: ['q'] })).toEqual(['backoff']);
      expect(await list({ correlation: [session('s1'), ['release', 'r']] })).toEqual(['queued']);
      expect(await list({ correlation: [['release', 'r']] })).toEqual(['queued', 'timer']);
      expect(await list({ correlation: [session('s1'), session('s2')] })).toEqual([]);
      expect(await list({ correlation: [['constructor', 's1']] })).toEqual([]);
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
        aRun('in line', { held: 'rate', places: { step: { order: 1, rateId: 'r', lineId: 'r' } } }),
        aRun('held as a run', {
          held: 'concurrency_key',
          places: { run: { order: 2, concurrencyId: 'c', lineId: 'c' } },
        }),
        aRun('lost its place', { held: 'rate', places: { step: { order: 3, rateId: 'r', lineId: 'r' } } }),
        aRun('in no line', { held: 'concurrency_key' }),
        aRun('of a paused definition', { held: 'definition_paused' }),
      );
      await commit((changes) => {
        changes.timersSet.push(
          { runId: 'timed', name: 'sleep' },
          { runId: 'deadline-only', name: 'run_timeout', dueAt: 5 },
        );
        for (const [order, runId] of [
          [1, 'in line'],
          [2, 'held as a run'],
          [3, 'another'],
        ] as const)
          changes.placesSet.push({ order, priority: 0, runId, concurrencyId: 'c', lineId: 'c', since: AT });
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
      expect((await store.stuckRuns(10)).map(({ runId }) => runId).toSorted()).toEqual([
        'deadline-only',
        'in no line',
        'lost its place',
        'stuck',
      ]);
      expect(await store.counts()).toEqual({ definitionVersions: 0, openRuns: 14, quarantined: 1 });
    });

    it('counts what waits: timers that are due at a moment or before, the next of them, rows of the outbox', async () => {
      const { store, commit, put } = await opened();
      expect(await store.backlog(AT, AT)).toEqual({ overdueTimers: 0, outboxRows: 0 });
      await put(aRun('a'), aRun('b'));
      await commit((changes) => {
        changes.timersSet.push(
          { runId: 'a', name: 'sleep', dueAt: AT },
          { runId: 'b', name: 'sleep', dueAt: AT + 1 },
          { runId: 'b', name: 'retry' },
        );
        changes.outbox.push({ no: 1, runId: 'a', span: '{}' }, { no: 2, runId: 'b', span: '{}' });
      });
      expect(await store.backlog(AT - 1, AT - 1)).toEqual({ overdueTimers: 0, nextTimerAt: AT, outboxRows: 2 });
      expect(await store.backlog(AT, AT)).toEqual({ overdueTimers: 1, nextTimerAt: AT, outboxRows: 2 });
      expect(await store.backlog(AT + 1, AT + 1)).toEqual({ overdueTimers: 2, nextTimerAt: AT, outboxRows: 2 });
      await commit((changes) => {
        changes.timersCleared.push({ runId: 'a', name: 'sleep' });
        changes.outboxDelivered = 1;
      });
      expect(await store.backlog(AT, AT)).toEqual({ overdueTimers: 0, nextTimerAt: AT + 1, outboxRows: 1 });
    });

    it('counts the live leases of each worker, within a reach', async () => {
      const { store, commit, put } = await opened();
      const held = (runId: string, project: string) =>
        aRun(runId, {
          project,
          status: 'running',
          snapshot: `{"m":1,"v":{"active":{"one":"leased"}},"c":{"leaseId":"l-${runId}"}}`,
        });
      await put(held('a', 'p'), held('b', 'q'), held('c', 'q'), held('d', 'q'));
      await commit((changes) =>
        changes.attemptsInserted.push(
          anAttempt('l-a', 'a'),
          anAttempt('l-b', 'b'),
          anAttempt('l-c', 'c', { state: 'running' }),
          anAttempt('l-d', 'd', { workerId: 'v' }),
          anAttempt('ended', 'd', { workerId: 'v', state: 'failed', endedAt: AT }),
        ),
      );
      expect(await store.leasesHeld(['p'])).toEqual(new Map([['w', 1]]));
      expect(await store.leasesHeld(['q', 'p'])).toEqual(
        new Map([
          ['v', 1],
          ['w', 3],
        ]),
      );
      expect(await store.leasesHeld(['r'])).toEqual(new Map());
      expect(await store.leasesHeld('all')).toEqual(await store.leasesHeld(['q', 'p']));
    });

    it('counts the runs that wait for a worker, by definition, within a reach', async () => {
      const { store, put } = await opened();
      expect(await store.queuedRuns('all', 10)).toEqual([]);
      await put(
        aRun('a', { definitionId: 'two', queueOrder: 1 }),
        aRun('b', { definitionId: 'two', queueOrder: 2, project: 'other' }),
        aRun('c', { definitionId: 'one', queueOrder: 3 }),
        aRun('d', { definitionId: 'one' }),
        aRun('e', { definitionId: 'two', queueOrder: 4, project: 'other', definitionOwner: 'other' }),
      );
      expect(await store.queuedRuns('all', 10)).toEqual([
        { definitionOwner: SERVICE, definitionId: 'one', runs: 1 },
        { definitionOwner: SERVICE, definitionId: 'two', runs: 2 },
        { definitionOwner: 'other', definitionId: 'two', runs: 1 },
      ]);
      expect(await store.queuedRuns('all', 1)).toEqual([{ definitionOwner: SERVICE, definitionId: 'one', runs: 1 }]);
      expect(await store.queuedRuns(['other'], 10)).toEqual([
        { definitionOwner: SERVICE, definitionId: 'two', runs: 1 },
        { definitionOwner: 'other', definitionId: 'two', runs: 1 },
      ]);
      expect(await store.queuedRuns(['nobody'], 10)).toEqual([]);
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
      expect(await store.dueTimers(9, 9, 9)).toEqual([]);
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
  });
};
