/** The times that the bar on top offers, as the API takes them. */
export const ranges: readonly { readonly from: string; readonly name: string }[] = [
  { from: '', name: 'Any time' },
  { from: '-15m', name: 'Last 15 minutes' },
  { from: '-1h', name: 'Last hour' },
  { from: '-6h', name: 'Last 6 hours' },
  { from: '-24h', name: 'Last 24 hours' },
  { from: '-7d', name: 'Last 7 days' },
  { from: '-30d', name: 'Last 30 days' },
];

export const rangeName = (from: string | undefined, to: string | undefined): string => {
  if (to !== undefined) return `${from ?? '…'} to ${to}`;
  return ranges.find((range) => range.from === (from ?? ''))?.name ?? `Since ${from ?? ''}`;
};

/** A day or a time without its zone is meant in UTC, which the API wants said. @returns nothing for an empty text */
export const withZone = (given: string): string | undefined => {
  const text = given.trim();
  if (text === '') return undefined;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`;
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(text)
    ? `${text.replace(' ', 'T')}${text.length === 16 ? ':00' : ''}Z`
    : text;
};

/** What the reports look at where nobody says. */
const DEFAULT_WINDOW_MS = 7 * 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/**
 * The window of a report, before the service has answered: enough to choose the width of its points.
 * @returns its beginning and its end; what cannot be read is the default, the seven days up to now
 */
export const windowOf = (
  from: string | undefined,
  to: string | undefined,
  nowMs: number,
): readonly [from: string, to: string] => {
  const msOf = (given: string | undefined, otherwise: number): number => {
    if (given === undefined) return otherwise;
    const [, count, unit = ''] = /^-(\d+)([smhdw])$/.exec(given) ?? [];
    const ago = UNITS_MS[unit];
    const ms = count === undefined || ago === undefined ? Date.parse(given) : nowMs - Number(count) * ago;
    return Number.isNaN(ms) ? otherwise : ms;
  };
  const end = msOf(to, nowMs);
  return [new Date(msOf(from, end - DEFAULT_WINDOW_MS)).toISOString(), new Date(end).toISOString()];
};
