import { SERVICE } from '../../../src/model/definition/owner.ts';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { type EventMailbox, noChanges, type StoredRun } from '../../../src/store/runs/run-store.ts';
import { openDataFile } from '../../../src/store/sqlite/connection.ts';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { DUE_BY_STEADY, DUE_BY_WALL } from '../../../src/store/sqlite/runs/lookups.ts';
import { LIMIT_READS } from '../../../src/store/sqlite/runs/limits.ts';
import {
  COUNT_WAITING,
  LONGEST_STILL,
  OF_SESSION,
  ORPHANED_RUNS,
  PARKED_IN_PROJECT,
  WAITING_RUNS,
} from '../../../src/store/sqlite/runs/queries.ts';
import { RUNS_FILE } from '../../../src/store/sqlite/runs/schema.ts';
import { runStoreContract } from '../runs/contract.ts';
import { aRun } from '../runs/factories.ts';
import { durableRunsContract } from '../runs/durable-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'run-store-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
/** The kind of file that an earlier release made: its columns, and no index that later ones need. */
const ofVersion = (schemaVersion: number) => {
  const { standing: _standing, ...kind } = RUNS_FILE;
  return { ...kind, schemaVersion, migrations: kind.migrations.slice(0, schemaVersion) };
};
const freshPath = (): string => join(folder, `${crypto.randomUUID()}.db`);

runStoreContract('sqlite', () => openSqliteRunStore({ path: freshPath() }));
durableRunsContract('sqlite', () => {
  const path = freshPath();
  return () => openSqliteRunStore({ path });
});

