import type { components } from '../api/types.ts';
import { formatCount, formatDurationMs, plural } from './units.ts';

export type LimitKey = components['schemas']['LimitKey'];

/** What a key bounds: `at most 2 runs at a time`, `at most 5 starts in 10 s`. */
export const boundText = ({ kind, limit, per_ms: perMs, step_id: step }: LimitKey): string =>
  kind === 'rate'
    ? `at most ${plural(limit, 'start')} in ${formatDurationMs(perMs)}`
    : `at most ${plural(limit, step === undefined ? 'run' : 'attempt')} at a time`;

/** Whose key it is: of a definition, or of one of its tasks. */
export const ownerText = ({ definition_id: definition, step_id: step }: LimitKey): string =>
  step === undefined ? definition : `${definition} › ${step}`;

/** How much of the bound is in use: `2 of 3`. */
export const inUseText = ({ used, limit }: LimitKey): string => `${formatCount(used)} of ${formatCount(limit)}`;

export type WaitingCount = components['schemas']['WaitingCount'];

/** The words of a count of runs that wait; a count that was not finished says so. */
export const countText = ({ count, capped }: WaitingCount): string =>
  `${formatCount(count)}${capped === true ? '+' : ''}`;

const WORDS: Readonly<Record<WaitingCount['waiting_on'], string>> = {
  event: 'an event',
  timer: 'a timer',
  backoff: 'the next try',
  children: 'child runs',
  orphan: 'a silent worker',
  key: 'a key',
};
/** What runs wait for, as people say it. */
export const waitedFor = (waitingOn: WaitingCount['waiting_on']): string => WORDS[waitingOn];
