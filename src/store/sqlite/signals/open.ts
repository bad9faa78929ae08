import type { ProbeOutcome } from '../../signals/probe.ts';
import { MessageChannel } from 'node:worker_threads';
import PQueue from 'p-queue';
import { countSignals } from '../../../model/signal.ts';
import { nowUnixNano } from '../../../model/time.ts';
import type { ItemsOutcome } from '../../signals/evaluation.ts';
import type { CostReport, DeleteOutcome, FacetReport, Page, Position, SummaryReport } from '../../signals/query.ts';
import type { SignalStore, WriteOutcome, WriteUnit } from '../../signals/signal-store.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { LatencyPercentile, RunTotals, ScoreSample } from '../../signals/watch.ts';
import { sqliteEngine } from './capabilities.ts';
import { decodeSpan, decodeTrace } from '../../signals/rows/decode.ts';
import {
  decodeAudit,
  decodeFeedback,
  decodeLog,
  decodeMetricName,
  decodeMetricPoint,
  decodeNote,
  decodeProject,
  decodeRollUp,
  decodeScore,
  encodeAudit,
} from '../../signals/rows/decode-records.ts';
import { decodeHeld, encodeKey } from '../../signals/rows/held-rows.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { type EncodedPiece, encodeUnit, WHOLE_SIGNALS } from './encode.ts';
import {
  decodeDataset,
  decodeExperiment,
  decodeItem,
  decodeStatistic,
  encodeDataset,
  encodeExperiment,
  encodeItem,
} from '../../signals/rows/evaluation-rows.ts';
import type { OpenedTrace } from './read-spans.ts';
import type { RowPage } from './read-traces.ts';
import { somePlaces, type SpanPlaces } from './places.ts';
import type { SpansPiece } from './span-json.ts';
import { decodeView, encodeView } from '../../signals/rows/saved-view.ts';
import { createRoomFlag, isRefusing, type RoomFlag } from '../room.ts';
import { startThread, type Thread } from '../thread.ts';
import type { Row } from '../../signals/rows/columns.ts';
import type { ReaderOptions, SearchOptions, WriterOpened, WriterOptions } from './wire.ts';

export type SqliteSignalStoreOptions = {
  /** The data file. Its side files (`-wal`, `-shm`, `.lock`, `.fts`) lie beside it. Folder and file are made as needed. */
  readonly path: string;
  /** Reading connections at the most, each in a thread that starts when it is first needed. */
  readonly readers?: number;
  /** How long a reading thread but the last waits for a question before it ends, in milliseconds. */
  readonly readerIdleMs?: number;
  /** Page cache of the writing connection under load, in MiB; an idle one gives it back. */
  readonly cacheMiB?: number;
  /** Largest size of the data file, in bytes; beyond it writes fail as they do on a full disk. Unbounded when absent. */
  readonly maxFileBytes?: number;
  /**
   * Room on the disk that the file keeps for itself, in bytes: with it the store opens and deletes on a full disk. None when absent.
   */
  readonly reserveBytes?: number;
  /** That of another store on the same disk. */
  readonly roomFlag?: RoomFlag;
  /** How long the words of one erasure may be cut out of the full-text index, in milliseconds; more of them are struck out. */
  readonly cutOutMs?: number;
  /**
   * How long after a large erasure the full-text index is rewritten without the words that were struck out, in milliseconds.
   * Until then nobody finds them, but their bytes are in the side file, and the answer to the delete says so.
   */
  readonly purgeDelayMs?: number;
  /** How long an hour is over and unchanged before what it adds up to is stored, in milliseconds. Reports are the same before and after. */
  readonly hourSettledMs?: number;
  /**
   * Called with one line for an operator when the store has failed for good and only a new process can help: repeated faults
   * of the disk, or the end of one of its threads. Called at most once.
   */
  readonly onFatal?: (message: string) => void;
};

