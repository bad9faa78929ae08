import type { Json } from '../json.ts';
import type { ErrorRoute } from './step-error.ts';

/**
 * A workflow definition as the service uses it: parsed, checked, every default filled in, frozen plain JSON. The document
 * that was registered is stored beside it; this form is derived from it and never stored.
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export type Definition = {
  readonly id: string;
  readonly version: number;
  /** A JSON Schema that the input of a run must meet, where the definition gives one. */
  readonly inputSchema?: Json;
  readonly limits: Limits;
  /** How many runs of one key go on at once, and how many begin in a time. */
  readonly concurrency?: Concurrency;
  readonly rate?: Rate;
  /** Template of the output of a run that ends by `end`; absent: the output of the run's last step. */
  readonly output?: Json;
  /** At least one; the first is where a run starts. */
  readonly steps: readonly Step[];
};

export type Limits = {
  /** Entries into steps of every kind; one more ends the run. */
  readonly maxSteps: number;
  readonly runTimeoutMs?: number;
  readonly maxCostUsd?: number;
};

/** What becomes of what a key has no place for. `cancel_oldest`: it takes the place of the run that has held it longest. */
export type OnLimit = 'queue' | 'reject' | 'cancel_oldest';

/** @see Interface decisions, section 13, "Keys in a definition" */
export type Concurrency = {
  /** Template of text over `input` and `correlation`. */
  readonly key: string;
  /** Most holders of one key at once. */
  readonly limit: number;
  readonly onLimit: OnLimit;
};

/** At most `limit` starts of one key in any window of `perMs`. */
export type Rate = {
  /** Template of text over `input` and `correlation`. */
  readonly key: string;
  readonly limit: number;
  readonly perMs: number;
};

export type Retry = {
  /** Retryable failures and timeouts together, the first try included. Always 1 under `at_most_once`. */
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly multiplier: number;
  readonly maxBackoffMs: number;
  readonly jitter: 'full' | 'none';
};

export type Delivery = 'at_least_once' | 'at_most_once';

/** Where a run goes next: the id of a step, or the end. No step is called `end`. */
export type Target = string;
export const END: Target = 'end';

/** One way out of a step. Branches are read in order; one without `when` is always taken. */
export type Branch = { readonly when?: string; readonly to: Target };

/** What every step has that leads on to another. `next` is never empty: an absent one became the following step. */
type Onward = {
  readonly id: string;
  readonly next: readonly Branch[];
  readonly onError: readonly ErrorRoute[];
};

/** A worker serves it. */
export type TaskStep = Onward & {
  readonly kind: 'task';
  /** Template. */
  readonly input?: Json;
  readonly delivery: Delivery;
  /** Counted from `started`; absent: none. */
  readonly timeoutMs?: number;
  readonly retry: Retry;
  readonly limits?: TaskLimits;
  /** How many steps of one key are out at once, and how many go out in a time. */
  readonly concurrency?: Concurrency;
  readonly rate?: Rate;
};

/** Over all visits of the task in one run. */
export type TaskLimits = {
  /** Attempts, but for lapsed offers and those that a worker could not serve; one more ends the run. */
  readonly maxAttemptsTotal?: number;
  readonly maxCostUsd?: number;
};

/** One event that a step waits for. */
export type Awaited = {
  readonly event: string;
  /** Template of text, expanded once, when the wait opens. The empty text where the definition names no key. */
  readonly key: string;
  /** Where the run goes when this event comes first; absent: `next` decides. */
  readonly to?: Target;
};

/** The run waits for an event of a name and key, or for the first of several. */
export type WaitEventStep = Onward & {
  readonly kind: 'wait_event';
  /** One, or with `any` two or more. */
  readonly awaited: readonly Awaited[];
  readonly acceptParked: boolean;
  readonly timeoutMs?: number;
  readonly onTimeout: 'fail' | 'continue';
};

export type SleepStep = Onward & {
  readonly kind: 'sleep';
  /** Exactly one of `sleepMs` and `sleepUntil` is there. */
  readonly sleepMs?: number;
  /** Template of an RFC 3339 timestamp. */
  readonly sleepUntil?: string;
};

/**
 * What a failed child does to a step with `forEach`. `fail_fast`: it fails the step, and the other children are cancelled.
 * `collect`: the step waits for all, succeeds, and its output says of each item how it ended.
 */
export type OnItemError = 'fail_fast' | 'collect';

/** Starts one child run, or one an item of `forEach`, and waits for all of them. */
export type ChildStep = Onward & {
  readonly kind: 'child';
  readonly definition: string;
  /** Template of a list. */
  readonly forEach?: Json;
  /** Template; may read `item` where there is a `forEach`. */
  readonly input?: Json;
  readonly maxParallel: number;
  readonly onItemError: OnItemError;
};

/** Ends the run as succeeded. */
export type SucceedStep = {
  readonly id: string;
  readonly kind: 'succeed';
  /** Template; absent: the output of the step before. */
  readonly output?: Json;
};

/** Ends the run as failed, with class `fatal`. */
export type FailStep = {
  readonly id: string;
  readonly kind: 'fail';
  readonly code?: string;
  /** Template of text. */
  readonly message?: string;
};

export type Step = TaskStep | WaitEventStep | SleepStep | ChildStep | SucceedStep | FailStep;

/** True for the steps that lead on to another, false for those that end the run. */
export const leadsOn = (step: Step): step is TaskStep | WaitEventStep | SleepStep | ChildStep =>
  step.kind !== 'succeed' && step.kind !== 'fail';

/** Every place to which a step that ended well may lead. A wait whose events all name their own reads `next` only at its timeout. */
export const targetsOf = (step: TaskStep | WaitEventStep | SleepStep | ChildStep): readonly Target[] => {
  const branches = step.next.map(({ to }) => to);
  if (step.kind !== 'wait_event') return [...new Set(branches)];
  const named = step.awaited.flatMap(({ to }) => to ?? []);
  const readsNext =
    named.length < step.awaited.length || (step.timeoutMs !== undefined && step.onTimeout === 'continue');
  return [...new Set([...named, ...(readsNext ? branches : [])])];
};

/** Bounds of definitions that code needs; those of single fields stand in `spec/definition.schema.json`. */
export const definitionBounds = {
  steps: 300,
  durationMs: 3650 * 24 * 60 * 60 * 1000,
  documentCharacters: 1024 * 1024,
  documentDepth: 64,
  /** Children that one `for_each` may start. */
  itemsPerForEach: 10_000,
  /** Of an expanded key. */
  keyCharacters: 1024,
} as const;

/** What a definition that stays silent gets. @see Interface decisions, "9. Durable runs", "Fine print" */
export const definitionDefaults = {
  retry: { maxAttempts: 4, backoffMs: 1000, multiplier: 2, maxBackoffMs: 60_000, jitter: 'full' },
  delivery: 'at_least_once',
  onTimeout: 'fail',
  acceptParked: false,
  maxParallel: 10,
  onItemError: 'fail_fast',
  onLimit: 'queue',
  /** A loop without a way out ends, instead of filling the disk. */
  maxSteps: 100_000,
} as const satisfies {
  retry: Retry;
  delivery: Delivery;
  onTimeout: 'fail' | 'continue';
  acceptParked: boolean;
  maxParallel: number;
  onItemError: OnItemError;
  onLimit: OnLimit;
  maxSteps: number;
};
