/**
 * A trace of more spans is long, and so is each beyond the spans that one commit reads together. All spans of a trace are read for each that
 * is added, and a body of some kilobytes can name many such traces: the totals of long ones may be brought up after the commit (*late totals*).
 */
export const FEW_SPANS = { ofTrace: 32, together: 16_384 } as const;
/**
 * What long traces take of what writes: a part of the time, and half a second at once. Without more than that, totals are late only of traces
 * that have too many spans to be read within one commit.
 */
export const LONG_TRACES = { share: 0.3, mostMs: 500, spansAtOnce: 20_000 } as const;
/** Late totals are brought up in slices of about so long, in milliseconds. */
export const LATE_SLICE_MS = 50;
