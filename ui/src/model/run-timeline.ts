import type { components } from '../api/types.ts';
import { formatDurationMs } from './units.ts';

type Attempt = components['schemas']['Attempt'];
type Entry = components['schemas']['JournalEntry'];

/** One attempt on the axis of its run: offered, then running. In milliseconds from the start of the run. */
export type Lane = {
  readonly attempt: Attempt;
  readonly offered: number;
  /** Absent for an offer that nobody started. */
  readonly started: number | undefined;
  readonly ended: number;
  readonly isOpen: boolean;
};

export type RestKind = 'event' | 'sleep' | 'backoff' | 'children' | 'start' | 'queue' | 'pause';

/** A time in which no worker had the run, and why. In milliseconds from the start of the run. */
export type Rest = {
  /** Nothing for one of the run itself. */
  readonly step: string | undefined;
  readonly kind: RestKind;
  /** `waiting for approval`. */
  readonly words: string;
  readonly from: number;
  readonly to: number;
  readonly isOpen: boolean;
};

/** A part of the axis. Idle parts are drawn narrower than they are, and named. */
export type Stretch = {
  readonly from: number;
  readonly to: number;
  /** Where it is drawn, as shares of the width. */
  readonly left: number;
  readonly width: number;
  /** The name of a part that is drawn narrower: `waiting for approval, 2 h`. */
  readonly gap: string | undefined;
};

export type Timeline = {
  readonly totalMs: number;
  readonly steps: readonly {
    readonly step: string;
    readonly lanes: readonly Lane[];
    readonly rests: readonly Rest[];
  }[];
  readonly stretches: readonly Stretch[];
};

type TimedRun = { readonly created_at: string; readonly ended_at?: string; readonly attempts: readonly Attempt[] };

/** The lane of rests that belong to no step. */
export const RUN_LANE = 'run';

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.replaceAll('_', ' ') : undefined;

/** Names of the events that an entry waits for. */
export const awaitedBy = (data: Readonly<Record<string, unknown>>): readonly { event: string; key: string }[] => {
  const several: readonly unknown[] = Array.isArray(data['any']) ? data['any'] : [data];
  return several.flatMap((one) =>
    typeof one === 'object' && one !== null && 'event' in one && typeof one.event === 'string'
      ? [{ event: one.event, key: 'key' in one && typeof one.key === 'string' ? one.key : '' }]
      : [],
  );
};

const waitOf = ({ data }: Entry): Pick<Rest, 'kind' | 'words'> => {
  switch (data['reason']) {
    case 'event':
      return {
        kind: 'event',
        words: `waiting for ${
          awaitedBy(data)
            .map(({ event }) => event)
            .join(' or ') || 'an event'
        }`,
      };
    case 'sleep':
      return { kind: 'sleep', words: 'sleeping' };
    case 'backoff':
      return { kind: 'backoff', words: 'backing off' };
    case 'children':
      return { kind: 'children', words: 'waiting for child runs' };
    case 'start_at':
      return { kind: 'start', words: 'waiting for its start' };
    default:
      return { kind: 'event', words: `waiting for ${textOf(data['reason']) ?? 'something'}` };
  }
};

type OpenRest = Pick<Rest, 'step' | 'kind' | 'words'> & { readonly since: number };

/** What an entry begins, where nothing goes on after it but a rest. */
const begunBy = (entry: Entry, steps: ReadonlySet<string>): Omit<OpenRest, 'since'> | undefined => {
  const step = entry.step_id;
  switch (entry.kind) {
    case 'run.waiting':
      return { step, ...waitOf(entry) };
    case 'step.failed':
      return entry.data['will_retry'] === true ? { step, kind: 'backoff', words: 'backing off' } : undefined;
    case 'run.held':
      return { step, kind: 'queue', words: `queued: ${textOf(entry.data['reason']) ?? 'held'}` };
    case 'step.requeued':
    case 'cursor.moved':
    case 'run.admitted':
      return step !== undefined && steps.has(step) ? { step, kind: 'queue', words: 'queued' } : undefined;
    default:
      return undefined;
  }
};

/** After these the run is elsewhere: whatever rested has ended. */
const ENDS_REST: ReadonlySet<Entry['kind']> = new Set([
  'cursor.moved',
  'step.leased',
  'step.failed',
  'step.finished',
  'step.orphaned',
  'step.requeued',
  'run.waiting',
  'event.delivered',
  'run.resumed',
  'run.held',
  'run.admitted',
  'run.finished',
]);

/**
 * Waits, sleeps, backoffs, queueing and pauses, as the journal has them.
 * @param tasks the steps that workers do: the others queue for nobody
 */
const restsOf = (
  entries: readonly Entry[],
  tasks: ReadonlySet<string>,
  base: number,
  endMs: number,
): readonly Rest[] => {
  const rests: Rest[] = [];
  let open: OpenRest | undefined;
  let paused: number | undefined;
  const close = (rest: OpenRest, to: number, isOpen: boolean): void => {
    const { since, ...what } = rest;
    if (to > since) rests.push({ ...what, from: since, to, isOpen });
  };
  const closePause = (to: number, isOpen: boolean): void => {
    if (paused !== undefined) close({ step: undefined, kind: 'pause', words: 'paused', since: paused }, to, isOpen);
    paused = undefined;
  };
  for (const entry of entries) {
    const at = Math.max(0, Date.parse(entry.at) - base);
    if (open !== undefined && ENDS_REST.has(entry.kind)) {
      close(open, at, false);
      open = undefined;
    }
    const begun = begunBy(entry, tasks);
    if (begun !== undefined) open = { ...begun, since: at };
    if (entry.kind === 'run.paused') paused ??= at;
    if (entry.kind === 'run.unpaused' || entry.kind === 'run.finished') closePause(at, false);
  }
  if (open !== undefined) close(open, endMs, true);
  closePause(endMs, true);
  return rests;
};

