import type { ActorRecord, RunRecord } from '../../runs/records.ts';
import type { Changes } from '../../runs/changes.ts';
import { type Operation, rowsOf } from '../../runs/rows/encode-changes.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { textArray } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';
import { type Columns, columns, insertInto, names, replacing, unnest } from '../insert.ts';
import { bundling } from './bundle.ts';
import { storedText } from './stored-text.ts';
import {
  ACTOR,
  ATTEMPT,
  ATTEMPT_PROGRESS,
  CHECKPOINT,
  DEFINITION,
  DOCUMENT,
  EVENT_SEEN,
  JOURNAL,
  liftedIdentity,
  liftedProgress,
  LIMIT,
  LIMIT_PROGRESS,
  LINE,
  OUTBOX,
  OUTPUT,
  PARKED,
  PLACE,
  RUN,
  RUN_PROGRESS,
  stored,
  TIMER,
  TREE,
  type Value,
  WAIT,
  WORKER,
} from './tables.ts';

/** Tables whose rows go with their run, the run itself last. */
const TABLES_OF_A_RUN = [
  'attempt',
  'journal',
  'checkpoint',
  'document',
  'replaced_document',
  'output',
  'timer',
  'wait',
  'outbox',
  'event_seen',
  'run',
];

type Rows = readonly Value[][];

/** The last of the rows with one key: what would replace the others. The first `width` columns are the key. */
const lastOf = (rows: Rows, width: number): Rows =>
  rows.length < 2 ? rows : [...new Map(rows.map((row) => [JSON.stringify(row.slice(0, width)), row])).values()];

/** The rows in rounds, so that no key is in one of them twice. */
const rounds = (rows: Rows, width: number): Rows[] => {
  const seen = new Map<string, number>();
  const found: Value[][][] = [];
  for (const row of rows) {
    const key = JSON.stringify(row.slice(0, width));
    const round = seen.get(key) ?? 0;
    seen.set(key, round + 1);
    (found[round] ??= []).push(row);
  }
  return found;
};

/** One change where a group made several of the same thing: from the first `before` to the last `after`. */
const joined = <T extends { readonly version: number }>(
  updates: readonly { readonly before: T; readonly after: T }[],
  idOf: (record: T) => string,
): readonly { readonly before: T; readonly after: T }[] => {
  const found = new Map<string, { readonly before: T; readonly after: T }>();
  for (const { before, after } of updates) {
    const id = idOf(before);
    const earlier = found.get(id);
    if (earlier !== undefined && earlier.after.version !== before.version)
      throw new StoreUnavailable(
        `runs store: ${id} is at version ${earlier.after.version} in its commit, not at ${before.version}`,
      );
    found.set(id, { before: earlier?.before ?? before, after });
  }
  return [...found.values()];
};

const setting = (of: Columns): string => of.map(([name]) => `${name} = n.${name}`).join(', ');
const NUMBERS: Columns = columns('int8', 'number');

const runProgressOf = (run: RunRecord): Value[] => {
  const [waitingOn, placeOrder] = liftedProgress(run);
  return [
    run.status,
    run.cursor ?? null,
    run.snapshot,
    run.version,
    run.updatedAt,
    run.endedAt ?? null,
    run.queueOrder ?? null,
    run.fault ?? null,
    run.descendants === undefined ? null : JSON.stringify(run.descendants),
    run.held ?? null,
    run.places === undefined ? null : JSON.stringify(run.places),
    waitingOn,
    placeOrder,
  ];
};
const ACTOR_PROGRESS: Columns = [
  ...columns('text', 'document snapshot status'),
  ...columns('int8', 'version updated_at'),
  ...columns('text', 'fault'),
];
const actorProgressOf = (one: ActorRecord): Value[] => [
  one.document,
  one.snapshot,
  one.status,
  one.version,
  one.updatedAt,
  one.fault ?? null,
];

/**
 * Writes what a group of turns decided, a part of a statement for each kind of row that it has. The caller holds the transaction, and has locked
 * the row of the shard.
 * @throws StoreUnavailable when a row is not at the version that its change starts from, or is another's
 */
