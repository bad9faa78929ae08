import type { Json, JsonObject } from '../json.ts';

/**
 * What templates and conditions of a definition may read, by these names and no others. Plain JSON throughout. A name that
 * does not apply (an `item` outside `for_each`, an `event` before one came) is absent, and reading it is a missing path.
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export type ExpressionScope = {
  readonly input?: Json;
  readonly state: JsonObject;
  /** Outputs of the steps that have ended, by id: `{triage: {output: ...}}`. */
  readonly steps: { readonly [stepId: string]: { readonly output?: Json } };
  /** `{run_id, definition_id, definition_version, created_at, project}`. */
  readonly run: JsonObject;
  readonly correlation: JsonObject;
  readonly item?: Json;
  /** `{name, key, payload}`. */
  readonly event?: JsonObject;
  /** `{class, code?, message, step_id}`. */
  readonly error?: JsonObject;
  /** Entries by step id; a step that is not named was never entered. Conditions only. */
  readonly visits: { readonly [stepId: string]: number };
};

/** The names that a template may start with. Conditions may also read `visits`. */
export const templateRoots = [
  'input',
  'state',
  'steps',
  'run',
  'correlation',
  'item',
  'event',
  'error',
] as const satisfies readonly (keyof ExpressionScope)[];
