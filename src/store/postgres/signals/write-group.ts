import type { Span } from '../../../model/span.ts';
import type { Column, Row } from '../../signals/rows/columns.ts';
import { CONTEXT_COLUMNS } from '../../signals/rows/columns.ts';
import {
  contextOf,
  feedbackTextRow,
  logRow,
  metricRow,
  noteRow,
  payloadRow,
  scoreRow,
  spanRow,
} from '../../signals/rows/encode.ts';
import { lastOf, receivedAt } from '../../signals/rows/written.ts';
import type { PreparedUnit } from '../../signals/joined-writes.ts';
import type { WriteOutcome, WriteUnit } from '../../signals/signal-store.ts';
import { isTraceId } from '../../signals/storable.ts';
import type { Ask } from '../connection.ts';
import { type Columns, columns, insertInto, names, replacing, unnest } from '../insert.ts';
import { searchedWords, signalKey } from './keys.ts';
import { numberProjects, type ProjectNumbers } from './projects.ts';
import { type LongTraces, lockTraces, type Touched, TRACE_KEY, traceKeyText, writeTotals } from './totals.ts';

const SPAN_KEY: Columns = [...TRACE_KEY, ['span_id', 'hex']];
const ON_SPAN = '(project, trace_id, span_id)';
const SPANS: Columns = [
  ...SPAN_KEY,
  ['parent_span_id', 'hex'],
  ['name', 'text'],
  ...columns('int4', 'kind status'),
  ...columns('int8', 'start_ns end_ns'),
  ...columns('text', 'model provider entity_name'),
  ...columns('int8', 'input_tokens output_tokens total_tokens'),
  ['total_cost', 'float8'],
  ['currency', 'text'],
  ['repeats_usage', 'int4'],
  ['received_ns', 'int8'],
  ['is_event', 'int4'],
  ...columns('float8', 'input_cost output_cost'),
  ['is_estimated', 'int4'],
  ...columns('text', 'price_book_id usage_details error_message error_type scope_name'),
  ...columns('text', CONTEXT_COLUMNS.replaceAll(',', '')),
];
const PAYLOADS: Columns = [
  ...SPAN_KEY,
  ['forms', 'int4'],
  ...columns('text', 'input input_attribute output output_attribute attributes events links error_stack error_message'),
];
const WORDS: Columns = [...SPAN_KEY, ['words', 'text']];
const LOGS: Columns = [
  ['project', 'int4'],
  ['log_id', 'text'],
  ...columns('int8', 'at_ns received_ns'),
  ['severity', 'int4'],
  ...columns(
    'text',
    'message logger trace_id span_id environment service_name session_id user_id attributes correlation',
  ),
];
const METRICS: Columns = [
  ['project', 'int4'],
  ['name', 'text'],
  ['type', 'int4'],
  ...columns('text', 'unit description'),
  ...columns('int8', 'at_ns received_ns'),
  ...columns('float8', 'value sum'),
  ['count', 'int8'],
  ...columns('text', 'bounds bucket_counts temporality service_name attributes correlation exemplars'),
];
const SCORES: Columns = [
  ['project', 'int4'],
  ...columns('text', 'score_id trace_id span_id scorer_id scorer_version'),
  ...columns('float8', 'value min max'),
  ...columns('text', 'label reason source score_trace_id'),
  ...columns('int8', 'at_ns received_ns'),
  ...columns('text', 'experiment_id cost correlation metadata'),
];
const FEEDBACK: Columns = [
  ['project', 'int4'],
  ...columns('text', 'feedback_id trace_id span_id kind value comment author_kind author_id'),
  ...columns('int8', 'at_ns received_ns'),
  ...columns('text', 'metadata correlation'),
];
const NOTES: Columns = [
  ['project', 'int4'],
  ...columns('text', 'note_id trace_id span_id aspect text model'),
  ...columns('int8', 'at_ns received_ns'),
  ['correlation', 'text'],
];
const compare = (a: Column, b: Column): number => {
  if (a === b) return 0;
  return (a ?? '') < (b ?? '') ? -1 : 1;
};
/** In the order of their first columns. Every transaction takes its locks in this order, so that none waits for one that waits for it. */
const inOrder = (rows: Iterable<Row>, keyColumns: number): Row[] =>
  [...rows].sort((a, b) => {
    for (let place = 0; place < keyColumns; place += 1) {
      const order = compare(a[place] ?? null, b[place] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  });

/** Senders name projects as they like; of more than so many the numbers are read again. */
const REMEMBERED_PROJECTS = 10_000;

/** Which units go on: of those with one key the first, where nobody wrote it before. */
const claimKeys = async (ask: Ask, units: readonly WriteUnit[], nowNs: bigint): Promise<WriteOutcome[]> => {
  const firstOf = new Map<string, number>();
  for (const [place, { ingestKey }] of units.entries())
    if (ingestKey !== undefined && !firstOf.has(signalKey(ingestKey))) firstOf.set(signalKey(ingestKey), place);
  const rows = [...firstOf].map(([key, place]): Row => [key, receivedAt(units[place]?.batch) ?? nowNs]);
  const keys: Columns = [
    ['ingest_key', 'text'],
    ['at_ns', 'int8'],
  ];
  const claimed =
    rows.length === 0
      ? []
      : await ask<[string]>(
          ...insertInto(
            'ingest_keys',
            keys,
            inOrder(rows, 1),
            'ON CONFLICT (ingest_key) DO NOTHING RETURNING ingest_key',
          ),
        );
  const mine = new Set(claimed.map(([key]) => firstOf.get(key)));
  return units.map(({ ingestKey }, place) => (ingestKey === undefined || mine.has(place) ? 'written' : 'duplicate'));
};

type Touch = (project: Column | undefined, traceId: Column | undefined) => void;

/** Writes judgements, and names the traces that they judge, and judged before. */
const writeJudgements = async (
  ask: Ask,
  table: 'scores' | 'feedback',
  of: Columns,
  written: readonly Row[],
  touch: Touch,
): Promise<void> => {
  if (written.length === 0) return;
  const id = table === 'scores' ? 'score_id' : 'feedback_id';
  const rows = inOrder(lastOf(written, 2), 2);
  const keyOf = (row: Row): string => JSON.stringify(row.slice(0, 2));
  for (const [project, , traceId] of rows) touch(project, traceId);
  for (let missing = rows; missing.length > 0; ) {
    const added = await ask<[number, string]>(
      ...insertInto(table, of, missing, `ON CONFLICT (project, signal_key(${id})) DO NOTHING RETURNING project, ${id}`),
    );
    const isAdded = new Set(added.map(keyOf));
    const replaced = missing.filter((row) => !isAdded.has(keyOf(row)));
    if (replaced.length === 0) return;
    const { sql, values } = unnest(of, replaced);
    const before = await ask<[number, string, string | null]>(
      `SELECT n.project, n.${id}, r.trace_id FROM ${sql} AS n (${names(of)}) JOIN ${table} AS r
         ON r.project = n.project AND signal_key(r.${id}) = signal_key(n.${id})
       ORDER BY r.project, r.${id} FOR UPDATE OF r`,
      values,
    );
    for (const [project, , traceId] of before) touch(project, traceId);
    const changed = of.filter(([name]) => name !== 'project' && name !== id);
    await ask(
      `UPDATE ${table} AS r SET ${changed.map(([name]) => `${name} = n.${name}`).join(', ')}
       FROM ${sql} AS n (${names(of)}) WHERE r.project = n.project AND signal_key(r.${id}) = signal_key(n.${id})`,
      values,
    );
    // What was there is locked now. What a delete took before that is inserted after all.
    const isLocked = new Set(before.map(keyOf));
    missing = replaced.filter((row) => !isLocked.has(keyOf(row)));
  }
};

/** Places in a row of payloads without its project. */
const INPUT = 3;
const OUTPUT = 5;
/** What is stored of a span: its rows without the number of its project. */
export type SpanRows = { readonly traceId: string; readonly row: Row; readonly payload: Row; readonly words: string };
export const prepareSpan = (span: Span): SpanRows => {
  const row = spanRow(span, { number: 0, trace: 0, context: 0 });
  const payload: Row = [span.traceId, span.spanId, ...payloadRow(span, 0).slice(1)];
  return {
    traceId: span.traceId,
    row: [span.traceId, ...row.slice(3, 19), ...row.slice(20), ...contextOf(span.correlation)],
    payload,
    words: searchedWords([payload[INPUT] as string | null, payload[OUTPUT] as string | null]),
  };
};

/** Writes spans with their payloads and words; a span that is there is replaced. @returns what was asked, not waited for */
const writeSpans = (ask: Ask, spans: readonly (readonly [project: number, rows: SpanRows])[]): Promise<unknown>[] => {
  if (spans.length === 0) return [];
  const asked: Promise<unknown>[] = [];
  const kept = ['project', 'trace_id', 'span_id'];
  const lastBy = (rowOf: (rows: SpanRows) => Row): Row[] =>
    inOrder(
      lastOf(
        spans.map(([project, rows]): Row => [project, ...rowOf(rows)]),
        3,
      ),
      3,
    );
  asked.push(
    ask(
      ...insertInto(
        'spans',
        SPANS,
        lastBy(({ row }) => row),
        replacing(ON_SPAN, SPANS, kept),
      ),
    ),
    ask(
      ...insertInto(
        'span_payloads',
        PAYLOADS,
        lastBy(({ payload }) => payload),
        replacing(ON_SPAN, PAYLOADS, kept),
      ),
    ),
  );
  const words = lastBy(({ payload, words: text }) => [...payload.slice(0, 2), text]);
  const isSearched = words.filter((row) => row[3] !== '');
  if (isSearched.length > 0)
    asked.push(ask(...insertInto('span_words', WORDS, isSearched, replacing(ON_SPAN, WORDS, kept))));
  const silent = words.filter((row) => row[3] === '').map((row) => row.slice(0, 3));
  if (silent.length === 0) return asked;
  const { sql, values } = unnest(SPAN_KEY, silent);
  asked.push(
    ask(
      `DELETE FROM span_words AS r USING ${sql} AS k (project, trace_id, span_id)
     WHERE r.project = k.project AND r.trace_id = k.trace_id AND r.span_id = k.span_id`,
      values,
    ),
  );
  return asked;
};

/** What holds when the transaction has committed. */
export type Written = {
  /** Of each unit. */
  readonly outcomes: readonly WriteOutcome[];
  /** Numbers of projects. */
  readonly known: ProjectNumbers;
  /** How much is to be read of each trace whose totals are to follow. */
  readonly late: readonly number[];
};

/**
 * Writes units in one open transaction at READ COMMITTED, so that a statement sees what others committed before it began.
 *
 * Locks are taken in one order: ingest keys, projects, judgements, notes, and last the rows of traces. Who has the row of a trace reads
 * its spans with a later statement, so the totals of a trace are those of all spans, of all writers.
 * @param known numbers of projects
 */
export const writeGroup = async (
  ask: Ask,
  group: readonly PreparedUnit<SpanRows>[],
  known: ProjectNumbers,
  nowNs: bigint,
  long: LongTraces,
): Promise<Written> => {
  const outcomes = await claimKeys(
    ask,
    group.map(({ unit }) => unit),
    nowNs,
  );
  const written = group.filter((_, place) => outcomes[place] === 'written');
  const batches = written.map(({ unit }) => unit.batch);
  const spans = batches.flatMap((batch) => batch.spans);
  const records = {
    logs: batches.flatMap((batch) => batch.logs.map(logRow)),
    metrics: batches.flatMap((batch) => batch.metrics.map(metricRow)),
    scores: batches.flatMap((batch) => batch.scores.map(scoreRow)),
    feedback: batches.flatMap((batch) => batch.feedback.map(feedbackTextRow)),
    notes: batches.flatMap((batch) => batch.aspectNotes.map(noteRow)),
  };
  const rowsOfRecords = Object.values(records).flat();
  const numbers = await numberProjects(ask, known.size > REMEMBERED_PROJECTS ? new Map() : known, [
    ...spans.map(({ correlation }) => correlation.project),
    ...rowsOfRecords.map(([project]) => project as string),
  ]);
  const numberOf = (project: string): number => {
    const number = numbers.get(project);
    if (number === undefined) throw new Error('a project that was just numbered has no number');
    return number;
  };
  for (const row of rowsOfRecords) row[0] = numberOf(row[0] as string);

  const touched = new Map<string, Touched>();
  const touch = (what: 'spans' | 'judgements', project: Column | undefined, traceId: Column | undefined): void => {
    if (typeof traceId !== 'string' || !isTraceId(traceId)) return;
    const row = [project ?? null, traceId];
    const key = traceKeyText(row);
    const entry = touched.get(key) ?? { row, spans: 0, judgements: 0 };
    entry[what] += 1;
    touched.set(key, entry);
  };
  const judge: Touch = (project, traceId) => touch('judgements', project, traceId);
  await writeJudgements(ask, 'scores', SCORES, records.scores, judge);
  await writeJudgements(ask, 'feedback', FEEDBACK, records.feedback, judge);
  if (records.notes.length > 0)
    await ask(
      ...insertInto(
        'aspect_notes',
        NOTES,
        inOrder(lastOf(records.notes, 2), 2),
        replacing('(project, signal_key(note_id))', NOTES, ['project', 'note_id']),
      ),
    );
  const prepared = written.flatMap(({ unit, spans: rows }) =>
    rows.map((one, place) => [numberOf(unit.batch.spans[place]?.correlation.project ?? ''), one] as const),
  );
  for (const [number, { traceId }] of prepared) touch('spans', number, traceId);
  // Asked together and run in this order, so that each is put together while the server works on the one before.
  const keys = inOrder(
    Array.from(touched.values(), ({ row }) => row),
    2,
  );
  const locking = keys.length === 0 ? undefined : lockTraces(ask, keys);
  const asked = writeSpans(ask, prepared);
  if (records.logs.length > 0) asked.push(ask(...insertInto('logs', LOGS, records.logs)));
  if (records.metrics.length > 0) asked.push(ask(...insertInto('metric_points', METRICS, records.metrics)));
  const late =
    locking === undefined ? [] : await writeTotals(ask, locking, (row) => touched.get(traceKeyText(row)), long);
  await Promise.all(asked);
  return { outcomes, known: numbers, late };
};
