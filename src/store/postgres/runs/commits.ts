import PQueue from 'p-queue';
import type { OpenRunStatus, UnixMs } from '../../../model/run.ts';
import type { Lookup } from '../../runs/lookups.ts';
import { outboxBatch } from '../../runs/outbox-batch.ts';
import { dueTimeOf, type OutboxRow } from '../../runs/records.ts';
import { timerOf } from '../../runs/rows/records.ts';
import type { DueTimer, Resumption, RunCommits } from '../../runs/run-commits.ts';
import type { Ask, Database } from '../connection.ts';
import { MOVE_NOTE } from '../../runs/moving.ts';
import { lookupsOf } from './lookups.ts';
import { refuseMoved } from './move-note.ts';
import { CARRIED_OVER, RUNS_SCHEMA } from './schema.ts';
import { Fenced, judgeRefusal } from './store-errors.ts';
import { of, readRows, TIMER_IN_ORDER } from './tables.ts';
import { writeChanges } from './write-changes.ts';

/** Rows of the outbox that are asked for at once, where they may be large. */
const OUTBOX_AT_ONCE = 64;

/** The opener of the store that owns a shard, and the epoch of its ownership. */
export type ShardEpoch = { readonly shard: number; readonly epoch: number };

/**
 * KEY SHARE is that of a commit: no other may take the shard over meanwhile, and renewals go on. UPDATE waits for commits.
 * @see ownershipOver
 */
type Lock = 'KEY SHARE' | 'UPDATE';

/**
 * Locks the row of the shard for the time of a transaction, as its first statement. What runs later in it is true for as long as it lasts:
 * who takes the shard over waits for it. It finds nothing where another has the shard.
 */
export const fenceOf = ({ shard, epoch }: ShardEpoch, lock: Lock): string =>
  `SELECT 1 FROM shard WHERE shard = ${Math.trunc(shard)} AND epoch = ${Math.trunc(epoch)} FOR ${lock}`;

const dueTimers = async (ask: Ask, shard: number, wall: UnixMs, limit: number, steady: UnixMs): Promise<DueTimer[]> => {
  const due = (at: string, also: string, until: UnixMs) =>
    readRows(
      ask,
      of(TIMER_IN_ORDER, 'r'),
      `FROM timer AS r WHERE shard = $1 AND ${at} <= $2 ${also} AND name NOT IN (${CARRIED_OVER}) ORDER BY ${at}, run_id LIMIT $3`,
      [shard, until, limit],
    );
  const rows = [
    ...(await due('due_at', 'AND steady_due_at IS NULL', wall)),
    ...(await due('steady_due_at', '', steady)),
  ];
  return rows
    .map((row) => timerOf(row) as DueTimer)
    .toSorted((a, b) => dueTimeOf(a) - dueTimeOf(b) || (a.runId < b.runId ? -1 : 1))
    .slice(0, limit);
};

const readOutbox = async (
  ask: Ask,
  shard: number,
  after: number,
  limit: number,
  characters?: number,
): Promise<OutboxRow[]> => {
  const found: OutboxRow[] = [];
  for (let from = after; ; ) {
    const most = characters === undefined ? limit : Math.min(limit - found.length, OUTBOX_AT_ONCE);
    const rows = (
      await readRows(ask, ['no', 'run_id', 'span'], 'FROM outbox WHERE shard = $1 AND no > $2 ORDER BY no LIMIT $3', [
        shard,
        from,
        most,
      ])
    ).map((row): OutboxRow => ({ no: Number(row['no']), runId: String(row['run_id']), span: String(row['span']) }));
    found.push(...rows);
    const batch = outboxBatch(found, limit, characters);
    if (rows.length < most || batch.length < found.length || found.length >= limit) return batch;
    from = rows.at(-1)?.no ?? from;
  }
};

