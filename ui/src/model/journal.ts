import type { components } from '../api/types.ts';

type Entry = components['schemas']['JournalEntry'];

/**
 * Entries in their order, each once, whatever a stream that broke and came back repeats.
 * @returns the same list when nothing is new; `gap` when an entry is missing, which only reading again can mend
 */
export const addEntries = (
  known: readonly Entry[],
  more: readonly Entry[],
): { readonly entries: readonly Entry[]; readonly gap: boolean } => {
  let next = (known.at(-1)?.seq ?? -1) + 1;
  const added: Entry[] = [];
  for (const entry of more.toSorted((a, b) => a.seq - b.seq)) {
    if (entry.seq < next) continue;
    if (entry.seq > next) return { entries: added.length === 0 ? known : [...known, ...added], gap: true };
    added.push(entry);
    next += 1;
  }
  return { entries: added.length === 0 ? known : [...known, ...added], gap: false };
};

type Attempt = components['schemas']['Attempt'];

/** One attempt on the axis of its run: offered, then running. In milliseconds from the start of the run. */
export type Lane = {
  readonly attempt: Attempt;
  readonly offered: number;
  /** Absent for an offer that nobody started. */
  readonly started: number | undefined;
  readonly ended: number;
  readonly isOpen: boolean;
};

export type Timeline = {
  readonly totalMs: number;
  readonly steps: readonly { readonly step: string; readonly lanes: readonly Lane[] }[];
};

/** @param nowMs to which what still runs is drawn */
export const timelineOf = (
  run: { readonly created_at: string; readonly ended_at?: string; readonly attempts: readonly Attempt[] },
  nowMs: number,
): Timeline => {
  const base = Date.parse(run.created_at);
  const end = run.ended_at === undefined ? nowMs : Date.parse(run.ended_at);
  const since = (instant: string | undefined): number | undefined =>
    instant === undefined ? undefined : Math.max(0, Date.parse(instant) - base);
  const steps = new Map<string, Lane[]>();
  let last = Math.max(end - base, 1);
  for (const attempt of run.attempts) {
    const ended = since(attempt.ended_at);
    const lane: Lane = {
      attempt,
      offered: since(attempt.offered_at) ?? 0,
      started: since(attempt.started_at),
      ended: ended ?? end - base,
      isOpen: ended === undefined,
    };
    last = Math.max(last, lane.ended);
    const lanes = steps.get(attempt.step_id);
    if (lanes === undefined) steps.set(attempt.step_id, [lane]);
    else lanes.push(lane);
  }
  return { totalMs: last, steps: [...steps].map(([step, lanes]) => ({ step, lanes })) };
};

/** A line that tells an entry to people. */
export const tellEntry = ({ kind, step_id, attempt, worker_id, data }: Entry): string => {
  const step = step_id === undefined ? '' : ` ${step_id}`;
  const to = typeof data['to'] === 'string' ? ` to ${data['to']}` : '';
  const error = data['error'];
  const message =
    typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
      ? `: ${error.message}`
      : '';
  return `${kind}${step}${to}${attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ''}${worker_id === undefined ? '' : ` by ${worker_id}`}${message}`;
};
