import { createHash } from 'node:crypto';
import type { SignalBatch } from '../../../model/signal.ts';
import type { Span } from '../../../model/span.ts';
import type { PreparedUnit } from '../../signals/joined-writes.ts';
import type { Column, Row } from '../../signals/rows/columns.ts';
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
import { searchText } from '../../signals/search-text.ts';
import type { WriteOutcome, WriteUnit } from '../../signals/signal-store.ts';
import { ENVELOPE_BYTES } from '../../signals/span-places.ts';
import { isTraceId } from '../../signals/storable.ts';
import { wordsOf } from '../../signals/words.ts';
import type { Ask, Database } from '../connection.ts';
import type { ValueRow } from '../row-binary.ts';
import { WORD_BYTES } from './capabilities.ts';
import { knownKeys } from './ingest-keys.ts';
import { askKeys, keyText, type TraceKey } from './keyed.ts';
import { FEEDBACK, INGEST_KEYS, LOGS, METRICS, NOTES, SCORES, SPANS, type Table } from './tables.ts';
import { type LongTraces, raiseEpochs, writeTotals } from './totals.ts';
import { type Versions, VERSION_STEP } from './versions.ts';

const LIVES = 0;

/** Which units go on: of those with one key the first, where nobody wrote it before. */
const claimKeys = async (ask: Ask, units: readonly WriteUnit[]): Promise<WriteOutcome[]> => {
  const firstOf = new Map<string, number>();
  for (const [place, { ingestKey }] of units.entries())
    if (ingestKey !== undefined && !firstOf.has(ingestKey)) firstOf.set(ingestKey, place);
  const known = await knownKeys(ask, [...firstOf.keys()]);
  return units.map(({ ingestKey }, place) =>
    ingestKey === undefined || (firstOf.get(ingestKey) === place && !known.has(ingestKey)) ? 'written' : 'duplicate',
  );
};

/** Every word of a span's payloads, once. */
const searchedWords = (payloads: readonly (string | null)[]): string[] => {
  const words = new Set<string>();
  for (const payload of payloads)
    if (payload !== null)
      for (const word of wordsOf(searchText(payload))) if (Buffer.byteLength(word) <= WORD_BYTES) words.add(word);
  return [...words];
};

const bytesOf = (value: Column | undefined): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);

/** Places in the row of a span and of its payloads. */
const NAME = 5;
const MESSAGE = 27;
/** What is stored of a span, without its version. */
export const prepareSpan = (span: Span): ValueRow => {
  const row = spanRow(span, { number: 0, trace: 0, context: 0 });
  const [, forms, input, inputAttribute, output, outputAttribute, ...rest] = payloadRow(span, 0);
  const light = ENVELOPE_BYTES + bytesOf(row[NAME]) + bytesOf(row[MESSAGE]);
  const whole = rest.reduce(
    (sum: number, value) => sum + bytesOf(value),
    light + bytesOf(input) * (inputAttribute === null ? 1 : 2) + bytesOf(output) * (outputAttribute === null ? 1 : 2),
  );
  return [
    ...[span.correlation.project, span.traceId, ...row.slice(3, 19), ...row.slice(20), ...contextOf(span.correlation)],
    ...[forms, input, inputAttribute ?? null, output, outputAttribute ?? null, ...rest, light, whole],
    searchedWords([input, output]),
  ];
};

/** Numbers of rows without an id: of a unit with a key those that follow from it, so that the unit sent again writes the same rows. */
const numbersOf = (kind: string, { ingestKey }: WriteUnit, versions: Versions) => {
  let index = 0;
  let next: bigint | undefined;
  return (count: number): bigint => {
    if (ingestKey !== undefined)
      return createHash('sha256')
        .update(`${kind}/${(index += 1)}/${ingestKey}`)
        .digest()
        .readBigUInt64BE();
    next = next === undefined ? versions.take(count) : next + VERSION_STEP;
    return next;
  };
};
const numbered = <T>(
  kind: string,
  units: readonly WriteUnit[],
  of: (batch: SignalBatch) => readonly T[],
  encode: (record: T) => Row,
  versions: Versions,
  version: bigint,
): ValueRow[] =>
  units.flatMap((unit) => {
    const records = of(unit.batch);
    const numberOf = numbersOf(kind, unit, versions);
    return records.map((record) => [...encode(record), numberOf(records.length), version, LIVES]);
  });