type Span = { readonly from: number; readonly to: number };

const merged = (spans: readonly Span[]): readonly Span[] => {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
};

/** An idle part that is longer than all work together hides it, and is drawn as long as this share of the work. */
const SHARE_OF_IDLE = 0.5;
const LEAST_IDLE_MS = 1;

const overlap = (a: Span, b: Span): number => Math.min(a.to, b.to) - Math.max(a.from, b.from);

const nameOf = (gap: Span, rests: readonly Rest[]): string => {
  const longest = rests.toSorted((a, b) => overlap(b, gap) - overlap(a, gap))[0];
  const words = longest !== undefined && overlap(longest, gap) > 0 ? longest.words : 'idle';
  return `${words}, ${formatDurationMs(gap.to - gap.from)}`;
};

const stretchesOf = (totalMs: number, lanes: readonly Lane[], rests: readonly Rest[]): readonly Stretch[] => {
  const busy = merged(lanes.map(({ offered, ended }) => ({ from: offered, to: Math.min(ended, totalMs) })));
  const work = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const longest = Math.max(work, LEAST_IDLE_MS);
  const parts: { from: number; to: number; room: number; gap: string | undefined }[] = [];
  const add = (from: number, to: number, isIdle: boolean): void => {
    if (to <= from) return;
    const isGap = isIdle && work > 0 && to - from > longest;
    parts.push({
      from,
      to,
      room: isGap ? longest * SHARE_OF_IDLE : to - from,
      gap: isGap ? nameOf({ from, to }, rests) : undefined,
    });
  };
  let at = 0;
  for (const { from, to } of busy) {
    add(at, from, true);
    add(from, to, false);
    at = to;
  }
  add(at, totalMs, true);
  const room = parts.reduce((sum, part) => sum + part.room, 0);
  let left = 0;
  return parts.map((part) => {
    const width = part.room / room;
    const stretch = { from: part.from, to: part.to, left, width, gap: part.gap };
    left += width;
    return stretch;
  });
};

/** Where a moment is drawn, as a share of the width. */
export const shareOf = (stretches: readonly Stretch[], ms: number): number => {
  const stretch = stretches.find(({ to }) => ms <= to) ?? stretches.at(-1);
  if (stretch === undefined) return 0;
  const inside = Math.min(1, Math.max(0, (ms - stretch.from) / (stretch.to - stretch.from)));
  return stretch.left + inside * stretch.width;
};

/**
 * A run as lanes: of each step its attempts and its rests, over an axis on which long idle parts are narrower.
 * @param entries its journal as far as it was read; without it there are attempts alone
 * @param nowMs to which what still runs is drawn
 */
export const timelineOf = (run: TimedRun, entries: readonly Entry[], nowMs: number): Timeline => {
  const base = Date.parse(run.created_at);
  const end = Math.max((run.ended_at === undefined ? nowMs : Date.parse(run.ended_at)) - base, 1);
  const since = (instant: string | undefined): number | undefined =>
    instant === undefined ? undefined : Math.max(0, Date.parse(instant) - base);
  const steps = new Map<string, { lanes: Lane[]; rests: Rest[] }>();
  const laneOf = (step: string): { lanes: Lane[]; rests: Rest[] } => {
    const known = steps.get(step);
    if (known !== undefined) return known;
    const added = { lanes: [], rests: [] };
    steps.set(step, added);
    return added;
  };
  const lanes = run.attempts.map((attempt): Lane => {
    const ended = since(attempt.ended_at);
    const offered = since(attempt.offered_at) ?? 0;
    return {
      attempt,
      offered,
      started: since(attempt.started_at),
      ended: Math.max(ended ?? end, offered),
      isOpen: ended === undefined,
    };
  });
  const tasks = new Set([
    ...run.attempts.map((attempt) => attempt.step_id),
    ...entries.flatMap(({ kind, step_id: step }) => (kind === 'step.leased' && step !== undefined ? [step] : [])),
  ]);
  const rests = restsOf(entries, tasks, base, end);
  const totalMs = Math.max(end, ...lanes.map(({ ended }) => ended));
  const inOrder = [
    ...rests.map((rest) => ({ at: rest.from, put: () => laneOf(rest.step ?? RUN_LANE).rests.push(rest) })),
    ...lanes.map((lane) => ({ at: lane.offered, put: () => laneOf(lane.attempt.step_id).lanes.push(lane) })),
  ].toSorted((a, b) => a.at - b.at);
  for (const { put } of inOrder) put();
  return {
    totalMs,
    steps: [...steps].map(([step, parts]) => ({ step, ...parts })),
    stretches: stretchesOf(totalMs, lanes, rests),
  };
};
