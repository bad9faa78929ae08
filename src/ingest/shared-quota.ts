import type { Sharing } from '../store/signals/sharing.ts';
import { MINUTE_MS, overQuota, type Quota, type QuotaPolicy, ceilingsOf } from './quota.ts';

/** Of a ceiling, what is taken ahead at once: a service asks the store so many times a minute at about the most. */
const SHARE_AHEAD = 20;
/** Projects that are counted by themselves in one minute; the others share a count. @see createQuota */
const MAX_COUNTED_PROJECTS = 10_000;
const MAX_NAME_LENGTH = 256;
const THE_OTHERS = '';

type Window = {
  /** The project, or that of all that are not counted by themselves. */
  readonly name: string;
  /** Signals that this service took from the ceiling, and those of them that it let through. */
  granted: number;
  used: number;
  /** Signals of requests that have reserved and not been let through yet. */
  claimed: number;
  /** The ceiling has no more. */
  isUsedUp: boolean;
};

/**
 * Builds ceilings that several services share: each takes from a common window before it lets signals through, a twentieth of the ceiling ahead. What it
 * took and did not use lapses with the minute, so a minute may end below its ceiling, and never above it.
 * @see createQuota, of which this is the form for one process
 */
export const createSharedQuota = (policy: QuotaPolicy, { reserveSignals }: Pick<Sharing, 'reserveSignals'>): Quota => {
  const ceilings = ceilingsOf(policy);
  /** Of this minute and the one before, which requests may still be in. */
  const minutes = new Map<number, Map<string, Window>>();
  const windowOf = (project: string, nowMs: number): Window => {
    const minute = Math.floor(nowMs / MINUTE_MS);
    let windows = minutes.get(minute);
    if (windows === undefined) {
      for (const known of minutes.keys()) if (Math.abs(known - minute) > 1) minutes.delete(known);
      minutes.set(minute, (windows = new Map()));
    }
    const isAlone =
      windows.has(project) ||
      ceilings.isNamed(project) ||
      (windows.size < MAX_COUNTED_PROJECTS && project.length <= MAX_NAME_LENGTH);
    const name = isAlone ? project : THE_OTHERS;
    let window = windows.get(name);
    if (window === undefined) windows.set(name, (window = { name, granted: 0, used: 0, claimed: 0, isUsedUp: false }));
    return window;
  };

  return {
    reserve: async (demand, nowMs) => {
      const claims: (readonly [Window, number])[] = [];
      const release = (): void => {
        for (const [window, signals] of claims.splice(0)) window.claimed -= signals;
      };
      try {
        for (const [project, signals] of demand) {
          const ceiling = ceilings.of(project);
          if (ceiling === undefined) continue;
          const window = windowOf(project, nowMs);
          window.claimed += signals;
          claims.push([window, signals]);
          const missing = window.used + window.claimed - window.granted;
          if (missing <= 0 || window.isUsedUp) continue;
          const wanted = Math.max(missing, Math.ceil(ceiling / SHARE_AHEAD));
          const taken = await reserveSignals(window.name, Math.floor(nowMs / MINUTE_MS), wanted, ceiling);
          window.granted += taken;
          if (taken < wanted) window.isUsedUp = true;
        }
        return release;
      } catch (error) {
        release();
        throw error;
      }
    },
    admit: (project, nowMs) => {
      if (ceilings.of(project) === undefined) return 'unbounded';
      const window = windowOf(project, nowMs);
      if (window.used >= window.granted) return 'over_quota';
      window.used += 1;
      return 'admitted';
    },
    refund: (project, signals, nowMs) => {
      if (ceilings.of(project) === undefined) return;
      const window = windowOf(project, nowMs);
      window.used = Math.max(0, window.used - signals);
    },
    refusal: (project, nowMs) => overQuota(project, ceilings.of(project), nowMs),
  };
};