export const writeChanges = async (ask: Ask, shard: number, changes: Changes): Promise<void> => {
  const rows = (operation: Operation): Rows => rowsOf(changes, operation).map(stored);
  const inShard = (operation: Operation): Rows => rows(operation).map((row) => [...row, shard]);

  const { add, flush } = bundling(ask);
  const send = (table: string, sql: string, values: readonly Bound[], reads?: readonly string[]): Promise<void> =>
    add({ table, sql, values }, reads);
  const fails = (what: string) => (): Promise<never> => Promise.reject(new StoreUnavailable(`runs store: ${what}`));
  const insert = async (table: string, of: Columns, given: Rows): Promise<void> => {
    if (given.length > 0) await send(table, ...insertInto(table, of, given));
  };
  /** @param width columns of the key, which come first. @param key how the index spells them, where that differs */
  const put = async (table: string, of: Columns, given: Rows, width: number, key?: string): Promise<void> => {
    if (given.length === 0) return;
    const kept = of.slice(0, width).map(([name]) => name);
    await send(
      table,
      ...insertInto(table, of, lastOf(given, width), replacing(key ?? `(${kept.join(', ')})`, of, kept)),
    );
  };
  /** Deletes the rows whose columns equal those given. */
  const remove = async (table: string, of: Columns, given: Rows, also = ''): Promise<void> => {
    if (given.length === 0) return;
    const { sql, values } = unnest(of, given);
    await send(
      table,
      `DELETE FROM ${table} AS r USING ${sql} AS n (${names(of)})
       WHERE ${of.map(([name]) => `r.${name} = n.${name}`).join(' AND ')} ${also}`,
      values,
    );
  };
  const removeNumbered = async (table: string, column: string, numbers: Rows): Promise<void> => {
    if (numbers.length === 0) return;
    const { sql, values } = unnest(NUMBERS, numbers, 2);
    await send(table, `DELETE FROM ${table} WHERE shard = $1 AND ${column} IN (SELECT * FROM ${sql})`, [
      shard,
      ...values,
    ]);
  };

  const definitions = rows('insertDefinition');
  if (definitions.length > 0) {
    const { sql, values } = unnest(DEFINITION, definitions);
    await ask(
      `INSERT INTO definition (${names(DEFINITION)}) SELECT * FROM ${sql} ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,
      values,
    );
    // The owner of another shard may have stored the same meanwhile.
    const other = await ask<[string]>(
      `SELECT d.id FROM ${sql} AS n (${names(DEFINITION)}) JOIN definition AS d USING (id, owner, version) WHERE d.hash <> n.hash`,
      values,
    );
    if (other[0] !== undefined)
      throw new StoreUnavailable(`runs store: definition ${other[0][0]} is another in the database`);
  }
  // Workers belong to no shard: owners lock them in one order.
  const workers = lastOf(rows('setWorker'), 1).toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  await put('worker', WORKER, workers, 1);
  const seen = lastOf(
    rows('seeWorker').map(([at = null, workerId = null]) => [workerId, at]),
    1,
  );
  if (seen.length > 0) {
    const { sql, values } = unnest([...columns('text', 'worker_id'), ...columns('int8', 'at')], seen);
    await send(
      'worker',
      `WITH held AS (SELECT w.worker_id, n.at FROM worker AS w JOIN ${sql} AS n (worker_id, at) USING (worker_id)
                     ORDER BY w.worker_id FOR UPDATE OF w)
       UPDATE worker AS w SET last_seen_at = held.at FROM held WHERE w.worker_id = held.worker_id`,
      values,
    );
  }
  const forgotten = rows('forgetWorker');
  if (forgotten.length > 0) {
    const { sql, values } = unnest([...columns('text', 'worker_id'), ...columns('int8', 'before')], forgotten);
    await send(
      'worker',
      `DELETE FROM worker AS w USING ${sql} AS n (worker_id, before) WHERE w.worker_id = n.worker_id AND w.last_seen_at < n.before`,
      values,
    );
  }

  if (changes.runsInserted.length > 0) {
    const lifted = changes.runsInserted.map((run) => {
      const [waitingOn, placeOrder] = liftedProgress(run);
      return [waitingOn, ...liftedIdentity(run), placeOrder, shard];
    });
    await insert(
      'run',
      RUN,
      rows('insertRun').map((row, place) => [...row, ...stored(lifted[place] ?? [])]),
    );
  }
  const runs = joined(changes.runsUpdated, ({ runId }) => `run ${runId}`);
  if (runs.length > 0) {
    const of: Columns = [...columns('text', 'run_id'), ...columns('int8', 'from_version'), ...RUN_PROGRESS];
    const { sql, values } = unnest(
      of,
      runs.map(({ before, after }) => stored([before.runId, before.version, ...runProgressOf(after)])),
    );
    await add({
      table: 'run',
      sql: `UPDATE run AS r SET ${setting(RUN_PROGRESS)} FROM ${sql} AS n (${names(of)}) WHERE r.run_id = n.run_id AND r.version = n.from_version`,
      values,
      expects: {
        rows: runs.length,
        otherwise: fails('a run is not at the version that its change starts from'),
      },
    });
  }
  await put('tree', TREE, rows('setTreeSize'), 1);
  await insert('attempt', ATTEMPT, inShard('insertAttempt'));
  const attempts = lastOf(
    rows('updateAttempt').map((row) => [row.at(-1) ?? null, ...row.slice(0, -1)]),
    1,
  );
  if (attempts.length > 0) {
    const of: Columns = [...columns('text', 'lease_id'), ...ATTEMPT_PROGRESS];
    const { sql, values } = unnest(of, attempts);
    await send(
      'attempt',
      `UPDATE attempt AS r SET ${setting(ATTEMPT_PROGRESS)} FROM ${sql} AS n (${names(of)}) WHERE r.lease_id = n.lease_id`,
      values,
    );
  }
  await insert('journal', JOURNAL, rows('insertJournal'));
  await put('checkpoint', CHECKPOINT, rows('insertCheckpoint'), 2);

  const inputs = rows('takeInput');
  if (inputs.length > 0) {
    const { sql, values } = unnest(columns('text', 'run_id source'), inputs);
    await send(
      'document',
      `INSERT INTO document (run_id, name, body, entry) SELECT n.run_id, d.name, d.body, NULL
       FROM ${sql} AS n (run_id, source) JOIN document AS d ON d.run_id = n.source AND run_key(d.name) = 'input' AND d.name = 'input'`,
      values,
    );
  }
  for (const { runId, from, entry } of changes.takenOver)
    await send(
      'document',
      `INSERT INTO document (run_id, name, body, entry) SELECT $3::text, name, body, 0 FROM (${DOCUMENTS_BEFORE}) AS past`,
      [storedText(from), entry, storedText(runId)],
    );
  const outputs = rows('takeOutput');
  if (outputs.length > 0) {
    const { sql, values } = unnest([...columns('text', 'run_id source step_id'), ...columns('int8', 'visit')], outputs);
    await send(
      'output',
      `INSERT INTO output (run_id, step_id, visit, body) SELECT n.run_id, o.step_id, o.visit, o.body
       FROM ${sql} AS n (run_id, source, step_id, visit) CROSS JOIN LATERAL (
         SELECT step_id, visit, body FROM output WHERE run_id = n.source AND step_id = n.step_id AND visit <= n.visit
         ORDER BY visit DESC LIMIT 1) AS o`,
      values,
    );
  }
  for (const documents of rounds(rows('setDocument'), 2)) {
    const numbered = documents
      .filter(([, , , entry]) => entry !== null)
      .map(([runId = null, name = null, , entry = null]) => [runId, name, entry]);
    if (numbered.length > 0) {
      const { sql, values } = unnest([...columns('text', 'run_id name'), ...columns('int8', 'entry')], numbered);
      await send(
        'replaced_document',
        `INSERT INTO replaced_document (run_id, name, entry, body) SELECT d.run_id, d.name, coalesce(d.entry, -1), d.body
         FROM ${sql} AS n (run_id, name, entry) JOIN document AS d ON d.run_id = n.run_id AND run_key(d.name) = run_key(n.name) AND d.name = n.name
         WHERE coalesce(d.entry, -1) < n.entry ON CONFLICT DO NOTHING`,
        values,
        ['document'],
      );
    }
    await put('document', DOCUMENT, documents, 2, '(run_id, run_key(name))');
  }
  await put('output', OUTPUT, rows('setOutput'), 3);

  await remove('timer', columns('text', 'run_id name'), rows('clearTimer'));
  const actorsGone = rows('removeActor');
  await remove('timer', columns('text', 'run_id name'), actorsGone);
  await remove('kept_actor', columns('text', 'id type'), actorsGone);
  await insert('kept_actor', ACTOR, inShard('insertActor'));
  const actors = joined(changes.actorsUpdated, ({ type, id }) => `${type} ${id}`);
  if (actors.length > 0) {
    const of: Columns = [...columns('text', 'type id'), ...columns('int8', 'from_version'), ...ACTOR_PROGRESS];
    const { sql, values } = unnest(
      of,
      actors.map(({ before, after }) => stored([before.type, before.id, before.version, ...actorProgressOf(after)])),
    );
    await add({
      table: 'kept_actor',
      sql: `UPDATE kept_actor AS r SET ${setting(ACTOR_PROGRESS)} FROM ${sql} AS n (${names(of)})
       WHERE r.type = n.type AND r.id = n.id AND r.version = n.from_version`,
      values,
      expects: {
        rows: actors.length,
        otherwise: fails('an actor is not at the version that its change starts from'),
      },
    });
  }
  await put('timer', TIMER, inShard('setTimer'), 2);

  await remove('wait', columns('text', 'run_id'), rows('closeWait'));
  const waits = inShard('openWait');
  if (waits.length > 0)
    await send('wait', ...insertInto('wait', WAIT, waits, replacing('(run_id, ord)', WAIT, ['run_id', 'ord'])));

  await remove('limit_key', columns('text', 'limit_id'), rows('goLimit'));
  await insert('limit_key', LIMIT, inShard('insertLimit'));
  const limits = lastOf(
    rows('updateLimit').map((row) => [row.at(-1) ?? null, ...row.slice(0, -1)]),
    1,
  );
  if (limits.length > 0) {
    const of: Columns = [...columns('text', 'limit_id'), ...LIMIT_PROGRESS];
    const { sql, values } = unnest(of, limits);
    await send(
      'limit_key',
      `UPDATE limit_key AS r SET ${setting(LIMIT_PROGRESS)} FROM ${sql} AS n (${names(of)}) WHERE r.limit_id = n.limit_id`,
      values,
    );
  }
  await remove('limit_line', columns('text', 'line_id'), rows('goLine'));
  await put('limit_line', LINE, inShard('setLine'), 1);
  await removeNumbered('limit_place', 'ord', rows('goPlace'));
  const places = lastOf(inShard('setPlace'), 1);
  if (places.length > 0) {
    // Each place belongs to one run. A second run with the same number would wait indefinitely.
    const [sql, values] = insertInto(
      'limit_place AS p',
      PLACE,
      places,
      `${replacing('(ord, shard)', PLACE, ['shard', 'ord', 'run_id'])} WHERE p.run_id = excluded.run_id`,
    );
    const otherwise = async (): Promise<never> => {
      const { sql: given, values: bound } = unnest(PLACE, places);
      const [[ord] = ['?']] = await ask<[bigint | string]>(
        `SELECT p.ord FROM limit_place AS p JOIN ${given} AS n (${names(PLACE)}) USING (shard, ord) WHERE p.run_id <> n.run_id`,
        bound,
      );
      throw new StoreUnavailable(`runs store: place ${ord} is that of another run in the database`);
    };
    await add({ table: 'limit_place', sql, values, expects: { rows: places.length, otherwise } });
  }

  await insert('parked', PARKED, inShard('park'));
  await removeNumbered('parked', 'ord', rows('unpark'));
  await put('event_seen', EVENT_SEEN, inShard('seeEvent'), 2, '(project, run_key(event_id))');
  await insert('outbox', OUTBOX, inShard('insertOutbox'));
  if (changes.outboxDelivered !== undefined)
    await send('outbox', 'DELETE FROM outbox WHERE shard = $1 AND no <= $2', [shard, changes.outboxDelivered]);
  if (changes.erased.length > 0) {
    const erased = textArray(changes.erased.map(storedText));
    await send(
      'tree',
      `DELETE FROM tree WHERE trace_id IN (SELECT trace_id FROM run WHERE run_id = ANY($1::text[]) AND parent_run_id IS NULL)`,
      [erased],
      ['run'],
    );
    for (const table of TABLES_OF_A_RUN)
      await send(table, `DELETE FROM ${table} WHERE run_id = ANY($1::text[])`, [erased]);
  }
  if (changes.parkedUntil !== undefined) {
    await send('parked', 'UPDATE parked SET at = $2 WHERE shard = $1 AND at > $2', [shard, changes.parkedUntil]);
    await send('event_seen', 'UPDATE event_seen SET at = $2 WHERE shard = $1 AND run_id IS NULL AND at > $2', [
      shard,
      changes.parkedUntil,
    ]);
  }
  if (changes.parkedBefore !== undefined) {
    await send('parked', 'DELETE FROM parked WHERE shard = $1 AND at < $2', [shard, changes.parkedBefore]);
    await send('event_seen', 'DELETE FROM event_seen WHERE shard = $1 AND run_id IS NULL AND at < $2', [
      shard,
      changes.parkedBefore,
    ]);
  }
  await flush();
};

/**
 * State and last event of a run as they were when it entered its step of a number: what was written by then and never replaced, else the
 * newest of what was replaced. Run and number are the first two parameters.
 */
export const DOCUMENTS_BEFORE = `
  SELECT name, body, coalesce(entry, -1) AS entry FROM document
  WHERE run_id = $1 AND name NOT IN ('input', 'output') AND coalesce(entry, -1) < $2
  UNION ALL
  SELECT past.name, past.body, past.entry FROM replaced_document AS past JOIN document AS now USING (run_id, name)
  WHERE past.run_id = $1 AND coalesce(now.entry, -1) >= $2 AND past.entry =
    (SELECT max(entry) FROM replaced_document WHERE run_id = $1 AND name = past.name AND entry < $2)`;
