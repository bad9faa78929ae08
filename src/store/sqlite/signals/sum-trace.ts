import type Database from 'better-sqlite3';
import { CONTEXT_COLUMNS, type Row, SPAN } from '../../signals/rows/columns.ts';
import { type RowsSum, sumRows } from '../../signals/rows/total-rows.ts';

/** Spans that are read at once. */
const PIECE_SPANS = 1_000;
/** Characters of contexts that are read at once, with those of one span more: a context may have thousands of tags. */
const PIECE_CONTEXT_CHARACTERS = 512 * 1024;

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
    let contextCharacters = 0;
    const contexts = new Map<bigint, Row>();
    const contextOf = (place: bigint): Row => {
      let context = contexts.get(place);
      if (context === undefined) {
        context = contextOfTrace.get(trace, place);
        if (context === undefined) throw new Error(`context ${place} of trace row ${trace} is missing`);
        used.add(Number(place));
        for (const value of context) if (typeof value === 'string') contextCharacters += value.length;
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
        contextCharacters = 0;
        for (const [at, span] of piece.entries()) {
          add(span, contextOf(span[SPAN.context] as bigint));
          after = span[SPAN.spanId] as string;
          if (contextCharacters > PIECE_CONTEXT_CHARACTERS && at + 1 < piece.length) return true;
        }
        return piece.length === PIECE_SPANS;
      },
    };
  };
};

/** A trace may have as many contexts as spans; past so many they are read again. */
const REMEMBERED_CONTEXTS = 10_000;
