import type { Judgement, Monitor, MonitorReading } from '../model/watch.ts';
import { createWatchMachine } from './watch.ts';

/** By what a reading is judged. */
export type MonitorRule = Pick<Monitor, 'compare' | 'threshold' | 'minSamples'>;

/**
 * Where a reading stands to the threshold. A value on the threshold is inside it.
 * @returns `silent` when the window holds too little, or nothing that the value could be computed from
 */
export const judgeReading = (
  { compare, threshold, minSamples }: MonitorRule,
  { value, samples }: MonitorReading,
): Judgement => {
  if (value === undefined || samples < minSamples) return 'silent';
  return (compare === 'above' ? value > threshold : value < threshold) ? 'outside' : 'inside';
};

export const MONITOR_MACHINE_VERSION = 1;

/** The life of one monitor. */
export const monitorMachine = createWatchMachine({
  id: 'monitor',
  judge: judgeReading,
  guards: { outside: 'crosses', inside: 'isBackInside' },
  descriptions: {
    nominal: 'Inside the threshold, or never outside it with enough samples.',
    tripped: 'Outside the threshold; nobody has said that they know. Silence is not recovery.',
    acknowledged: 'Outside the threshold, and known. Ends by itself when the value recovers.',
  },
});
