import { type Row, SPAN } from './columns.ts';

/** What the totals of a trace read of a span. */
export const HOT_WIDTH = SPAN.repeatsUsage + 1;
/** Before them stand project and trace id. */
const KEY_WIDTH = 2;

/** Spans of one trace, and the contexts that they name by number. */
export type HeldSpans = { readonly spans: Row[]; readonly contexts: Map<number, Row> };

/**
 * Spans by trace. Each row is project, trace id, what the totals of a trace read of a span in the places of `SPAN`, and the columns of the
 * context; equal contexts get one number.
 */
export const groupSpans = <K>(rows: readonly Row[], keyOf: (row: Row) => K): Map<K, HeldSpans> => {
  const held = new Map<K, HeldSpans & { readonly numbers: Map<string, number> }>();
  for (const row of rows) {
    const key = keyOf(row);
    let entry = held.get(key);
    if (entry === undefined) held.set(key, (entry = { spans: [], contexts: new Map(), numbers: new Map() }));
    const context = row.slice(KEY_WIDTH + HOT_WIDTH);
    const text = JSON.stringify(context);
    let number = entry.numbers.get(text);
    if (number === undefined) {
      number = entry.numbers.size;
      entry.numbers.set(text, number);
      entry.contexts.set(number, context);
    }
    const span = row.slice(KEY_WIDTH, KEY_WIDTH + HOT_WIDTH);
    span[SPAN.context] = number;
    entry.spans.push(span);
  }
  return held;
};
