import { type CallGrouping, type CallRow, callKinds, type Figures, noFigures } from '../call-groups.ts';
import type { CostGrouping } from '../query.ts';
import { kindCode, STATUS_ERROR, statusOf } from './codes.ts';

/** The column of each grouping of traces. */
export const traceColumns = {
  environment: 'environment',
  status: 'status',
  session_id: 'session_id',
  user_id: 'user_id',
  service_name: 'service_name',
  name: 'name',
} as const satisfies Record<Exclude<CostGrouping, CallGrouping>, string>;

/** What stands in the column of a grouping, in the words of the model. */
export const groupText = (grouping: CostGrouping, key: string | number | bigint | null): string | undefined => {
  if (key === null) return undefined;
  return grouping === 'status' ? statusOf(key) : String(key);
};

/** Classes of spans: that carry a cost, and that are calls of a model without one. */
export const PRICED = 0;
export const UNPRICED_CALL = 1;
/** What a span `r` says of its cost, as SQL. @see CallRow */
export const CALL_CLASS = `CASE WHEN r.total_cost IS NOT NULL THEN ${PRICED}
  WHEN r.kind IN (${callKinds.map(kindCode).join(', ')}) AND r.repeats_usage = 0
    AND (r.end_ns IS NOT NULL OR r.status = ${STATUS_ERROR}) THEN ${UNPRICED_CALL} ELSE 2 END`;

/** Spans of one value, one model and one class, as an engine has added them up. */
export const callRow = (value: string | null, model: string | null, is: number, figures: Figures): CallRow => {
  const row = { value: value ?? undefined, model: model ?? undefined };
  if (is === PRICED) return { ...row, is: 'priced', figures };
  if (is === UNPRICED_CALL) return { ...row, is: 'unpriced_call', figures };
  const { inputTokens, outputTokens } = figures;
  return { ...row, is: 'usage', figures: { ...noFigures(), inputTokens, outputTokens } };
};
