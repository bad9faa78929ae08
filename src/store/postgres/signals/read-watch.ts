import { roundSum } from '../../../model/money.ts';
import { MEAN_SCALE, unscaled } from '../../signals/judgements.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import type { LatencyPercentile, RunTotals, RunWindow, ScoreSample } from '../../signals/watch.ts';
import { isStorable } from '../../signals/storable.ts';
import type { Ask } from '../connection.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { scaledSum } from './sums.ts';

const NANOS_PER_MILLI = 1e6;
const RUNS = 'FROM traces AS t WHERE t.project = $1 AND t.start_ns >= $2 AND t.start_ns < $3';

const numberOf = async (ask: Ask, project: string): Promise<number> => (await projectNumbers(ask, [project]))[0] ?? 0;

export const runTotals = async (ask: Ask, { project, from, to }: RunWindow): Promise<RunTotals> => {
  const [[runs, failed, cancelled, sum] = [0n, 0n, 0n, null]] = await ask<[bigint, bigint, bigint, number | null]>(
    `SELECT count(*), count(*) FILTER (WHERE t.status = ${STATUS_ERROR}), count(*) FILTER (WHERE t.status = ${TRACE_CANCELLED}),
       ${scaledSum('t.total_cost')} ${RUNS}`,
    [await numberOf(ask, project), from, to],
  );
  const totalCost = unscaled(sum);
  return {
    runs: Number(runs),
    failed: Number(failed),
    cancelled: Number(cancelled),
    ...(totalCost === undefined ? {} : { totalCost: roundSum(totalCost) }),
  };
};

export const latencyPercentile = async (
  ask: Ask,
  { project, from, to }: RunWindow,
  share: number,
): Promise<LatencyPercentile> => {
  // percentile_disc takes the value at the nearest rank.
  const [[runs, duration] = [0n, null]] = await ask<[bigint, bigint | null]>(
    `SELECT count(t.duration_ns), percentile_disc($4::float8) WITHIN GROUP (ORDER BY t.duration_ns) ${RUNS}`,
    [await numberOf(ask, project), from, to, share],
  );
  return { runs: Number(runs), ...(duration === null ? {} : { durationMs: Number(duration) / NANOS_PER_MILLI }) };
};

export const scoreSample = async (
  ask: Ask,
  { project, from, to }: RunWindow,
  scorerId: string,
): Promise<ScoreSample> => {
  if (!isStorable(scorerId)) return { scores: 0 };
  const [[scores, sum] = [0n, null]] = await ask<[bigint, number | null]>(
    `SELECT count(*), ${scaledSum('s.value')} FROM scores AS s
     WHERE s.project = $1 AND signal_key(s.scorer_id) = $2 AND s.scorer_id = $3 AND s.at_ns >= $4 AND s.at_ns < $5`,
    [await numberOf(ask, project), signalKey(scorerId), scorerId, from, to],
  );
  const mean = sum === null ? undefined : (sum / Number(scores)) * MEAN_SCALE;
  return { scores: Number(scores), ...(mean === undefined ? {} : { mean }) };
};
