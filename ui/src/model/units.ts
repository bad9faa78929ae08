/**
 * Every number, duration, amount of money and time on the screen is written here. What is not known is a dash, never a zero.
 */
export const UNKNOWN = '—';

const GROUPED = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** @param count a whole number, or nothing where nobody counted */
export const formatCount = (count: number | null | undefined): string =>
  count === null || count === undefined ? UNKNOWN : GROUPED.format(count);

/** For narrow places: `12.4K`. */
export const formatCompact = (count: number | null | undefined): string =>
  count === null || count === undefined ? UNKNOWN : COMPACT.format(count);

/** @param share from 0 to 1 */
export const formatShare = (share: number | undefined): string => {
  if (share === undefined) return UNKNOWN;
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  return `${percent.toFixed(percent < 10 && percent % 1 !== 0 ? 1 : 0)} %`;
};

const DURATION_UNITS = [
  { unit: 'd', ns: 86_400e9 },
  { unit: 'h', ns: 3_600e9 },
  { unit: 'min', ns: 60e9 },
  { unit: 's', ns: 1e9 },
  { unit: 'ms', ns: 1e6 },
  { unit: 'µs', ns: 1e3 },
] as const;

const threeDigits = (value: number): string => {
  if (value >= 100) return String(Math.round(value));
  const text = value.toFixed(value >= 10 ? 1 : 2);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
};

/** @param ns nanoseconds; nothing where there is no end yet, which is not a duration of zero */
export const formatDuration = (ns: number | null | undefined): string => {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return UNKNOWN;
  // At the edge of a unit the rounded number would read 1000 of the smaller one.
  for (const { unit, ns: size } of DURATION_UNITS) if (ns >= size * 0.9995) return `${threeDigits(ns / size)} ${unit}`;
  return `${Math.round(ns)} ns`;
};

export const formatDurationMs = (ms: number | null | undefined): string =>
  formatDuration(ms === null || ms === undefined ? undefined : ms * 1e6);

type Money = { readonly total_cost: number; readonly currency?: string | undefined };

const SYMBOLS: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£' };

const digitsOf = (amount: number): string => {
  const size = Math.abs(amount);
  if (size === 0) return '0';
  if (size >= 1) return amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  if (size >= 0.01) return amount.toFixed(4).replace(/0{1,2}$/, '');
  const significant = amount.toPrecision(3);
  return significant.includes('e') ? significant : significant.replace(/0+$/, '');
};

/** @param cost nothing where no part was priced: that is not the same as free */
export const formatMoney = (cost: Money | null | undefined): string => {
  if (cost === null || cost === undefined) return UNKNOWN;
  const currency = cost.currency ?? 'USD';
  const symbol = SYMBOLS[currency];
  const digits = digitsOf(cost.total_cost);
  return symbol === undefined
    ? `${digits} ${currency}`
    : digits.startsWith('-')
      ? `-${symbol}${digits.slice(1)}`
      : symbol + digits;
};

const EXACT = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 12 });

/** As many digits as the service keeps of a sum: for bills, whose lines must add up before the reader's eyes. */
export const formatExactMoney = ({ total_cost, currency = 'USD' }: Money): string => {
  const symbol = SYMBOLS[currency];
  return symbol === undefined ? `${EXACT.format(total_cost)} ${currency}` : symbol + EXACT.format(total_cost);
};

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB'] as const;

export const formatBytes = (bytes: number): string => {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : threeDigits(value)} ${BYTE_UNITS[unit] ?? 'B'}`;
};

export type Zone = 'local' | 'utc';

const two = (value: number): string => String(value).padStart(2, '0');

const partsOf = (date: Date, zone: Zone): readonly [number, number, number, number, number, number] =>
  zone === 'utc'
    ? [
        date.getUTCFullYear(),
        date.getUTCMonth() + 1,
        date.getUTCDate(),
        date.getUTCHours(),
        date.getUTCMinutes(),
        date.getUTCSeconds(),
      ]
    : [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];

/** `2026-11-22 15:48:03`, in the zone that the reader chose. @param instant RFC 3339, or nothing */
export const formatInstant = (instant: string | undefined, zone: Zone = 'local'): string => {
  if (instant === undefined) return UNKNOWN;
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return instant;
  const [year, month, day, hours, minutes, seconds] = partsOf(date, zone);
  return `${year}-${two(month)}-${two(day)} ${two(hours)}:${two(minutes)}:${two(seconds)}`;
};

/** How long ago, in one unit: `3 min ago`. @param nowMs the time to count from, in milliseconds since 1970 */
export const formatAge = (instant: string | undefined, nowMs: number): string => {
  if (instant === undefined) return UNKNOWN;
  const ms = nowMs - Date.parse(instant);
  if (Number.isNaN(ms)) return UNKNOWN;
  const away = Math.abs(ms);
  if (away < 1000) return 'now';
  const [size, unit] = (
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1000, 's'],
    ] as const
  ).find(([size]) => away >= size) ?? [1000, 's'];
  const text = `${Math.floor(away / size)} ${unit}`;
  return ms >= 0 ? `${text} ago` : `in ${text}`;
};

/** The first eight characters, by which people tell ids of one page apart. */
export const shortId = (id: string): string => id.slice(0, 8);

/** `1 span`, `2 spans`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
