import type { OutboxRow } from './records.ts';

/** The first of the rows: at most `limit`, and none after those that together hold `characters`. */
export const outboxBatch = (
  rows: Iterable<OutboxRow>,
  limit: number,
  characters: number = Number.POSITIVE_INFINITY,
): OutboxRow[] => {
  const batch: OutboxRow[] = [];
  let held = 0;
  for (const row of rows) {
    if (batch.length >= limit || held >= characters) break;
    batch.push(row);
    held += row.span.length;
  }
  return batch;
};
