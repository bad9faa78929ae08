import type { SignalBatch } from '../model/signal.ts';

export type SamplingPolicy = {
  /** Fraction of traces to keep, 0.0 to 1.0, of projects that have none of their own. */
  readonly default: number;
  readonly projects: Readonly<Record<string, number>>;
};

export type Sampled = {
  /** The batch itself when nothing was dropped. */
  readonly batch: SignalBatch;
  /** Traces of which something was dropped for the first time. */
  readonly droppedTraces: number;
};

const HALF = 2 ** 28;

/** Traces that were dropped lately are remembered so that each is counted once; two generations of this many ids. */
const REMEMBERED_TRACES = 8192;

/** A fraction as the first number of 56 bits that is not kept, in two halves that a double holds exactly. */
type Threshold = { readonly high: number; readonly low: number };

const thresholdOf = (fraction: number): Threshold => {
  // Scaling by a power of two is exact. What is left of a unit still keeps that unit: n < 0.7 holds for n = 0.
  const units = Math.ceil(fraction * 2 ** 56);
  const high = Math.floor(units / HALF);
  return { high, low: units - high * HALF };
};

const isBelow = (traceId: string, threshold: Threshold): boolean => {
  const high = Number.parseInt(traceId.slice(18, 25), 16);
  if (high !== threshold.high) return high < threshold.high;
  return Number.parseInt(traceId.slice(25, 32), 16) < threshold.low;
};

/** Counts each id once while it is remembered; what has not been seen for a generation or two is forgotten. */
const createFirstSightings = (capacity: number): ((id: string) => boolean) => {
  let recent = new Set<string>();
  let older = new Set<string>();
  return (id) => {
    if (recent.has(id)) return false;
    const first = !older.has(id);
    if (recent.size >= capacity) {
      older = recent;
      recent = new Set();
    }
    recent.add(id);
    return first;
  };
};

/**
 * Decides which traces are kept. A trace is kept when the low 56 bits of its id, as a fraction of 2^56, are below its
 * project's fraction, so every replica and every restart decides alike, whichever span comes first, and a trace that a
 * smaller fraction keeps is kept by every greater one. Spans, and logs that name a trace, follow it; everything else is
 * kept. The fraction is that of the signal's own project.
 *
 * The decision is pure. Only the count of dropped traces has a memory: a trace whose spans arrive in several batches
 * counts once as long as it is among the last traces dropped (8,192 at least), and again after that.
 * @throws RangeError on a fraction outside 0.0 to 1.0: the configuration is refused before it gets here
 * @see Interface decisions, "5. Ingest policy"
 */
export const createSampler = (policy: SamplingPolicy): ((batch: SignalBatch) => Sampled) => {
  const fractions = [policy.default, ...Object.values(policy.projects)];
  for (const fraction of fractions)
    if (!(fraction >= 0 && fraction <= 1))
      throw new RangeError(`a sampling fraction is from 0.0 to 1.0, and ${fraction} is not`);
  if (fractions.every((fraction) => fraction === 1)) return (batch) => ({ batch, droppedTraces: 0 });

  const fallback = thresholdOf(policy.default);
  const thresholds = new Map(Object.entries(policy.projects).map(([name, fraction]) => [name, thresholdOf(fraction)]));
  const isFirstSighting = createFirstSightings(REMEMBERED_TRACES);

  return (batch) => {
    let droppedTraces = 0;
    const isKept = (traceId: string | undefined, project: string): boolean => {
      if (traceId === undefined || isBelow(traceId, thresholds.get(project) ?? fallback)) return true;
      if (isFirstSighting(traceId)) droppedTraces += 1;
      return false;
    };
    const spans = batch.spans.filter((span) => isKept(span.traceId, span.correlation.project));
    const logs = batch.logs.filter((log) => isKept(log.traceId, log.correlation.project));
    if (spans.length === batch.spans.length && logs.length === batch.logs.length) return { batch, droppedTraces };
    return { batch: { ...batch, spans, logs }, droppedTraces };
  };
};
