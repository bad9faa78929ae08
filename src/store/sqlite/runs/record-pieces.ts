import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunRows } from '../../runs/run-queries.ts';

/** Records that are read before other work of the event loop gets its turn. */
const RECORDS_OF_A_PIECE = 256;

/**
 * Records on their way to another thread, as JSON in pieces. As objects they would all be made at once when the message arrives: those of
 * 12,500 attempts hold the event loop for a tenth of a second.
 */
export type RecordPieces = readonly string[];
/** All of a run, with what there may be much of in pieces. */
export type PackedRun = Omit<RunRows, 'attempts' | 'children'> & {
  readonly attempts: RecordPieces;
  readonly children: RecordPieces;
};

/** @param records what JSON holds as it is: texts, numbers, truth values, objects of these */
export const recordPieces = (records: readonly object[]): RecordPieces => {
  const pieces: string[] = [];
  for (let at = 0; at < records.length; at += RECORDS_OF_A_PIECE)
    pieces.push(JSON.stringify(records.slice(at, at + RECORDS_OF_A_PIECE)));
  return pieces;
};

const readRecordPieces = async <T>(pieces: RecordPieces): Promise<T[]> => {
  const records: T[] = [];
  for (const [place, piece] of pieces.entries()) {
    if (place > 0) await nextTurn();
    records.push(...(JSON.parse(piece) as T[]));
  }
  return records;
};

export const unpackRun = async ({ attempts, children, ...rows }: PackedRun): Promise<RunRows> => ({
  ...rows,
  attempts: await readRecordPieces<RunRows['attempts'][number]>(attempts),
  children: await readRecordPieces<RunRows['children'][number]>(children),
});
