import type { FeedbackKind } from '../../../model/signal.ts';
import { feedbackCount, type Judgements, judgementsOf, noJudgements } from '../../signals/judgements.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { CONTEXT_COLUMNS, type Row, SPAN } from '../../signals/rows/columns.ts';
import { fewOf, LONG_TRACES } from '../../signals/late-totals.ts';
import { groupSpans, HOT_WIDTH } from '../../signals/rows/held-spans.ts';
import { judgedCount, sumRows, totalColumns, totalRows, within64Bits } from '../../signals/rows/total-rows.ts';
import type { TraceTotals } from '../../signals/trace-totals.ts';
import type { Ask, Database } from '../connection.ts';
import type { ValueRow } from '../row-binary.ts';
import { askTraces, keyText, portions, type TraceKey } from './keyed.ts';
import { EPOCHS, TRACES } from './tables.ts';
import type { Versions } from './versions.ts';

/** What the totals of a trace read of its spans, in the places of `SPAN`. */
export const HOT = `0, 0, 0, s.span_id, s.parent_span_id, s.name, s.kind, s.status, s.start_ns, s.end_ns, s.model, s.provider,
  s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens, s.total_cost, s.currency, s.repeats_usage`;
export const CONTEXTS = CONTEXT_COLUMNS.replaceAll(/(\w+)/g, 's.$1');

/** Project and trace id stand before what is read of a span. */
const KEY_WIDTH = 2;
/** Times as the rules of totals compare them. */
export const withTimes = (row: Row): Row => {
  for (const place of [KEY_WIDTH + SPAN.start, KEY_WIDTH + SPAN.end])
    if (row[place] !== null) row[place] = BigInt(row[place] as string);
  return row;
};

/** A property of a trace as `traces.facets` holds it. */
export const facetText = ([facet, value]: readonly [number, string]): string => `${facet}:${value}`;
export const parseFacet = (text: string): readonly [facet: number, value: string] => {
  const colon = text.indexOf(':');
  return [Number(text.slice(0, colon)), text.slice(colon + 1)];
};

/** Of the version of a trace's totals: above them stands the epoch. */
export const EPOCH_BITS = 128n;
const DELETED = 1;
const NOT_DELETED = 0;

const keyOf = ([project, traceId]: Row): string => keyText([project as string, traceId as string]);

type Sums = Map<string, bigint>;
const add = (sums: Sums, key: string, more: bigint): void => void sums.set(key, (sums.get(key) ?? 0n) + more);

const readJudgements = async (
  ask: Ask,
  keys: readonly TraceKey[],
  sums: Sums,
): Promise<ReadonlyMap<string, Judgements>> => {
  const scores = await askTraces<[string, string, string, string, string | null, number]>(
    ask,
    keys,
    'r.',
    (isOfTraces) =>
      `SELECT r.project, r.trace_id, r.version, r.scorer_id, r.scorer_version, r.value FROM scores AS r FINAL
       WHERE ${isOfTraces} ORDER BY r.scorer_id, r.at_ns, r.score_id`,
  );
  const feedback = await askTraces<[string, string, string, FeedbackKind, string, string]>(
    ask,
    keys,
    'r.',
    (isOfTraces) =>
      `SELECT r.project, assumeNotNull(r.trace_id) AS trace, toString(sum(toUInt128(r.version))), r.kind, count(), countIf(r.value = '"up"') FROM feedback AS r FINAL
       WHERE ${isOfTraces} GROUP BY r.project, trace, r.kind ORDER BY r.kind`,
  );
  for (const [project, trace, version] of [...scores, ...feedback])
    add(sums, keyText([project, trace]), BigInt(version));
  return judgementsOf(
    scores.map(([project, trace, , ...score]) => [keyText([project, trace]), ...score] as const),
    feedback.map(
      ([project, trace, , kind, count, up]) =>
        [keyText([project, trace]), feedbackCount(kind, Number(count), Number(up))] as const,
    ),
  );
};

const removedRow = ([project, traceId]: TraceKey, version: bigint): ValueRow =>
  TRACES.columns.map(([name, type]) => {
    if (name === 'project') return project;
    if (name === 'trace_id') return traceId;
    if (name === 'version') return version;
    if (name === 'is_deleted') return DELETED;
    if (type.startsWith('Nullable')) return null;
    if (type.startsWith('Array')) return [];
    if (type.startsWith('Map')) return new Map();
    return type === 'String' ? '' : 0;
  });

