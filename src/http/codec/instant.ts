import type { UnixMs } from '../../model/run.ts';

/**
 * A time of the durable half as RFC 3339, with the fewest digits that lose nothing: none, or three.
 * @see Interface decisions, "1. Conventions"
 */
export const instantToWire = (at: UnixMs): string => {
  const text = new Date(at).toISOString();
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text;
};

/** The same for a time that may be unknown. */
export const instantIfKnown = (at: UnixMs | undefined): string | undefined =>
  at === undefined ? undefined : instantToWire(at);