/** The caller holds the transaction: leases are extended, and countdowns go on by the wall clock. */
const resume = async (ask: Ask, shard: number, leasesUntil: UnixMs, restartedAt?: UnixMs): Promise<Resumption> => {
  await refuseMoved(ask);
  // What this kernel does from now on a move that has begun does not know.
  await ask(`DELETE FROM ${MOVE_NOTE} WHERE kind = 'leaving'`);
  if (restartedAt !== undefined) {
    await ask(
      `UPDATE timer SET set_at = least(set_at, $2), steady_due_at = least(set_at, $2) + runs_ms
       WHERE shard = $1 AND steady_due_at IS NOT NULL AND (set_at > $2 OR steady_due_at <> set_at + runs_ms)`,
      [shard, restartedAt],
    );
    await ask(
      `UPDATE limit_key SET due_at = due_at + least(updated_at, $2) - steady_at, steady_at = least(updated_at, $2),
         updated_at = least(updated_at, $2) WHERE shard = $1 AND (due_at IS NOT NULL OR starts <> '')`,
      [shard, restartedAt],
    );
  }
  // An attempt without an end is a live lease: also that of a run that cannot be loaded, which its deadline will find.
  const live = await ask<[string, string, bigint | null, bigint | null]>(
    `UPDATE attempt SET expires_at = $2 WHERE shard = $1 AND ended_at IS NULL
     RETURNING lease_id, worker_id, started_at, timeout_at`,
    [shard, leasesUntil],
  );
  const [[outboxNo, order] = [0n, 0n]] = await ask<[bigint, bigint]>(
    `SELECT coalesce((SELECT max(no) FROM outbox WHERE shard = $1), 0),
       greatest(coalesce((SELECT max(ord) FROM wait WHERE shard = $1), 0), coalesce((SELECT max(ord) FROM parked WHERE shard = $1), 0),
                coalesce((SELECT max(ord) FROM limit_place WHERE shard = $1), 0))`,
    [shard],
  );
  const queueOrders = await ask<[bigint, bigint]>(
    'SELECT priority, max(queue_order) FROM run WHERE shard = $1 AND queue_order IS NOT NULL GROUP BY 1 ORDER BY 1',
    [shard],
  );
  // By an index of open runs alone: those that have ended may be millions, and are not read.
  const open = new Map(
    await ask<[OpenRunStatus, bigint]>(
      'SELECT status, count(*) FROM run WHERE shard = $1 AND ended_at IS NULL GROUP BY status',
      [shard],
    ),
  );
  const openIn = (status: OpenRunStatus): number => Number(open.get(status) ?? 0n);
  return {
    liveLeases: live.map(([leaseId, workerId, startedAt, timeoutAt]) => ({
      leaseId,
      workerId,
      expiresAt: leasesUntil,
      ...(startedAt === null ? {} : { startedAt: Number(startedAt) }),
      ...(timeoutAt === null ? {} : { timeoutAt: Number(timeoutAt) }),
    })),
    openRuns: {
      scheduled: openIn('scheduled'),
      queued: openIn('queued'),
      running: openIn('running'),
      waiting: openIn('waiting'),
      paused: openIn('paused'),
    },
    highest: {
      outboxNo: Number(outboxNo),
      order: Number(order),
      queueOrders: queueOrders.map(([priority, queueOrder]) => ({
        priority: Number(priority),
        queueOrder: Number(queueOrder),
      })),
    },
  };
};

export type PostgresCommits = RunCommits & {
  /** Waits for what was asked. */
  readonly idle: () => Promise<void>;
};

export type CommitsOptions = {
  /** Connections of the kernel. */
  readonly database: Database;
  /** Connections on which a takeover reads and writes what is open, which may take longer than what anybody waits for. */
  readonly resuming: Database;
  readonly of: ShardEpoch;
  /** Called when another took the shard over: from then on nothing is written. */
  readonly fenced: () => void;
};

/**
 * What the kernel of a shard needs. It is answered one thing after the other, in the order of the calls, as commits and the reads
 * between them must be.
 */
export const commitsOf = ({ database, resuming, of, fenced }: CommitsOptions): PostgresCommits => {
  const { ask } = database;
  const queue = new PQueue({ concurrency: 1 });
  const lookups = lookupsOf(ask, of.shard);
  let isFenced = false;

  /** A transaction that holds the shard. */
  const owning = async <T>(lock: Lock, work: (ask: Ask) => Promise<T>, by = database): Promise<T> => {
    try {
      return await by.transaction(
        (within, held) => {
          if (held.length > 0) return work(within);
          throw new Fenced(
            `${RUNS_SCHEMA.store}: another service took over the runs; what this one decided since is not written`,
          );
        },
        fenceOf(of, lock),
      );
    } catch (error) {
      if (error instanceof Fenced && !isFenced) {
        isFenced = true;
        fenced();
      }
      throw judgeRefusal(error);
    }
  };
  const reading = <T>(work: () => Promise<T>): Promise<T> =>
    queue.add(() => {
      if (isFenced) throw new Fenced(`${RUNS_SCHEMA.store}: another service took over the runs`);
      return work();
    });

  return {
    // Also when another has the shard: the outbox reads how the runs ended whose spans it was writing.
    load: (asked: readonly Lookup[]) => queue.add(() => lookups(asked)),
    commit: (changes) => queue.add(() => owning('KEY SHARE', (within) => writeChanges(within, of.shard, changes))),
    resume: (leasesUntil, restartedAt) =>
      queue.add(async () => {
        // A commit whose answer was lost may still take effect, so this waits for it. Work that takes long does not delay renewals.
        await owning('UPDATE', async () => {});
        return owning('KEY SHARE', (within) => resume(within, of.shard, leasesUntil, restartedAt), resuming);
      }),
    dueTimers: (wall, limit, steady) => reading(() => dueTimers(ask, of.shard, wall, limit, steady)),
    readOutbox: (after, limit, characters) => reading(() => readOutbox(ask, of.shard, after, limit, characters)),
    idle: async () => {
      await queue.onIdle();
    },
  };
};
