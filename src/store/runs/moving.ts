import type { Columns } from './rows/encode-changes.ts';

/**
 * All that a store of runs holds: the tables of every engine, in the order in which they are moved, and the columns that name a row of
 * each. A row is its values in the order in which `rows/` gives them to a writer, so that no engine needs another form for a move.
 * What services settle among themselves (who owns a shard, their secret) is no part of it, nor is the journal of monitors and SLOs, which
 * a file alone keeps.
 */
export const heldTables = [
  { kind: 'definitions', table: 'definition', key: ['id', 'owner', 'version'] },
  { kind: 'workers', table: 'worker', key: ['worker_id'] },
  { kind: 'runs', table: 'run', key: ['run_id'] },
  { kind: 'trees', table: 'tree', key: ['trace_id'] },
  { kind: 'leases', table: 'attempt', key: ['lease_id'] },
  { kind: 'journal', table: 'journal', key: ['run_id', 'first_seq'] },
  { kind: 'checkpoints', table: 'checkpoint', key: ['run_id', 'seq'] },
  { kind: 'documents', table: 'document', key: ['run_id', 'name'] },
  { kind: 'replaced', table: 'replaced_document', key: ['run_id', 'name', 'entry'] },
  { kind: 'outputs', table: 'output', key: ['run_id', 'step_id', 'visit'] },
  { kind: 'timers', table: 'timer', key: ['run_id', 'name'] },
  { kind: 'waits', table: 'wait', key: ['run_id', 'ord'] },
  { kind: 'parked_events', table: 'parked', key: ['ord'] },
  { kind: 'event_ids', table: 'event_seen', key: ['project', 'event_id'] },
  { kind: 'actors', table: 'kept_actor', key: ['type', 'id'] },
  { kind: 'keys', table: 'limit_key', key: ['limit_id'] },
  { kind: 'lines', table: 'limit_line', key: ['line_id'] },
  { kind: 'places', table: 'limit_place', key: ['ord'] },
  { kind: 'outbox', table: 'outbox', key: ['no'] },
] as const;
export type HeldTable = (typeof heldTables)[number];
export type HeldRunKind = HeldTable['kind'];

export const heldTableOf = (kind: HeldRunKind): HeldTable => heldTables.find((one) => one.kind === kind) as HeldTable;

/** How far a move is: the kind that it is at, and the key of the last row of it that is there. */
export type Reached = { readonly of: HeldRunKind; readonly after?: Columns };

/** What a store says of a move of its runs. Stores are named without a password. */
export type MoveNote =
  /** Its runs are being moved away. A service that starts on it takes this back, as what was moved is then not all. */
  | { readonly kind: 'leaving'; readonly move: string; readonly to: string }
  /** Its runs were moved away: nobody moves what is still here, so that nothing is done twice. */
  | { readonly kind: 'left'; readonly move: string; readonly to: string }
  /** Runs are being moved into it: nobody moves a part of them. */
  | { readonly kind: 'arriving'; readonly move: string; readonly from: string; readonly reached?: Reached };

/** The table that holds the note of a store, of at most one row. */
export const MOVE_NOTE = 'move_note';

/** Why no service may move the runs of a store with this note; nothing where one may. */
export const refusalOf = (note: MoveNote | undefined): string | undefined => {
  switch (note?.kind) {
    case undefined:
    case 'leaving':
      return undefined;
    case 'left':
      return `its runs were moved to ${note.to}: start with that; to go on from what is still here, delete the row of its table ${MOVE_NOTE}`;
    case 'arriving':
      return `the move of runs from ${note.from} has not come to its end: run the same \`svc migrate --runs\` again`;
    default:
      return note satisfies never;
  }
};

/** A page of rows. `next` names the last of them; absent behind the last page. */
export type RowsPage = { readonly rows: readonly Columns[]; readonly next?: Columns };

/**
 * How everything that a store of runs holds is read, and written into an empty one. The caller sees to it that no service moves runs
 * meanwhile. Every method rejects with `StoreUnavailable` when the store fails or is away.
 */
export interface RunMoving {
  count(kind: HeldRunKind): Promise<number>;
  /** Rows in the order of their keys. A page may end with the row that brings it to about `maxBytes` bytes. */
  scan(kind: HeldRunKind, after: Columns | undefined, limit: number, maxBytes: number): Promise<RowsPage>;
  /** Inserts rows, and replaces the note, in one commit: a move goes on where its note says. */
  restore(kind: HeldRunKind, rows: readonly Columns[], note: MoveNote): Promise<void>;
  readNote(): Promise<MoveNote | undefined>;
  /** Replaces the note, or removes it. */
  writeNote(note: MoveNote | undefined): Promise<void>;
}
