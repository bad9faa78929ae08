import type { FeedbackKind } from '../../../model/signal.ts';
import type { Allowance } from '../../signals/allowance.ts';
import { feedbackCount, type Judgements, judgementsOf, noJudgements } from '../../signals/judgements.ts';
import { countedValues, fewOf, isFewAlone, LONG_TRACES } from '../../signals/late-totals.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { CONTEXT_COLUMNS, type Row } from '../../signals/rows/columns.ts';
import { groupSpans, type HeldSpans, HOT_WIDTH } from '../../signals/rows/held-spans.ts';
import {
  judgedColumns,
  judgedCount,
  type RowsSum,
  sumRows,
  TOTAL_COLUMNS,
  totalColumns,
  totalRows,
  within64Bits,
} from '../../signals/rows/total-rows.ts';
import type { FacetValue } from '../../signals/trace-facets.ts';
import type { TraceTotals } from '../../signals/trace-totals.ts';
import type { Ask } from '../connection.ts';
import { type Columns, insertInto, names, unnest } from '../insert.ts';
import { signalKey } from './keys.ts';
import { HOT } from './span-rows.ts';
import { hex } from './statement.ts';

/** A trace whose totals a transaction may have to bring up. */
export type Touched = {
  /** Project and trace id. */
  readonly row: Row;
  /** How many spans of it were written. */
  spans: number;
  /** How many scores and judgements of feedback came or went. */
  judgements: number;
};

/** The row of a trace, which this transaction holds. */
export type LockedTrace = {
  readonly row: Row;
  readonly startNs: bigint;
  /** As its totals have it; 0 where it had none before this transaction. */
  readonly spanCount: number;
  /** How much was said of it, as its totals count it. */
  readonly saidCount: number;
  readonly facets: string;
};

/** What decides whether the totals of long traces come with their transaction. */
export type LongTraces = {
  readonly allowance: Pick<Allowance, 'isLeft' | 'begin'>;
  /** Whether long traces may be late, those of very many spans or others: then each that follows waits behind them. */
  readonly mayWait: (isLarge: boolean) => boolean;
};

export const TRACE_KEY: Columns = [
  ['project', 'int4'],
  ['trace_id', 'uuid'],
];
const TOTALS: Columns = [
  ...TRACE_KEY,
  ...TOTAL_COLUMNS.map((name): Columns[number] => {
    if (['status', 'span_count', 'error_count'].includes(name)) return [name, 'int4'];
    if (name === 'total_cost') return [name, 'float8'];
    return [name, name.endsWith('_ns') || name.endsWith('_tokens') ? 'int8' : 'text'];
  }),
  ['facets', 'text'],
];
const JUDGED: Columns = [...TRACE_KEY, ['scores', 'text'], ['feedback', 'text'], ['facets', 'text']];
const FACETS: Columns = [
  ['project', 'int4'],
  ['facet', 'int4'],
  ['value', 'text'],
  ['start_ns', 'int8'],
  ['trace_id', 'uuid'],
];
const MEANS: Columns = [
  ['project', 'int4'],
  ['scorer_id', 'text'],
  ['trace_id', 'uuid'],
  ['mean', 'float8'],
];
const LATE: Columns = [...TRACE_KEY, ['counted', 'int4'], ['added', 'int4']];

type Stored = ReturnType<typeof storedFacet>;
const FEEDBACK_FACET = storedFacet(['feedback', 'thumbs'])[0];
const SCORE_FACET = storedFacet(['score', ''])[0];
const isJudged = ([facet]: Stored): boolean => facet === FEEDBACK_FACET || facet === SCORE_FACET;
const judgedFacets = ({ feedback, latestMeans }: Judgements): Stored[] =>
  [
    ...feedback.map(([kind]): FacetValue => ['feedback', kind]),
    ...latestMeans.map(([scorer]): FacetValue => ['score', scorer]),
  ].map(storedFacet);

/** Where one value by which a trace is found changes, or its start, all of them are written anew: each takes as long as a span that is read. */
const writtenFacetsOf = ({ facets }: LockedTrace): number => {
  let count = 0;
  for (let at = facets.indexOf('],['); at !== -1; at = facets.indexOf('],[', at + 1)) count += 1;
  return countedValues(count);
};

/** A trace as the key of a map. */
export const traceKeyText = ([project, traceId]: Row): string => `${String(project)}/${String(traceId)}`;

type LockedRow = [
  project: number,
  trace: string,
  startNs: bigint,
  spanCount: number,
  facets: string,
  scores: string | null,
  feedback: string | null,
];
const lockedTrace = ([project, trace, startNs, spanCount, facets, scores, feedback]: LockedRow): LockedTrace => ({
  row: [project, trace],
  startNs,
  spanCount,
  saidCount: judgedCount(scores, feedback),
  facets,
});

