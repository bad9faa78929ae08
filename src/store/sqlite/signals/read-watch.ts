import type { LatencyPercentile, RunTotals, RunWindow, ScoreSample } from '../../signals/watch.ts';
import { nearestRank } from '../../signals/percentiles.ts';
import { roundSum } from '../../../model/money.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import { meanOf, projectNumbers, type Statements } from './statements.ts';

const NANOS_PER_MILLI = 1e6;
/** Every column that is read here stands in the index: the rows of the table are not touched. */
const RUNS = 'FROM traces INDEXED BY traces_by_start WHERE project = ? AND start_ns >= ? AND start_ns < ?';

const numberOf = (statements: Statements, project: string): number => projectNumbers(statements, [project])[0] ?? 0;

export const runTotals = (statements: Statements, { project, from, to }: RunWindow): RunTotals => {
  const [runs = 0, failed = 0, cancelled = 0, totalCost = null] =
    statements
      .raw<[number, number, number, number | null]>(
        `SELECT count(*), coalesce(sum(status = ${STATUS_ERROR}), 0), coalesce(sum(status = ${TRACE_CANCELLED}), 0), sum(total_cost) ${RUNS}`,
      )
      .get(numberOf(statements, project), from, to) ?? [];
  return { runs, failed, cancelled, ...(totalCost === null ? {} : { totalCost: roundSum(totalCost) }) };
};

/** Counts first, then takes one row from the long end: SQLite keeps only as many as lie beyond it. */
export const latencyPercentile = (
  statements: Statements,
  { project, from, to }: RunWindow,
  share: number,
): LatencyPercentile => {
  const number = numberOf(statements, project);
  const runs = statements.pluck<number>(`SELECT count(duration_ns) ${RUNS}`).get(number, from, to) ?? 0;
  if (runs === 0) return { runs };
  const duration = statements
    .pluck<number>(`SELECT duration_ns ${RUNS} AND duration_ns IS NOT NULL ORDER BY duration_ns DESC LIMIT 1 OFFSET ?`)
    .get(number, from, to, runs - nearestRank(share, runs));
  return { runs, ...(duration === undefined ? {} : { durationMs: duration / NANOS_PER_MILLI }) };
};

export const scoreSample = (
  statements: Statements,
  { project, from, to }: RunWindow,
  scorerId: string,
): ScoreSample => {
  const [scores = 0, mean = null] =
    statements
      .raw<[number, number | null]>(
        `SELECT count(*), ${meanOf('value')} FROM scores INDEXED BY scores_by_scorer WHERE project = ? AND scorer_id = ? AND at_ns >= ? AND at_ns < ?`,
      )
      .get(numberOf(statements, project), scorerId, from, to) ?? [];
  return { scores, ...(mean === null ? {} : { mean }) };
};
