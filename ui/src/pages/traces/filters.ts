import { spanKinds } from '../../model/status.ts';
import { type Field, flag, number, oneOf, text } from '../../model/url.ts';

/** Every filter of `listTraces`, by its own name. */
export const filterFields = {
  q: text(),
  status: oneOf(['ok', 'error', 'unset']),
  has_error: flag(),
  name: text(),
  model: text(),
  provider: text(),
  entity_name: text(),
  kind: oneOf(spanKinds),
  user_id: text(),
  session_id: text(),
  thread_id: text(),
  service_name: text(),
  service_version: text(),
  release: text(),
  tag: text(),
  run_id: text(),
  experiment_id: text(),
  has_feedback: oneOf(['thumbs', 'rating', 'correction', 'tag', 'comment']),
  has_score: text(),
  score_below: number(),
  min_cost: number(),
  max_cost: number(),
  min_duration_ms: number(),
  max_duration_ms: number(),
} as const satisfies Record<string, Field<never> | Field<string> | Field<number> | Field<boolean>>;

export type FilterName = keyof typeof filterFields;
export const filterNames = Object.keys(filterFields) as FilterName[];

/** Filters of which the values are few. */
export const filterChoices: Partial<Record<FilterName, readonly string[]>> = {
  status: ['ok', 'error', 'unset'],
  has_error: ['true', 'false'],
  kind: spanKinds,
  has_feedback: ['thumbs', 'rating', 'correction', 'tag', 'comment'],
};

/** What the API asks for beside a filter, where it is not there. */
export const isComplete = (state: Readonly<Record<string, unknown>>): boolean =>
  state['score_below'] === undefined || state['has_score'] !== undefined;
