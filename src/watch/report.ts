import { BURN_RATE_1H, BURN_RATE_6H, burnRate, judgeBurn, successRate } from '../machines/slo.ts';
import type { UnixMs } from '../model/run.ts';
import type { Monitor, MonitorReading, ReportedCondition, Slo, SloReading } from '../model/watch.ts';

/** The one report of each trip and each recovery, as a log line and as the body of a webhook. */
export type WatchReport = {
  readonly type: 'monitor' | 'slo';
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly condition: ReportedCondition;
  /** What was watched; `slo_burn` for an SLO. */
  readonly watch: string;
  readonly threshold: number;
  readonly value: number;
  readonly samples: number;
  readonly detail: string;
  readonly at: UnixMs;
};

/** Digits of a number that people read; the number itself stands beside the words. */
const SHOWN_DIGITS = 6;
const shown = (value: number): string => String(Number(value.toPrecision(SHOWN_DIGITS)));

const SPANS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;
const spanText = (seconds: number): string => {
  const [length, unit] = SPANS.find(([span]) => seconds % span === 0) ?? [1, 's'];
  return `${seconds / length} ${unit}`;
};

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** A reading of a monitor in one sentence: value, window, samples, threshold, and why it moves nothing where it does not. */
export const describeMonitor = (
  { watch, compare, threshold, windowSeconds, minSamples, scorerId }: Monitor,
  { value, samples, note }: MonitorReading,
): string => {
  const counted = plural(samples, watch === 'score_mean' ? 'score' : 'run');
  const what = scorerId === undefined ? watch : `${watch} of ${scorerId}`;
  const reading =
    value === undefined
      ? `${what} has no value over ${counted} of the last ${spanText(windowSeconds)}`
      : `${what} is ${shown(value)} over ${counted} of the last ${spanText(windowSeconds)}`;
  const silence = samples < minSamples ? `; fewer than min_samples ${minSamples}, so the condition stays` : '';
  return `${reading}, reports when ${compare} ${shown(threshold)}${silence}${note === undefined ? '' : `; ${note}`}`;
};

const burnText = (objective: number, reading: SloReading, window: 'hour' | 'sixHours', name: string): string => {
  const burn = burnRate(objective, reading[window]);
  const runs = plural(reading[window].runs, 'run');
  return burn === undefined ? `no burn rate over ${name} (${runs})` : `burn rate ${shown(burn)} over ${name} (${runs})`;
};

/** A reading of an SLO in one sentence: both burn rates with their limits, and the success rate of the window. */
export const describeSlo = (slo: Slo, reading: SloReading): string => {
  const { objective, minSamples, windowDays } = slo;
  const succeeded = successRate(reading.window);
  const rate =
    succeeded === undefined
      ? `no run in ${windowDays} d`
      : `${shown(100 * succeeded)} % of ${plural(reading.window.runs, 'run')} succeeded in ${windowDays} d, objective ${shown(100 * objective)} %`;
  const silence =
    judgeBurn(slo, reading) === 'silent'
      ? `; the last hour holds fewer than min_samples ${minSamples}, so the condition stays`
      : '';
  return `${burnText(objective, reading, 'hour', '1 h')} and ${burnText(objective, reading, 'sixHours', '6 h')}, reports when above ${BURN_RATE_1H} and ${BURN_RATE_6H}; ${rate}${silence}`;
};

/** @throws Error on a reading without a value: machines report on readings that they could judge alone */
const judged = (value: number | undefined): number => {
  if (value === undefined) throw new Error('a report without a value');
  return value;
};

export const monitorReport = (
  monitor: Monitor,
  reading: MonitorReading,
  condition: ReportedCondition,
  at: UnixMs,
): WatchReport => ({
  type: 'monitor',
  id: monitor.id,
  name: monitor.name,
  project: monitor.project,
  condition,
  watch: monitor.watch,
  threshold: monitor.threshold,
  value: judged(reading.value),
  samples: reading.samples,
  detail: describeMonitor(monitor, reading),
  at,
});

/** Of an SLO, value, threshold and samples are those of the last hour, which decides soonest. */
export const sloReport = (slo: Slo, reading: SloReading, condition: ReportedCondition, at: UnixMs): WatchReport => ({
  type: 'slo',
  id: slo.id,
  name: slo.name,
  project: slo.project,
  condition,
  watch: 'slo_burn',
  threshold: BURN_RATE_1H,
  value: judged(burnRate(slo.objective, reading.hour)),
  samples: reading.hour.runs,
  detail: describeSlo(slo, reading),
  at,
});
