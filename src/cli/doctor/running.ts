import { resolve } from 'node:path';
import type { ClockJump } from '../../actors/kernel/clock.ts';
import type { ScopeDescription } from '../../http/access/auth.ts';
import { Refusal, type Result } from '../../model/failure.ts';
import { projectOfOwner } from '../../model/definition/owner.ts';
import type { Position } from '../../model/page.ts';
import type { UnixNano } from '../../model/time.ts';
import type { RunsService } from '../../actors/service/runs-service.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { Settings } from '../settings.ts';
import type { Examined, RunReads, SignalReads } from './deployment.ts';
import { examine } from './examine.ts';
import { judgeColumnarProbe } from './columnar.ts';
import { judgeProbe } from './database.ts';
import { judgeProbe as judgeFileProbe } from './files.ts';
import { type DoctorReport, fault, type Finding, ok, skipped } from './finding.ts';

/** The parts of the running service that its own check asks. */
export type RunningService = {
  readonly settings: Settings;
  readonly store: SignalReads & Pick<SignalStore, 'ping' | 'probe' | 'kind'>;
  readonly runs: Pick<
    RunsService,
    | 'counts'
    | 'findStuckRuns'
    | 'findStalledKeys'
    | 'findIdleSchedules'
    | 'findPausedWork'
    | 'listRuns'
    | 'listDefinitions'
    | 'getDefinition'
    | 'listWorkers'
    | 'ping'
  >;
  readonly scopes: readonly ScopeDescription[];
  readonly clock: () => UnixNano;
  readonly clockJumps: () => { readonly count: number; readonly last: readonly ClockJump[] };
};

const PAGE = 100;
const RESTART = 'see the log of the service; GET /readyz tells when it answers again';

const valueOf = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  if (result.failure.code === 'store_unavailable') throw new StoreUnavailable(result.failure.message);
  throw new Refusal(result.failure);
};

const readsOfRuns = (runs: RunningService['runs']): RunReads => ({
  counts: () => runs.counts(),
  stuckRuns: () => runs.findStuckRuns(),
  stalledKeys: (movedBefore) => runs.findStalledKeys(movedBefore),
  idleSchedules: (now) => runs.findIdleSchedules(now),
  pausedWork: () => runs.findPausedWork(),
  newestChange: async () => valueOf(await runs.listRuns({ reach: 'all', limit: 1 })).items[0]?.updatedAt,
  pinnedVersions: async () => {
    const pinned = [];
    let after: Position | undefined;
    do {
      const page = valueOf(
        await runs.listDefinitions({ reach: 'all', limit: PAGE, ...(after === undefined ? {} : { after }) }),
      );
      for (const { owner, id } of page.items) {
        const { versions } = valueOf(await runs.getDefinition({ reach: 'all', id, ...projectOfOwner(owner) }));
        pinned.push(...versions.map(({ version, openRuns }) => ({ owner, id, version, openRuns })));
      }
      after = page.next;
    } while (after !== undefined);
    return pinned;
  },
  workers: async () => {
    const workers = [];
    let after: Position | undefined;
    do {
      const page = valueOf(
        await runs.listWorkers({ reach: 'all', limit: PAGE, ...(after === undefined ? {} : { after }) }),
      );
      workers.push(...page.items);
      after = page.next;
    } while (after !== undefined);
    return workers;
  },
});

const answering = async <Reads>(name: string, ping: () => Promise<void>, reads: Reads): Promise<Examined<Reads>> => {
  try {
    await ping();
    return { findings: [ok(`the ${name} answers`)], reads };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { findings: [fault(error.message, RESTART)], unread: `the ${name} could not be read` };
  }
};

const NOT_PROBED = skipped(
  'no probe span was written and no file was read for damage: this check is read-only and proves that the file can be read; svc doctor does both',
);
const NOT_READ = skipped('no file was read for damage: svc doctor does that');

/** What became of the probe span, in the words of the engine. */
const probed = async ({ settings, store }: Pick<RunningService, 'settings' | 'store'>): Promise<Finding> => {
  try {
    const outcome = await store.probe();
    switch (store.kind) {
      case 'postgres':
        return judgeProbe(outcome);
      case 'clickhouse':
        return judgeColumnarProbe(outcome);
      default:
        return judgeFileProbe(resolve(settings.data), outcome);
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return fault(error.message, RESTART);
  }
};

/**
 * The check from inside: offline, over the stores that the service has open, and read-only but for the probe span.
 * @param writes whether a probe span is written
 * @see Interface decisions, section 4, `GET /v1/api/doctor`
 */
export const examineRunning = async (
  { settings, store, runs, scopes, clock, clockJumps }: RunningService,
  windowDays: number,
  writes: boolean,
): Promise<DoctorReport> => {
  const signals = await answering<SignalReads>(`signal store (${store.kind})`, () => store.ping(), store);
  const isFile = store.kind === 'sqlite';
  const probe = writes ? [await probed({ settings, store }), ...(isFile ? [NOT_READ] : [])] : [NOT_PROBED];
  return examine(
    {
      settings,
      refusedSamples: [],
      scopes,
      signals: { ...signals, findings: [...signals.findings, ...probe] },
      runs:
        settings.runsData === undefined
          ? { findings: [], unread: 'durable runs are off' }
          : await answering('runs store', () => runs.ping(), readsOfRuns(runs)),
      offline: true,
      windowDays,
      now: clock(),
      clockJumps: clockJumps(),
    },
    !writes,
  );
};
