import { roundSum } from '../../../model/money.ts';
import { MEAN_SCALE, unscaled } from '../../signals/judgements.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import { isStorable } from '../../signals/storable.ts';
import type { LatencyPercentile, RunTotals, RunWindow, ScoreSample } from '../../signals/watch.ts';
import type { Ask, Params } from '../connection.ts';
import { ranked } from './ranks.ts';
import { scaledSum } from './sums.ts';

const NANOS_PER_MILLI = 1e6;
const RUNS =
  'FROM traces AS t FINAL WHERE t.project = {project:String} AND t.start_ns >= {from:Int64} AND t.start_ns < {to:Int64}';
const paramsOf = ({ project, from, to }: RunWindow): Params => ({ project, from, to });

export const runTotals = async (ask: Ask, window: RunWindow): Promise<RunTotals> => {
  if (!isStorable(window.project)) return { runs: 0, failed: 0, cancelled: 0 };
  const [[runs, failed, cancelled, sum] = ['0', '0', '0', null]] = await ask<[string, string, string, number | null]>(
    `SELECT count(), countIf(t.status = ${STATUS_ERROR}), countIf(t.status = ${TRACE_CANCELLED}), ${scaledSum('t.total_cost')} ${RUNS}`,
    paramsOf(window),
  );
  const totalCost = unscaled(sum);
  return {
    runs: Number(runs),
    failed: Number(failed),
    cancelled: Number(cancelled),
    ...(totalCost === undefined ? {} : { totalCost: roundSum(totalCost) }),
  };
};

export const latencyPercentile = async (ask: Ask, window: RunWindow, share: number): Promise<LatencyPercentile> => {
  if (!isStorable(window.project)) return { runs: 0 };
  const [[runs, duration] = ['0', '0']] = await ask<[string, string]>(
    `SELECT count(t.duration_ns), ${ranked('t.duration_ns', '{share:Float64}')} ${RUNS}`,
    { ...paramsOf(window), share },
  );
  return { runs: Number(runs), ...(Number(runs) === 0 ? {} : { durationMs: Number(duration) / NANOS_PER_MILLI }) };
};

export const scoreSample = async (ask: Ask, window: RunWindow, scorerId: string): Promise<ScoreSample> => {
  if (!isStorable(scorerId) || !isStorable(window.project)) return { scores: 0 };
  const [[scores, sum] = ['0', null]] = await ask<[string, number | null]>(
    `SELECT count(), ${scaledSum('s.value')} FROM scores AS s FINAL
     WHERE s.project = {project:String} AND s.scorer_id = {scorer:String} AND s.at_ns >= {from:Int64} AND s.at_ns < {to:Int64}`,
    { ...paramsOf(window), scorer: scorerId },
  );
  const mean = sum === null ? undefined : (sum / Number(scores)) * MEAN_SCALE;
  return { scores: Number(scores), ...(mean === undefined ? {} : { mean }) };
};
