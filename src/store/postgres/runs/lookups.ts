import { reaches } from '../../../model/scope.ts';
import { ownedId } from '../../../model/definition/owner.ts';
import type { Found, Lookup, PastDocuments } from '../../runs/lookups.ts';
import type { DocumentName, StoredDocuments } from '../../runs/records.ts';
import { matchesRun } from '../../runs/run-conditions.ts';
import type { MatchingRuns, RunFilter } from '../../runs/run-filter.ts';
import {
  actorOf,
  attemptOf,
  childResultOf,
  definitionOf,
  parkedOf,
  type Row,
  runOf,
  seenOf,
  waitOf,
  workerOf,
} from '../../runs/rows/records.ts';
import type { Ask } from '../connection.ts';
import { type Columns, columns, names, unnest } from '../insert.ts';
import { limitLookups } from './limits.ts';
import { CARRIED_OVER } from './schema.ts';
import { storedText } from './stored-text.ts';
import {
  ACTOR_IN_ORDER,
  ATTEMPT_IN_ORDER,
  DEFINITION,
  EVENT_SEEN_IN_ORDER,
  of,
  PARKED_IN_ORDER,
  readRows,
  RUN_IN_ORDER,
  stored,
  type Value,
  WAIT_IN_ORDER,
  WORKER,
} from './tables.ts';
import { DOCUMENTS_BEFORE } from './write-changes.ts';

type Of<K extends Lookup['kind']> = Lookup & { readonly kind: K };
/** Answers all lookups of one kind, in their order. */
type Answers = { readonly [K in Lookup['kind']]: (lookups: readonly Of<K>[]) => Promise<readonly Found[K][]> };

const RUN_READ = [...of(RUN_IN_ORDER, 'r'), 'j.last_seq'];
const LAST_SEQ = `LEFT JOIN LATERAL (
  SELECT last_seq FROM journal WHERE journal.run_id = r.run_id ORDER BY first_seq DESC LIMIT 1) AS j ON true`;
const storedRunOf = (row: Row): Exclude<Found['run'], undefined> => ({
  record: runOf(row),
  nextSeq: ((row['last_seq'] as number | null) ?? -1) + 1,
});

/** Runs whose worker fell silent. They are few: as many as workers held when they did. */
export const orphanedRuns = async (ask: Ask): Promise<ReadonlySet<string>> =>
  new Set(
    (await readRows(ask, ['run_id'], `FROM attempt WHERE state = 'orphaned'`)).map((row) => String(row['run_id'])),
  );

/** What is found among the next rows by id. */
export const matchingRuns = async (
  ask: Ask,
  { query, after, scan }: { readonly query: RunFilter; readonly after: string; readonly scan: number },
  shard?: number,
): Promise<MatchingRuns> => {
  const orphans = query.waitingOn === 'orphan' ? await orphanedRuns(ask) : new Set<string>();
  const rows = (
    await readRows(
      ask,
      of(RUN_IN_ORDER, 'r'),
      `FROM run AS r WHERE run_id > $1 ${shard === undefined ? '' : 'AND shard = $3'} ORDER BY run_id LIMIT $2`,
      [storedText(after), scan, ...(shard === undefined ? [] : [shard])],
    )
  ).map(runOf);
  const last = rows.length < scan ? undefined : rows.at(-1);
  return {
    runIds: rows.flatMap((record) =>
      reaches(query.reach, record.project) && matchesRun(record, query, ({ runId }) => orphans.has(runId))
        ? [record.runId]
        : [],
    ),
    ...(last === undefined ? {} : { upTo: last.runId }),
  };
};

