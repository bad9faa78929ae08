import type { Failure } from '../model/failure.ts';

export type QuotaPolicy = {
  /** Signals a minute for each project that has no ceiling of its own; absent: such projects have none. */
  readonly perMinute?: number;
  /** A project's own ceiling, which replaces the top-level one, whether it is lower or higher. */
  readonly projects: Readonly<Record<string, number>>;
};

/** `unbounded`: stored, and counted as such, because no ceiling covers the project. */
export type QuotaVerdict = 'admitted' | 'over_quota' | 'unbounded';

/** What a request took from shared ceilings. */
export type Reservation = {
  /** Takes one of its signals from the project's minute. @see Quota */
  readonly admit: (project: string) => QuotaVerdict;
  /** Gives back what this request took and did not use, for other requests of this service. */
  readonly release: () => void;
};

/**
 * A ceiling on signals per project and wall-clock minute. Asked once per signal, in the order of the request, so that the
 * caller knows by itself which positions are refused:
 *
 *     const kept = batch.spans.filter((span, index) => quota.admit(span.correlation.project, nowMs) !== 'over_quota' || refuse(index));
 */
export type Quota = {
  /**
   * Where services share the ceilings: takes from them what a request may need, before its signals are let through. Rejects with
   * `StoreUnavailable`.
   */
  readonly reserve?: (demand: ReadonlyMap<string, number>, nowMs: number) => Promise<Reservation>;
  /** Takes one signal from the project's minute, if the minute still has one. */
  readonly admit: (project: string, nowMs: number) => QuotaVerdict;
  /** Gives back signals that were admitted in this same minute and then not written. Of an earlier minute: nothing. */
  readonly refund: (project: string, signals: number, nowMs: number) => void;
  /** Why a signal of this project is refused, and in how many seconds the next minute begins. */
  readonly refusal: (project: string, nowMs: number) => Failure;
};

export const MINUTE_MS = 60_000;

/** Senders name projects as they like. Past this many in one minute, the names not in the configuration share a count. */
const MAX_COUNTED_PROJECTS = 10_000;
/** A name longer than this is not remembered; it shares that count as well. */
const MAX_NAME_LENGTH = 256;

/** Which ceiling a project has. */
export const ceilingsOf = (
  policy: QuotaPolicy,
): {
  readonly of: (project: string) => number | undefined;
  /** Whether the configuration names the project. */
  readonly isNamed: (project: string) => boolean;
} => {
  const own = new Map(Object.entries(policy.projects));
  return { of: (project) => own.get(project) ?? policy.perMinute, isNamed: (project) => own.has(project) };
};

/** Why a signal beyond a ceiling is refused, and in how many seconds the next minute begins. */
export const overQuota = (project: string, ceiling: number | undefined, nowMs: number): Failure => {
  const name = project.length <= MAX_NAME_LENGTH ? project : `${project.slice(0, MAX_NAME_LENGTH)}…`;
  const retryAfterSeconds = Math.max(
    1,
    Math.ceil((MINUTE_MS - (((nowMs % MINUTE_MS) + MINUTE_MS) % MINUTE_MS)) / 1000),
  );
  return {
    code: 'over_quota',
    message: `project "${name}" is over its ceiling of ${ceiling} signals a minute; send again in ${retryAfterSeconds} s, or raise quota_per_minute`,
    retryAfterSeconds,
  };
};

/**
 * Builds the ceilings of one process. A window is the wall-clock minute in which `admit` is called; a call in any other
 * minute, later or earlier, begins a new one, so a clock that jumps never locks a window: at worst it grants one more.
 * Two bursts around a full minute can pass at most twice the ceiling in that moment.
 * @see Interface decisions, "5. Ingest policy"
 */
export const createQuota = (policy: QuotaPolicy): Quota => {
  const ceilings = ceilingsOf(policy);

  let minute: number | undefined;
  let counts = new Map<string, number>();
  let sharedCount = 0;

  const open = (nowMs: number): void => {
    const current = Math.floor(nowMs / MINUTE_MS);
    if (current === minute) return;
    minute = current;
    counts = new Map();
    sharedCount = 0;
  };

  const isCountedAlone = (project: string): boolean =>
    counts.has(project) ||
    ceilings.isNamed(project) ||
    (counts.size < MAX_COUNTED_PROJECTS && project.length <= MAX_NAME_LENGTH);

  const add = (project: string, signals: number): void => {
    if (isCountedAlone(project)) counts.set(project, Math.max(0, (counts.get(project) ?? 0) + signals));
    else sharedCount = Math.max(0, sharedCount + signals);
  };

  return {
    admit: (project, nowMs) => {
      const ceiling = ceilings.of(project);
      if (ceiling === undefined) return 'unbounded';
      open(nowMs);
      const count = isCountedAlone(project) ? (counts.get(project) ?? 0) : sharedCount;
      if (count >= ceiling) return 'over_quota';
      add(project, 1);
      return 'admitted';
    },
    refund: (project, signals, nowMs) => {
      if (Math.floor(nowMs / MINUTE_MS) !== minute || ceilings.of(project) === undefined) return;
      add(project, -signals);
    },
    refusal: (project, nowMs) => overQuota(project, ceilings.of(project), nowMs),
  };
};
