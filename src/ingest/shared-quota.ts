import type { Sharing } from '../store/signals/sharing.ts';
import { ceilingsOf, MINUTE_MS, overQuota, type Quota, type QuotaPolicy, type QuotaVerdict } from './quota.ts';

/** A service takes at least this part of a ceiling at once, so that it asks the store about twenty times a minute at the most. */
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
  /** The request to the store that is under way. */
  asking?: Promise<void> | undefined;
};

/** Signals that requests wait for, and that this service has not taken yet. */
const missingOf = ({ used, claimed, granted }: Window): number => used + claimed - granted;
/** Takes one signal from what this service took. */
const takeOne = (window: Window | undefined): QuotaVerdict => {
  if (window === undefined || window.used >= window.granted) return 'over_quota';
  window.used += 1;
  return 'admitted';
};

/**
 * Builds ceilings that several services share: each takes from a common window before it lets signals through, a twentieth of the
 * ceiling ahead. What it took and did not use lapses with the minute, so a minute may end below its ceiling, and never above it.
 * @see createQuota, of which this is the form for one process
 */
export const createSharedQuota = (policy: QuotaPolicy, { reserveSignals }: Pick<Sharing, 'reserveSignals'>): Quota => {
  const ceilings = ceilingsOf(policy);
  /** The windows of this minute and of the one before, in which requests may have begun that are still under way. */
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
  /** The window in which signals of the project were let through, where it is still kept. It makes none, as that would end a newer one. */
  const knownWindow = (project: string, nowMs: number): Window | undefined => {
    const windows = minutes.get(Math.floor(nowMs / MINUTE_MS));
    return windows?.get(project) ?? windows?.get(THE_OTHERS);
  };

  const ask = async (window: Window, minute: number, ceiling: number): Promise<void> => {
    const wanted = Math.max(missingOf(window), Math.ceil(ceiling / SHARE_AHEAD));
    const taken = await reserveSignals(window.name, minute, wanted, ceiling);
    window.granted += taken;
    if (taken < wanted) window.isUsedUp = true;
  };
  /** Asks for what is missing, one question at a time: it is asked for all that wait, and none of them asks for what another did. */
  const provide = async (window: Window, minute: number, ceiling: number): Promise<void> => {
    while (missingOf(window) > 0 && !window.isUsedUp) {
      window.asking ??= ask(window, minute, ceiling).finally(() => {
        window.asking = undefined;
      });
      await window.asking;
    }
  };

  return {
    reserve: async (demand, nowMs) => {
      const claims = new Map<Window, number>();
      const release = (): void => {
        for (const [window, signals] of claims) window.claimed -= signals;
        claims.clear();
      };
      const admit = (project: string): QuotaVerdict => {
        if (ceilings.of(project) === undefined) return 'unbounded';
        const window = knownWindow(project, nowMs);
        const verdict = takeOne(window);
        const left = window === undefined ? 0 : (claims.get(window) ?? 0);
        // Signals that were let through count as used now, and no longer as claimed. Else they would count twice.
        if (window !== undefined && verdict === 'admitted' && left > 0) {
          claims.set(window, left - 1);
          window.claimed -= 1;
        }
        return verdict;
      };
      try {
        for (const [project, signals] of demand) {
          const ceiling = ceilings.of(project);
          if (ceiling === undefined) continue;
          const window = windowOf(project, nowMs);
          window.claimed += signals;
          claims.set(window, (claims.get(window) ?? 0) + signals);
          await provide(window, Math.floor(nowMs / MINUTE_MS), ceiling);
        }
        return { admit, release };
      } catch (error) {
        release();
        throw error;
      }
    },
    admit: (project, nowMs) =>
      ceilings.of(project) === undefined ? 'unbounded' : takeOne(knownWindow(project, nowMs)),
    refund: (project, signals, nowMs) => {
      if (ceilings.of(project) === undefined) return;
      const window = knownWindow(project, nowMs);
      if (window !== undefined) window.used = Math.max(0, window.used - signals);
    },
    refusal: (project, nowMs) => overQuota(project, ceilings.of(project), nowMs),
  };
};