/** Payloads of runs, and the newest outputs of these steps. */
export const documentsOf = async (
  ask: Ask,
  lookups: readonly { readonly runId: string; readonly steps: readonly string[] }[],
): Promise<(StoredDocuments | undefined)[]> => {
  const runs: Columns = columns('text', 'run_id');
  const asked = unnest(
    runs,
    [...new Set(lookups.map(({ runId }) => runId))].map((runId) => stored([runId])),
  );
  const documents = Map.groupBy(
    await readRows(
      ask,
      ['d.run_id', 'd.name', 'd.body'],
      `FROM ${asked.sql} AS n (run_id) JOIN document AS d USING (run_id)`,
      asked.values,
    ),
    (row) => String(row['run_id']),
  );
  const pairs = lookups.flatMap(({ runId, steps }) => steps.map((stepId) => stored([runId, stepId])));
  const outputs = new Map<string, string>();
  if (pairs.length > 0) {
    const { sql, values } = unnest(columns('text', 'run_id step_id'), pairs);
    for (const row of await readRows(
      ask,
      ['n.run_id', 'n.step_id', 'o.body'],
      `FROM ${sql} AS n (run_id, step_id) CROSS JOIN LATERAL (
         SELECT body FROM output WHERE run_id = n.run_id AND step_id = n.step_id ORDER BY visit DESC LIMIT 1) AS o`,
      values,
    ))
      outputs.set(`${row['run_id']}/${row['step_id']}`, String(row['body']));
  }
  return lookups.map(({ runId, steps }): StoredDocuments | undefined => {
    const held = new Map(
      (documents.get(runId) ?? []).map((row) => [String(row['name']) as DocumentName, String(row['body'])]),
    );
    const input = held.get('input');
    const output = held.get('output');
    const event = held.get('event');
    if (input === undefined) return undefined;
    return {
      input,
      ...(output === undefined ? {} : { output }),
      ...(event === undefined ? {} : { event }),
      state: [...held].flatMap(([name, body]) =>
        name.startsWith('state/') ? [[name.slice('state/'.length), body] as const] : [],
      ),
      steps: steps.flatMap((stepId) => {
        const body = outputs.get(`${runId}/${stepId}`);
        return body === undefined ? [] : [[stepId, body] as const];
      }),
    };
  });
};

/**
 * What the kernel of a shard asks while it decides. Many lookups of a kind that it asks often are one statement. What it moves is of its
 * shard: a run or a lease of another is not there for it, as its commits hold the row of its own shard alone.
 * @param ownShard absent for who moves nothing and reads runs of all shards; queues and timers are then those of the first
 */