const TRACE_OF_JUDGEMENT = 2;

/** Writes judgements. @returns the traces that they judge, and those that they judged before and no more */
const writeJudgements = async (
  database: Database,
  table: Table,
  written: readonly ValueRow[],
  versions: Versions,
): Promise<{ readonly judged: TraceKey[]; readonly left: TraceKey[] }> => {
  const rows = lastOf(written, 2);
  if (rows.length === 0) return { judged: [], left: [] };
  const [, id = ''] = table.key;
  const keyOf = (row: ValueRow): TraceKey => [row[0] as string, row[1] as string];
  const before = await askKeys<[project: string, id: string, traceId: string]>(
    database.ask,
    rows.map(keyOf),
    'Array(Tuple(String, String))',
    (keys) =>
      `SELECT project, ${id}, trace_id FROM ${table.table} FINAL WHERE (project, ${id}) IN ${keys} AND trace_id IS NOT NULL`,
  );
  const traceOf = new Map(rows.map((row) => [keyText(keyOf(row)), row[TRACE_OF_JUDGEMENT]]));
  const left = before
    .filter(([project, key, traceId]) => traceOf.get(keyText([project, key])) !== traceId && isTraceId(traceId))
    .map(([project, , traceId]): TraceKey => [project, traceId]);
  await raiseEpochs(database, left, versions);
  await database.insert(table, rows);
  return {
    judged: rows.flatMap((row): TraceKey[] => {
      const traceId = row[TRACE_OF_JUDGEMENT];
      return typeof traceId === 'string' ? [[row[0] as string, traceId]] : [];
    }),
    left,
  };
};

/**
 * Writes units: signals first, then the totals of the traces that they touch, then the keys. What a failure leaves in between is there
 * once, and complete, when the units are sent again.
 */
export const writeGroup = async (
  database: Database,
  group: readonly PreparedUnit<ValueRow>[],
  versions: Versions,
  nowNs: bigint,
  long: LongTraces,
): Promise<readonly WriteOutcome[]> => {
  const { ask, insert } = database;
  const outcomes = await claimKeys(
    ask,
    group.map(({ unit }) => unit),
  );
  const written = group.filter((_, place) => outcomes[place] === 'written');
  const going = written.map(({ unit }) => unit);
  const batches = going.map(({ batch }) => batch);
  const version = versions.take();
  const spans = batches.flatMap((batch) => batch.spans);
  const versioned = (rows: readonly Row[]): ValueRow[] => rows.map((row) => [...row, version, LIVES]);
  const [scores, feedback] = await Promise.all([
    writeJudgements(database, SCORES, versioned(batches.flatMap((batch) => batch.scores.map(scoreRow))), versions),
    writeJudgements(
      database,
      FEEDBACK,
      versioned(batches.flatMap((batch) => batch.feedback.map(feedbackTextRow))),
      versions,
    ),
    insert(
      SPANS,
      lastOf(
        written.flatMap((unit) => unit.spans.map((row): ValueRow => [...row, version, LIVES])),
        3,
      ),
    ),
    insert(
      LOGS,
      numbered('log', going, ({ logs }) => logs, logRow, versions, version),
    ),
    insert(
      METRICS,
      numbered('metric', going, ({ metrics }) => metrics, metricRow, versions, version),
    ),
    insert(NOTES, lastOf(versioned(batches.flatMap((batch) => batch.aspectNotes.map(noteRow))), 2)),
  ]);
  const touched = new Map<string, { readonly key: TraceKey; added: number }>();
  const touch = (key: TraceKey): void => {
    if (!isTraceId(key[1])) return;
    const name = keyText(key);
    const entry = touched.get(name) ?? { key, added: 0 };
    entry.added += 1;
    touched.set(name, entry);
  };
  for (const span of spans) touch([span.correlation.project, span.traceId]);
  const left = [...scores.left, ...feedback.left];
  for (const key of [...scores.judged, ...feedback.judged, ...left]) touch(key);
  await raiseEpochs(database, left, versions);
  await writeTotals(
    database,
    Array.from(touched.values(), ({ key }) => key),
    versions,
    long,
    (key) => touched.get(keyText(key))?.added ?? 0,
  );
  await insert(
    INGEST_KEYS,
    going.flatMap(({ ingestKey, batch }) => (ingestKey === undefined ? [] : [[ingestKey, receivedAt(batch) ?? nowNs]])),
  );
  return outcomes;
};