/** Locks the rows of traces, which it makes where there are none. What others did to them is seen by the statements that follow. */
export const lockTraces = async (ask: Ask, keys: readonly Row[]): Promise<LockedTrace[]> => {
  const locked = await ask<LockedRow>(
    ...insertInto(
      'traces',
      TRACE_KEY,
      keys,
      `ON CONFLICT (project, trace_id) DO UPDATE SET span_count = traces.span_count
       RETURNING project, ${hex('trace_id')}, start_ns, span_count, facets, scores, feedback`,
    ),
  );
  return locked.map(lockedTrace);
};

/** Locks the rows of those of the traces that are there. */
export const findAndLock = async (ask: Ask, keys: readonly Row[]): Promise<LockedTrace[]> => {
  const { sql, values } = unnest(TRACE_KEY, keys);
  const locked = await ask<LockedRow>(
    `SELECT t.project, ${hex('t.trace_id')}, t.start_ns, t.span_count, t.facets, t.scores, t.feedback
     FROM ${sql} AS k (project, trace_id) JOIN traces AS t ON t.project = k.project AND t.trace_id = k.trace_id
     ORDER BY t.project, t.trace_id FOR UPDATE OF t`,
    values,
  );
  return locked.map(lockedTrace);
};

/** A statement that deletes the rows of these traces. @param keys project and trace id of each */
export const deleteOf = (
  table: string,
  keys: readonly Row[],
  more = '',
): readonly [string, ReturnType<typeof unnest>['values']] => {
  const { sql, values } = unnest(TRACE_KEY, keys);
  return [
    `DELETE FROM ${table} AS r USING ${sql} AS k (project, trace_id) WHERE r.project = k.project AND r.trace_id = k.trace_id${more}`,
    values,
  ];
};

const readSpans = async (ask: Ask, keys: readonly Row[]): Promise<ReadonlyMap<string, HeldSpans>> => {
  if (keys.length === 0) return new Map();
  const { sql, values } = unnest(TRACE_KEY, keys);
  const found = await ask<Row>(
    `SELECT s.project, ${hex('s.trace_id')}, ${HOT}, ${CONTEXT_COLUMNS}
     FROM ${sql} AS k (project, trace_id) JOIN spans AS s ON s.project = k.project AND s.trace_id = k.trace_id`,
    values,
  );
  return groupSpans(found, traceKeyText);
};

const readJudgements = async (ask: Ask, keys: readonly Row[]): Promise<ReadonlyMap<string, Judgements>> => {
  if (keys.length === 0) return new Map();
  const textKeys: Columns = [
    ['project', 'int4'],
    ['trace_id', 'text'],
  ];
  const { sql, values } = unnest(textKeys, keys);
  const of = (table: string): string =>
    `FROM ${sql} AS k (project, trace_id) JOIN ${table} AS r ON r.project = k.project AND r.trace_id = k.trace_id`;
  const asked = ask<[number, string, string, string | null, number]>(
    `SELECT r.project, r.trace_id, r.scorer_id, r.scorer_version, r.value ${of('scores')}
     ORDER BY r.scorer_id, r.at_ns, r.score_id`,
    values,
  );
  const [scores, feedback] = await Promise.all([
    asked,
    ask<[number, string, FeedbackKind, bigint, bigint]>(
      `SELECT r.project, r.trace_id, r.kind, count(*), count(*) FILTER (WHERE r.value = '"up"') ${of('feedback')} GROUP BY 1, 2, 3 ORDER BY 3`,
      values,
    ),
  ]);
  return judgementsOf(
    scores.map(([project, trace, ...score]) => [traceKeyText([project, trace]), ...score] as const),
    feedback.map(
      ([project, trace, kind, count, up]) =>
        [traceKeyText([project, trace]), feedbackCount(kind, Number(count), Number(up))] as const,
    ),
  );
};

/** Spans that are read at once of one trace. */
const PIECE_SPANS = 2_000;
const PIECE = `SELECT ${HOT}, ${CONTEXT_COLUMNS} FROM spans AS s
  WHERE s.project = $1 AND s.trace_id = $2::uuid AND s.span_id > decode($3, 'hex') ORDER BY s.span_id LIMIT ${PIECE_SPANS}`;
const SPAN_ID = 3;

/** Adds up a trace in pieces: what is read at once stays small, however many spans it has. */
export const sumTrace = (ask: Ask, [project = null, traceId = null]: Row) => {
  const sum = sumRows();
  let after = '';
  return {
    sum,
    /** Adds up the spans that come next, in the order of their ids. @returns whether more may follow */
    addPiece: async (): Promise<boolean> => {
      const piece = await ask<Row>(PIECE, [project, traceId, after]);
      for (const span of piece) sum.add(span, span.slice(HOT_WIDTH));
      after = (piece.at(-1)?.[SPAN_ID] as string | undefined) ?? after;
      return piece.length === PIECE_SPANS;
    },
  };
};