/** What totals of a trace stand at. */
type Standing = {
  /** What was raised, or stands in them. */
  readonly epoch: bigint;
  /** Spans, scores and judgements of feedback that they count. */
  readonly size: number;
};

/** How traces stand, those that have an epoch. */
const readStanding = async (
  ask: Ask,
  keys: readonly TraceKey[],
  versions: Versions,
): Promise<ReadonlyMap<string, Standing>> => {
  const found = await askTraces<[string, string, string, string, string, string]>(
    ask,
    keys,
    '',
    (isOfTraces) =>
      `SELECT project, trace_id, max(epoch), argMax(spans, held), argMax(scores, held), argMax(feedback, held) FROM (
         SELECT project, trace_id, epoch, toUInt256(0) AS held, 0 AS spans, '' AS scores, '' AS feedback FROM ${EPOCHS.table} WHERE ${isOfTraces}
         UNION ALL SELECT project, trace_id, toUInt64(bitShiftRight(version, ${EPOCH_BITS})), version, span_count,
           ifNull(scores, ''), ifNull(feedback, '') FROM traces WHERE ${isOfTraces}
       ) GROUP BY project, trace_id`,
  );
  for (const [, , epoch] of found) versions.reach(BigInt(epoch));
  return new Map(
    found.map(([project, trace, epoch, spans, scores, feedback]) => [
      keyText([project, trace]),
      { epoch: BigInt(epoch), size: Number(spans) + judgedCount(scores || null, feedback || null) },
    ]),
  );
};

/** Totals of a trace with their version. @param sum of the versions of all that is added up */
const totalsRow = (key: TraceKey, total: TraceTotals, judged: Judgements, epoch: bigint, sum: bigint): ValueRow => {
  const facets = [...new Set(total.facets.map((facet) => facetText(storedFacet(facet))))];
  const version = (epoch << EPOCH_BITS) + sum;
  return [
    ...key,
    ...totalColumns(within64Bits(total), judged),
    facets,
    new Map(judged.latestMeans),
    version,
    NOT_DELETED,
  ];
};

/** What is read of spans for their totals: key, figures, context, version. */
const SPAN_READ = `s.project, s.trace_id, ${HOT}, ${CONTEXTS}, s.version FROM spans AS s FINAL`;
// The index of trace ids leaves out no row of a key and another of the same, so nothing has to be read beside what it names.
const SPAN_SETTINGS = 'SETTINGS use_skip_indexes_if_final_exact_mode = 0';

/** Takes the version off rows of spans, and adds it to the sum of their trace. */
const takeVersions = (spans: readonly Row[], sums: Sums, versions: Versions): void => {
  for (const row of spans) {
    const version = BigInt(row.pop() as string);
    versions.reach(version);
    add(sums, keyOf(row), version);
  }
};

/** @param standing was read before: a writer that sees the epoch of a removal then also sees that what it removed is gone */
const writePortion = async (
  { ask, insert }: Database,
  keys: readonly TraceKey[],
  standing: ReadonlyMap<string, Standing>,
  versions: Versions,
): Promise<void> => {
  const sums: Sums = new Map();
  const [spans, judgements] = await Promise.all([
    askTraces<Row>(ask, keys, 's.', (isOfTraces) => `SELECT ${SPAN_READ} WHERE ${isOfTraces} ${SPAN_SETTINGS}`),
    readJudgements(ask, keys, sums),
  ]);
  takeVersions(spans, sums, versions);
  const held = groupSpans(spans.map(withTimes), keyOf);
  const rows = keys.flatMap((key): ValueRow[] => {
    const name = keyText(key);
    const epoch = standing.get(name)?.epoch;
    const sum = sums.get(name) ?? 0n;
    const own = held.get(name);
    // Without an epoch there are no totals that could be removed: judgements came before their spans.
    if (own === undefined) return epoch === undefined ? [] : [removedRow(key, (epoch << EPOCH_BITS) + sum)];
    const judged = judgements.get(name) ?? noJudgements;
    return [totalsRow(key, totalRows(own.spans, own.contexts, judged), judged, epoch ?? 0n, sum)];
  });
  await insert(TRACES, rows);
};

/** Spans that are read at once of one trace. */
const PIECE_SPANS = LONG_TRACES.atOnce;
const SPAN_ID = KEY_WIDTH + SPAN.spanId;

/**
 * Brings the totals of one trace up to its spans, which are read in pieces: what is read at once stays small, however many there are.
 * @param pace is awaited before each piece, and is given its work
 */
