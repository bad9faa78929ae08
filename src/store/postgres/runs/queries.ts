import { SERVICE } from '../../../model/definition/owner.ts';
import { begunRunStatuses, movingRunStatuses, openRunStatuses, waitedForBesideWorkers } from '../../../model/run.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import { journalUpTo, journalWeight } from '../../runs/journal-up-to.ts';
import { keptActorRow } from '../../runs/kept-actor-row.ts';
import type { JournalRow, RunRecord } from '../../runs/records.ts';
import {
  FIRST_IN_LIST,
  isFiltered,
  isInReach,
  isKeptWait,
  matchesRun,
  newestFirst,
  pageOfMatching,
  statusesOf,
} from '../../runs/run-conditions.ts';
import type { RunFilter } from '../../runs/run-filter.ts';
import type { ActorRow, RunListQuery, RunQueries } from '../../runs/run-queries.ts';
import { leaseActor, runActor } from '../../runs/rows/actor-rows.ts';
import {
  actorOf,
  attemptOf,
  definitionOf,
  journalOf,
  parkedSummaryOf,
  type Row,
  runOf,
  timerOf,
  waitOf,
  workerOf,
} from '../../runs/rows/records.ts';
import { textArray } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';
import { limitQueries } from './limits.ts';
import { documentsOf, matchingRuns, orphanedRuns } from './lookups.ts';
import { storedText } from './stored-text.ts';
import {
  ACTOR_IN_ORDER,
  ATTEMPT_IN_ORDER,
  CHECKPOINT,
  DEFINITION,
  JOURNAL,
  of,
  readRows,
  RUN_IN_ORDER,
  stored,
  TIMER_IN_ORDER,
  type Value,
  WAIT_IN_ORDER,
  WORKER,
} from './tables.ts';

/** Rows looked at in one slice of a listing, when its other filters throw some away. */
const SCAN = 500;
/** Rows of a journal that are read at once: each may be large. */
const JOURNAL_AT_ONCE = 100;

const isOver = (record: RunRecord): boolean => record.endedAt !== undefined;

const RUN_ROW = of(RUN_IN_ORDER, 'r');
const ATTEMPT_ROW = of(ATTEMPT_IN_ORDER, 'a');
const PARKED_SUMMARY = ['ord', 'project', 'event', 'key', 'event_id', 'at', 'payload'];
const texts = (values: readonly string[]): Bound => textArray(values.map(storedText));

/** The projects of a reach as a relation `p (project)`: those named by the parameter, or each that holds a run, one seek each. */
const projectsOf = (reach: ProjectReach, parameter: string): string =>
  reach === 'all'
    ? `(WITH RECURSIVE one AS (
         (SELECT project FROM run ORDER BY project LIMIT 1)
         UNION ALL
         SELECT next.project FROM one CROSS JOIN LATERAL (
           SELECT project FROM run WHERE project > one.project ORDER BY project LIMIT 1) AS next
       ) SELECT project FROM one WHERE ${parameter}::text[] IS NULL) AS p (project)`
    : `unnest(${parameter}::text[]) AS p (project)`;
const bound = (reach: ProjectReach): Bound => (reach === 'all' ? null : texts(reach));

/**
 * What people and routes ask, of all shards.
 * @param shard given for the kernel that owns it: a run that it finds by its id, or is to erase, is one of its shard
 */
