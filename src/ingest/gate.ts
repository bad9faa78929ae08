import type { Failure } from '../model/failure.ts';
import { type ProjectReach, reaches } from '../model/scope.ts';
import { emptyBatch, type LogRecord, type SignalBatch, type SignalName } from '../model/signal.ts';
import type { Correlation, Span } from '../model/span.ts';
import type { DecodedBatch, SignalRefusal } from './decoded.ts';
import type { QuotaVerdict } from './quota.ts';
import type { Sampled } from './sample.ts';

/** The lists of a batch beside the wire names of their signals, in the order in which a batch is read. */
export const batchLists = [
  ['spans', 'spans'],
  ['logs', 'logs'],
  ['metrics', 'metrics'],
  ['scores', 'scores'],
  ['feedback', 'feedback'],
  ['aspectNotes', 'aspect_notes'],
] as const satisfies readonly (readonly [keyof SignalBatch, SignalName])[];

/** What decides, signal by signal, who goes on to be written. */
export type GateRules = {
  readonly reach: ProjectReach;
  readonly sample: (batch: SignalBatch) => Sampled;
  readonly admit: (project: string) => QuotaVerdict;
  /** Why a signal of this project is beyond its ceiling. */
  readonly overQuota: (project: string) => Failure;
};

/** One element of the request after the gate. */
export type Gated = {
  readonly ingestKey?: string;
  readonly batch: SignalBatch;
  /** Refused by decoder or reach. */
  readonly refusals: readonly SignalRefusal[];
  readonly overQuota: readonly SignalRefusal[];
  /** Signals that the sampling policy dropped. */
  readonly sampledOut: number;
  /** Traces of which something was dropped for the first time. */
  readonly droppedTraces: number;
  /** Signals of `batch` that were taken from a ceiling, by project. */
  readonly admitted: ReadonlyMap<string, number>;
  /** Signals of `batch` that no ceiling covers. */
  readonly unbounded: number;
};

type InProject = { readonly correlation: Correlation };

/** Gives the k-th accepted signal the index it had before others around it were refused. */
const createIndexing = (refused: readonly number[]): (() => number) => {
  const gaps = refused.toSorted((a, b) => a - b);
  let gap = 0;
  let next = 0;
  return () => {
    while (gaps[gap] === next) {
      gap += 1;
      next += 1;
    }
    const index = next;
    next += 1;
    return index;
  };
};

/** The signals of one kind that are within reach, with the index each had in the request. */
type Reached = { readonly items: readonly InProject[]; readonly indexes: readonly number[] };
const nothing: Reached = { items: [], indexes: [] };

/**
 * Decides for each signal of one element: is its project one that a query can name, and within the caller's reach, is its trace kept, is there room under
 * its project's ceiling. In this order: what is dropped spends no quota.
 * @param slices the element as decoded, in one piece or several
 * @param element position of the element in the request
 */
export const gateElement = (slices: readonly DecodedBatch[], element: number, rules: GateRules): Gated => {
  const refusals: SignalRefusal[] = slices.flatMap((slice) => slice.refusals);
  const overQuota: SignalRefusal[] = [];
  const admitted = new Map<string, number>();
  let unbounded = 0;
  let sampledOut = 0;

  const refusedIndexes = new Map<SignalName, number[]>();
  for (const { signal, index } of refusals) {
    const indexes = refusedIndexes.get(signal);
    if (indexes === undefined) refusedIndexes.set(signal, [index]);
    else indexes.push(index);
  }
  const reachOf = (signal: SignalName, lists: readonly (readonly InProject[])[]): Reached => {
    if (lists.every(({ length }) => length === 0)) return nothing;
    const items: InProject[] = [];
    const indexes: number[] = [];
    const indexOfNext = createIndexing(refusedIndexes.get(signal) ?? []);
    for (const list of lists)
      for (const item of list) {
        const index = indexOfNext();
        const { project } = item.correlation;
        if (!isProjectName(project)) refusals.push({ batch: element, signal, index, ...unnameable });
        else if (reaches(rules.reach, project)) {
          items.push(item);
          indexes.push(index);
        } else refusals.push({ batch: element, signal, index, ...outOfReach(project) });
      }
    return { items, indexes };
  };
  const reached = Object.fromEntries(
    batchLists.map(([list, signal]) => [
      list,
      reachOf(
        signal,
        slices.map((slice) => slice.batch[list]),
      ),
    ]),
  ) as Record<keyof SignalBatch, Reached>;

  const offered = { ...emptyBatch, spans: reached.spans.items as Span[], logs: reached.logs.items as LogRecord[] };
  const { batch: sampled, droppedTraces } = rules.sample(offered);

  const admitList = (list: keyof SignalBatch, signal: SignalName): readonly InProject[] => {
    const { items, indexes } = reached[list];
    if (items.length === 0) return items;
    // The sampler hands on the very objects it was offered, in order: what is not next among them was dropped.
    const follows = list === 'spans' || list === 'logs';
    const kept: readonly InProject[] = follows ? sampled[list] : items;
    sampledOut += items.length - kept.length;
    let next = 0;
    return items.filter((item, position) => {
      if (item !== kept[next]) return false;
      next += 1;
      const { project } = item.correlation;
      const verdict = rules.admit(project);
      if (verdict === 'over_quota') {
        const index = indexes[position] ?? position;
        const { code, message } = rules.overQuota(project);
        overQuota.push({ batch: element, signal, index, code, message });
        return false;
      }
      if (verdict === 'admitted') admitted.set(project, (admitted.get(project) ?? 0) + 1);
      else unbounded += 1;
      return true;
    });
  };
  const batch = Object.fromEntries(batchLists.map(([list, signal]) => [list, admitList(list, signal)])) as SignalBatch;

  const ingestKey = slices[0]?.ingestKey;
  return {
    ...(ingestKey === undefined ? {} : { ingestKey }),
    batch,
    refusals,
    overQuota,
    sampledOut,
    droppedTraces,
    admitted,
    unbounded,
  };
};

const LONGEST_PROJECT_NAME = 256;

/** Whether a query can name the project. What is stored under any other name would be found by nobody. */
const isProjectName = (project: string): boolean =>
  project !== '*' && project !== '' && project.length <= LONGEST_PROJECT_NAME;

const unnameable: Failure = {
  code: 'invalid_parameter',
  message: `the project is "*", which means all projects, or not of 1 to ${LONGEST_PROJECT_NAME} characters; give it another name, or leave it out`,
  field: 'correlation.project',
};

/** Why a signal is refused whose project the presented key does not reach. */
const outOfReach = (project: string): Failure => ({
  code: 'forbidden',
  message: `this key does not reach project ${JSON.stringify(project.slice(0, 128))}; leave the project out or use a key that reaches it`,
  field: 'correlation.project',
});
