/**
 * What engines store of a signal: arrays of columns, which are cheap to copy between threads and to bind, never objects or JSON of
 * rows. Engines with tables hold the same columns in the same order.
 */
export type Column = string | number | bigint | null;
export type Row = Column[];

/** A text as an engine hands it over: read, or as the UTF-8 that it stores. */
export type StoredText = string | Buffer;
/** A row some of whose texts were not read. */
export type StoredRow = (Column | Buffer)[];

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
  received: 20,
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

export const CONTEXT_COLUMNS =
  'environment, service_name, service_version, session_id, thread_id, user_id, request_id, release, run_id, resource_id, ' +
  'experiment_id, tags';

/** The columns of `traces` that `decodeTrace` reads, in its order; before them stand the id of the trace and the name of the project. */
export const SUMMARY_COLUMNS: readonly string[] = [
  ...['name', 'status', 'start_ns', 'duration_ns', 'span_count', 'error_count', 'total_cost', 'currency'],
  ...[
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'models',
    'tags',
    'environment',
    'service_name',
    'service_version',
  ],
  ...['release', 'user_id', 'session_id', 'thread_id', 'run_id', 'experiment_id', 'scores', 'feedback'],
];

/** Bits of `forms`: whether a payload is kept as JSON; without the bit it is the string itself. */
export const INPUT_IS_JSON = 1;
export const OUTPUT_IS_JSON = 2;