export const writeSum = async (
  { ask, insert }: Database,
  key: TraceKey,
  versions: Versions,
  pace: Pace,
): Promise<void> => {
  const [project, traceId] = key;
  const name = keyText(key);
  // Read before the spans, as for those that are read together.
  const standing = await readStanding(ask, [key], versions);
  const epoch = standing.get(name)?.epoch;
  const sums: Sums = new Map();
  const sum = sumRows();
  let after = '';
  for (let hasMore = true; hasMore; )
    await pace(async () => {
      const piece = await ask<Row>(
        `SELECT ${SPAN_READ} WHERE s.project = {project:String} AND s.trace_id = {traceId:String} AND s.span_id > {after:String}
         ORDER BY s.span_id LIMIT ${PIECE_SPANS} ${SPAN_SETTINGS}`,
        { project, traceId, after },
      );
      takeVersions(piece, sums, versions);
      for (const row of piece)
        sum.add(withTimes(row).slice(KEY_WIDTH, KEY_WIDTH + HOT_WIDTH), row.slice(KEY_WIDTH + HOT_WIDTH));
      after = (piece.at(-1)?.[SPAN_ID] as string | undefined) ?? after;
      hasMore = piece.length === PIECE_SPANS;
    });
  const judged = (await readJudgements(ask, [key], sums)).get(name) ?? noJudgements;
  const summed = sums.get(name) ?? 0n;
  if (sum.spans() > 0) await insert(TRACES, [totalsRow(key, sum.totals(judged), judged, epoch ?? 0n, summed)]);
  else if (epoch !== undefined) await insert(TRACES, [removedRow(key, (epoch << EPOCH_BITS) + summed)]);
};

/** Does a piece of work on a long trace, when its time has come. */
export type Pace = (work: () => Promise<void>) => Promise<void>;

/** What is done with long traces. */
export type LongTraces = {
  /**
   * Notes a trace, whose totals then follow, or leaves it to the caller.
   * @param counted how much its totals count
   * @param added how much was written of it, at the most
   * @returns whether it was noted
   */
  readonly later: (key: TraceKey, counted: number, added: number) => boolean;
  readonly pace: Pace;
};
/** All totals come at once. */
export const withoutLateTotals: LongTraces = { later: () => false, pace: (work) => work() };

/** Brings the totals of traces up together: of which little is read, or whose spans were removed. */
export const writeTogether = async (
  database: Database,
  keys: readonly TraceKey[],
  versions: Versions,
): Promise<void> => {
  for (const portion of portions(keys))
    await writePortion(database, portion, await readStanding(database.ask, portion, versions), versions);
};

/**
 * Brings the totals of traces up to their spans and judgements; a trace without a span goes. All that changes a trace is inserted before
 * this is called: of several writers the one that reads last has then read everything, and its row has the largest version.
 * @param addedTo how much was written of a trace, at the most
 */
export const writeTotals = async (
  database: Database,
  keys: readonly TraceKey[],
  versions: Versions,
  { later, pace }: LongTraces,
  addedTo: (key: TraceKey) => number = () => 0,
): Promise<void> => {
  const isFew = fewOf(keys.length);
  const long: { readonly key: TraceKey; readonly counted: number }[] = [];
  for (const portion of portions(keys)) {
    const standing = await readStanding(database.ask, portion, versions);
    const few = portion.filter((key) => {
      const counted = standing.get(keyText(key))?.size ?? 0;
      if (isFew(counted)) return true;
      long.push({ key, counted });
      return false;
    });
    await writePortion(database, few, standing, versions);
  }
  // One whose totals cannot be brought up keeps no other from it.
  const failures: unknown[] = [];
  for (const { key, counted } of long)
    if (!later(key, counted, addedTo(key)))
      await writeSum(database, key, versions, pace).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

/**
 * Says that something goes from these traces: before it does, so that a crash leaves totals that are known to be behind, and once more
 * after it, before the totals are written. An epoch is larger than each before it, whatever the clock of the service that raised that.
 */
export const raiseEpochs = async (
  { ask, insert }: Database,
  keys: readonly TraceKey[],
  versions: Versions,
): Promise<void> => {
  if (keys.length === 0) return;
  await readStanding(ask, keys, versions);
  const epoch = versions.take();
  await insert(
    EPOCHS,
    keys.map((key) => [...key, epoch]),
  );
};
