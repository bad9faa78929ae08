import { type Clock, systemClock } from '../actors/kernel/clock.ts';
import type { RunsService } from '../actors/service/runs-service.ts';
import { millisFromUnixNano, type UnixNano } from '../model/time.ts';
import type { SignalStore } from '../store/signals/signal-store.ts';
import type { Settings } from './settings.ts';

/** Days for which a batch's idempotency key is known; a resend after that is written again. */
const INGEST_KEY_RETENTION_DAYS = 30;

/** Traces taken in one write transaction: small enough that ingest waits for milliseconds, not seconds. */
const TRACES_PER_SLICE = 200;
/** Finished runs taken in one transaction, with their children, attempts and journals. */
const RUNS_PER_SLICE = 100;
const FIRST_PASS_AFTER_MS = 60_000;
const PASS_EVERY_MS = 3_600_000;
const NANOS_PER_DAY = 86_400_000_000_000n;

export type RetentionWindow = { readonly project: string; readonly days: number };

/**
 * The projects that are trimmed, and after how many days: every project of the `projects` block by its own
 * `retention_days`, else by `--retention-days`, and the project named by `--project`. A project that only senders name has
 * no window, and so has one that neither value covers.
 * @see Interface specification, "Limits", Retention
 */
export const retentionWindows = ({
  projects,
  project,
  retentionDays,
}: Pick<Settings, 'projects' | 'project' | 'retentionDays'>): RetentionWindow[] =>
  [...new Set([...Object.keys(projects), project])].flatMap((name) => {
    const own = Object.hasOwn(projects, name) ? projects[name]?.retention_days : undefined;
    const days = own ?? retentionDays;
    return days === undefined ? [] : [{ project: name, days }];
  });

export type RetentionPass = {
  readonly store: Pick<SignalStore, 'trim' | 'trimRecords'>;
  readonly runs: Pick<RunsService, 'trimFinishedRuns'>;
  readonly windows: readonly RetentionWindow[];
  readonly auditRetentionDays: number;
  /** Called after each slice with the milliseconds it took, so that trimming leaves room for ingest. */
  readonly rest: (tookMs: number) => Promise<void>;
  readonly isStopping: () => boolean;
  readonly removed: (window: RetentionWindow, rows: number) => void;
};

/**
 * One pass: trims each window in slices, then the records that serve the service itself.
 * @param now the moment from which the days are counted back
 * @throws what the store throws; what was trimmed until then stays trimmed, and the next pass goes on
 */
export const runRetentionPass = async (
  { store, runs, windows, auditRetentionDays, rest, isStopping, removed }: RetentionPass,
  now: UnixNano,
): Promise<void> => {
  const boundary = (days: number): UnixNano => now - BigInt(days) * NANOS_PER_DAY;
  for (const window of windows) {
    let rows = 0;
    const trim = async (slice: () => Promise<number>): Promise<void> => {
      while (!isStopping()) {
        const started = performance.now();
        const inSlice = await slice();
        if (inSlice === 0) return;
        rows += inSlice;
        await rest(performance.now() - started);
      }
    };
    const before = boundary(window.days);
    await trim(() => store.trim(window.project, before, TRACES_PER_SLICE));
    await trim(() => runs.trimFinishedRuns(window.project, millisFromUnixNano(before), RUNS_PER_SLICE));
    if (rows > 0) removed(window, rows);
  }
  if (isStopping()) return;
  await store.trimRecords(boundary(auditRetentionDays), boundary(INGEST_KEY_RETENTION_DAYS));
};

export type Schedule = { readonly stop: () => Promise<void> };

/**
 * Runs a pass a minute after the start and then every hour after the end of the one before, so passes never overlap.
 * @param pass never rejects
 * @returns `stop`, which resolves when the pass under way, if any, has ended
 */
export const scheduleHourly = (pass: () => Promise<void>, clock: Pick<Clock, 'after'> = systemClock): Schedule => {
  let underWay: Promise<void> = Promise.resolve();
  let cancel = (): void => {};
  let stopped = false;
  const wait = (ms: number): void => {
    cancel = clock.after(ms, () => {
      underWay = pass().finally(() => {
        if (!stopped) wait(PASS_EVERY_MS);
      });
    });
  };
  wait(FIRST_PASS_AFTER_MS);
  return {
    stop: () => {
      stopped = true;
      cancel();
      return underWay;
    },
  };
};
