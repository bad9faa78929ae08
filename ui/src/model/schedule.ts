import type { components } from '../api/types.ts';
import { formatDurationMs } from './units.ts';

type Schemas = components['schemas'];
type Times = Pick<Schemas['ListedSchedule'], 'cron' | 'timezone' | 'every_ms'>;

export const timesText = ({ cron, timezone, every_ms: every }: Times): string => {
  if (every !== undefined) return `each ${formatDurationMs(every)}`;
  return cron === undefined ? '—' : `${cron}, ${timezone ?? 'UTC'}`;
};

const reasons: Readonly<Record<NonNullable<Schemas['Firing']['reason']>, string>> = {
  missed: 'the service was away',
  paused: 'it was paused',
  catch_up_window: 'it was missed longer ago than the catch-up window',
  overlap: 'the run before it had not ended',
  definition_unknown: 'the definition is not stored',
  input_invalid: 'the input does not meet the schema of the definition',
  already_started: 'somebody else had started it under its key',
  limit_reached: 'a key of the definition was at its limit, and refuses',
  refused: 'the start was refused',
};

/** What became of a firing, and why it was skipped. */
export const firingText = ({ outcome, reason }: Pick<Schemas['Firing'], 'outcome' | 'reason'>): string =>
  reason === undefined ? outcome : `${outcome}: ${reasons[reason] ?? reason}`;

type Schedule = Pick<Schemas['Schedule'], 'status' | 'firings' | 'next_times'> &
  Partial<Pick<Schemas['Schedule'], 'waiting' | 'paused_at'>>;

/** A time of a schedule on its axis. */
export type AxisMark = {
  readonly at: string;
  /** From 0, the left end of the axis, to 1. */
  readonly left: number;
  readonly state: 'started' | 'skipped' | 'waiting' | 'next';
  readonly words: string;
};

export type FiringAxis = {
  readonly from: string;
  readonly to: string;
  /** Where the present is. */
  readonly now: number;
  readonly marks: readonly AxisMark[];
  /** From where on nothing fires, up to the right end. */
  readonly pausedFrom?: number;
};

/** Of what stands on the axis, so much is kept free behind the present where nothing comes after it. */
const ROOM_AFTER_NOW = 0.1;

/**
 * Last firings, the present and next times of a schedule on one axis, to scale.
 * @returns nothing for a schedule that has neither
 */
export const firingAxis = (schedule: Schedule, nowMs: number): FiringAxis | undefined => {
  const { status, firings, waiting, paused_at: pausedAt } = schedule;
  const times: readonly Omit<AxisMark, 'left'>[] = [
    ...firings.map((firing) => ({
      at: firing.nominal_at,
      state: firing.outcome,
      words: `${firingText(firing)}${firing.trigger_id === undefined ? '' : ', asked for by a call'}`,
    })),
    ...(waiting === undefined
      ? []
      : [{ at: waiting.nominal_at, state: 'waiting' as const, words: 'waits for the end of the run before it' }]),
    ...schedule.next_times.map((at) => ({ at, state: 'next' as const, words: 'next' })),
  ];
  if (times.length === 0) return undefined;
  const paused = status === 'paused' && pausedAt !== undefined ? Date.parse(pausedAt) : undefined;
  const all = [...times.map(({ at }) => Date.parse(at)), nowMs, ...(paused === undefined ? [] : [paused])];
  const from = Math.min(...all);
  const last = Math.max(...all);
  // All at one instant: a scale of nothing would divide by it.
  const to = last > nowMs ? last : last + Math.max(1000, (last - from) * ROOM_AFTER_NOW);
  const left = (ms: number): number => (ms - from) / (to - from);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    now: left(nowMs),
    marks: times.map((mark) => ({ ...mark, left: left(Date.parse(mark.at)) })).toSorted((a, b) => a.left - b.left),
    ...(paused === undefined ? {} : { pausedFrom: left(paused) }),
  };
};

/** What the axis shows, as a sentence. */
export const axisText = ({ marks, pausedFrom }: FiringAxis): string => {
  const count = (state: AxisMark['state']): number => marks.filter((mark) => mark.state === state).length;
  const parts = [
    `${count('started')} started`,
    `${count('skipped')} skipped`,
    ...(count('waiting') === 0 ? [] : [`${count('waiting')} waiting`]),
    pausedFrom === undefined ? `${count('next')} to come` : 'none to come while it is paused',
  ];
  return parts.join(', ');
};

const CAUGHT_UP: Readonly<Record<Schemas['CatchUp'], string>> = {
  none: 'What it misses meanwhile does not fire later.',
  last: 'Of the times it misses meanwhile the last fires when it is resumed.',
  all: 'Of the times it misses meanwhile, those within its catch-up window fire when it is resumed.',
};

/** What becomes of the times that are missed while a schedule is paused. */
export const caughtUpText = (catchUp: Schemas['CatchUp']): string => CAUGHT_UP[catchUp] ?? `catch-up: ${catchUp}`;