export const runQueries = (ask: Ask, shard?: number): RunQueries => {
  const owned = shard === undefined ? '' : `AND r.shard = ${Math.trunc(shard)}`;
  const read = (columns: readonly string[], rest: string, values: readonly Bound[] = []): Promise<Row[]> =>
    readRows(ask, columns, rest, values);
  const runs = async (rest: string, values: readonly Bound[]): Promise<RunRecord[]> =>
    (await read(RUN_ROW, rest, values)).map(runOf);

  const orphansFor = async ({ waitingOn }: Pick<RunFilter, 'waitingOn'>) => {
    const orphans = waitingOn === 'orphan' ? await orphanedRuns(ask) : new Set<string>();
    return ({ runId }: Pick<RunRecord, 'runId'>): boolean => orphans.has(runId);
  };
  const orphanedRecords = (): Promise<RunRecord[]> =>
    runs(`FROM run AS r WHERE run_id IN (SELECT run_id FROM attempt WHERE state = 'orphaned')`, []);

  /**
   * The newest-updated runs of projects, beyond a place: of certain statuses, or of certain things that they wait for. Each project and
   * part reads an index in its order.
   */
  const newest = (
    column: 'status' | 'waiting_on',
    parts: readonly string[],
    reach: ProjectReach,
    after: { readonly updatedAt: number; readonly runId: string },
    most: number,
  ): Promise<RunRecord[]> =>
    runs(
      `FROM ${projectsOf(reach, '$1')} CROSS JOIN unnest($2::text[]) AS s (part) CROSS JOIN LATERAL (
         SELECT * FROM run WHERE run.project = p.project AND run.${column} = s.part AND (updated_at, run_id) < ($3, $4)
         ORDER BY updated_at DESC, run_id DESC LIMIT $5) AS r ORDER BY r.updated_at DESC, r.run_id DESC LIMIT $5`,
      [bound(reach), texts(parts), after.updatedAt, storedText(after.runId), most],
    );

  /** The answer where a filter has an index of its own: all that it finds is looked at. */
  const narrowed = async (query: RunListQuery): Promise<RunRecord[] | undefined> => {
    const session = query.correlation?.find(([name]) => name === 'session_id')?.[1];
    const { parentRunId, restartedFrom, waitingOn } = query;
    let found: RunRecord[];
    if (parentRunId !== undefined)
      found = await runs('FROM run AS r WHERE parent_run_id = $1', [storedText(parentRunId)]);
    else if (restartedFrom !== undefined)
      found = await runs('FROM run AS r WHERE restarted_from_run = $1', [storedText(restartedFrom)]);
    else if (session !== undefined)
      found = await runs('FROM run AS r WHERE run_key(session_id) = run_key($1) AND session_id = $1', [
        storedText(session),
      ]);
    else if (waitingOn === 'orphan') found = await orphanedRecords();
    else return undefined;
    const isOrphaned = await orphansFor(query);
    return pageOfMatching(found, query, isOrphaned);
  };

  const listRuns = async (query: RunListQuery): Promise<RunRecord[]> => {
    const few = await narrowed(query);
    if (few !== undefined) return few;
    const { reach, waitingOn, limit } = query;
    const byWait = waitingOn !== undefined && isKeptWait(waitingOn);
    const slice = isFiltered(query) ? SCAN : limit;
    const found: RunRecord[] = [];
    for (let place: { readonly updatedAt: number; readonly runId: string } = query.after ?? FIRST_IN_LIST; ; ) {
      const rows = await newest(
        byWait ? 'waiting_on' : 'status',
        byWait ? [waitingOn] : statusesOf(query),
        reach,
        place,
        slice,
      );
      for (const record of rows) {
        if (matchesRun(record, query, () => false)) found.push(record);
        if (found.length >= limit) return found;
        place = record;
      }
      if (rows.length < slice) return found;
    }
  };

  /** All runs below one, whatever their depth. */
  const family = (runIds: readonly string[]): Promise<(RunRecord & { readonly root?: string })[]> =>
    read(
      [...RUN_ROW, 'd.root'],
      `FROM (WITH RECURSIVE below AS (
         SELECT run_id, parent_run_id AS root FROM run WHERE parent_run_id = ANY($1::text[])
         UNION ALL
         SELECT run.run_id, below.root FROM below JOIN run ON run.parent_run_id = below.run_id
       ) SELECT * FROM below) AS d JOIN run AS r USING (run_id) ORDER BY r.depth, r.run_id`,
      [texts(runIds)],
    ).then((rows) => rows.map((row) => ({ ...runOf(row), root: String(row['root']) })));

  const actorsBefore = async (type: ActorRow['type'], before: string): Promise<ActorRow[]> => {
    const values = [storedText(before), SCAN];
    if (type === 'run')
      return (await read(RUN_ROW, 'FROM run AS r WHERE run_id < $1 ORDER BY run_id DESC LIMIT $2', values)).map(
        runActor,
      );
    if (type === 'lease')
      return (
        await read(
          [...ATTEMPT_ROW, 'r.project'],
          'FROM attempt AS a JOIN run AS r USING (run_id) WHERE a.lease_id < $1 ORDER BY a.lease_id DESC LIMIT $2',
          values,
        )
      ).map(leaseActor);
    return (
      await read(
        of(ACTOR_IN_ORDER, 'r'),
        'FROM kept_actor AS r WHERE id < $1 AND type = $3 ORDER BY id DESC LIMIT $2',
        [...values, type],
      )
    ).map((row) => keptActorRow(actorOf(row)));
  };
  const one = async (expression: string, values: readonly Bound[] = []): Promise<Value> =>
    (await read([`(${expression}) AS n`], '', values))[0]?.['n'] ?? null;

  return {
    findRun: async (runId) => {
      const [row] = await read(
        [...RUN_ROW, '(SELECT max(last_seq) FROM journal WHERE journal.run_id = r.run_id) AS last_seq'],
        `FROM run AS r WHERE run_id = $1 ${owned}`,
        [storedText(runId)],
      );
      if (row === undefined) return undefined;
      const ofRun = (columns: readonly string[], from: string, order: string): Promise<Row[]> =>
        read(columns, `FROM ${from} AS a WHERE run_id = $1 ORDER BY ${order}`, [storedText(runId)]);
      const outputs = new Map(
        (await ofRun(['step_id', 'visit', 'body'], 'output', 'step_id, visit')).map((output) => [
          `${output['step_id']}/${output['visit']}`,
          output['body'] as string,
        ]),
      );
      const attempts = (await ofRun(ATTEMPT_ROW, 'attempt', 'lease_id')).map((attempt) => {
        const record = attemptOf(attempt);
        const output = record.state === 'succeeded' ? outputs.get(`${record.stepId}/${record.visit}`) : undefined;
        return { ...record, ...(output === undefined ? {} : { output }) };
      });
      const [documents] = await documentsOf(ask, [{ runId, steps: [] }]);
      return {
        stored: { record: runOf(row), nextSeq: ((row['last_seq'] as number | null) ?? -1) + 1 },
        // A run whose input is lost is damaged; no JSON text is empty.
        documents: documents ?? { input: '', state: [], steps: [] },
        attempts,
        timers: (await ofRun(of(TIMER_IN_ORDER, 'a'), 'timer', 'name')).map(timerOf),
        waits: (await ofRun(of(WAIT_IN_ORDER, 'a'), 'wait', 'ord')).map(waitOf),
        children: await runs(
          'FROM run AS r WHERE parent_run_id = $1 ORDER BY parent_step_id, parent_visit, parent_index',
          [storedText(runId)],
        ),
      };
    },
    listRuns,
    openRuns: (reach, limit) =>
      runs(
        `FROM ${projectsOf(reach, '$1')} CROSS JOIN unnest($2::text[]) AS s (status) CROSS JOIN LATERAL (
           SELECT * FROM run WHERE run.project = p.project AND run.status = s.status ORDER BY updated_at, run_id LIMIT $3) AS r
         ORDER BY r.updated_at, r.run_id LIMIT $3`,
        [bound(reach), texts(begunRunStatuses), limit],
      ),
    countWaiting: async (query, most) => {
      const orphans = (await orphanedRecords()).filter(({ status }) => status === 'running').toSorted(newestFirst);
      const projects =
        query.reach === 'all'
          ? (await read(['p.project'], `FROM ${projectsOf('all', '$1')}`, [null])).map((row) => String(row['project']))
          : query.reach;
      const isOrphaned = ({ runId }: Pick<RunRecord, 'runId'>): boolean =>
        orphans.some((record) => record.runId === runId);
      const isAll = query.status === undefined && !isFiltered({ ...query, reach: 'all' });
      return Promise.all(
        waitedForBesideWorkers.map(async (waitingOn) => {
          let count = 0;
          let isCapped = false;
          if (isAll && waitingOn !== 'orphan') {
            for (const row of await read(
              ['c.n'],
              `FROM unnest($1::text[]) AS p (project) CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
                 SELECT 1 FROM run WHERE run.project = p.project AND waiting_on = $2 LIMIT $3) AS few) AS c`,
              [texts(projects), waitingOn, most + 1],
            )) {
              const n = Number(row['n']);
              count += Math.min(n, most);
              isCapped ||= n > most;
            }
            return { waitingOn, count, isCapped };
          }
          for (const project of projects) {
            const records =
              waitingOn === 'orphan'
                ? orphans.filter((record) => record.project === project)
                : await newest('waiting_on', [waitingOn], [project], FIRST_IN_LIST, most + 1);
            count += records.slice(0, most).filter((record) => matchesRun(record, query, isOrphaned)).length;
            isCapped ||= records.length > most;
          }
          return { waitingOn, count, isCapped };
        }),
      );
    },
    matchingRuns: (query, after, scan) => matchingRuns(ask, { query, after, scan }),

    journal: async (runId, after, limit, maxBytes) => {
      const found: JournalRow[] = [];
      // The row that holds `after` may hold later entries too: it is the one before the first that begins beyond it.
      const holder = await one('SELECT max(first_seq) FROM journal WHERE run_id = $1 AND first_seq <= $2', [
        storedText(runId),
        after,
      ]);
      let from = holder === null ? -1 : Number(holder) - 1;
      for (;;) {
        const most = Math.min(limit, JOURNAL_AT_ONCE) + 1;
        const rows: JournalRow[] = (
          await read(
            of(JOURNAL, 'r'),
            'FROM journal AS r WHERE run_id = $1 AND first_seq > $2 ORDER BY first_seq LIMIT $3',
            [storedText(runId), from, most],
          )
        ).map(journalOf);
        found.push(...rows.filter(({ lastSeq }) => lastSeq > after));
        const weight = found.reduce((sum, row) => sum + journalWeight(row), 0);
        if (rows.length < most || found.length >= limit || (maxBytes !== undefined && weight >= maxBytes))
          return journalUpTo(found, maxBytes, limit);
        from = rows.at(-1)?.firstSeq ?? from;
      }
    },
    journalBefore: async (runId, seq, limit) =>
      (
        await read(
          of(JOURNAL, 'r'),
          'FROM journal AS r WHERE run_id = $1 AND first_seq <= $2 ORDER BY first_seq DESC LIMIT $3',
          [storedText(runId), seq, limit],
        )
      ).map(journalOf),
    checkpoint: async (runId, seq) => {
      const [row] = await read(
        of(CHECKPOINT, 'r'),
        'FROM checkpoint AS r WHERE run_id = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1',
        [storedText(runId), seq],
      );
      return row === undefined ? undefined : { runId, seq: row['seq'] as number, snapshot: row['snapshot'] as string };
    },
    findAttempt: async (leaseId) => {
      const [row] = await read(ATTEMPT_ROW, 'FROM attempt AS a WHERE lease_id = $1', [storedText(leaseId)]);
      return row === undefined ? undefined : attemptOf(row);
    },

    listDefinitions: async ({ reach, after = { id: '', owner: SERVICE }, limit }) =>
      (
        await read(
          of(DEFINITION, 'r'),
          `FROM definition AS r WHERE (id, owner) > ($1, $2)
             AND version = (SELECT max(version) FROM definition AS d WHERE d.id = r.id AND d.owner = r.owner)
             ${reach === 'all' ? '' : `AND (owner = '' OR owner = ANY($4::text[]))`} ORDER BY id, owner LIMIT $3`,
          [...stored([after.id, after.owner]), limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map(definitionOf),
    definitionVersions: async (owner, id, reach) => {
      const open = new Map(
        (
          await read(
            ['r.version', 'r.n'],
            `FROM (SELECT definition_version AS version, count(*) AS n FROM ${projectsOf(reach, '$3')} JOIN run USING (project)
               WHERE status = ANY($4::text[]) AND definition_owner = $1 AND definition_id = $2 GROUP BY 1) AS r`,
            [...stored([owner, id]), bound(reach), texts(openRunStatuses)],
          )
        ).map((row) => [Number(row['version']), Number(row['n'])]),
      );
      return (
        await read(
          of(DEFINITION, 'r'),
          'FROM definition AS r WHERE id = $1 AND owner = $2 ORDER BY version',
          stored([id, owner]),
        )
      ).map((row) => {
        const record = definitionOf(row);
        return { ...record, openRuns: open.get(record.version) ?? 0 };
      });
    },
    listWorkers: async ({ reach, after, limit }) =>
      (
        await read(
          of(WORKER, 'r'),
          `FROM worker AS r WHERE worker_id > $1 ${reach === 'all' ? '' : 'AND (project IS NULL OR project = ANY($3::text[]))'}
           ORDER BY worker_id LIMIT $2`,
          [storedText(after ?? ''), limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map(workerOf),
    silentWorkers: async (before, limit) =>
      (
        await read(['worker_id'], 'FROM worker WHERE last_seen_at < $1 ORDER BY last_seen_at, worker_id LIMIT $2', [
          before,
          limit,
        ])
      ).map((row) => String(row['worker_id'])),

    listLiveLeases: async (reach, after, limit) =>
      (
        await read(
          [...ATTEMPT_ROW, 'r.project', 'r.definition_id', 'r.definition_version'],
          `FROM attempt AS a JOIN run AS r USING (run_id) WHERE a.ended_at IS NULL AND a.lease_id > $1
             ${reach === 'all' ? '' : 'AND r.project = ANY($3::text[])'} ORDER BY a.lease_id LIMIT $2`,
          [storedText(after ?? ''), limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map((row) => ({
        ...attemptOf(row),
        project: row['project'] as string,
        definitionId: row['definition_id'] as string,
        definitionVersion: row['definition_version'] as number,
      })),
    leasesHeld: async (reach) =>
      new Map(
        (
          await read(
            ['h.worker_id', 'h.n'],
            `FROM (SELECT a.worker_id, count(*) AS n FROM attempt AS a JOIN run AS r USING (run_id)
                   WHERE a.ended_at IS NULL AND ($1::text[] IS NULL OR r.project = ANY($1::text[])) GROUP BY 1) AS h`,
            [bound(reach)],
          )
        ).map((row) => [String(row['worker_id']), Number(row['n'])]),
      ),

    listActors: async (query) => {
      const found: ActorRow[] = [];
      // Ids of schedules begin with a project, which may begin with any character.
      let before = query.before ?? '\u{10FFFF}';
      for (;;) {
        const rows = await actorsBefore(query.type, before);
        for (const actor of rows) {
          before = actor.id;
          if (!isInReach(query.reach, actor.project)) continue;
          if (query.status !== undefined && actor.status !== query.status) continue;
          found.push(actor);
          if (found.length >= query.limit) return found;
        }
        if (rows.length < SCAN) return found;
      }
    },
    listKeptActors: async ({ type, reach, after, limit }) =>
      (
        await read(
          of(ACTOR_IN_ORDER, 'r'),
          `FROM kept_actor AS r WHERE type = $1 AND id > $2 ${reach === 'all' ? '' : 'AND project = ANY($4::text[])'} ORDER BY id LIMIT $3`,
          [type, storedText(after ?? ''), limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map(actorOf),
    listParkedEvents: async ({ reach, parkedAfter, before, limit }) =>
      (
        await read(
          [...PARKED_SUMMARY.slice(0, -1), 'octet_length(payload) AS payload_bytes'],
          `FROM parked WHERE at > $1 AND ord < $2 ${reach === 'all' ? '' : 'AND project = ANY($4::text[])'} ORDER BY ord DESC LIMIT $3`,
          [parkedAfter, before ?? Number.MAX_SAFE_INTEGER, limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map(parkedSummaryOf),

    ...limitQueries(ask),

    subjectRuns: async (userId, reach, limit) => {
      const theirs = (
        await runs(`FROM run AS r WHERE run_key(user_id) = run_key($1) AND user_id = $1 ${owned}`, [storedText(userId)])
      ).filter(({ project }) => isInReach(reach, project));
      const roots = theirs.filter((record) => record.parent === undefined && isOver(record));
      const below = Map.groupBy(await family(roots.map(({ runId }) => runId)), ({ root }) => root);
      const finished = roots
        .map((root) => [root, ...(below.get(root.runId) ?? [])])
        .filter((all) => all.every(isOver))
        .slice(0, limit)
        .flat()
        .map(({ runId, traceId }) => ({ runId, traceId }));
      return { finished, inFlight: theirs.filter((record) => !isOver(record)).length };
    },
    finishedRuns: async (project, before, limit) => {
      const roots = (
        await read(
          ['run_id'],
          'FROM run WHERE project = $1 AND ended_at < $2 AND parent_run_id IS NULL ORDER BY ended_at LIMIT $3',
          [storedText(project), before, limit],
        )
      ).map((row) => String(row['run_id']));
      const below = Map.groupBy(await family(roots), ({ root }) => root);
      return roots.flatMap((runId) => {
        const descendants = below.get(runId) ?? [];
        return descendants.every(isOver) ? [runId, ...descendants.map((record) => record.runId)] : [];
      });
    },

    stuckRuns: async (limit) =>
      (
        await read(
          ['r.run_id', 'r.project', 'r.cursor'],
          `FROM run AS r WHERE status = ANY($1::text[]) AND queue_order IS NULL AND fault IS NULL
             AND (held IS NULL OR held IN ('concurrency_key', 'rate') AND NOT EXISTS (
               SELECT 1 FROM limit_place AS l WHERE l.run_id = r.run_id AND l.line_id IS NOT NULL AND l.ord = r.place_order))
             AND NOT EXISTS (SELECT 1 FROM wait WHERE wait.run_id = r.run_id)
             AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.run_id = r.run_id AND timer.name <> 'run_timeout')
             AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.run_id = r.run_id AND attempt.ended_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM run AS child WHERE child.parent_run_id = r.run_id AND child.ended_at IS NULL)
           LIMIT $2`,
          [texts(movingRunStatuses), limit],
        )
      ).map((row) => ({
        runId: row['run_id'] as string,
        project: row['project'] as string,
        ...(row['cursor'] === null ? {} : { cursor: row['cursor'] as string }),
      })),
    runShapes: async (project, from, to, limit) =>
      (
        await read(
          [
            ...['run_id', 'definition_owner', 'definition_id', 'definition_version', 'snapshot'].map(
              (name) => `r.${name}`,
            ),
            `coalesce((SELECT max(n) FROM (SELECT count(*) AS n FROM attempt WHERE attempt.run_id = r.run_id GROUP BY step_id) AS c), 0) AS tries`,
          ],
          'FROM run AS r WHERE project = $1 AND ended_at >= $2 AND ended_at < $3 ORDER BY ended_at DESC LIMIT $4',
          [storedText(project), from, to, limit],
        )
      ).map((row) => ({
        runId: row['run_id'] as string,
        definitionOwner: row['definition_owner'] as string,
        definitionId: row['definition_id'] as string,
        definitionVersion: row['definition_version'] as number,
        snapshot: row['snapshot'] as string,
        maxStepAttempts: row['tries'] as number,
      })),

    backlog: async (wall, steady) => {
      const [row] = await read(
        [
          '(SELECT min(due_at) FROM timer WHERE due_at IS NOT NULL AND steady_due_at IS NULL) AS named',
          '(SELECT min(steady_due_at) FROM timer WHERE steady_due_at IS NOT NULL) AS counted',
          `((SELECT count(*) FROM timer WHERE due_at <= $1 AND steady_due_at IS NULL)
            + (SELECT count(*) FROM timer WHERE steady_due_at <= $2)) AS overdue`,
          '(SELECT count(*) FROM outbox) AS queued',
        ],
        '',
        [wall, steady],
      );
      const next = [
        ...(typeof row?.['named'] === 'number' ? [row['named']] : []),
        ...(typeof row?.['counted'] === 'number' ? [row['counted'] - steady + wall] : []),
      ];
      return {
        overdueTimers: Number(row?.['overdue']),
        ...(next.length === 0 ? {} : { nextTimerAt: Math.min(...next) }),
        outboxRows: Number(row?.['queued']),
      };
    },
    queuedRuns: async (reach, limit) =>
      (
        await read(
          ['q.definition_owner', 'q.definition_id', 'q.n'],
          `FROM (SELECT definition_owner, definition_id, count(*) AS n FROM run
                 WHERE queue_order IS NOT NULL ${reach === 'all' ? '' : 'AND project = ANY($2::text[])'} GROUP BY 1, 2) AS q
           ORDER BY q.definition_id, q.definition_owner LIMIT $1`,
          [limit, ...(reach === 'all' ? [] : [texts(reach)])],
        )
      ).map((row) => ({
        definitionOwner: row['definition_owner'] as string,
        definitionId: row['definition_id'] as string,
        runs: Number(row['n']),
      })),
    counts: async () => ({
      definitionVersions: Number(await one('SELECT count(*) FROM definition')),
      openRuns: Number(await one('SELECT count(*) FROM run WHERE status = ANY($1::text[])', [texts(openRunStatuses)])),
      quarantined: Number(await one('SELECT count(*) FROM run WHERE fault IS NOT NULL')),
    }),
  };
};
