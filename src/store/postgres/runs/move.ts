import { type HeldRunKind, heldTableOf, type RunMoving } from '../../runs/moving.ts';
import type { Columns as Row } from '../../runs/rows/encode-changes.ts';
import { runOf } from '../../runs/rows/records.ts';
import type { Ask, Database } from '../connection.ts';
import { type Columns, columns, insertInto } from '../insert.ts';
import { fenceOf, type ShardEpoch } from './commits.ts';
import { readNote, replaceNote } from './move-note.ts';
import { RUNS_SCHEMA } from './schema.ts';
import { Fenced, judgeRefusal } from './store-errors.ts';
import {
  ACTOR_IN_ORDER,
  ATTEMPT_IN_ORDER,
  CHECKPOINT,
  DEFINITION,
  DOCUMENT,
  EVENT_SEEN_IN_ORDER,
  JOURNAL,
  liftedIdentity,
  liftedProgress,
  LIMIT_IN_ORDER,
  LINE_IN_ORDER,
  OUTBOX_IN_ORDER,
  OUTPUT,
  PARKED_IN_ORDER,
  PLACE_IN_ORDER,
  readRows,
  RUN,
  RUN_IN_ORDER,
  SHARD,
  stored,
  TIMER_IN_ORDER,
  TREE,
  type Value,
  WAIT_IN_ORDER,
  WORKER,
} from './tables.ts';

type Table = {
  /** In the order of `store/runs/rows/`. */
  readonly columns: Columns;
  /** Whether each row says its shard. */
  readonly isSharded: boolean;
};
const inShard = (of: Columns): Table => ({ columns: of, isSharded: true });
const inNone = (of: Columns): Table => ({ columns: of, isSharded: false });

const tables: Readonly<Record<HeldRunKind, Table>> = {
  definitions: inNone(DEFINITION),
  workers: inNone(WORKER),
  runs: inShard(RUN_IN_ORDER),
  trees: inNone(TREE),
  leases: inShard(ATTEMPT_IN_ORDER),
  journal: inNone(JOURNAL),
  checkpoints: inNone(CHECKPOINT),
  documents: inNone(DOCUMENT),
  replaced: inNone([...columns('text', 'run_id name'), ...columns('int8', 'entry'), ...columns('text', 'body')]),
  outputs: inNone(OUTPUT),
  timers: inShard(TIMER_IN_ORDER),
  waits: inShard(WAIT_IN_ORDER),
  parked_events: inShard(PARKED_IN_ORDER),
  event_ids: inShard(EVENT_SEEN_IN_ORDER),
  actors: inShard(ACTOR_IN_ORDER),
  keys: inShard(LIMIT_IN_ORDER),
  lines: inShard(LINE_IN_ORDER),
  places: inShard(PLACE_IN_ORDER),
  outbox: inShard(OUTBOX_IN_ORDER),
};

/** Key columns of which an index holds a short text in the place of a long one. */
const SHORTENED: readonly string[] = ['name', 'event_id'];
/** Timers have names of ours, and an index of them as they are. */
const keyed = (kind: HeldRunKind, column: string, value: string): string =>
  SHORTENED.includes(column) && kind !== 'timers' ? `run_key(${value})` : value;

/** A run says again in columns what is asked for and stands inside of its texts. */
const runRow = (row: Row, shard: number): Value[] => {
  const record = runOf(Object.fromEntries(RUN_IN_ORDER.map(([name], place) => [name, row[place] ?? null])));
  const [waitingOn, placeOrder] = liftedProgress(record);
  return stored([...row, waitingOn, ...liftedIdentity(record), placeOrder, shard]);
};

/** The rows of a shard, for who owns it: what is written is fenced as a commit of runs is. */
export const movingOver = ({ ask, transaction }: Database, owned: ShardEpoch): RunMoving => {
  const { shard } = owned;
  const owning = async (work: (ask: Ask) => Promise<void>): Promise<void> => {
    try {
      await transaction(
        (within, held) => {
          if (held.length > 0) return work(within);
          throw new Fenced(`${RUNS_SCHEMA.store}: a service took over the runs`);
        },
        fenceOf(owned, 'KEY SHARE'),
      );
    } catch (error) {
      throw judgeRefusal(error);
    }
  };
  return {
    count: async (kind) => {
      const values = tables[kind].isSharded ? [shard] : [];
      const where = values.length > 0 ? 'WHERE shard = $1' : '';
      const [[found] = [0n]] = await ask<[bigint]>(`SELECT count(*) FROM ${heldTableOf(kind).table} ${where}`, values);
      return Number(found);
    },
    scan: async (kind, after, limit, maxBytes) => {
      const { table, key } = heldTableOf(kind);
      const { columns: of, isSharded } = tables[kind];
      const texts = of.filter(([, type]) => type === 'text').map(([name]) => `coalesce(octet_length(r.${name}), 0)`);
      const order = key.map((column) => keyed(kind, column, `r.${column}`)).join(', ');
      const values: Value[] = [limit, maxBytes];
      const bind = (value: Value): string => `$${values.push(value)}`;
      const conditions = [
        ...(isSharded ? [`r.shard = ${bind(shard)}`] : []),
        ...(after === undefined
          ? []
          : [
              `(${order}) > (${key.map((column, n) => keyed(kind, column, bind(stored(after)[n] ?? null))).join(', ')})`,
            ]),
      ];
      const rows = await readRows(
        ask,
        of.map(([name]) => name),
        `FROM (
           SELECT r.*, sum(${['0', ...texts].join(' + ')}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
           FROM ${table} AS r ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${order} LIMIT $1
         ) AS r WHERE coalesce(before, 0) < $2::float8 ORDER BY ${order}`,
        values,
      );
      const last = rows.at(-1);
      const page = rows.map((row) => of.map(([name]) => row[name] ?? null));
      return last === undefined ? { rows: page } : { rows: page, next: key.map((name) => last[name] ?? null) };
    },
    restore: (kind, rows, note) =>
      owning(async (within) => {
        const { columns: of, isSharded } = tables[kind];
        const given =
          kind === 'runs'
            ? rows.map((row) => runRow(row, shard))
            : rows.map((row) => stored(isSharded ? [...row, shard] : row));
        const into = kind === 'runs' ? RUN : isSharded ? [...of, ...SHARD] : of;
        if (given.length > 0) await within(...insertInto(heldTableOf(kind).table, into, given));
        await replaceNote(within, note);
      }),
    readNote: () => readNote(ask),
    writeNote: (note) => owning((within) => replaceNote(within, note)),
  };
};
