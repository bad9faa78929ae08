import { CONTEXT_COLUMNS, SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';
import { TOTAL_COLUMNS } from '../../signals/rows/total-rows.ts';
import type { Layout } from '../layout.ts';
import type { Columns, ColumnType } from '../row-binary.ts';

/** A table whose rows are replaced by those of the same key with a larger version, and removed by one that says so. */
export type Table = {
  readonly table: string;
  /** The columns that tell rows apart, in the order in which they lie. None of them ever changes for a record. */
  readonly key: readonly string[];
  readonly columns: Columns;
  readonly indexes?: readonly string[];
  /** Columns that the server computes of the others. */
  readonly computed?: readonly string[];
  readonly codec?: string;
  /** Rows that are read together, at the least. */
  readonly granularity?: number;
  /** More settings, each behind a comma. */
  readonly settings?: string;
};

const columns = (type: ColumnType, names: string): Columns => names.split(' ').map((name) => [name, type]);
const text = (names: string): Columns => columns('String', names);
const maybe = (names: string): Columns => columns('Nullable(String)', names);
/** What every row ends with. */
const VERSION: Columns = [
  ['version', 'UInt64'],
  ['is_deleted', 'UInt8'],
];
const found = (column: string): string => `INDEX ${column}_index ${column} TYPE bloom_filter(0.01) GRANULARITY 1`;

/** A row of a table may hold payloads, so that fewer of them are read to find one. */
export const GRANULARITY = 1024;

/** The index of `spans.words`. */
export const WORDS_INDEX = 'words_index';

/** Ids of traces are drawn, so that each part of a table has some of every range of them: this says which have one. */
const TRACE_IDS_INDEX = 'trace_ids_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1';

/** What is looked up of a trace's id where its spans are: eight bytes for 32. An id that is not asked for may have the same. */
const TRACE_HASH = 'trace_hash UInt64 MATERIALIZED cityHash64(trace_id) CODEC(LZ4)';

/** Spans with their payloads, JSON as text: what a sender wrote comes back as it was written. `weight` is that as JSON, in bytes. */
export const SPANS: Table = {
  table: 'spans',
  key: ['project', 'trace_id', 'span_id'],
  columns: [
    ...text('project trace_id span_id'),
    ...maybe('parent_span_id'),
    ...text('name'),
    ...columns('UInt8', 'kind status'),
    ['start_ns', 'Int64'],
    ['end_ns', 'Nullable(Int64)'],
    ...maybe('model provider entity_name'),
    ...columns('Nullable(Int64)', 'input_tokens output_tokens total_tokens'),
    ['total_cost', 'Nullable(Float64)'],
    ...maybe('currency'),
    ['repeats_usage', 'UInt8'],
    ['received_ns', 'Int64'],
    ['is_event', 'UInt8'],
    ...columns('Nullable(Float64)', 'input_cost output_cost'),
    ['is_estimated', 'Nullable(UInt8)'],
    ...maybe('price_book_id usage_details error_message error_type scope_name'),
    ...maybe(CONTEXT_COLUMNS.replaceAll(',', '')),
    ['forms', 'UInt8'],
    ...maybe('input input_attribute output output_attribute attributes events links error_stack long_message'),
    ...columns('UInt64', 'light_weight weight'),
    ['words', 'Array(String)'],
    ...VERSION,
  ],
  indexes: [
    `INDEX ${WORDS_INDEX} words TYPE text(tokenizer = 'array')`,
    'INDEX version_index version TYPE minmax',
    `INDEX ${TRACE_IDS_INDEX}`,
  ],
  computed: [TRACE_HASH],
};

const ofTotal = (name: string): ColumnType => {
  if (name === 'name') return 'String';
  if (name === 'status') return 'UInt8';
  if (name === 'total_cost') return 'Nullable(Float64)';
  if (name === 'start_ns' || name.endsWith('_count')) return 'Int64';
  return name.endsWith('_ns') || name.endsWith('_tokens') ? 'Nullable(Int64)' : 'Nullable(String)';
};

/** The index of `traces.facets`. */
const FACETS_INDEX = `facets_index facets TYPE text(tokenizer = 'array')`;
/** What `decodeTrace` reads of a trace, as JSON in one column: a page reads rows that lie apart, and each column of each costs a read. */
const SUMMARY = `summary String MATERIALIZED toJSONString(tuple(${['trace_id', 'project', ...SUMMARY_COLUMNS]
  .map((name) => (ofTotal(name).includes('Int64') ? `toString(${name})` : name))
  .join(', ')})) CODEC(LZ4)`;

/**
 * Totals of a trace. Their version is no clock: above 128 bits it is the trace's epoch, below it the sum of the versions of all that was
 * added up. Who has seen more, or newer, has the larger one.
 *
 * A page of a list reads rows that lie apart: so few rows lie in one piece, and pieces are cheap to unpack. The table takes a few hundredths
 * of the bytes of the spans.
 */
export const TRACES: Table = {
  table: 'traces',
  key: ['project', 'trace_id'],
  columns: [
    ...text('project trace_id'),
    ...TOTAL_COLUMNS.map((name): Columns[number] => [name, ofTotal(name)]),
    ['facets', 'Array(String)'],
    ['means', 'Map(String, Float64)'],
    ['version', 'UInt256'],
    ['is_deleted', 'UInt8'],
  ],
  indexes: [`INDEX ${FACETS_INDEX}`, `INDEX ${TRACE_IDS_INDEX}`],
  computed: [SUMMARY],
  codec: 'LZ4',
  granularity: 256,
  settings: ', min_compress_block_size = 4096',
};

/** Grows with each removal of anything that was in the totals of a trace, as their sum of versions then falls. */
export const EPOCHS: Pick<Table, 'table' | 'key' | 'columns'> = {
  table: 'trace_epochs',
  key: ['project', 'trace_id'],
  columns: [...text('project trace_id'), ['epoch', 'UInt64']],
};

export const LOGS: Table = {
  table: 'logs',
  key: ['project', 'at_ns', 'row'],
  columns: [
    ...text('project log_id'),
    ...columns('Int64', 'at_ns received_ns'),
    ['severity', 'UInt8'],
    ...text('message'),
    ...maybe('logger trace_id span_id environment service_name session_id user_id attributes correlation'),
    ['row', 'UInt64'],
    ...VERSION,
  ],
  indexes: [found('trace_id')],
};
export const METRICS: Table = {
  table: 'metric_points',
  key: ['project', 'name', 'at_ns', 'row'],
  columns: [
    ...text('project name'),
    ['type', 'UInt8'],
    ...maybe('unit description'),
    ...columns('Int64', 'at_ns received_ns'),
    ...columns('Nullable(Float64)', 'value sum'),
    ['count', 'Nullable(Int64)'],
    ...maybe('bounds bucket_counts temporality service_name attributes correlation exemplars'),
    ['row', 'UInt64'],
    ...VERSION,
  ],
};
export const SCORES: Table = {
  table: 'scores',
  key: ['project', 'score_id'],
  columns: [
    ...text('project score_id'),
    ...maybe('trace_id span_id'),
    ...text('scorer_id'),
    ...maybe('scorer_version'),
    ...columns('Float64', 'value min max'),
    ...maybe('label reason'),
    ...text('source'),
    ...maybe('score_trace_id'),
    ...columns('Int64', 'at_ns received_ns'),
    ...maybe('experiment_id cost correlation metadata'),
    ...VERSION,
  ],
  indexes: [found('trace_id')],
};
export const FEEDBACK: Table = {
  table: 'feedback',
  key: ['project', 'feedback_id'],
  columns: [
    ...text('project feedback_id'),
    ...maybe('trace_id span_id'),
    ...text('kind value'),
    ...maybe('comment author_kind author_id'),
    ...columns('Int64', 'at_ns received_ns'),
    ...maybe('metadata correlation'),
    ...VERSION,
  ],
  indexes: [found('trace_id')],
};
export const NOTES: Table = {
  table: 'aspect_notes',
  key: ['project', 'note_id'],
  columns: [
    ...text('project note_id trace_id'),
    ...maybe('span_id'),
    ...text('aspect text'),
    ...maybe('model'),
    ...columns('Int64', 'at_ns received_ns'),
    ...maybe('correlation'),
    ...VERSION,
  ],
  indexes: [found('trace_id')],
};

/** Records beside the signals keep, in `row`, the place that they got when they were made. */
export const DATASETS: Table = {
  table: 'datasets',
  key: ['project', 'dataset_id'],
  columns: [
    ...text('project dataset_id name'),
    ...maybe('description'),
    ['at_ns', 'Int64'],
    ['row', 'UInt64'],
    ...VERSION,
  ],
};
export const ITEMS: Table = {
  table: 'dataset_items',
  key: ['project', 'dataset_id', 'item_id'],
  columns: [
    ...text('project dataset_id item_id'),
    ['at_ns', 'Int64'],
    ...maybe('source_trace_id'),
    ...text('input'),
    ...maybe('expected metadata'),
    ['row', 'UInt64'],
    ...VERSION,
  ],
};
export const EXPERIMENTS: Table = {
  table: 'experiments',
  key: ['project', 'experiment_id'],
  columns: [
    ...text('project experiment_id name'),
    ...maybe('dataset_id service_version metadata'),
    ['at_ns', 'Int64'],
    ['row', 'UInt64'],
    ...VERSION,
  ],
};
/** Of path and views one is there. */
export const VIEWS: Table = {
  table: 'saved_views',
  key: ['project', 'view_id'],
  columns: [
    ...text('project view_id name'),
    ...maybe('path views user_id'),
    ['at_ns', 'Int64'],
    ['row', 'UInt64'],
    ...VERSION,
  ],
};
export const AUDIT: Table = {
  table: 'audit',
  key: ['at_ns', 'row'],
  columns: [
    ...text('audit_id'),
    ['at_ns', 'Int64'],
    ...text('operation project'),
    ...maybe('subject key_fingerprint'),
    ...text('remote_address resource outcome'),
    ['row', 'UInt64'],
    ...VERSION,
  ],
};

/** Tables whose rows are removed by rows that say so. */
export const VERSIONED: readonly Table[] = [
  ...[SPANS, TRACES, LOGS, METRICS, SCORES, FEEDBACK, NOTES],
  ...[DATASETS, ITEMS, EXPERIMENTS, VIEWS, AUDIT],
];

export const INGEST_KEYS: Pick<Table, 'table' | 'columns'> = {
  table: 'ingest_keys',
  columns: [
    ['ingest_key', 'String'],
    ['at_ns', 'Int64'],
  ],
};

/** Up to which version totals were compared with what they count. */
export const CHECKED: Pick<Table, 'table' | 'columns'> = { table: 'totals_checked', columns: [['until', 'UInt64']] };

/** Writing is answered when the files of a part and its folder are synchronised; a token is known for the last thousand inserts. */
const durable = ({ knownTokens }: Layout): string =>
  `fsync_after_insert = 1, fsync_part_directory = 1, ${knownTokens(1000)}`;

const createVersioned = (of: Table, layout: Layout): string => {
  const {
    table,
    key,
    columns,
    indexes = [],
    computed = [],
    codec = 'ZSTD(1)',
    granularity = GRANULARITY,
    settings = '',
  } = of;
  const parts = [...columns.map(([name, type]) => `${name} ${type} CODEC(${codec})`), ...computed, ...indexes];
  return `CREATE TABLE IF NOT EXISTS ${table}${layout.on} (${parts.join(', ')})
   ENGINE = ${layout.engine('ReplacingMergeTree')}(version, is_deleted) ORDER BY (${key.join(', ')})
   SETTINGS index_granularity = ${granularity}${settings}, ${durable(layout)}`;
};

/** Statements that bring tables of earlier builds to what `createTables` makes. They too may run beside each other, and again. */
export const extendTables = ({ on }: Layout): readonly string[] => [
  `ALTER TABLE ${TRACES.table}${on} ADD COLUMN IF NOT EXISTS ${SUMMARY}, ADD INDEX IF NOT EXISTS ${FACETS_INDEX}, ADD INDEX IF NOT EXISTS ${TRACE_IDS_INDEX}`,
  `ALTER TABLE ${SPANS.table}${on} ADD COLUMN IF NOT EXISTS ${TRACE_HASH}, ADD INDEX IF NOT EXISTS ${TRACE_IDS_INDEX}`,
];

/** Minutes for which a window of a ceiling is kept: clocks of services may differ a little. */
const KEPT_MINUTES = 10;

/** Statements that make all tables. They may run beside each other, and again. */
export const createTables = (layout: Layout): readonly string[] => {
  const create = (table: string, columnsOf: string, engine: `${string}MergeTree`, rest: string): string =>
    `CREATE TABLE IF NOT EXISTS ${table}${layout.on} (${columnsOf}) ENGINE = ${layout.engine(engine)}${rest}`;
  const lasting = `SETTINGS ${durable(layout)}`;
  return [
    ...VERSIONED.map((table) => createVersioned(table, layout)),
    create(
      EPOCHS.table,
      'project String, trace_id String, epoch UInt64',
      'ReplacingMergeTree',
      `(epoch) ORDER BY (project, trace_id) ${lasting}`,
    ),
    create(
      INGEST_KEYS.table,
      'ingest_key String, at_ns Int64',
      'ReplacingMergeTree',
      ` ORDER BY ingest_key ${lasting}`,
    ),
    create(CHECKED.table, 'until UInt64', 'ReplacingMergeTree', `(until) ORDER BY tuple() ${lasting}`),
    // What services agree by: each acts on the rows before its own, in the order of their blocks.
    create(
      'duty_claims',
      "duty String, holder String, for_ms Int64, at DateTime64(6, 'UTC') DEFAULT now64(6)",
      'MergeTree',
      ` ORDER BY duty ${lasting}, enable_block_number_column = 1`,
    ),
    create(
      'quota_claims',
      'project String, minute Int64, claim String, wanted Int64, ceiling Int64, at DateTime DEFAULT now()',
      'MergeTree',
      ` ORDER BY (minute, project) TTL at + INTERVAL ${KEPT_MINUTES} MINUTE
        SETTINGS enable_block_number_column = 1, merge_with_ttl_timeout = 600`,
    ),
    create(
      'reported_conditions',
      'subject String, condition String, version UInt64',
      'ReplacingMergeTree',
      `(version) ORDER BY subject ${lasting}`,
    ),
  ];
};
