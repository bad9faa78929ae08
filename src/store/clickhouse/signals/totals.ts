import type { FeedbackKind } from '../../../model/signal.ts';
import { feedbackCount, type Judgements, judgementsOf, noJudgements } from '../../signals/judgements.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { CONTEXT_COLUMNS, type Row, SPAN } from '../../signals/rows/columns.ts';
import { groupSpans } from '../../signals/rows/held-spans.ts';
import { totalColumns, totalRows } from '../../signals/rows/total-rows.ts';
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

/** The epochs of traces, of those that have one: what was raised, and what their totals stand at. */
const readEpochs = async (ask: Ask, keys: readonly TraceKey[], versions: Versions): Promise<Map<string, bigint>> => {
  const epochs = await askTraces<[string, string, string]>(
    ask,
    keys,
    '',
    (isOfTraces) =>
      `SELECT project, trace_id, max(epoch) FROM (
         SELECT project, trace_id, epoch FROM ${EPOCHS.table} WHERE ${isOfTraces}
         UNION ALL SELECT project, trace_id, toUInt64(bitShiftRight(version, ${EPOCH_BITS})) FROM traces WHERE ${isOfTraces}
       ) GROUP BY project, trace_id`,
  );
  for (const [, , epoch] of epochs) versions.reach(BigInt(epoch));
  return new Map(epochs.map(([project, trace, epoch]) => [keyText([project, trace]), BigInt(epoch)]));
};

const writePortion = async (
  { ask, insert }: Database,
  keys: readonly TraceKey[],
  versions: Versions,
): Promise<void> => {
  // Read before the spans: a writer that sees the epoch of a removal then also sees that what it removed is gone.
  const epochOf = await readEpochs(ask, keys, versions);
  const sums: Sums = new Map();
  const [spans, judgements] = await Promise.all([
    // The index of trace ids leaves out no row of a key and another of the same, so nothing has to be read beside what it names.
    askTraces<Row>(
      ask,
      keys,
      's.',
      (isOfTraces) =>
        `SELECT s.project, s.trace_id, ${HOT}, ${CONTEXTS}, s.version FROM spans AS s FINAL WHERE ${isOfTraces}
         SETTINGS use_skip_indexes_if_final_exact_mode = 0`,
    ),
    readJudgements(ask, keys, sums),
  ]);
  for (const row of spans) {
    const version = BigInt(row.pop() as string);
    versions.reach(version);
    add(sums, keyOf(row), version);
  }
  const held = groupSpans(spans.map(withTimes), keyOf);
  const rows = keys.flatMap((key): ValueRow[] => {
    const name = keyText(key);
    const epoch = epochOf.get(name);
    const version = ((epoch ?? 0n) << EPOCH_BITS) + (sums.get(name) ?? 0n);
    const own = held.get(name);
    // Without an epoch there are no totals that could be removed: judgements came before their spans.
    if (own === undefined) return epoch === undefined ? [] : [removedRow(key, version)];
    const judged = judgements.get(name) ?? noJudgements;
    const total = totalRows(own.spans, own.contexts, judged);
    const facets = [...new Set(total.facets.map((facet) => facetText(storedFacet(facet))))];
    return [[...key, ...totalColumns(total, judged), facets, new Map(judged.latestMeans), version, NOT_DELETED]];
  });
  await insert(TRACES, rows);
};

/**
 * Brings the totals of traces up to their spans and judgements; a trace without a span goes. All that changes a trace is inserted before
 * this is called: of several writers the one that reads last has then read everything, and its row has the largest version.
 */
export const writeTotals = async (database: Database, keys: readonly TraceKey[], versions: Versions): Promise<void> => {
  for (const portion of portions(keys)) await writePortion(database, portion, versions);
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
  await readEpochs(ask, keys, versions);
  const epoch = versions.take();
  await insert(
    EPOCHS,
    keys.map((key) => [...key, epoch]),
  );
};
