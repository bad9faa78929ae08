import { formatCompact, formatInstant, formatMoney, type Zone } from './units.ts';

/** A point of a series of the cost report. */
export type Point = {
  readonly time: string;
  readonly key?: string | undefined;
  readonly count: number;
  readonly total_cost?: number | undefined;
};

export const metrics = ['cost', 'count'] as const;
export type Metric = (typeof metrics)[number];

/** What has no value of the grouping field. */
export const NO_KEY = '(none)';
export const OTHERS = 'all others';

/** Series over the same times, as a chart draws them. Where a series has no point, its value is null: a gap, not a zero. */
export type Aligned = {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
};

const valueOf = (point: Point, metric: Metric): number | null =>
  metric === 'count' ? point.count : (point.total_cost ?? null);

const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

/**
 * Lines the points of all groups up on one axis of times without holes.
 * @param keys the groups to draw by themselves, in their order; the rest is added up
 * @param stepSeconds width of a bucket: buckets in which nothing began are drawn empty
 */
export const alignSeries = (
  points: readonly Point[],
  keys: readonly (string | undefined)[],
  metric: Metric,
  stepSeconds: number,
): Aligned => {
  const seconds = points.map(({ time }) => Math.round(Date.parse(time) / 1000));
  if (seconds.length === 0) return { times: [], series: [] };
  const first = seconds.reduce((a, b) => Math.min(a, b));
  const last = seconds.reduce((a, b) => Math.max(a, b));
  const times = Array.from({ length: Math.floor((last - first) / stepSeconds) + 1 }, (_, n) => first + n * stepSeconds);
  const names = keys.map((key) => key ?? NO_KEY);
  const rows = new Map<string, (number | null)[]>();
  for (const [index, point] of points.entries()) {
    const given = point.key ?? NO_KEY;
    const name = names.includes(given) ? given : OTHERS;
    const row = rows.get(name) ?? times.map(() => null);
    rows.set(name, row);
    const at = Math.round(((seconds[index] ?? first) - first) / stepSeconds);
    row[at] = add(row[at] ?? null, valueOf(point, metric));
  }
  return {
    times,
    series: [...names, OTHERS].flatMap((name) => {
      const values = rows.get(name);
      return values === undefined || values.every((value) => value === null) ? [] : [{ name, values }];
    }),
  };
};

/** Series on top of each other, the first at the bottom; each holds the sum of itself and those below. */
export const stack = ({ times, series }: Aligned): Aligned => {
  const below = times.map(() => 0);
  return {
    times,
    series: series.map(({ name, values }) => ({
      name,
      values: values.map((value, index) => {
        below[index] = (below[index] ?? 0) + (value ?? 0);
        return value === null ? null : (below[index] ?? null);
      }),
    })),
  };
};

export const bucketSeconds = { '30s': 30, '5m': 300, '1h': 3600, '1d': 86_400 } as const;
export type Bucket = keyof typeof bucketSeconds;
export const buckets = Object.keys(bucketSeconds) as Bucket[];

/** So many bars are read at a glance. */
const MOST_BARS = 200;

/** The finest bucket that gives a readable number of bars. */
export const bucketFor = (from: string, to: string): Bucket => {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return buckets.find((bucket) => seconds / bucketSeconds[bucket] <= MOST_BARS) ?? '1d';
};

export const formatMetric = (metric: Metric, value: number | null | undefined, currency: string | undefined): string =>
  metric === 'count'
    ? formatCompact(value)
    : formatMoney(value === null || value === undefined ? undefined : { total_cost: value, currency });

/** What `count` counts, which depends on the grouping. */
export const countedBy = (groupBy: string): string =>
  groupBy === 'model' || groupBy === 'provider' || groupBy === 'entity_name' ? 'Model calls' : 'Runs';

const DAY_SECONDS = 86_400;

/** Texts under the ticks of an axis of times: the time of day, with the day below where it changes. */
export const tickTexts = (ticks: readonly number[], stepSeconds: number, zone: Zone): string[] => {
  let before = '';
  return ticks.map((seconds) => {
    const instant = formatInstant(new Date(seconds * 1000).toISOString(), zone);
    const day = instant.slice(5, 10);
    if (stepSeconds >= DAY_SECONDS) return day;
    const time = instant.slice(11, stepSeconds < 60 ? 19 : 16);
    const text = day === before ? time : `${time}\n${day}`;
    before = day;
    return text;
  });
};

/** Of a chart of a single point, in seconds. */
const LONE_STEP = 3_600;

/** The times that a chart shows, in seconds. Bars have half a bucket of room, or the first and the last are cut; a single point has it, too. */
export const timeRange = (times: readonly number[], isBars: boolean): readonly [from: number, to: number] => {
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? first;
  const step = times.length > 1 ? (last - first) / (times.length - 1) : LONE_STEP;
  const room = isBars || times.length <= 1 ? step / 2 : 0;
  return [first - room, last + room];
};
