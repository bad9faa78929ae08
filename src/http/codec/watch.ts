import type { Evaluation, WatchView } from '../../watch/board.ts';
import { budgetRemaining, burnRate, successRate } from '../../machines/slo.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { UnixMs } from '../../model/run.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../model/time.ts';
import type { Monitor, MonitorReading, Slo, SloReading } from '../../model/watch.ts';
import type { WatchEntry } from '../../store/runs/watch-journal.ts';

type Schemas = components['schemas'];

const time = (at: UnixMs | undefined): string | undefined =>
  at === undefined ? undefined : formatTimestamp(unixNanoFromMillis(at));

/** Of a webhook only the origin is shown: its path is a secret. */
const originOf = (webhook: string | undefined): string | undefined =>
  webhook === undefined ? undefined : URL.parse(webhook)?.origin;

const standing = ({ definition, condition, detail, ...times }: WatchView<Monitor | Slo, unknown>) => ({
  id: definition.id,
  name: definition.name,
  project: definition.project,
  webhook: originOf(definition.webhook),
  min_samples: definition.minSamples,
  condition,
  detail,
  evaluated_at: time(times.evaluatedAt),
  tripped_at: time(times.trippedAt),
  acknowledged_at: time(times.acknowledgedAt),
});

/** Every number but the count is absent where there were no runs to take it from. */
const rates = ({ objective }: Slo, { window, hour, sixHours }: SloReading) => ({
  samples: window.runs,
  success_rate: successRate(window),
  budget_remaining: budgetRemaining(objective, window),
  burn_rate_1h: burnRate(objective, hour),
  burn_rate_6h: burnRate(objective, sixHours),
});

/** @see Interface decisions, "8. Monitors and SLOs" */
export const monitorToWire = (view: WatchView<Monitor, MonitorReading>): Schemas['Monitor'] => {
  const { enabled, watch, compare, threshold, windowSeconds, scorerId } = view.definition;
  return {
    ...standing(view),
    enabled,
    watch,
    compare,
    threshold,
    window_seconds: windowSeconds,
    scorer_id: scorerId,
    value: view.reading?.value,
    samples: view.reading?.samples ?? 0,
  } as Schemas['Monitor'];
};

/** @see Interface decisions, "8. Monitors and SLOs" */
export const sloToWire = (view: WatchView<Slo, SloReading>): Schemas['Slo'] => {
  const { objective, windowDays } = view.definition;
  return {
    ...standing(view),
    objective,
    window_days: windowDays,
    samples: 0,
    ...(view.reading === undefined ? {} : rates(view.definition, view.reading)),
  } as Schemas['Slo'];
};

const evaluation = ({ at, condition, detail }: Evaluation<unknown>) => ({ evaluated_at: time(at), condition, detail });

export const monitorEvaluationToWire = (of: Evaluation<MonitorReading>): Schemas['MonitorEvaluation'] =>
  ({
    ...evaluation(of),
    value: of.reading?.value,
    samples: of.reading?.samples,
  }) as Schemas['MonitorEvaluation'];

export const sloEvaluationToWire = (slo: Slo, of: Evaluation<SloReading>): Schemas['SloEvaluation'] =>
  ({
    ...evaluation(of),
    ...(of.reading === undefined ? {} : rates(slo, of.reading)),
  }) as Schemas['SloEvaluation'];

export const transitionToWire = ({ seq, at, event, from, to, detail }: WatchEntry): Schemas['WatchTransition'] =>
  ({ seq, at: time(at), event, from, to, detail }) as Schemas['WatchTransition'];
