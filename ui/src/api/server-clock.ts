/** How far the clock of the service is ahead of the steady clock of this tab: between these, in milliseconds. */
export type ClockBounds = { readonly low: number; readonly high: number };

/** One answer: what its header `Date` says, and when it was asked for and given by the steady clock, all in milliseconds. */
export type DatedAnswer = { readonly date: number; readonly askedAt: number; readonly answeredAt: number };

/** `Date` has whole seconds, and the service writes a second anew some milliseconds late. */
const COARSE_MS = 1_100;

/** What one more answer leaves possible. Where it contradicts the ones before, a clock was set meanwhile: it counts alone. */
export const narrowed = (before: ClockBounds | undefined, { date, askedAt, answeredAt }: DatedAnswer): ClockBounds => {
  const alone = { low: date - answeredAt, high: date + COARSE_MS - askedAt };
  if (before === undefined) return alone;
  const both = { low: Math.max(before.low, alone.low), high: Math.min(before.high, alone.high) };
  return both.low <= both.high ? both : alone;
};

let bounds: ClockBounds | undefined;

/** Learns from an answer what time it is at the service. */
export const noteAnswer = (response: Response, askedAt: number): void => {
  const date = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(date)) bounds = narrowed(bounds, { date, askedAt, answeredAt: performance.now() });
};

/** Milliseconds since 1970 by the clock of the service, as far as its answers tell; before the first one by that of this machine. */
export const serverNow = (): number =>
  bounds === undefined ? Date.now() : Math.round(performance.now() + (bounds.low + bounds.high) / 2);

/** The service's time of what this machine's clock noted a moment ago. */
export const serverTimeOf = (localMs: number): number => serverNow() - (Date.now() - localMs);
