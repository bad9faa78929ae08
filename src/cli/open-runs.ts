import type { Logger } from 'pino';
import { type RunningRuns, startRuns } from '../actors/start.ts';
import { createWayToServices } from '../http/way-to-services.ts';
import type { Peers } from '../http/relay.ts';
import type { Pipeline } from '../ingest/pipeline.ts';
import { priceUsage } from '../ingest/price.ts';
import { builtinPriceBook } from '../ingest/price-book.ts';
import type { Counters } from '../model/counters.ts';
import type { ReportedUsage, UnixMs } from '../model/run.ts';
import { newIdOfShard } from '../model/ids.ts';
import { emptyBatch } from '../model/signal.ts';
import type { Cost, Span } from '../model/span.ts';
import { formatTimestamp, unixNanoFromMillis } from '../model/time.ts';
import { createMemoryRunStore } from '../store/runs/memory-run-store.ts';
import { createMemoryWatchJournal } from '../store/runs/memory/watch-journal.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import type { WatchJournal } from '../store/runs/watch-journal.ts';
import type { RoomFlag } from '../store/sqlite/room.ts';
import { openSqliteRunStore } from '../store/sqlite/runs/open.ts';
import type { Settings } from './settings.ts';
import { type SharedRuns, type SharedRunsOptions, shareRuns } from './shared-runs.ts';
import type { StartShare } from './shared-store.ts';

/** Usage that a step reports, priced with the book that prices spans. @see Interface specification, "Lease / attempt" */
export const priceReport = ({ model, cost: _known, record: _recorded, ...usage }: ReportedUsage): Cost | undefined =>
  model === undefined ? undefined : priceUsage(model, usage, builtinPriceBook);

/** Spans of runs go through the pipeline like every signal, but past the quota: the steps have run, so their record is complete. */
const writeSpansTo =
  (pipeline: Pick<Pipeline, 'write'>) =>
  async (spans: readonly Span[]): Promise<void> => {
    await pipeline.write({ ...emptyBatch, spans }, { quota: false, sample: true });
  };

/** Of the time of a request, what a statement of it may take: the store answers a caller before its time is over. */
const STATEMENT_SHARE = 0.75;

/**
 * A commit in a database is three ways there and back, and more work on both sides than the step that it writes. So long the next one waits for
 * more to write where several callers were answered, in milliseconds: about as long as a commit takes.
 */
const GATHER_MS = 5;

const shown = (ms: UnixMs): string => formatTimestamp(unixNanoFromMillis(ms));

/** The durable half, as the process holds it. */
export type OpenedRuns = {
  readonly runs: RunningRuns;
  readonly watchJournal: WatchJournal;
  /** Where several services share the runs. */
  readonly shared?: { readonly peers: Peers } & Pick<SharedRuns, 'begin' | 'handOver'>;
};

/**
 * Starts the durable half: on the file of `--runs-data`, on the database of `--runs-url`, or, with `off`, on a store in memory that nobody can start a run in,
 * so that actors and machines still answer. The same file holds the journal of monitors and SLOs; with `off` it is in memory.
 * @throws StoreUnavailable when the file is foreign, damaged, newer than this build or in use
 */
export const openRuns = async (
  settings: Pick<
    Settings,
    | 'runsData'
    | 'runsUrl'
    | 'runsShards'
    | 'requestTimeoutSeconds'
    | 'diskReserveBytes'
    | 'maxDescendants'
    | 'leaseTtlMs'
    | 'reclaimWindowMs'
    | 'offerTtlMs'
  >,
  roomFlag: RoomFlag,
  pipeline: Pick<Pipeline, 'write'>,
  log: Logger,
  counters: Counters,
  onFatal: (message: string) => void,
  eraseTraces: NonNullable<SharedRunsOptions['eraseTraces']>,
): Promise<OpenedRuns> => {
  const { runsData, runsUrl, diskReserveBytes, maxDescendants, leaseTtlMs, reclaimWindowMs, offerTtlMs } = settings;
  const startOn = (
    store: RunStore,
    { clock, ticks, isHeld, shard }: Partial<Pick<StartShare, 'clock'>> & Omit<StartShare, 'clock'>,
    isOfSeveral = false,
    gatherMs?: number,
  ): Promise<RunningRuns> =>
    startRuns({
      store,
      writeSpans: writeSpansTo(pipeline),
      ...(isHeld === undefined ? {} : { holding: { isHeld } }),
      price: priceReport,
      onQuarantine: ({ runId, fault }) => {
        counters.runsQuarantined += 1;
        log.warn({ run_id: runId, fault }, 'a run was quarantined: nothing moves it');
      },
      onScheduleQuarantine: ({ scheduleId, fault }) =>
        log.warn({ schedule_id: scheduleId, fault }, 'a schedule was quarantined: it does not fire'),
      onFault: (error) => {
        // A service that does not own the runs must not change them: its store refuses each commit.
        if (ticks) log.warn({ err: error }, 'the durable half met a fault and goes on');
      },
      maxDescendants,
      onClockJump: ({ from, to }) =>
        log.warn({ from: shown(from), to: shown(to) }, 'the clock of this machine was set'),
      leaseTtlMs,
      reclaimWindowMs,
      offerTtlMs,
      ...(gatherMs === undefined ? {} : { gatherMs }),
      ...(clock === undefined ? {} : { clock }),
      ...(isOfSeveral && shard !== undefined ? { newId: () => newIdOfShard(shard) } : {}),
      ticks,
      moves: ticks || !isOfSeveral,
    });
  if (runsData !== undefined && runsUrl !== undefined) {
    // Only a service that uses the database loads its driver, so that a start on a file need not wait for it.
    const { openPostgresRuns } = await import('../store/postgres/runs/open.ts');
    const store = await openPostgresRuns({
      url: runsUrl,
      statementMs: settings.requestTimeoutSeconds * 1000 * STATEMENT_SHARE,
      ...(settings.runsShards === undefined ? {} : { shards: settings.runsShards }),
    });
    const { shards } = store;
    const isOfSeveral = shards > 1;
    try {
      const secret = await store.ownership.secret();
      const named = (shard: number): string => (isOfSeveral ? `shard ${shard} of ${shards} of the runs` : 'the runs');
      const { runs, peers, begin, handOver } = await shareRuns({
        store: { ...store, load: store.load(isOfSeveral ? undefined : 0) },
        startRuns: (runStore, how) => startOn(runStore, how, isOfSeveral, GATHER_MS),
        way: createWayToServices(secret, settings.requestTimeoutSeconds * 1000),
        eraseTraces,
        changed: (owns, shard) => log.info({}, `this service owns ${named(shard)} ${owns ? 'from now on' : 'no more'}`),
        renumbered: (now) =>
          onFatal(`the runs were cut into ${now} shards, and this service knows ${shards}: start it anew`),
        onFault: (error) => log.warn({ err: error }, 'runs could not be taken over; the next look tries again'),
      });
      // States of monitors are each service's own, and so is their journal: in the database several would number one.
      return {
        runs,
        watchJournal: createMemoryWatchJournal(),
        shared: { peers: { ...peers, secret }, begin, handOver },
      };
    } catch (error) {
      await store.close();
      throw error;
    }
  }
  const store =
    runsData === undefined
      ? { ...createMemoryRunStore(), watchJournal: createMemoryWatchJournal() }
      : await openSqliteRunStore({ path: runsData, reserveBytes: diskReserveBytes, roomFlag, onFatal });
  try {
    return { runs: await startOn(store, { ticks: runsData !== undefined }), watchJournal: store.watchJournal };
  } catch (error) {
    await store.close();
    throw error;
  }
};
