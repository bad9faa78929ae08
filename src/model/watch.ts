import type { UnixMs } from './run.ts';

/** What a monitor may watch. @see Interface specification, "Monitor and SLO" */
export const watches = [
  'error_rate',
  'latency_p95',
  'cost',
  'score_mean',
  'trace_count',
  'step_count_divergence',
  'run_repetition',
] as const;
export type Watch = (typeof watches)[number];

/** The two kinds of what is watched, as their addresses name them. */
export type WatchType = 'monitor' | 'slo';

/** What monitors and SLOs have in common. Ids are unique among monitors, and among SLOs. */
type Watched = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  /** Where its reports go beside the log. A secret but for its origin. */
  readonly webhook?: string;
  /** Windows that hold fewer are silent: they neither trip nor recover anything. */
  readonly minSamples: number;
};

export type Monitor = Watched & {
  /** False: listed, and never evaluated. */
  readonly enabled: boolean;
  readonly watch: Watch;
  readonly compare: 'above' | 'below';
  /** In the unit of the watch: a share, milliseconds, money, a mean, a count. */
  readonly threshold: number;
  readonly windowSeconds: number;
  /** Set for `score_mean`. */
  readonly scorerId?: string;
};

export type Slo = Watched & {
  /** The share of runs that is to succeed, between 0 and 1, exclusive. */
  readonly objective: number;
  readonly windowDays: number;
};

/** @see Interface specification, "States and transitions", "Monitor (and SLO)" */
const conditions = ['nominal', 'tripped', 'acknowledged'] as const;
export type Condition = (typeof conditions)[number];

/** What a report tells: that something tripped, or that it is back. */
export type ReportedCondition = Exclude<Condition, 'acknowledged'>;

/** What one evaluation of a monitor found. `value` is absent where there is nothing to compute it from: unknown is not zero. */
export type MonitorReading = {
  readonly value?: number;
  /** How many runs, or scores, the value was computed from. */
  readonly samples: number;
  /** What a reader of the number should know beside it. */
  readonly note?: string;
};

/** Runs of one window, and those of them that failed. */
export type RunShare = { readonly runs: number; readonly failed: number };

/** What one evaluation of an SLO found: its window, the last hour and the last six hours. */
export type SloReading = { readonly window: RunShare; readonly hour: RunShare; readonly sixHours: RunShare };

/** Where a reading stands to its rule. `silent`: it holds too little to say, and moves nothing. */
export type Judgement = 'outside' | 'inside' | 'silent';

/** What moves a monitor or an SLO. */
export type WatchEvent<Reading> =
  | { readonly type: 'evaluation.ended'; readonly at: UnixMs; readonly reading: Reading }
  /** Nothing could be read; `note` says why. */
  | { readonly type: 'evaluation.missed'; readonly at: UnixMs; readonly note: string }
  | { readonly type: 'trip.acknowledged'; readonly at: UnixMs };

/** What a monitor or an SLO remembers beside its condition. Plain JSON. */
export type WatchContext<Rule, Reading> = {
  readonly rule: Rule;
  /** The last one; absent before the first. */
  readonly reading?: Reading;
  readonly evaluatedAt?: UnixMs;
  /** Why the evaluation after it read nothing. */
  readonly missed?: string | undefined;
  /** Both of the present trip: they end with it. */
  readonly trippedAt?: UnixMs | undefined;
  readonly acknowledgedAt?: UnixMs | undefined;
};