/** Puts together what is written of the totals of traces. */
const newTotals = (ask: Ask) => {
  const totals: Row[] = [];
  const judged: Row[] = [];
  const gone: Row[] = [];
  const refaceted: Row[] = [];
  const facets: Row[] = [];
  const means: Row[] = [];
  const addFacets = ([project = null, trace = null]: Row, startNs: bigint, stored: readonly Stored[]): void => {
    const added = new Set<string>();
    for (const [facet, value] of stored) {
      const key = signalKey(value);
      if (added.has(`${facet}/${key}`)) continue;
      added.add(`${facet}/${key}`);
      facets.push([project, facet, key, startNs, trace]);
    }
  };
  const addMeans = ([project = null, trace = null]: Row, { latestMeans }: Judgements): void => {
    for (const [scorer, mean] of latestMeans) means.push([project, signalKey(scorer), trace, mean]);
  };
  return {
    remove: ({ row }: LockedTrace): void => void gone.push(row),
    put: ({ row, startNs, facets: before }: LockedTrace, total: TraceTotals, said: Judgements): void => {
      const stored = total.facets.map(storedFacet);
      const facetText = JSON.stringify(stored);
      totals.push([...row, ...totalColumns(within64Bits(total), said), facetText]);
      addMeans(row, said);
      if (facetText === before && total.startTime === startNs) return;
      if (before !== '[]') refaceted.push(row);
      addFacets(row, total.startTime, stored);
    },
    /** What was said of a trace changed, and its spans did not: none of them is read. */
    judge: ({ row, startNs, facets: before }: LockedTrace, said: Judgements): void => {
      const facet = judgedFacets(said);
      const others = (JSON.parse(before) as Stored[]).filter((one) => !isJudged(one));
      judged.push([...row, ...judgedColumns(said), JSON.stringify([...others, ...facet])]);
      addMeans(row, said);
      addFacets(row, startNs, facet);
    },
    write: async (): Promise<void> => {
      const asked: Promise<unknown>[] = [];
      const send = (...statement: Parameters<Ask>): void => void asked.push(ask(...statement));
      const update = (of: Columns, rows: readonly Row[]): void => {
        if (rows.length === 0) return;
        const { sql, values } = unnest(of, rows);
        send(
          `UPDATE traces AS r SET ${of
            .slice(TRACE_KEY.length)
            .map(([name]) => `${name} = n.${name}`)
            .join(', ')}
           FROM ${sql} AS n (${names(of)}) WHERE r.project = n.project AND r.trace_id = n.trace_id`,
          values,
        );
      };
      const keyOf = (row: Row): Row => row.slice(0, TRACE_KEY.length);
      const keys = [...gone, ...totals.map(keyOf), ...judged.map(keyOf)];
      if (gone.length > 0) send(...deleteOf('traces', gone));
      if (gone.length + refaceted.length > 0) send(...deleteOf('trace_facets', [...gone, ...refaceted]));
      if (judged.length > 0)
        send(...deleteOf('trace_facets', judged.map(keyOf), ` AND r.facet IN (${FEEDBACK_FACET}, ${SCORE_FACET})`));
      if (keys.length > 0) send(...deleteOf('trace_scores', keys));
      update(TOTALS, totals);
      update(JUDGED, judged);
      if (facets.length > 0) send(...insertInto('trace_facets', FACETS, facets));
      if (means.length > 0) send(...insertInto('trace_scores', MEANS, means));
      await Promise.all(asked);
    },
  };
};

/** A trace whose totals follow their transaction. */
type LateTrace = {
  readonly trace: LockedTrace;
  /** How much is read and written of it, without what was written of it in this transaction. */
  readonly size: number;
  /** How many spans, scores and judgements of feedback were written of it. */
  readonly added: number;
};
const putLate = async (ask: Ask, late: readonly LateTrace[]): Promise<void> => {
  const rows = late.map(({ trace: { row }, size, added }): Row => [...row, size, added]);
  await ask(
    ...insertInto(
      'late_totals',
      LATE,
      rows,
      `ON CONFLICT (project, trace_id) DO UPDATE SET
         counted = excluded.counted, added = late_totals.added + excluded.added, stamp = nextval('late_totals_stamp_seq')`,
    ),
  );
};

/** What is done with locked traces. */
type Plan = {
  /** Their spans are read together. One without a span goes. */
  readonly few: LockedTrace[];
  /** Their spans are added up. */
  readonly summed: (readonly [LockedTrace, RowsSum])[];
  /** Only what was said of them is read. */
  readonly said: LockedTrace[];
  /** What was said of some of them, where that was read already. */
  readonly judgements: Map<string, Judgements>;
};
const newPlan = (): Plan => ({ few: [], summed: [], said: [], judgements: new Map() });
/** Without a span in its totals a trace has none, and was made to be locked. */
const planSaid = (plan: Plan, trace: LockedTrace): void =>
  void (trace.spanCount === 0 ? plan.few : plan.said).push(trace);

