import type { RoomFlag } from '../room.ts';

/**
 * What goes between the threads of the store: arrays of columns, which are cheap to copy, never objects or JSON of rows.
 * The order of the columns is the order in which the writer binds them.
 */
export type Column = string | number | bigint | null;
export type Row = Column[];

/** Places in a span's row that others than the INSERT look at. The rest follows the columns of `spans`. */
export const SPAN = {
  span: 0,
  trace: 1,
  context: 2,
  spanId: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  status: 7,
  start: 8,
  end: 9,
  model: 10,
  provider: 11,
  entityName: 12,
  inputTokens: 13,
  outputTokens: 14,
  totalTokens: 15,
  totalCost: 16,
  currency: 17,
  repeatsUsage: 18,
  project: 19,
} as const;

/** Places in a context: what the spans of a trace have in common. The columns of `trace_contexts` after its key. */
export const CONTEXT = {
  environment: 0,
  serviceName: 1,
  serviceVersion: 2,
  sessionId: 3,
  threadId: 4,
  userId: 5,
  requestId: 6,
  release: 7,
  runId: 8,
  resourceId: 9,
  experimentId: 10,
  tags: 11,
} as const;

/** One trace of a unit: its id, its project, and its contexts; a span names trace and context by their places. */
export type TraceEntry = [traceId: string, project: string, contexts: Row[]];

/** Rows of the other signals begin with their project's name, which the writer replaces with its number. */
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

/** The text of one span for the side file: its number, the forms of its payloads, and the payloads as stored. */
export type SearchRow = [span: number, forms: number, input: string | null, output: string | null];

/** Bits of `forms`: whether a payload is kept as JSON; without the bit it is the string itself. */
export const INPUT_IS_JSON = 1;
export const OUTPUT_IS_JSON = 2;

/**
 * What the writer tells the search thread: how units ended, and that there is text to erase. `now`: somebody waits until
 * no byte of it is left. `later`: nobody finds it any more at once, and its bytes go when there is time.
 */
export type WriterNotice = ['ended', units: number[], written: boolean[]] | ['erase', when: 'now' | 'later'];
/**
 * What the search thread answers: text up to this sequence number is found no more; and, to `now`, whether no byte of it is
 * left in its files.
 */
export type SearchNotice = ['erased', seq: number, isGone: boolean | undefined] | ['erase_failed'];

export type WriterOptions = {
  readonly path: string;
  readonly cacheMiB: number;
  readonly maxFileBytes: number | null;
  readonly reserveBytes: number;
  readonly roomFlag: RoomFlag;
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
  readonly roomFlag: RoomFlag;
};
export type ReaderOptions = { readonly path: string; readonly cacheMiB: number };
