type Attempt = { readonly span_id: string; readonly status: string; readonly ended_at?: string | undefined };

/** Spans of steps are stored after the step, within a second or so: what is missing for longer does not come. */
export const CATCHES_UP_MS = 60_000;

/** As many as are asked for in one call. */
const MAX_SPANS = 100;

/** Spans that the trace of a run should hold: of its latest attempts that ended, at most a hundred. */
export const spansOfSteps = (attempts: readonly Attempt[]): readonly Attempt[] =>
  attempts.filter(({ status }) => status === 'succeeded' || status === 'failed').slice(-MAX_SPANS);

/**
 * How far the trace of a run is behind the run.
 * @param stored ids of the spans that the trace holds
 * @param nowMs milliseconds since 1970
 * @returns nothing where it holds them all
 */
export const traceLag = (
  attempts: readonly Attempt[],
  stored: ReadonlySet<string>,
  nowMs: number,
): { readonly missing: number; readonly of: number; readonly isCatchingUp: boolean } | undefined => {
  const wanted = spansOfSteps(attempts);
  const missing = wanted.filter(({ span_id: id }) => !stored.has(id));
  if (missing.length === 0) return undefined;
  const isRecent = ({ ended_at: at }: Attempt): boolean => at !== undefined && nowMs - Date.parse(at) <= CATCHES_UP_MS;
  return { missing: missing.length, of: wanted.length, isCatchingUp: missing.some(isRecent) };
};