describe('sqlite: the runs file', () => {
  it('is for its owner alone, in 16 KiB pages, with a schema version of its own', async () => {
    const path = freshPath();
    const store = await openSqliteRunStore({ path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await store.close();
    const db = new Database(path, { readonly: true });
    expect(db.pragma('page_size', { simple: true })).toBe(16_384);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(db.prepare('SELECT max(version) FROM schema_version').pluck().get()).toBe(RUNS_FILE.schemaVersion);
    db.close();
  });

  it('of schema version 1 is brought forward, and its parked events get the ids that are certainly theirs', async () => {
    const path = freshPath();
    const asItWas = ofVersion(1);
    const { db } = openDataFile(path, 4, asItWas);
    const park = db.prepare("INSERT INTO parked VALUES (?, 'p', 'e', 'k', ?, ?)");
    const see = db.prepare('INSERT INTO event_seen VALUES (?, ?, ?, ?)');
    park.run(1, '"named"', 10);
    see.run('p', 'a', 10, null);
    see.run('other', 'b', 10, null);
    park.run(2, '"without an id"', 20);
    see.run('p', 'taken', 20, 'run');
    park.run(3, '"one of two"', 30);
    park.run(4, '"the other of two"', 30);
    see.run('p', 'c', 30, null);
    db.prepare("INSERT INTO worker VALUES ('w', NULL, NULL, NULL, NULL, '[]', 40)").run();
    db.close();

    const store = await openSqliteRunStore({ path });
    const [found] = await store.load([
      { kind: 'event_mailbox', project: 'p', event: 'e', key: 'k', parkedAfter: 0, limit: 9 },
    ]);
    expect((found as EventMailbox).parked.map(({ order, payload, eventId }) => [order, payload, eventId])).toEqual([
      [1, '"named"', 'a'],
      [2, '"without an id"', undefined],
      [3, '"one of two"', undefined],
      [4, '"the other of two"', undefined],
    ]);
    expect(await store.listWorkers({ reach: 'all', limit: 9 })).toEqual([
      { workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: 40 },
    ]);
    await store.close();
    const after = new Database(path, { readonly: true });
    expect(after.prepare('SELECT version FROM schema_version').pluck().all()).toEqual(
      RUNS_FILE.migrations.map(({ version }) => version),
    );
    after.close();
    await (await openSqliteRunStore({ path })).close();
  });

  it('of schema version 3 is brought forward: its leases are of version 1 of their machine', async () => {
    const path = freshPath();
    const { db } = openDataFile(path, 4, ofVersion(3));
    db.prepare(
      `INSERT INTO attempt (lease_id, run_id, step_id, visit, attempt, worker_id, delivery, offered_at, state, body_ran, expires_at)
       VALUES ('l', 'r', 's', 1, 1, 'w', 'at_most_once', 10, 'running', 1, 20)`,
    ).run();
    db.close();
    const store = await openSqliteRunStore({ path });
    expect(await store.findAttempt('l')).toMatchObject({ state: 'running', machineVersion: 1, version: 1 });
    await store.close();
  });

  it('of schema version 16 is brought forward: when its leases were last extended is not known', async () => {
    const path = freshPath();
    const { db } = openDataFile(path, 4, ofVersion(16));
    db.prepare(
      `INSERT INTO attempt (lease_id, run_id, step_id, visit, attempt, worker_id, delivery, offered_at, state, body_ran, expires_at)
       VALUES ('l', 'r', 's', 1, 1, 'w', 'at_least_once', 10, 'running', 1, 20)`,
    ).run();
    db.close();
    const store = await openSqliteRunStore({ path });
    const found = await store.findAttempt('l');
    expect(found).toMatchObject({ state: 'running', expiresAt: 20 });
    expect(found?.heartbeatAt).toBe(undefined);
    await store.close();
  });

  it('finds the runs of a session by their index, also those that an earlier release stored', async () => {
    const path = freshPath();
    const { db } = openDataFile(path, 4, ofVersion(4));
    db.prepare(
      `INSERT INTO run (run_id, trace_id, project, definition_id, definition_version, correlation, created_at, depth, status,
         snapshot, version, updated_at)
       VALUES ('r', 't', 'p', 'flow', 1, '{"session_id":"s"}', 1, 0, 'running', '{}', 1, 1)`,
    ).run();
    db.close();
    const store = await openSqliteRunStore({ path });
    const found = await store.listRuns({ reach: 'all', limit: 9, correlation: [['session_id', 's']] });
    expect(found.map(({ runId }) => runId)).toEqual(['r']);
    await store.close();
    const after = new Database(path, { readonly: true });
    const plan = after.prepare<[string], { detail: string }>(`EXPLAIN QUERY PLAN ${OF_SESSION}`).all('s');
    expect(plan.map(({ detail }) => detail).join()).toContain('USING INDEX run_session');
    after.close();
  });

  it('of schema version 5 is brought forward: what the runs below a run spent stands beside it', async () => {
    const path = freshPath();
    const { db } = openDataFile(path, 4, ofVersion(5));
    const insert = db.prepare(
      `INSERT INTO run (run_id, parent_run_id, snapshot, trace_id, project, definition_id, definition_version, correlation, created_at,
         depth, status, version, updated_at)
       VALUES (?, ?, ?, 't', 'p', 'flow', 1, '{}', 1, 0, 'running', 1, 1)`,
    );
    const spent = (inputTokens: number, cost?: number) =>
      JSON.stringify({
        m: 1,
        v: 'created',
        c: { usage: { inputTokens, outputTokens: 1, totalTokens: inputTokens + 1, cost } },
      });
    insert.run('root', null, spent(1, 1));
    insert.run('branch', 'root', spent(10));
    insert.run('leaf', 'branch', spent(100, 0.5));
    insert.run('other', 'branch', spent(1000, 0.25));
    insert.run('unreadable', 'branch', 'no JSON');
    insert.run('poor', null, spent(1, 1));
    insert.run('unpriced', 'poor', spent(7));
    insert.run('alone', null, spent(5, 5));
    db.close();
    const store = await openSqliteRunStore({ path });
    const below = async (runId: string) => {
      const [found] = await store.load([{ kind: 'run', runId }]);
      return (found as StoredRun).record.descendants;
    };
    expect(await below('root')).toEqual({ inputTokens: 1110, outputTokens: 3, totalTokens: 1113, cost: 0.75 });
    expect(await below('branch')).toEqual({ inputTokens: 1100, outputTokens: 2, totalTokens: 1102, cost: 0.75 });
    expect(await below('poor')).toEqual({ inputTokens: 7, outputTokens: 1, totalTokens: 8 });
    expect([await below('leaf'), await below('alone')]).toEqual([undefined, undefined]);
    await store.close();
  });

  it('of a schema that kept no past of states is brought forward: what it holds has no age', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('CREATE TABLE replaced_document '));
    const { db } = openDataFile(path, 4, ofVersion(before));
    db.exec("INSERT INTO document VALUES ('a', 'input', '1'), ('a', 'state/x', '2')");
    db.close();
    const store = await openSqliteRunStore({ path });
    expect(await store.load([{ kind: 'documents_at', runId: 'a', entry: 1, outputs: [] }])).toEqual([
      { input: '1', state: [['x', '2']], steps: [], ageUnknown: true },
    ]);
    await store.close();
  });

  it('of a schema in which a run waits for one event is brought forward: its wait is still open', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('CREATE TABLE open_wait '));
    const { db } = openDataFile(path, 4, ofVersion(before));
    db.exec(
      "INSERT INTO wait VALUES ('a', 'p', 'paid', 'k', 'ask', 5, 7, 9), ('b', 'p', 'paid', 'k', 'ask', 6, 8, NULL)",
    );
    db.close();
    const store = await openSqliteRunStore({ path });
    const wait = { project: 'p', event: 'paid', key: 'k', stepId: 'ask' };
    expect(
      await store.load([{ kind: 'event_mailbox', project: 'p', event: 'paid', key: 'k', parkedAfter: 0, limit: 9 }]),
    ).toEqual([
      {
        waits: [
          { ...wait, runId: 'a', since: 5, order: 7, deadlineAt: 9 },
          { ...wait, runId: 'b', since: 6, order: 8 },
        ],
        moreWaits: false,
        parked: [],
        moreParked: false,
      },
    ]);
    await store.close();
  });

  it('of a schema without the sizes of trees is brought forward: they count from the runs that are there', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('CREATE TABLE tree '));
    const { db } = openDataFile(path, 4, ofVersion(before));
    const insert = db.prepare(
      `INSERT INTO run (run_id, parent_run_id, trace_id, snapshot, project, definition_id, definition_version, correlation, created_at,
         depth, status, version, updated_at)
       VALUES (?, ?, ?, '', 'p', 'flow', 1, '{}', 1, 0, 'running', 1, 1)`,
    );
    insert.run('root', null, 'one');
    insert.run('branch', 'root', 'one');
    insert.run('leaf', 'branch', 'one');
    insert.run('alone', null, 'two');
    db.close();
    const store = await openSqliteRunStore({ path });
    const sizes = await store.load(['one', 'two'].map((traceId) => ({ kind: 'tree_size', traceId })));
    expect(sizes).toEqual([
      { traceId: 'one', descendants: 2 },
      { traceId: 'two', descendants: 0 },
    ]);
    await store.close();
  });

  it('of a schema without owners is brought forward: definitions, the runs pinned to them and the workers that hold them are of the service', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('owned_definition'));
    const { db } = openDataFile(path, 4, ofVersion(before));
    db.prepare("INSERT INTO definition VALUES ('flow', ?, '{}', 'h', 1)").run(1);
    db.prepare("INSERT INTO definition VALUES ('flow', ?, '{}', 'h', 2)").run(2);
    db.prepare(
      `INSERT INTO run (run_id, trace_id, project, definition_id, definition_version, correlation, created_at, depth, status,
         snapshot, version, updated_at, queue_order)
       VALUES ('r', 't', 'p', 'flow', 1, '{}', 1, 0, 'queued', '{}', 1, 1, 7)`,
    ).run();
    const worker = db.prepare(
      `INSERT INTO worker VALUES (?, NULL, NULL, ?, NULL, '[{"id":"flow","version":1}]', 1, ?)`,
    );
    worker.run('of all', null, '"all"');
    worker.run('of one', null, '["p"]');
    worker.run('of two', null, '["p","q"]');
    worker.run('limited', 'q', '["p","q"]');
    worker.run('old', null, null);
    db.close();
    const store = await openSqliteRunStore({ path });
    const [latest, first, runnable] = await store.load([
      { kind: 'latest', owner: 'p', id: 'flow' },
      { kind: 'definition', owner: SERVICE, id: 'flow', version: 1 },
      { kind: 'runnable', definitionOwner: SERVICE, definitionId: 'flow', after: { order: -1, runId: '' }, limit: 9 },
    ]);
    expect(latest).toEqual({ owner: SERVICE, id: 'flow', version: 2, document: '{}', hash: 'h', createdAt: 2 });
    expect(first).toMatchObject({ owner: SERVICE, version: 1, createdAt: 1 });
    expect(runnable).toMatchObject([{ runId: 'r', definitionOwner: SERVICE, order: 7 }]);
    // One that the key of a single project registered is limited to it, as it would be now.
    expect(
      (await store.listWorkers({ reach: 'all', limit: 9 })).map(({ workerId, owner, project }) => [
        workerId,
        owner,
        project,
      ]),
    ).toEqual([
      ['limited', SERVICE, 'q'],
      ['of all', SERVICE, undefined],
      ['of one', SERVICE, 'p'],
      ['of two', SERVICE, undefined],
      ['old', SERVICE, undefined],
    ]);
    await store.close();
  });

  it('of a schema without priorities is brought forward: runs have the default, and those that wait for a worker keep their place', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('priority'));
    const { db } = openDataFile(path, 4, ofVersion(before));
    db.prepare(
      `INSERT INTO run (run_id, trace_id, project, definition_id, definition_version, correlation, created_at, depth, status,
         snapshot, version, updated_at, queue_order)
       VALUES ('r', 't', 'p', 'flow', 1, '{}', 1, 0, 'queued', '{}', 1, 1, 7)`,
    ).run();
    db.close();
    const store = await openSqliteRunStore({ path });
    const [run, runnable] = await store.load([
      { kind: 'run', runId: 'r' },
      { kind: 'runnable', definitionOwner: SERVICE, definitionId: 'flow', after: { order: -1, runId: '' }, limit: 9 },
    ]);
    const { record } = run as StoredRun;
    expect([record.priority, record.startAt, record.held]).toEqual([0, undefined, undefined]);
    expect(runnable).toMatchObject([{ runId: 'r', order: 7 }]);
    expect((await store.resume(1)).highest.queueOrders).toEqual([{ priority: 0, queueOrder: 7 }]);
    await store.close();
  });

  it('of a schema without countdowns is brought forward: timers whose name says how long they run do so, and others follow the clock', async () => {
    const path = freshPath();
    const before = RUNS_FILE.migrations.findIndex(({ sql }) => sql.includes('steady_due_at'));
    const { db } = openDataFile(path, 4, ofVersion(before));
    db.prepare(
      `INSERT INTO run (run_id, snapshot, trace_id, project, definition_id, definition_version, correlation, created_at,
         depth, status, version, updated_at)
       VALUES ('r', '{}', 't', 'p', 'flow', 1, '{}', 100, 0, 'waiting', 1, 130)`,
    ).run();
    const insert = db.prepare("INSERT INTO timer (run_id, name, due_at) VALUES ('r', ?, ?)");
    insert.run('run_timeout', 1100);
    insert.run('wait', 630);
    insert.run('sleep', 500);
    insert.run('never', null);
    db.close();
    const store = await openSqliteRunStore({ path });
    await store.resume(0, 120);
    const timers = await store.dueTimers(10_000, 9, 10_000);
    expect(timers).toEqual([
      { runId: 'r', name: 'sleep', dueAt: 500 },
      { runId: 'r', name: 'wait', dueAt: 630, countdown: { dueAt: 620, setAt: 120, ms: 500 } },
      { runId: 'r', name: 'run_timeout', dueAt: 1100, countdown: { dueAt: 1100, setAt: 100, ms: 1000 } },
    ]);
    await store.close();
  });

  it('finds due timers by their indexes, however many wait', async () => {
    const path = freshPath();
    await (await openSqliteRunStore({ path })).close();
    const after = new Database(path, { readonly: true });
    const planOf = (sql: string) =>
      after
        .prepare<[number, number], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(1, 1)
        .map(({ detail }) => detail)
        .join();
    expect(planOf(DUE_BY_WALL)).toMatch(/^SEARCH timer USING INDEX timer_due /);
    expect(planOf(DUE_BY_STEADY)).toMatch(/^SEARCH timer USING INDEX timer_steady /);
    for (const sql of [DUE_BY_WALL, DUE_BY_STEADY]) expect(planOf(sql)).not.toContain('TEMP B-TREE');
    after.close();
  });

  it('finds the parked events of a project by their index, also in a file of an earlier release', async () => {
    const path = freshPath();
    const { standing: _standing, ...earlier } = RUNS_FILE;
    openDataFile(path, 4, earlier).db.close();
    await (await openSqliteRunStore({ path })).close();
    const after = new Database(path, { readonly: true });
    const plan = after
      .prepare<[string, number, number, number], { detail: string }>(`EXPLAIN QUERY PLAN ${PARKED_IN_PROJECT}`)
      .all('p', 0, 9, 9)
      .map(({ detail }) => detail)
      .join();
    expect(plan).toContain('USING INDEX parked_project (project=? AND ord<?)');
    expect(plan).not.toContain('TEMP B-TREE');
    after.close();
  });

  it('finds and counts runs by what they wait for, and keys with a line, by indexes alone, also in a file of an earlier release', async () => {
    const path = freshPath();
    const { standing: _standing, ...earlier } = RUNS_FILE;
    openDataFile(path, 4, earlier).db.close();
    await (await openSqliteRunStore({ path })).close();
    const after = new Database(path, { readonly: true });
    const planOf = (sql: string, ...values: (string | number)[]) =>
      after
        .prepare<(string | number)[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...values)
        .map(({ detail }) => detail)
        .join();
    const waiting = ['p', 'event', 9, 'r', 9] as const;
    const byPlace = 'INDEX run_waiting (project=? AND <expr>=? AND (updated_at,run_id)<(?,?))';
    expect(planOf(WAITING_RUNS, ...waiting)).toBe(`SEARCH run USING ${byPlace}`);
    // What counts reads no row.
    expect(planOf(COUNT_WAITING, ...waiting)).toContain(`SEARCH run USING COVERING ${byPlace}`);
    expect(planOf(LONGEST_STILL, 'p', 'queued', 9)).toBe('SEARCH run USING INDEX run_listing (project=? AND status=?)');
    expect(planOf(ORPHANED_RUNS)).toMatch(
      /^SCAN attempt USING COVERING INDEX attempt_orphaned,SEARCH run USING PRIMARY KEY/,
    );
    for (const sql of [LIMIT_READS.waitedFor, LIMIT_READS.waitedForIn])
      expect(planOf(sql, '', 9, ...(sql === LIMIT_READS.waitedFor ? [] : [9]))).toMatch(
        /^SEARCH limit_key USING INDEX limit_waited_for \(limit_id>\?/,
      );
    after.close();
  });

  it('a damaged snapshot of a run that waits stops no write and no count', async () => {
    const path = freshPath();
    const store = await openSqliteRunStore({ path });
    const changes = noChanges();
    const waits = (runId: string, snapshot: string) => aRun(runId, { status: 'waiting', snapshot });
    changes.runsInserted.push(
      waits('torn', '{"m":1,"v":'),
      waits('odd', '{"m":1,"v":null,"c":null}'),
      waits('fine', '{"m":1,"v":{"active":{"one":"waiting"}},"c":{"waitKey":null}}'),
    );
    await store.commit(changes);
    const counts = await store.countWaiting({ reach: ['p'] }, 9);
    expect(counts.filter(({ count }) => count > 0)).toEqual([{ waitingOn: 'event', count: 1, isCapped: false }]);
    const found = await store.listRuns({ reach: ['p'], waitingOn: 'event', limit: 9 });
    expect(found.map(({ runId }) => runId)).toEqual(['fine']);
    await store.close();
  });

  it('is refused to a second service at once, and free again when the first is closed', async () => {
    const path = freshPath();
    const first = await openSqliteRunStore({ path });
    await expect(openSqliteRunStore({ path })).rejects.toThrow(/runs store .* is in use by another process/);
    await first.close();
    await (await openSqliteRunStore({ path })).close();
  });

  it('is refused, and left as it is, when it is foreign, damaged, cut short or of a newer release', async () => {
    const spoiled: [string, (path: string) => void, RegExp][] = [
      [
        'foreign',
        (path) => new Database(path).exec('CREATE TABLE t (a)').close(),
        /database of another program|damaged header/,
      ],
      ['no database', (path) => writeFileSync(path, 'x'.repeat(200)), /not a SQLite database/],
      ['cut short', (path) => truncateSync(path, statSync(path).size - 16_384), /cut short/],
      [
        'newer',
        (path) => {
          const db = new Database(path);
          db.exec("INSERT INTO schema_version VALUES (99, 'later')");
          db.close();
        },
        /newer release \(schema version 99/,
      ],
    ];
    for (const [name, spoil, message] of spoiled) {
      const path = freshPath();
      if (name !== 'foreign' && name !== 'no database') await (await openSqliteRunStore({ path })).close();
      spoil(path);
      chmodSync(path, 0o600);
      const before = readFileSync(path);
      await expect(openSqliteRunStore({ path }), name).rejects.toThrow(message);
      expect(readFileSync(path).equals(before), name).toBe(true);
      expect(existsSync(`${path}.new`)).toBe(false);
    }
  });

  it('is found as it was by the next service', async () => {
    const path = freshPath();
    const first = await openSqliteRunStore({ path });
    const changes = noChanges();
    changes.definitions.push({ owner: SERVICE, id: 'a', version: 1, document: '{}', hash: 'h', createdAt: 1 });
    await first.commit(changes);
    await first.close();
    const second = await openSqliteRunStore({ path });
    expect((await second.listDefinitions({ reach: 'all', limit: 10 })).length).toBe(1);
    await second.close();
  });

  it('holds no byte of an erased payload', async () => {
    const path = freshPath();
    const store = await openSqliteRunStore({ path });
    const secret = 'canary-7c1f';
    const put = noChanges();
    put.runsInserted.push({
      runId: 'a',
      traceId: 't',
      project: 'p',
      definitionOwner: SERVICE,
      definitionId: 'd',
      definitionVersion: 1,
      correlation: '{}',
      createdAt: 1,
      depth: 0,
      priority: 0,
      status: 'succeeded',
      snapshot: '{}',
      version: 1,
      updatedAt: 1,
      endedAt: 1,
    });
    put.documents.push({ runId: 'a', name: 'input', body: JSON.stringify(secret) });
    put.outbox.push({ no: 1, runId: 'a', span: secret });
    await store.commit(put);
    const erase = noChanges();
    erase.erased.push('a');
    await store.commit(erase);
    for (const file of [path, `${path}-wal`]) expect(readFileSync(file).includes(secret), file).toBe(false);
    await store.close();
  });
});