const rowsOf = (traces: readonly LockedTrace[]): Row[] => traces.map(({ row }) => row);
const carryOut = async (ask: Ask, { few, summed, said, judgements: known }: Plan): Promise<void> => {
  const all = [...few, ...summed.map(([trace]) => trace), ...said];
  const [held, judgements] = await Promise.all([
    readSpans(ask, rowsOf(few)),
    readJudgements(
      ask,
      rowsOf(all).filter((row) => !known.has(traceKeyText(row))),
    ),
  ]);
  const judgedOf = ({ row }: LockedTrace): Judgements => {
    const key = traceKeyText(row);
    return known.get(key) ?? judgements.get(key) ?? noJudgements;
  };
  const totals = newTotals(ask);
  for (const trace of few) {
    const own = held.get(traceKeyText(trace.row));
    if (own === undefined) totals.remove(trace);
    else totals.put(trace, totalRows(own.spans, own.contexts, judgedOf(trace)), judgedOf(trace));
  }
  for (const [trace, sum] of summed) {
    if (sum.spans() === 0) totals.remove(trace);
    else totals.put(trace, sum.totals(judgedOf(trace)), judgedOf(trace));
  }
  for (const trace of said) totals.judge(trace, judgedOf(trace));
  await totals.write();
};

/**
 * Brings the totals of locked traces up to their spans and to what was said of them. Of long traces that may be done later: they are noted.
 * @param locking was asked for before this
 * @param touchedOf what happened to a trace that is locked
 * @returns how much is to be read of each that was noted
 */
export const writeTotals = async (
  ask: Ask,
  locking: Promise<readonly LockedTrace[]>,
  touchedOf: (row: Row) => Touched | undefined,
  { allowance, mayWait }: LongTraces,
): Promise<readonly number[]> => {
  const plan = newPlan();
  const late: LateTrace[] = [];
  let isDrained = false;
  const locked = await locking;
  const isFew = fewOf(locked.length);
  for (const trace of locked) {
    const touched = touchedOf(trace.row);
    const { spanCount, saidCount } = trace;
    const { spans = 0, judgements = 0 } = touched ?? {};
    const isOfSpans = spans > 0;
    const facetCount = writtenFacetsOf(trace);
    const read = saidCount + (isOfSpans ? spanCount + facetCount : 0);
    if (isFew(read)) {
      if (isOfSpans) plan.few.push(trace);
      else planSaid(plan, trace);
    } else if (read > LONG_TRACES.atOnce || mayWait(false) || !allowance.isLeft()) {
      late.push({ trace, size: spanCount + saidCount + facetCount, added: spans + judgements });
      if (judgements > 0 && isFewAlone(saidCount)) plan.said.push(trace);
    } else {
      // Rows of the group that were asked for before are none of its time.
      if (!isDrained) await ask('SELECT 1');
      isDrained = true;
      const end = allowance.begin();
      try {
        const key = traceKeyText(trace.row);
        plan.judgements.set(key, (await readJudgements(ask, [trace.row])).get(key) ?? noJudgements);
        if (!isOfSpans) {
          plan.said.push(trace);
          continue;
        }
        const { sum, addPiece } = sumTrace(ask, trace.row);
        while (await addPiece());
        plan.summed.push([trace, sum]);
      } finally {
        end();
      }
    }
  }
  const current = [...plan.few, ...plan.summed.map(([trace]) => trace)].filter(({ spanCount }) => spanCount > 0);
  await Promise.all([
    carryOut(ask, plan),
    late.length === 0 ? undefined : putLate(ask, late),
    // What was read of these for late totals is out of date.
    current.length === 0 ? undefined : ask(...deleteOf('late_totals', rowsOf(current))),
  ]);
  return late.map(({ size, added }) => size + added);
};

/** Brings locked traces up to what was said of them. One that has no span goes. */
export const writeJudged = async (ask: Ask, locking: Promise<readonly LockedTrace[]>): Promise<void> => {
  const plan = newPlan();
  for (const trace of await locking) planSaid(plan, trace);
  await carryOut(ask, plan);
};

/** Brings locked traces up to their spans, which are read together. */
export const writeWhole = (ask: Ask, locked: readonly LockedTrace[]): Promise<void> =>
  carryOut(ask, { ...newPlan(), few: [...locked] });

/** Brings a trace whose row this transaction holds up to a sum of its spans. */
export const writeSum = (ask: Ask, locked: LockedTrace, sum: RowsSum): Promise<void> =>
  carryOut(ask, { ...newPlan(), summed: [[locked, sum]] });
