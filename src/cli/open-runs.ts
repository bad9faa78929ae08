import type { Logger } from 'pino';
import { type RunningRuns, startRuns } from '../actors/start.ts';
import type { Pipeline } from '../ingest/pipeline.ts';
import { priceUsage } from '../ingest/price.ts';
import { builtinPriceBook } from '../ingest/price-book.ts';
import type { Counters } from '../model/counters.ts';
import type { ReportedUsage, UnixMs } from '../model/run.ts';
import { emptyBatch } from '../model/signal.ts';
import type { Cost, Span } from '../model/span.ts';
import { formatTimestamp, unixNanoFromMillis } from '../model/time.ts';
import { createMemoryRunStore } from '../store/runs/memory-run-store.ts';
import { createMemoryWatchJournal } from '../store/runs/memory/watch-journal.ts';
import type { WatchJournal } from '../store/runs/watch-journal.ts';
import type { RoomFlag } from '../store/sqlite/room.ts';
import { openSqliteRunStore } from '../store/sqlite/runs/open.ts';
import type { Settings } from './settings.ts';

/** Usage that a step reports, priced with the book that prices spans. @see Interface specification, "Lease / attempt" */
export const priceReport = ({ model, cost: _known, record: _recorded, ...usage }: ReportedUsage): Cost | undefined =>
  model === undefined ? undefined : priceUsage(model, usage, builtinPriceBook);

/** Spans of runs go through the pipeline like every signal, but past the quota: the steps have run, so their record is complete. */
const writeSpansTo =
  (pipeline: Pick<Pipeline, 'write'>) =>
  async (spans: readonly Span[]): Promise<void> => {
    await pipeline.write({ ...emptyBatch, spans }, { quota: false, sample: true });
  };

const shown = (ms: UnixMs): string => formatTimestamp(unixNanoFromMillis(ms));

/**
 * Starts the durable half: on the file of `--runs-data`, or, with `off`, on a store in memory that nobody can start a run in,
 * so that actors and machines still answer. The same file holds the journal of monitors and SLOs; with `off` it is in memory.
 * @throws StoreUnavailable when the file is foreign, damaged, newer than this build or in use
 */
export const openRuns = async (
  settings: Pick<
    Settings,
    'runsData' | 'diskReserveBytes' | 'maxDescendants' | 'leaseTtlMs' | 'reclaimWindowMs' | 'offerTtlMs'
  >,
  roomFlag: RoomFlag,
  pipeline: Pick<Pipeline, 'write'>,
  log: Logger,
  counters: Counters,
  onFatal: (message: string) => void,
): Promise<{ readonly runs: RunningRuns; readonly watchJournal: WatchJournal }> => {
  const { runsData, diskReserveBytes, maxDescendants, leaseTtlMs, reclaimWindowMs, offerTtlMs } = settings;
  const store =
    runsData === undefined
      ? { ...createMemoryRunStore(), watchJournal: createMemoryWatchJournal() }
      : await openSqliteRunStore({ path: runsData, reserveBytes: diskReserveBytes, roomFlag, onFatal });
  try {
    const runs = await startRuns({
      store,
      writeSpans: writeSpansTo(pipeline),
      price: priceReport,
      onQuarantine: ({ runId, fault }) => {
        counters.runsQuarantined += 1;
        log.warn({ run_id: runId, fault }, 'a run was quarantined: nothing moves it');
      },
      onScheduleQuarantine: ({ scheduleId, fault }) =>
        log.warn({ schedule_id: scheduleId, fault }, 'a schedule was quarantined: it does not fire'),
      onFault: (error) => log.warn({ err: error }, 'the durable half met a fault and goes on'),
      maxDescendants,
      onClockJump: ({ from, to }) =>
        log.warn({ from: shown(from), to: shown(to) }, 'the clock of this machine was set'),
      leaseTtlMs,
      reclaimWindowMs,
      offerTtlMs,
      ticks: runsData !== undefined,
    });
    return { runs, watchJournal: store.watchJournal };
  } catch (error) {
    await store.close();
    throw error;
  }
};