export const lookupsOf = (ask: Ask, ownShard?: number) => {
  const shard = ownShard ?? 0;
  const owned = ownShard === undefined ? '' : `AND r.shard = ${Math.trunc(ownShard)}`;
  /** One statement for all: rows are matched with the lookups by the columns of their key. */
  const byKey = async <L, T>(
    lookups: readonly L[],
    key: Columns,
    keyOf: (lookup: L) => readonly Value[],
    read: { readonly table: string; readonly columns: readonly string[]; readonly also?: string; readonly on?: string },
    decode: (row: Row) => T,
  ): Promise<(T | undefined)[]> => {
    const keys = new Map(lookups.map((lookup) => [JSON.stringify(keyOf(lookup)), keyOf(lookup)]));
    const { sql, values } = unnest(key, [...keys.values()].map(stored));
    const on = read.on ?? key.map(([name]) => `r.${name} = n.${name}`).join(' AND ');
    const rows = await readRows(
      ask,
      [...key.map(([name]) => `n.${name} AS key_${name}`), ...read.columns],
      `FROM ${sql} AS n (${names(key)}) JOIN ${read.table} AS r ON ${on} ${read.also ?? ''}`,
      values,
    );
    const found = new Map(rows.map((row) => [JSON.stringify(key.map(([name]) => row[`key_${name}`] ?? null)), row]));
    return lookups.map((lookup) => {
      const row = found.get(JSON.stringify(keyOf(lookup)));
      return row === undefined ? undefined : decode(row);
    });
  };
  /** One after the other. */
  const each =
    <L, T>(answer: (lookup: L) => Promise<T>) =>
    async (lookups: readonly L[]): Promise<T[]> => {
      const answers: T[] = [];
      for (const lookup of lookups) answers.push(await answer(lookup));
      return answers;
    };
  const ids = async (sql: string, values: readonly Value[]): Promise<string[]> =>
    (await readRows(ask, ['run_id'], sql, stored(values))).map((row) => String(row['run_id']));
  const keys = limitLookups(ask, shard);

  const pastDocuments = async ({ runId, entry, outputs }: Of<'documents_at'>): Promise<PastDocuments | undefined> => {
    const [now] = await documentsOf(ask, [{ runId, steps: [] }]);
    if (now === undefined) return undefined;
    const before = await readRows(ask, ['name', 'body', 'entry'], `FROM (${DOCUMENTS_BEFORE}) AS past`, [
      storedText(runId),
      entry,
    ]);
    const event = before.find(({ name }) => name === 'event')?.['body'];
    const steps: (readonly [string, string])[] = [];
    for (const [stepId, visit] of outputs) {
      const [row] = await readRows(
        ask,
        ['body'],
        'FROM output WHERE run_id = $1 AND step_id = $2 AND visit <= $3 ORDER BY visit DESC LIMIT 1',
        [storedText(runId), storedText(stepId), visit],
      );
      if (row !== undefined) steps.push([stepId, String(row['body'])]);
    }
    return {
      input: now.input,
      ...(event === undefined ? {} : { event: String(event) }),
      state: before.flatMap(({ name, body }) =>
        name === 'event' ? [] : [[String(name).slice('state/'.length), String(body)] as const],
      ),
      steps,
      ...(before.some((row) => Number(row['entry']) < 0) ? { ageUnknown: true as const } : {}),
    };
  };

  const answers: Answers = {
    run: (lookups) =>
      byKey(
        lookups,
        columns('text', 'run_id'),
        ({ runId }) => [runId],
        { table: 'run', columns: RUN_READ, on: `r.run_id = n.run_id ${owned}`, also: LAST_SEQ },
        storedRunOf,
      ),
    lease: (lookups) =>
      byKey(
        lookups,
        columns('text', 'lease_id'),
        ({ leaseId }) => [leaseId],
        { table: 'attempt', columns: of(ATTEMPT_IN_ORDER, 'r'), also: owned },
        attemptOf,
      ),
    documents: (lookups) => documentsOf(ask, lookups),
    documents_at: each(pastDocuments),
    definition: (lookups) =>
      byKey(
        lookups,
        [...columns('text', 'owner id'), ...columns('int8', 'version')],
        ({ owner, id, version }) => [owner, id, version],
        { table: 'definition', columns: of(DEFINITION, 'r') },
        definitionOf,
      ),
    // The service's name is the empty one: it comes after that of any project.
    latest: each(async ({ owner, id }) => {
      const [row] = await readRows(
        ask,
        of(DEFINITION, 'r'),
        `FROM definition AS r WHERE id = $1 AND owner IN ($2, '') ORDER BY owner DESC, version DESC LIMIT 1`,
        stored([id, owner]),
      );
      return row === undefined ? undefined : definitionOf(row);
    }),
    worker: (lookups) =>
      byKey(
        lookups,
        columns('text', 'worker_id'),
        ({ workerId }) => [workerId],
        { table: 'worker', columns: of(WORKER, 'r') },
        workerOf,
      ),
    idempotency: (lookups) =>
      byKey(
        lookups,
        columns('text', 'project idempotency_key'),
        ({ project, key }) => [project, key],
        {
          table: 'run',
          columns: ['r.run_id'],
          on: 'r.project = n.project AND run_key(r.idempotency_key) = run_key(n.idempotency_key) AND r.idempotency_key = n.idempotency_key',
        },
        (row) => String(row['run_id']),
      ),
    event_id: (lookups) =>
      byKey(
        lookups,
        columns('text', 'project event_id'),
        ({ project, eventId }) => [project, eventId],
        {
          table: 'event_seen',
          columns: of(EVENT_SEEN_IN_ORDER, 'r'),
          on: 'r.project = n.project AND run_key(r.event_id) = run_key(n.event_id) AND r.event_id = n.event_id',
        },
        seenOf,
      ),
    event_mailbox: each(async ({ project, event, key, parkedAfter, limit }) => {
      const under = `r.project = $1 AND run_key(r.event) = run_key($2) AND run_key(r.key) = run_key($3) AND r.event = $2 AND r.key = $3`;
      const values = stored([project, event, key]);
      const open = await readRows(
        ask,
        of(WAIT_IN_ORDER, 'r'),
        `FROM wait AS r WHERE ${under} AND NOT EXISTS (SELECT 1 FROM run WHERE run.run_id = r.run_id AND fault IS NOT NULL)
         ORDER BY r.ord LIMIT $4`,
        [...values, limit + 1],
      );
      const held = await readRows(
        ask,
        of(PARKED_IN_ORDER, 'r'),
        `FROM parked AS r WHERE ${under} AND r.at > $4 ORDER BY r.ord LIMIT $5`,
        [...values, parkedAfter, limit + 1],
      );
      return {
        waits: open.slice(0, limit).map(waitOf),
        moreWaits: open.length > limit,
        parked: held.slice(0, limit).map(parkedOf),
        moreParked: held.length > limit,
      };
    }),
    // Without IS NOT NULL the partial index of the queue would not be used: the planner does not derive it from a comparison of rows.
    runnable: each(async ({ definitionOwner, definitionId, after, limit }) =>
      (
        await readRows(
          ask,
          ['run_id', 'project', 'definition_owner', 'definition_id', 'definition_version', 'queue_order'],
          `FROM run WHERE shard = $1 AND definition_owner = $2 AND definition_id = $3
             AND queue_order IS NOT NULL AND (queue_order, run_id) > ($4, $5) ORDER BY queue_order, run_id LIMIT $6`,
          [shard, ...stored([definitionOwner, definitionId]), after.order, after.runId, limit],
        )
      ).map((row) => ({
        runId: row['run_id'] as string,
        project: row['project'] as string,
        definitionOwner: row['definition_owner'] as string,
        definitionId: row['definition_id'] as string,
        definitionVersion: row['definition_version'] as number,
        order: row['queue_order'] as number,
      })),
    ),
    held_runs: each(({ definitionOwner, definitionId, held, after, limit }) =>
      ids(
        `FROM run WHERE shard = $1 AND definition_owner = $2 AND definition_id = $3 AND held = $4 AND fault IS NULL AND run_id > $5
         ORDER BY run_id LIMIT $6`,
        [shard, definitionOwner, definitionId, held, after, limit],
      ),
    ),
    // From definition to definition: a hundred thousand runs that a key holds back are one step.
    held_definitions: each(async ({ held }) =>
      (
        await readRows(
          ask,
          ['d.definition_owner', 'd.definition_id'],
          `FROM (WITH RECURSIVE d AS (
             (SELECT definition_owner, definition_id FROM run WHERE shard = $1 AND held IS NOT NULL
              ORDER BY definition_owner, definition_id LIMIT 1)
             UNION ALL
             SELECT next.definition_owner, next.definition_id FROM d CROSS JOIN LATERAL (
               SELECT definition_owner, definition_id FROM run WHERE shard = $1 AND held IS NOT NULL
                 AND (definition_owner, definition_id) > (d.definition_owner, d.definition_id)
               ORDER BY definition_owner, definition_id LIMIT 1) AS next
           ) SELECT * FROM d) AS d
           WHERE EXISTS (SELECT 1 FROM run WHERE shard = $1 AND run.definition_owner = d.definition_owner
             AND run.definition_id = d.definition_id AND run.held = $2)`,
          [shard, held],
        )
      )
        .map((row) => ownedId(String(row['definition_owner']), String(row['definition_id'])))
        .toSorted(),
    ),
    quarantined: each(({ after, limit }) =>
      ids('FROM run WHERE shard = $1 AND fault IS NOT NULL AND run_id > $2 ORDER BY run_id LIMIT $3', [
        shard,
        after,
        limit,
      ]),
    ),
    carried_over: each(async ({ wall, steady, after, limit }) =>
      (
        await readRows(
          ask,
          ['t.run_id', 't.name', 't.due_at', 'r.project', 'r.trace_id'],
          `FROM timer AS t JOIN run AS r USING (run_id)
           WHERE t.shard = $1 AND t.name IN (${CARRIED_OVER}) AND t.due_at IS NOT NULL
             AND CASE WHEN t.steady_due_at IS NULL THEN t.due_at <= $2 ELSE t.steady_due_at <= $3 END
             AND (t.run_id, t.name) > ($4, $5) ORDER BY t.run_id, t.name LIMIT $6`,
          [shard, wall, steady, ...stored([after?.runId ?? '', after?.name ?? '']), limit],
        )
      ).map((row) => ({
        runId: row['run_id'] as string,
        name: row['name'] as string,
        dueAt: row['due_at'] as number,
        project: row['project'] as string,
        traceId: row['trace_id'] as string,
      })),
    ),
    kept_actor: (lookups) =>
      byKey(
        lookups,
        columns('text', 'type id'),
        ({ type, id }) => [type, id],
        { table: 'kept_actor', columns: of(ACTOR_IN_ORDER, 'r') },
        actorOf,
      ),
    kept_actors: each(async ({ type, which, after, limit }) =>
      (
        await readRows(
          ask,
          of(ACTOR_IN_ORDER, 'r'),
          // A definition of the service that is paused concerns the kernels of all shards.
          `FROM kept_actor AS r WHERE (shard = $1 OR type = 'definition' AND fault IS NULL) AND type = $2 AND id > $3
             AND ${which === 'quarantined' ? 'fault IS NOT NULL' : 'updated_at > $5'} ORDER BY id LIMIT $4`,
          [shard, ...stored([type, after]), limit, ...(which === 'quarantined' ? [] : [which.changedAfter])],
        )
      ).map(actorOf),
    ),
    matching_runs: each((lookup) => matchingRuns(ask, lookup, shard)),
    tree_size: async (lookups) =>
      (
        await byKey(
          lookups,
          columns('text', 'trace_id'),
          ({ traceId }) => [traceId],
          { table: 'tree', columns: ['r.descendants'] },
          (row) => Number(row['descendants']),
        )
      ).map((descendants, place) => ({
        traceId: (lookups[place] as Of<'tree_size'>).traceId,
        descendants: descendants ?? 0,
      })),
    limit: (lookups) => keys.limits(lookups.map(({ limitId }) => limitId)),
    limit_ids: each(({ limit }) => keys.ids(limit)),
    limit_line: (lookups) => keys.lines(lookups.map(({ lineId }) => lineId)),
    limit_place: (lookups) => keys.places(lookups.map(({ order }) => order)),
    limit_front: each(({ limitId, limit }) => keys.front(limitId, limit)),
    limit_holders: each(({ limitId, limit }) => keys.holders(limitId, limit)),
    limits_due: each(({ steady, after, limit }) => keys.due(steady, after, limit)),
    open_children: each(({ runId }) =>
      ids(
        'FROM run WHERE parent_run_id = $1 AND ended_at IS NULL ORDER BY parent_step_id, parent_visit, parent_index',
        [runId],
      ),
    ),
    child_results: each(async ({ runId, stepId, visit }) =>
      (
        await readRows(
          ask,
          [
            'r.parent_index',
            'r.run_id',
            'r.status',
            `CASE WHEN r.status = 'failed' THEN r.snapshot END AS snapshot`,
            'd.body',
          ],
          `FROM run AS r LEFT JOIN document AS d ON d.run_id = r.run_id AND run_key(d.name) = 'output' AND d.name = 'output'
           WHERE r.parent_run_id = $1 AND r.parent_step_id = $2 AND r.parent_visit = $3 ORDER BY r.parent_index`,
          stored([runId, stepId, visit]),
        )
      ).map(childResultOf),
    ),
    attempt_before: (lookups) =>
      byKey(
        lookups,
        [...columns('text', 'run_id step_id'), ...columns('int8', 'visit attempt')],
        ({ runId, stepId, visit, attempt }) => [runId, stepId, visit, attempt - 1],
        { table: 'attempt', columns: of(ATTEMPT_IN_ORDER, 'r') },
        attemptOf,
      ),
  };

  /** Answers lookups in their order, those of one kind together. */
  return async (lookups: readonly Lookup[]): Promise<Found[Lookup['kind']][]> => {
    const found: Found[Lookup['kind']][] = Array.from({ length: lookups.length });
    const places = Map.groupBy(lookups.keys(), (place) => (lookups[place] as Lookup).kind);
    for (const [kind, of] of places) {
      const answer = answers[kind] as (asked: readonly Lookup[]) => Promise<readonly Found[Lookup['kind']][]>;
      const all = await answer(of.map((place) => lookups[place] as Lookup));
      of.forEach((place, index) => {
        found[place] = all[index];
      });
    }
    return found;
  };
};
