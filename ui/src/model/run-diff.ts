import type { components } from '../api/types.ts';
import { canonicalJson } from './compare.ts';

type Entry = components['schemas']['JournalEntry'];
type RunDetail = components['schemas']['RunDetail'];
type Attempt = RunDetail['attempts'][number];

/** One visit of a step, as the journal and the attempts of a run have it. */
export type Visit = {
  readonly step: string;
  readonly visit: number;
  /** Milliseconds from its entry to its end; to now where it is open. */
  readonly durationMs: number;
  readonly isOpen: boolean;
  readonly attempts: number;
  readonly output: unknown;
  readonly error: string | undefined;
};

/** What may differ between two visits of one step. */
export type Difference = 'only in A' | 'only in B' | 'output' | 'attempts' | 'error' | 'slower' | 'faster' | 'open';

/** One visit of a step in one run, or in both. */
export type VisitPair = {
  readonly step: string;
  readonly visit: number;
  readonly a: Visit | undefined;
  readonly b: Visit | undefined;
  readonly differences: readonly Difference[];
};

const keyOf = (step: string, visit: number): string => `${visit} ${step}`;

/** The visits of a run in their order. @param nowMs to which an open one is counted */
export const visitsOf = (
  { attempts, ended_at: endedAt }: Pick<RunDetail, 'attempts' | 'ended_at'>,
  entries: readonly Entry[],
  nowMs: number,
): readonly Visit[] => {
  const tried = Map.groupBy(attempts, ({ step_id, visit }) => keyOf(step_id, visit));
  const entered = entries.filter(({ kind, step_id: step }) => kind === 'cursor.moved' && step !== undefined);
  const end = endedAt === undefined ? undefined : Date.parse(endedAt);
  // A step of the service fails without a lease: its error stands in the journal alone.
  const failed = new Map(
    entries.flatMap(({ kind, step_id: step, visit = 1, data }) =>
      kind === 'step.failed' && step !== undefined ? [[keyOf(step, visit), data['error']] as const] : [],
    ),
  );
  return entered.map(({ step_id: step = '', visit = 1, at }, index) => {
    const key = keyOf(step, visit);
    const own: readonly Attempt[] = tried.get(key) ?? [];
    const last = own.at(-1);
    const next = entered[index + 1];
    const leftAt = next === undefined ? end : Date.parse(next.at);
    return {
      step,
      visit,
      durationMs: Math.max(0, (leftAt ?? nowMs) - Date.parse(at)),
      isOpen: leftAt === undefined,
      attempts: own.length,
      output: own.findLast(({ output }) => output !== undefined)?.output,
      error: last?.error?.message ?? messageOf(failed.get(key)),
    };
  });
};

const messageOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
    ? error.message
    : undefined;

/** A time within that of the other, or a difference that nobody waits for, is no difference. */
const TIME_FACTOR = 1.5;
const LEAST_TIME_MS = 5;

const differencesOf = (a: Visit | undefined, b: Visit | undefined): readonly Difference[] => {
  if (a === undefined) return ['only in B'];
  if (b === undefined) return ['only in A'];
  const found: Difference[] = [];
  if (a.isOpen !== b.isOpen) found.push('open');
  if (canonicalJson(a.output) !== canonicalJson(b.output)) found.push('output');
  if (a.attempts !== b.attempts) found.push('attempts');
  if (a.error !== b.error) found.push('error');
  if (!a.isOpen && !b.isOpen && Math.abs(a.durationMs - b.durationMs) >= LEAST_TIME_MS) {
    if (b.durationMs > a.durationMs * TIME_FACTOR) found.push('slower');
    if (a.durationMs > b.durationMs * TIME_FACTOR) found.push('faster');
  }
  return found;
};

/**
 * Two runs side by side, each visit of a step beside the same visit of the other. The order is that of A; what only B has stands
 * behind what came before it there.
 */
export const pairVisits = (a: readonly Visit[], b: readonly Visit[]): readonly VisitPair[] => {
  const inB = new Map(b.map((visit) => [keyOf(visit.step, visit.visit), visit]));
  const inA = new Set(a.map(({ step, visit }) => keyOf(step, visit)));
  /** What only B has, by what it follows. */
  const behind = new Map<string, Visit[]>();
  let before = '';
  for (const visit of b) {
    const key = keyOf(visit.step, visit.visit);
    if (inA.has(key)) before = key;
    else behind.set(before, [...(behind.get(before) ?? []), visit]);
  }
  const pair = (own: Visit | undefined, other: Visit | undefined): VisitPair => {
    const { step, visit } = own ?? other ?? { step: '', visit: 1 };
    return { step, visit, a: own, b: other, differences: differencesOf(own, other) };
  };
  const onlyB = (key: string): VisitPair[] => (behind.get(key) ?? []).map((visit) => pair(undefined, visit));
  return [
    ...onlyB(''),
    ...a.flatMap((visit) => {
      const key = keyOf(visit.step, visit.visit);
      return [pair(visit, inB.get(key)), ...onlyB(key)];
    }),
  ];
};

type Started = Pick<components['schemas']['RunSummary'], 'run_id' | 'created_at' | 'definition_version'>;

/** The run that began nearest to another; of those as near, one of the same version. Never itself. */
export const nearestRun = <Row extends Started>(to: Started, rows: readonly Row[]): Row | undefined => {
  const away = ({ created_at: at }: Started): number => Math.abs(Date.parse(at) - Date.parse(to.created_at));
  const isOther = ({ definition_version: version }: Started): number => (version === to.definition_version ? 0 : 1);
  return rows
    .filter(({ run_id: id }) => id !== to.run_id)
    .toSorted((one, other) => isOther(one) - isOther(other) || away(one) - away(other))[0];
};