const READERS = 4;
/** A thread costs some ten MiB, and a question that starts one waits a tenth of a second. */
const READER_IDLE_MS = 60_000;
/** How long a question waits for a reader that is busy before another one starts: most are answered sooner than a thread is there. */
const PATIENCE_MS = 30;
/**
 * SQLite walks through the list of each word for each span that it cuts out, so a span takes a millisecond or two in a small index and some
 * 40 in one of a million spans. To strike it out takes 0.04 in any.
 */
const CUT_OUT_MS = 3_000;
const PURGE_DELAY_MS = 600_000;
const HOUR_SETTLED_MS = 60_000;
const WRITER_CACHE_MIB = 32;
const SEARCH_CACHE_MIB = 16;
const READER_CACHE_MIB = 16;
/** How long a fault of a write is reported after the last one, in milliseconds; then a small write tells whether it is over. */
const FAULT_LINGERS_MS = 5_000;
/** Spans that are asked for at once, at the most. */
const PLACES_AT_ONCE = 512;
/** What spans that are asked for at once are likely to be as JSON, in bytes: nearly a piece, since one that is cut short costs another question. */
const ASKED_BYTES = 224 * 1024;
/** Pieces that are read ahead, each by a thread. Payloads of neighbours lie in one block, which a second thread would open again. */
const PIECES_AHEAD = { withPayloads: 1, without: 2 } as const;

/**
 * Opens the embedded signal store: one data file with a full-text side file, one writing thread, one indexing thread, and
 * reading threads. Calls on the main thread only turn objects into rows and back.
 * @throws StoreUnavailable with one line naming file and cause, when the file is in use, damaged, foreign or newer than this
 * build; nothing was changed then
 * @see Interface specification, "Storage"
 */
