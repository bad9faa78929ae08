/** Error classes that only the service gives, `unservable` aside, which a worker may send before the body runs. */
export const reservedClasses = ['timeout', 'orphaned', 'unservable', 'expression', 'limit', 'cancelled'] as const;

const runLimits = [
  'max_steps',
  'run_timeout_ms',
  'max_cost_usd',
  'max_attempts_total',
  'descendants',
  'concurrency',
] as const;
/** What bounds a run: limits of its definition and of its tasks, how many runs the service lets stand below one, and how many may hold a key. */
export type RunLimit = (typeof runLimits)[number];

/**
 * Why a step, or a run, failed. Plain JSON: it is stored as it is. `class` may be any text; `limit` is there when, and only when, it is
 * `limit`.
 */
export type StepError = {
  readonly class: string;
  readonly code?: string;
  readonly message: string;
  readonly limit?: RunLimit;
};

/** What reading a template or a condition gives: a value, or the error with which the step fails. */
export type Evaluated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: StepError & { readonly class: 'expression' } };

/** One line of `on_error`: it takes the errors that have its class, its code, or both; one with neither takes them all. */
export type ErrorRoute = { readonly class?: string; readonly code?: string; readonly to: string };

export const expressionError = (message: string): Evaluated<never> => ({
  ok: false,
  error: { class: 'expression', message },
});

/**
 * Whether a line of `on_error` takes an error. The first line that does sends the run on; where none does, the run fails.
 * @see Interface decisions, "9. Durable runs": "`on_error` matches `class`, `code` or both, first match wins"
 */
export const takesError = (
  route: Pick<ErrorRoute, 'class' | 'code'>,
  error: Pick<StepError, 'class' | 'code'>,
): boolean =>
  (route.class === undefined || route.class === error.class) && (route.code === undefined || route.code === error.code);
