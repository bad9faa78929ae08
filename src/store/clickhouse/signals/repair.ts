import type { Database } from '../connection.ts';
import type { TraceKey } from './keyed.ts';
import { NO_PROJECT } from './reach.ts';
import { CHECKED, EPOCHS } from './tables.ts';
import { EPOCH_BITS, type LongTraces, raiseEpochs, writeTotals } from './totals.ts';
import type { Versions } from './versions.ts';

/** What was written so long before the last round is looked at once more: an insert may have taken its time, in milliseconds. */
const AGAIN_MS = 300_000;
const NANOS_PER_MILLI = 1_000_000n;
/** Traces that one round repairs, at the most; the next one goes on. */
const MOST_REPAIRED = 10_000;

/** Traces that something was written of, or removed from, since a version. */
const TOUCHED = `SELECT project, trace_id AS trace FROM spans WHERE version >= {since:UInt64}
  UNION DISTINCT SELECT project, assumeNotNull(trace_id) FROM scores WHERE version >= {since:UInt64} AND trace_id IS NOT NULL
  UNION DISTINCT SELECT project, assumeNotNull(trace_id) FROM feedback WHERE version >= {since:UInt64} AND trace_id IS NOT NULL
  UNION DISTINCT SELECT project, trace_id FROM ${EPOCHS.table} WHERE epoch >= {since:UInt64}`;

/** What is added up of a table. The version of totals is the sum of the versions of what they count. */
const summed = (table: string, trace: string): string =>
  `SELECT project, ${trace} AS trace, sum(toUInt128(version)) AS due, toUInt256(0) AS held, toUInt64(0) AS raised,
     toUInt8(${table === 'spans' ? 1 : 0}) AS is_trace FROM ${table} FINAL WHERE (project, ${trace}) IN (${TOUCHED}) GROUP BY project, trace`;
const OF_JUDGEMENT = `ifNull(trace_id, '')`;

const BEHIND = `SELECT project, trace, sum(t.due) AS wanted, max(t.held) AS found, max(t.raised) AS epoch FROM (
    ${summed('spans', 'trace_id')}
    UNION ALL ${summed('scores', OF_JUDGEMENT)}
    UNION ALL ${summed('feedback', OF_JUDGEMENT)}
    UNION ALL SELECT project, trace_id, toUInt128(0), max(version), toUInt64(0), toUInt8(1) FROM traces WHERE (project, trace_id) IN (${TOUCHED})
      GROUP BY project, trace_id
    UNION ALL SELECT project, trace_id, toUInt128(0), toUInt256(0), max(epoch), toUInt8(0) FROM ${EPOCHS.table}
      WHERE (project, trace_id) IN (${TOUCHED}) GROUP BY project, trace_id
  ) AS t WHERE project <> '${NO_PROJECT}' AND match(trace, '^[0-9a-f]{32}$') GROUP BY project, trace
  HAVING max(t.is_trace) = 1 AND (toUInt128(found) <> wanted OR epoch > toUInt64(bitShiftRight(found, ${EPOCH_BITS})))`;

/**
 * Brings totals up to their spans and judgements that a crash between two inserts left behind. Looks at what was written since the last
 * round, and in the first one at everything.
 * @param long leaves nothing for later
 * @returns how many traces were repaired
 */
export const repairTotals = async (
  database: Database,
  versions: Versions,
  nowNs: bigint,
  long: LongTraces,
): Promise<number> => {
  const { ask, insert } = database;
  const [[checked] = ['0']] = await ask<[string]>(`SELECT max(until) FROM ${CHECKED.table}`);
  const back = BigInt(checked) - BigInt(AGAIN_MS) * NANOS_PER_MILLI;
  const behind = await ask<[project: string, traceId: string, isAhead: number]>(
    `SELECT project, trace, toUInt128(found) > wanted FROM (${BEHIND}) LIMIT ${MOST_REPAIRED}`,
    { since: back > 0n ? back : 0n },
  );
  const keysOf = (some: typeof behind): TraceKey[] => some.map(([project, traceId]): TraceKey => [project, traceId]);
  // What was added up before, and is there no more, would have the larger version.
  await raiseEpochs(database, keysOf(behind.filter(([, , isAhead]) => isAhead === 1)), versions);
  await writeTotals(database, keysOf(behind), versions, long);
  if (behind.length < MOST_REPAIRED) await insert(CHECKED, [[nowNs]]);
  return behind.length;
};
