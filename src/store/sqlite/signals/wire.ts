import type { Row } from '../../signals/rows/columns.ts';
import type { RoomFlag } from '../room.ts';

/** One trace of a unit: its id, its project, and its contexts; a span names trace and context by their places. */
export type TraceEntry = [traceId: string, project: string, contexts: Row[]];

/**
 * Spans and payloads are numbered within their unit, from 0. Rows of the other signals begin with their project's name, which the
 * writer replaces with its number.
 */
export type UnitRows = [
  ingestKey: string | null,
  atNs: bigint,
  traces: TraceEntry[],
  spans: Row[],
  payloads: Row[],
  logs: Row[],
  metrics: Row[],
  scores: Row[],
  feedback: Row[],
  notes: Row[],
];

/** The text of one span for the side file: its number (in a unit: from 0), the forms of its payloads, and the payloads as stored. */
export type SearchRow = [span: number, forms: number, input: string | null, output: string | null];

/**
 * When text that nobody finds any more leaves the index. `now`: somebody waits until no byte of it is left. `slice`: more of the same follows,
 * and its bytes go with the last of it. `later`: nobody waits, and its bytes go when there is time.
 */
export type EraseWhen = 'now' | 'slice' | 'later';
/** What the writer tells the search thread: how units ended, and that there is text to erase. */
export type WriterNotice = ['ended', units: number[], written: boolean[]] | ['erase', when: EraseWhen];
/**
 * What the search thread answers: text up to this sequence number is found no more; and, where somebody waits, whether no byte of it is
 * left in its files.
 */
export type SearchNotice = ['erased', seq: number, isGone: boolean | undefined] | ['erase_failed'];

export type WriterOptions = {
  readonly path: string;
  readonly cacheMiB: number;
  readonly maxFileBytes: number | null;
  readonly reserveBytes: number;
  readonly roomFlag: RoomFlag;
  readonly hourSettledMs: number;
};
export type WriterOpened = {
  readonly path: string;
  readonly storeNumber: number;
  /** The highest number that a span has had, as far as data file and index know. */
  readonly lastSpan: number;
  /** Whether the index holds all text of the data file and none that is gone. */
  readonly isIndexWhole: boolean;
};
export type SearchOptions = {
  readonly path: string;
  readonly cacheMiB: number;
  readonly storeNumber: number;
  /** Whether the index held all text of the data file, and none that is gone, when the store was opened. */
  readonly isWhole: boolean;
  readonly purgeDelayMs: number;
  /** How long cutting the words of one erasure out of the index may take. What takes longer is struck out. */
  readonly cutOutMs: number;
  readonly roomFlag: RoomFlag;
};
export type ReaderOptions = { readonly path: string; readonly cacheMiB: number };