export const openSqliteSignalStore = async (options: SqliteSignalStoreOptions): Promise<SignalStore> => {
  let isFatal = false;
  const onFatal = (message: string): void => {
    if (isFatal || isClosed) return;
    isFatal = true;
    options.onFatal?.(message);
  };
  let isClosed = false;
  /** Set when nothing waits for an answer any more; what is left to do is done after the next start. */
  let isEnding = false;
  let nextCall = 1;

  const { port1: searchPort, port2: writerPort } = new MessageChannel();
  const roomFlag = options.roomFlag ?? createRoomFlag();
  const writerOptions: WriterOptions = {
    path: options.path,
    cacheMiB: options.cacheMiB ?? WRITER_CACHE_MIB,
    maxFileBytes: options.maxFileBytes ?? null,
    reserveBytes: options.reserveBytes ?? 0,
    roomFlag,
    hourSettledMs: options.hourSettledMs ?? HOUR_SETTLED_MS,
  };
  const writer = startThread(
    new URL('./writer-thread.ts', import.meta.url),
    'signal writer',
    { options: writerOptions, searchPort },
    [searchPort],
    onFatal,
    () => {
      if (!isEnding) reachSearch();
    },
    () => search?.flush(),
  );
  const opened = (await writer.ready) as WriterOpened;
  const searchOptions: SearchOptions = {
    path: opened.path,
    cacheMiB: SEARCH_CACHE_MIB,
    storeNumber: opened.storeNumber,
    isWhole: opened.isIndexWhole,
    cutOutMs: options.cutOutMs ?? CUT_OUT_MS,
    purgeDelayMs: options.purgeDelayMs ?? PURGE_DELAY_MS,
    roomFlag,
  };
  let search: Thread | undefined;
  const startSearch = (): Thread => {
    search = startThread(
      new URL('./search-thread.ts', import.meta.url),
      'signal search',
      { options: searchOptions, writerPort },
      [writerPort],
      onFatal,
    );
    return search;
  };
  /** The thread of the index; a thread costs some twelve MiB, so this one starts when there is text to take in or to erase. */
  const reachSearch = (): Thread => {
    if (search !== undefined) return search;
    const started = startSearch();
    started.ready.catch((error: unknown) => onFatal(error instanceof Error ? error.message : 'the index did not open'));
    return started;
  };
  if (!opened.isIndexWhole)
    try {
      await startSearch().ready;
    } catch (error) {
      await writer.call(nextCall++, 'close', []);
      throw error;
    }
  let nextSpan = opened.lastSpan + 1;

  const readerOptions: ReaderOptions = { path: opened.path, cacheMiB: READER_CACHE_MIB };
  const admission = new PQueue({ concurrency: options.readers ?? READERS });
  /** The one that answered last stands last, and is asked next. */
  const idleReaders: { readonly reader: Thread; readonly since: number }[] = [];
  const readers = new Set<Thread>();
  const end = async (thread: Thread): Promise<void> => {
    if (!thread.isOver) await thread.call(nextCall++, 'close', []);
  };
  const ending = new Set<Promise<void>>();
  const readerIdleMs = options.readerIdleMs ?? READER_IDLE_MS;
  let resting: NodeJS.Timeout | undefined;
  const endIdleReaders = (): void => {
    const before = performance.now() - readerIdleMs;
    while (idleReaders.length > 1 && (idleReaders[0]?.since ?? before) <= before) {
      const { reader } = idleReaders.shift() as (typeof idleReaders)[number];
      readers.delete(reader);
      const ended = end(reader)
        .catch(() => {}) // it ended by itself
        .finally(() => ending.delete(ended));
      ending.add(ended);
    }
    resting = undefined;
    planRest();
  };
  const planRest = (): void => {
    if (idleReaders.length > 1 && !isClosed) resting ??= setTimeout(endIdleReaders, readerIdleMs).unref();
  };
  const startReader = async (): Promise<Thread> => {
    const reader = startThread(
      new URL('./reader-thread.ts', import.meta.url),
      'signal reader',
      { options: readerOptions },
      [],
      // A reader that ends is replaced by the next question; the file is not at risk.
      () => {},
    );
    await reader.ready;
    readers.add(reader);
    return reader;
  };
  /** Questions for which no reader is free. */
  const unserved: { readonly resolve: (reader: Thread) => void; readonly reject: (error: unknown) => void }[] = [];
  const release = (reader: Thread): void => {
    const next = unserved.shift();
    if (next !== undefined) next.resolve(reader);
    else {
      idleReaders.push({ reader, since: performance.now() });
      planRest(); // also of one that starts when all questions are answered
    }
  };
  let supplyDue: NodeJS.Timeout | undefined;
  let supplying: Promise<void> | undefined;
  /** Starts one more reader at a time, while questions wait. */
  const supply = (): void => {
    if (unserved.length === 0 || supplyDue !== undefined || supplying !== undefined || isEnding) return;
    const start = (): void => {
      supplyDue = undefined;
      if (unserved.length === 0) return;
      supplying = startReader()
        .then(release, (error: unknown) => unserved.shift()?.reject(error))
        .finally(() => {
          supplying = undefined;
          supply();
        });
    };
    if (readers.size === 0) start();
    else supplyDue = setTimeout(start, PATIENCE_MS);
  };
  const takeReader = (): Promise<Thread> | Thread => {
    const idle = idleReaders.pop();
    if (idle !== undefined) return idle.reader;
    return new Promise((resolve, reject) => {
      unserved.push({ resolve, reject });
      supply();
    });
  };
  const read = <T>(method: string, ...args: unknown[]): Promise<T> => {
    if (isClosed) return Promise.reject(new StoreUnavailable('the signal store is closed'));
    return admission.add(async () => {
      const reader = await takeReader();
      try {
        return (await reader.call(nextCall++, method, args)) as T;
      } finally {
        if (reader.isOver) {
          readers.delete(reader);
          supply();
        } else release(reader);
      }
    });
  };
  const readPage = async <T>(decode: (row: Row) => T, method: string, ...args: unknown[]): Promise<Page<T>> => {
    const [rows, next] = await read<RowPage>(method, ...args);
    const items = await decodeInTurns(rows, decode);
    return next === undefined ? { items } : { items, next };
  };

  /** Spans as JSON, in their order. While a piece is taken, the next are read. */
  async function* writtenSpans(places: SpanPlaces, first: SpansPiece, payloads: boolean): AsyncGenerator<Uint8Array> {
    const count = places.spans.length;
    const ask = (from: number, to: number) => {
      const piece = read<SpansPiece>('writeSpans', somePlaces(places, from, to), payloads);
      piece.catch(() => {}); // the reader that goes on meets it
      return { from, to, piece };
    };
    const pieces = payloads ? PIECES_AHEAD.withPayloads : PIECES_AHEAD.without;
    const ahead: ReturnType<typeof ask>[] = [];
    let [bytes, taken] = first;
    let asked = taken;
    for (;;) {
      const likely = Math.floor(ASKED_BYTES / Math.max(1, bytes.length / taken));
      while (ahead.length < pieces && asked < count) {
        const to = Math.min(asked + Math.max(1, Math.min(likely, PLACES_AT_ONCE)), count);
        ahead.push(ask(asked, to));
        asked = to;
      }
      yield bytes;
      const next = ahead.shift();
      if (next === undefined) return;
      [bytes, taken] = await next.piece;
      const end = next.from + taken;
      if (end < next.to) ahead.unshift(ask(end, next.to));
    }
  }

  const pending = new Set<Promise<unknown>>();
  /** The last fault of a write that no later write has disproved. Reads may go on: a full disk can still be read. */
  let writeFault: { readonly error: StoreUnavailable; readonly at: number } | undefined;
  /** Asks the writer, and remembers that it was asked: the store closes after the last answer. */
  const change = <T>(ask: () => Promise<T>): Promise<T> => {
    if (isClosed) return Promise.reject(new StoreUnavailable('the signal store is closed'));
    const answer = ask();
    pending.add(answer);
    answer.then(
      () => {
        writeFault = undefined;
        return pending.delete(answer);
      },
      (error: unknown) => {
        if (error instanceof StoreUnavailable) writeFault = { error, at: performance.now() };
        return pending.delete(answer);
      },
    );
    return answer;
  };
  type Asked = readonly [written: Promise<WriteOutcome>, indexed: Promise<unknown> | undefined];
  /**
   * Asks both threads for their part of a unit, and numbers its spans: the threads hear of units in the order of these numbers, because
   * the index keeps one number up to which it is complete. The index first: a notice of the writer about these rows must find them there.
   */
  const ask = (id: number, { rows, search: texts }: EncodedPiece, isSearched: boolean, spans: number): Asked => {
    const firstSpan = nextSpan;
    nextSpan += spans;
    const indexed = isSearched ? reachSearch().call(id, 'index', [texts, firstSpan]) : undefined;
    return [writer.call(id, 'write', [rows, isSearched, firstSpan]) as Promise<WriteOutcome>, indexed];
  };
  // What waits for its commit holds no signal any more: each collection of the young generation would copy it again.
  const outcomeOf = async ([written, indexed]: Asked): Promise<WriteOutcome> => {
    if (indexed === undefined) return written;
    const [stored, searchable] = await Promise.allSettled([written, indexed]);
    if (stored.status === 'rejected') throw stored.reason;
    if (searchable.status === 'rejected') throw searchable.reason;
    return stored.value;
  };
  /**
   * Large units, one after the other: the commit of one takes long, and what came meanwhile comes before the next. So a small unit waits
   * for one large one at the most, however many there are.
   */
  const largeUnits = new PQueue({ concurrency: 1 });
  /** Hands a large unit to the threads in turns of the event loop, and has it written when it is its turn. */
  const writeLarge = async (
    first: EncodedPiece,
    rest: Iterator<EncodedPiece>,
    spans: number,
  ): Promise<WriteOutcome> => {
    const id = nextCall++;
    let isSearched = false;
    let last = first;
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      const { rows, search: texts } = last;
      if (texts.length > 0) {
        isSearched = true;
        reachSearch().tell(id, 'piece', [texts]);
      }
      writer.tell(id, 'piece', [rows]);
      await new Promise(setImmediate);
      last = next.value;
    }
    isSearched ||= last.search.length > 0;
    return largeUnits.add(() => outcomeOf(ask(id, last, isSearched, spans)));
  };
  const start = (unit: WriteUnit): Promise<WriteOutcome> => {
    const spans = unit.batch.spans.length;
    const pieces = encodeUnit(unit, nowUnixNano());
    const first = pieces.next().value as EncodedPiece;
    if (countSignals(unit.batch) > WHOLE_SIGNALS) return writeLarge(first, pieces, spans);
    return outcomeOf(ask(nextCall++, first, first.search.length > 0, spans));
  };
  const askWriter = <T>(method: string, ...args: unknown[]): Promise<T> =>
    change(() => writer.call(nextCall++, method, args) as Promise<T>);
  /** A unit that found the disk full is not sent to the threads before the writer has found room again. */
  const startWithRoom = async (unit: WriteUnit): Promise<WriteOutcome> => {
    await writer.call(nextCall++, 'writeTrivially', []);
    return start(unit);
  };

  return {
    ...sqliteEngine,

    write: (unit) => change(() => (isRefusing(roomFlag) ? startWithRoom(unit) : start(unit))),

    isWritten: (ingestKey) => read<boolean>('isWritten', ingestKey),

    listTraces: (query) => readPage(decodeTrace, 'listTraces', query),
    countFacets: (query) => read<FacetReport>('countFacets', query),
    findTrace: async (traceId, reach, payloads) => {
      const found = await read<[Row, Row[]] | undefined>('findTrace', traceId, reach, payloads);
      if (found === undefined) return undefined;
      const [trace, spans] = found;
      return { trace: decodeTrace(trace), spans: await decodeInTurns(spans, (row) => decodeSpan(row, payloads)) };
    },
    findSpan: async (traceId, spanId, reach) => {
      const row = await read<Row | undefined>('findSpan', traceId, spanId, reach);
      return row && decodeSpan(row, true);
    },
    listSpans: (query) => readPage((row) => decodeSpan(row, query.payloads), 'listSpans', query),
    readTrace: async (traceId, reach, payloads, expect) => {
      const open = (isExpected: boolean): Promise<OpenedTrace | number | undefined> =>
        read('openTrace', traceId, reach, payloads, isExpected);
      let opened = await open(false);
      const isLarge = typeof opened === 'number';
      if (typeof opened === 'number') {
        expect(opened);
        opened = await open(true);
      }
      if (typeof opened !== 'object') return undefined;
      const [trace, projects, places, bytes, first] = opened;
      if (!isLarge) expect(bytes);
      return { trace: decodeTrace(trace), projects, spans: writtenSpans(places, first, payloads) };
    },
    projectsOfTrace: (traceId, reach) => read<string[]>('projectsOfTrace', traceId, reach),
    readSpans: async (query, expect) => {
      const [places, bytes, first, next] = await read<[SpanPlaces, number, SpansPiece, Position | undefined]>(
        'openSpans',
        query,
      );
      expect(bytes);
      const spans = writtenSpans(places, first, query.payloads);
      return next === undefined ? { spans } : { spans, next };
    },
    deleteTraces: (traceIds, reach) =>
      askWriter<DeleteOutcome>('deleteTraces', traceIds, reach === 'all' ? null : reach),

    listLogs: (query) => readPage(decodeLog, 'listLogs', query),
    listMetricNames: (query) => readPage(decodeMetricName, 'listMetricNames', query),
    listMetricPoints: (query) => readPage(decodeMetricPoint, 'listMetricPoints', query),
    listScores: (query) => readPage(decodeScore, 'listScores', query),
    listFeedback: (traceId, paging) => readPage(decodeFeedback, 'listFeedback', traceId, paging),
    listAspectNotes: (query) => readPage(decodeNote, 'listAspectNotes', query),
    listRollUps: (query) => readPage(decodeRollUp, 'listRollUps', query),
    listProjects: (paging) => readPage(decodeProject, 'listProjects', paging),

    costReport: (query) => read<CostReport>('costReport', query),
    summaryReport: (query) => read<SummaryReport>('summaryReport', query),

    runTotals: (window) => read<RunTotals>('runTotals', window),
    latencyPercentile: (window, share) => read<LatencyPercentile>('latencyPercentile', window, share),
    scoreSample: (window, scorerId) => read<ScoreSample>('scoreSample', window, scorerId),

    appendAudit: (entries) => askWriter('audit', entries.map(encodeAudit)),
    listAudit: (query) => readPage(decodeAudit, 'listAudit', query),

    putDataset: async (dataset) => {
      const row = await askWriter<Row | undefined>('putDataset', encodeDataset(dataset));
      return row && decodeDataset(row);
    },
    listDatasets: (query) => readPage(decodeDataset, 'listDatasets', query),
    findDataset: async (reference, byId, byName) => {
      const row = await read<Row | undefined>('findDataset', reference, byId, byName);
      return row && decodeDataset(row);
    },
    deleteDataset: ({ project, datasetId }) => askWriter<DeleteOutcome>('deleteDataset', project, datasetId),
    putItems: ({ project, datasetId }, items) =>
      askWriter<ItemsOutcome>('putItems', project, datasetId, items.map(encodeItem)),
    findItem: async ({ project, datasetId }, itemId) => {
      const row = await read<Row | undefined>('findItem', project, datasetId, itemId);
      return row && decodeItem(row);
    },
    listItems: ({ project, datasetId }, paging) => readPage(decodeItem, 'listItems', project, datasetId, paging),
    deleteItem: ({ project, datasetId }, itemId) => askWriter<DeleteOutcome>('deleteItem', project, datasetId, itemId),
    findExpected: async (traceId, project) => {
      const text = await read<string | undefined>('findExpected', traceId, project);
      return text === undefined ? undefined : JSON.parse(text);
    },
    putExperiment: async (experiment) => ({
      ...experiment,
      createdAt: await askWriter<bigint>('putExperiment', encodeExperiment(experiment)),
    }),
    listExperiments: (query) => readPage(decodeExperiment, 'listExperiments', query),
    findExperiment: async (experimentId, reach) => {
      const row = await read<Row | undefined>('findExperiment', experimentId, reach);
      return row && decodeExperiment(row);
    },
    scoreStatistics: async (experimentId, projects) =>
      (await read<Row[]>('scoreStatistics', experimentId, projects)).map(decodeStatistic),

    putView: async (view) => {
      const createdAt = await askWriter<bigint | undefined>('putView', encodeView(view));
      if (createdAt === undefined) return undefined;
      const { userId: _named, ...stored } = view;
      return { ...stored, createdAt };
    },
    listViews: (query) => readPage(decodeView, 'listViews', query),
    findView: async (viewId, reach) => {
      const row = await read<Row | undefined>('findView', viewId, reach);
      return row && decodeView(row);
    },
    deleteView: (project, viewId) => askWriter<DeleteOutcome>('deleteView', project, viewId),
    deleteViewsOfUser: (userId, reach) =>
      askWriter<DeleteOutcome>('deleteViewsOfUser', userId, reach === 'all' ? null : reach),

    moving: {
      count: (kind) => read<number>('countHeld', kind),
      scan: (kind, paging) => readPage(decodeHeld[kind], 'scanHeld', kind, paging),
      restoreAudit: (entries) => askWriter('restoreAudit', entries.map(encodeAudit)),
      restoreIngestKeys: (keys) => askWriter('restoreIngestKeys', keys.map(encodeKey)),
    },

    trim: (project, before, limit) => askWriter<number>('trim', project, before, limit),
    trimRecords: (auditBefore, ingestKeysBefore) => askWriter('trimRecords', auditBefore, ingestKeysBefore),

    ping: async () => {
      await read('ping');
      if (writeFault !== undefined && performance.now() - writeFault.at < FAULT_LINGERS_MS) throw writeFault.error;
      if (writeFault === undefined && !isRefusing(roomFlag)) return;
      await askWriter('writeTrivially');
    },
    probe: () => askWriter<ProbeOutcome>('probe'),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(pending);
      await admission.onIdle();
      isEnding = true;
      clearTimeout(resting);
      clearTimeout(supplyDue);
      await supplying;
      await Promise.all(ending);
      await Promise.all([...readers].map(end));
      if (search === undefined) writerPort.close();
      else await end(search);
      await end(writer);
    },
  };
};
