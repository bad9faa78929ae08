import type { JournalRow } from './records.ts';

/** What a row of the journal weighs, in characters of its texts. */
export const journalWeight = ({ entries, events }: JournalRow): number => entries.length + events.length;

/**
 * The first rows of a journal: up to a limit, and with `maxBytes` no further than the row that brings them to so many. What is not
 * taken is not read.
 */
export const journalUpTo = (
  rows: Iterable<JournalRow>,
  maxBytes: number | undefined,
  limit = Number.POSITIVE_INFINITY,
): JournalRow[] => {
  const taken: JournalRow[] = [];
  let weight = 0;
  for (const row of rows) {
    taken.push(row);
    weight += journalWeight(row);
    if (taken.length >= limit || (maxBytes !== undefined && weight >= maxBytes)) break;
  }
  return taken;
};
