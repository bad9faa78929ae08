import type Database from 'better-sqlite3';
import { CONTEXT_COLUMNS, type Row, SPAN } from '../../signals/rows/columns.ts';
import { type RowsSum, sumRows } from '../../signals/rows/total-rows.ts';

/** Spans that are read at once. */
const PIECE_SPANS = 1_000;

/** The columns of a span that totals read, in the places of `SPAN`. */
export const SPAN_COLUMNS =
  'span, trace, context, span_id, parent_span_id, name, kind, status, start_ns, end_ns, model, provider, entity_name, ' +
  'input_tokens, output_tokens, total_tokens, total_cost, currency, repeats_usage';

/** The spans of one trace, as far as they are added up. */
export type TraceSum = Pick<RowsSum, 'spans' | 'totals'> & {
  readonly trace: number;
  /** Of the spans that were added up. */
  readonly contexts: () => ReadonlySet<number>;
  /** Adds up the spans that come next, in the order of their ids. @returns whether more may follow */
  readonly addPiece: () => boolean;
};

/** Adds up traces in pieces: what is read at once stays small, however many spans a trace has, and other work may come in between. */
export const traceSumsOf = (db: Database.Database): ((trace: number) => TraceSum) => {
  // SQLite prepares a statement anew for each run that compares a bound value beside ORDER BY; it leaves `+?` alone.
  const spansAfter = db
    .prepare<[number, string], Row>(
      `SELECT ${SPAN_COLUMNS} FROM spans WHERE trace = +? AND span_id > +? ORDER BY span_id LIMIT ${PIECE_SPANS}`,
    )
    .raw()
    .safeIntegers();
  const contextOfTrace = db
    .prepare<[number, bigint], Row>(`SELECT ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = ? AND context = ?`)
    .raw();
  return (trace) => {
    const { add, spans, totals } = sumRows();
    const used = new Set<number>();
    const contexts = new Map<bigint, Row>();
    const contextOf = (place: bigint): Row => {
      let context = contexts.get(place);
      if (context === undefined) {
        context = contextOfTrace.get(trace, place);
        if (context === undefined) throw new Error(`context ${place} of trace row ${trace} is missing`);
        used.add(Number(place));
        if (contexts.size >= REMEMBERED_CONTEXTS) contexts.clear();
        contexts.set(place, context);
      }
      return context;
    };
    let after = '';
    return {
      trace,
      spans,
      totals,
      contexts: () => used,
      addPiece: () => {
        const piece = spansAfter.all(trace, after);
        for (const span of piece) add(span, contextOf(span[SPAN.context] as bigint));
        after = (piece.at(-1)?.[SPAN.spanId] as string | undefined) ?? after;
        return piece.length === PIECE_SPANS;
      },
    };
  };
};

/** A trace may have as many contexts as spans; past so many they are read again. */
const REMEMBERED_CONTEXTS = 10_000;
