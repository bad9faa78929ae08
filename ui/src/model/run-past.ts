import type { components } from '../api/types.ts';
import { awaitedBy } from './run-timeline.ts';

type Entry = components['schemas']['JournalEntry'];
type RunDetail = components['schemas']['RunDetail'];

/** What had become of a step. */
export type PastStep = {
  readonly visits: number;
  readonly attempts: number;
  /** The state of the latest attempt, in the words of the API; nothing where there was none. */
  readonly latest: RunDetail['attempts'][number]['status'] | undefined;
};

/** A run as it was after an entry of its journal. */
export type PastRun = Pick<RunDetail, 'waits' | 'timers'> & {
  /** Nothing before it began and after it ended. */
  readonly cursor: string | undefined;
  readonly isPaused: boolean;
  /** How it ended, where it had. */
  readonly end: string | undefined;
  readonly steps: ReadonlyMap<string, PastStep>;
};

const NO_STEP: PastStep = { visits: 0, attempts: 0, latest: undefined };

/** What an entry says of the attempt that it belongs to. */
const LATEST: Readonly<Partial<Record<Entry['kind'], PastStep['latest']>>> = {
  'step.leased': 'offered',
  'step.started': 'running',
  'step.finished': 'succeeded',
  'step.failed': 'failed',
  'step.orphaned': 'orphaned',
};

/** After these, nothing is waited for that was waited for before. */
const ENDS_WAIT: ReadonlySet<Entry['kind']> = new Set([
  'cursor.moved',
  'event.delivered',
  'run.resumed',
  'run.finished',
  'run.waiting',
  'step.failed',
  'step.leased',
  'step.requeued',
]);

const instantOf = (value: unknown): { readonly due_at?: string } =>
  typeof value === 'string' ? { due_at: value } : {};
const ofStep = (step: string | undefined): { readonly step_id?: string } =>
  step === undefined ? {} : { step_id: step };

/** What is waited for after an entry that ended all waits before it. */
const openedBy = ({ kind, at, step_id: step, data }: Entry): Pick<RunDetail, 'waits' | 'timers'> => {
  if (kind === 'step.failed' && data['will_retry'] === true)
    return { waits: [], timers: [{ name: 'backoff', ...instantOf(data['retry_at']), ...ofStep(step) }] };
  if (kind !== 'run.waiting') return { waits: [], timers: [] };
  const reason = typeof data['reason'] === 'string' ? data['reason'] : '';
  const due = instantOf(data['due_at']);
  const isOfEvent = reason === 'event';
  // A wait without a timeout has no timer.
  const hasTimer = due.due_at !== undefined || reason === 'sleep';
  return {
    waits: isOfEvent
      ? awaitedBy(data).map(({ event, key }) => ({
          event,
          key,
          step_id: step ?? '',
          since: at,
          ...(due.due_at === undefined ? {} : { deadline_at: due.due_at }),
        }))
      : [],
    timers: hasTimer ? [{ name: isOfEvent || reason === 'children' ? 'wait' : reason, ...due, ...ofStep(step) }] : [],
  };
};

/**
 * A run as its journal tells it, up to an entry. Timeouts of bodies are not in the journal.
 * @param deadline of the run, which its journal does not name
 */
export const pastRunOf = (entries: readonly Entry[], seq: number, deadline?: string): PastRun => {
  const steps = new Map<string, PastStep>();
  let cursor: string | undefined;
  let isPaused = false;
  let end: string | undefined;
  let open: Pick<RunDetail, 'waits' | 'timers'> = { waits: [], timers: [] };
  for (const entry of entries) {
    if (entry.seq > seq) break;
    const { kind, step_id: step, visit } = entry;
    if (ENDS_WAIT.has(kind)) open = openedBy(entry);
    if (step !== undefined) {
      const before = steps.get(step) ?? NO_STEP;
      const latest = LATEST[kind] ?? before.latest;
      const attempts = before.attempts + (kind === 'step.leased' ? 1 : 0);
      if (kind === 'cursor.moved' || latest !== before.latest || attempts !== before.attempts)
        steps.set(step, { visits: Math.max(before.visits, visit ?? 1), attempts, latest });
    }
    if (kind === 'cursor.moved') cursor = step;
    if (kind === 'run.paused') isPaused = true;
    if (kind === 'run.unpaused') isPaused = false;
    if (kind === 'run.finished') {
      cursor = undefined;
      isPaused = false;
      end = typeof entry.data['status'] === 'string' ? entry.data['status'] : 'ended';
    }
  }
  const isOpen = end === undefined && deadline !== undefined;
  return {
    cursor,
    isPaused,
    end,
    steps,
    waits: open.waits,
    timers: isOpen ? [...open.timers, { name: 'run_timeout', due_at: deadline }] : open.timers,
  };
};

/** The step in which a snapshot of a run's machine is, and how often it has entered each. */
export const placeOfSnapshot = (
  value: unknown,
  context: unknown,
): { readonly cursor: string | undefined; readonly visits: ReadonlyMap<string, number> } => {
  const active = typeof value === 'object' && value !== null && 'active' in value ? value.active : undefined;
  const visits = typeof context === 'object' && context !== null && 'visits' in context ? context.visits : undefined;
  return {
    cursor: typeof active === 'object' && active !== null ? Object.keys(active)[0] : undefined,
    visits: new Map(
      Object.entries(typeof visits === 'object' && visits !== null ? visits : {}).flatMap(([step, count]) =>
        typeof count === 'number' ? [[step, count]] : [],
      ),
    ),
  };
};
