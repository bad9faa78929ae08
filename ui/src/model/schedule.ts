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
