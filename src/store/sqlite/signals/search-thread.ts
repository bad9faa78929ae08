/** Body of the thread that owns the full-text side file. It follows the data file, and never runs ahead of it. */
import { existsSync, rmSync } from 'node:fs';
import { type MessagePort, workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { NICENESS, standBack } from '../../thread-priority.ts';
import { searchText } from '../../signals/search-text.ts';
import { openForReading, openForWriting } from '../connection.ts';
import { driverCode, isDiskFull } from '../driver-error.ts';
import { drain, errorInfo, mainPort, post, whenIdle } from '../inbox.ts';
import type { ErrorInfo, Request, Requests } from '../messages.ts';
import { isRefusing, isShortOfRoom, nameQuota } from '../room.ts';
import { type Transactions, transactionsOf } from '../transaction.ts';
import { DamagedPayloads } from './payload-block.ts';
import { MOST_CHARACTERS, payloadReaderOf } from './read-payloads.ts';
import { SIGNALS_FILE } from './schema.ts';
import { createSearchFile, progressOf, readProgress, type SearchProgress, searchPath } from './search-file.ts';
import { statementsOf } from './statements.ts';
import type { EraseWhen, SearchNotice, SearchOptions, SearchRow, WriterNotice } from './wire.ts';

/** Rows that are read from the data file at a time to bring the index up to it. */
const CATCH_UP_ROWS = 512;
/** Spans in one commit, but for one large unit: as many as the writer commits together. */
const GROUP_ROWS = 1_024;
/**
 * Spans of one erasure whose words may be cut out of the index, one by one. Of a larger one they are struck out, and their bytes go with
 * the next purge.
 */
const CUT_OUT_SPANS = 1_000;
/** Spans, and milliseconds, of one go; batches that wait are indexed in between. */
const CUT_OUT_STEP = { spans: 64, ms: 100 } as const;
/** Milliseconds of one go at text that nobody waits for: batches that wait are indexed in between. */
const STRIKE_OUT_MS = 50;
/** How long a purge stands aside when there is other work, in milliseconds. */
const BUSY_PAUSE_MS = 200;
/** Pages of the index that one step of a purge rewrites. */
const PURGE_PAGES = 500;
/** Faults in a row after which the thread gives up on its file. */
const FATAL_FAULTS = 3;

const { options, writerPort } = workerData as { options: SearchOptions; writerPort: MessagePort };
standBack(NICENESS.writesSignals);
const main = mainPort();
const file = searchPath(options.path);

type Index = {
  readonly db: Database.Database;
  readonly transactions: Transactions;
  readonly insert: Database.Statement;
  readonly remove: Database.Statement;
  readonly setProgress: Database.Statement;
  readonly setSecure: Database.Statement;
  readonly merge: Database.Statement;
  readonly removeAll: Database.Statement;
  readonly totalChanges: Database.Statement<[], number>;
  highWater: SearchProgress['highWater'];
  erasedSeq: SearchProgress['erasedSeq'];
  isPurgeDue: SearchProgress['isPurgeDue'];
  /** Whether the index cuts words out, as opposed to striking them out; unknown until it is set. */
  isSecure?: boolean;
};

const indexOf = (db: Database.Database): Index => {
  const { highWater, erasedSeq, isPurgeDue } = progressOf(db);
  return {
    db,
    transactions: transactionsOf(db),
    insert: db.prepare('INSERT INTO span_search (rowid, input, output) VALUES (?, ?, ?)'),
    remove: db.prepare(`INSERT INTO span_search (span_search, rowid, input, output) VALUES ('delete', ?, ?, ?)`),
    setProgress: db.prepare('UPDATE progress SET high_water = ?, erased_seq = ?, purge_due = ?'),
    setSecure: db.prepare(`INSERT INTO span_search (span_search, rank) VALUES ('secure-delete', ?)`),
    merge: db.prepare(`INSERT INTO span_search (span_search, rank) VALUES ('merge', ?)`),
    removeAll: db.prepare(`INSERT INTO span_search (span_search) VALUES ('delete-all')`),
    totalChanges: db.prepare<[], number>('SELECT total_changes()').pluck(),
    highWater,
    erasedSeq,
    isPurgeDue,
  };
};

const openIndex = (): Index => {
  if (readProgress(file, options.storeNumber) === undefined) createSearchFile(file, options.storeNumber);
  return indexOf(openForWriting(file, options.cacheMiB, SIGNALS_FILE));
};

/** What the index follows: a connection that reads the data file. */
const dataOf = (db: Database.Database) => ({
  db,
  transactions: transactionsOf(db),
  statements: statementsOf(db),
  erasuresAfter: db
    .prepare<[number, number], [seq: number, span: number]>(
      'SELECT seq, span FROM pending_erasures WHERE seq > ? ORDER BY seq LIMIT ?',
    )
    .raw(),
  countErasures: db
    .prepare<[number, number], number>('SELECT count(*) FROM (SELECT 1 FROM pending_erasures WHERE seq > ? LIMIT ?)')
    .pluck(),
});
type Data = ReturnType<typeof dataOf>;

let data: Data | undefined;
const reachData = (): Data => {
  data ??= dataOf(openForReading(options.path, 2));
  return data;
};

/** The last error of the data file: it says nothing about the index. */
let dataFault: unknown;
const fromData = <T>(read: (current: Data) => T): T => {
  try {
    return read(reachData());
  } catch (error) {
    dataFault = error;
    throw error;
  }
};

let index: Index | undefined;
/** True when the data file may hold rows beyond the index: they are read from there before anything else is indexed. */
let behind = !options.isWhole;
let faults = 0;

const reach = (): Index => {
  // The start may have found no room for it.
  if (index === undefined && !existsSync(file)) createSearchFile(file, options.storeNumber);
  index ??= indexOf(openForWriting(file, options.cacheMiB, SIGNALS_FILE));
  return index;
};

const indexed = (text: string | null): string | null => (text === null ? null : searchText(text));

const insertRows = (current: Index, rows: readonly SearchRow[]): void => {
  for (const [span, , input, output] of rows)
    if (span > current.highWater) current.insert.run(span, indexed(input), indexed(output));
};

/** Commits the open transaction together with what it changes of the progress. */
const saveProgress = (
  current: Index,
  { highWater = current.highWater, erasedSeq = current.erasedSeq, isPurgeDue = current.isPurgeDue },
): void => {
  current.setProgress.run(highWater, erasedSeq, isPurgeDue ? 1 : 0);
  current.transactions.commit();
  current.highWater = highWater;
  current.erasedSeq = erasedSeq;
  current.isPurgeDue = isPurgeDue;
};

const commitProgress = (current: Index, highWater: number): void => {
  saveProgress(current, { highWater });
  faults = 0;
  if (isShortOfRoom(file)) current.db.pragma('wal_checkpoint(TRUNCATE)');
};

/** Drops the open transaction and the connection; what was lost is read from the data file before the next rows. */
const fail = (thrown: unknown): ErrorInfo => {
  behind = true;
  const error = nameQuota(file, thrown);
  const code = driverCode(error);
  const attempt = (letGo: () => unknown): boolean => {
    try {
      letGo();
      return true;
    } catch {
      return false; // what could not be ended is dropped all the same
    }
  };
  const isWhole = attempt(() => index?.transactions.rollback());
  if (!isWhole || !isDiskFull(error)) {
    attempt(() => index?.db.close());
    attempt(() => data?.db.close());
    index = undefined;
    data = undefined;
  }
  const info = errorInfo(file, error, SIGNALS_FILE.store);
  // A damaged index is not worth saving: the next start makes another from the data file.
  const isDamage = code?.startsWith('SQLITE_CORRUPT') === true || code?.startsWith('SQLITE_NOTADB') === true;
  if (isDamage && thrown !== dataFault) {
    rmSync(file, { force: true });
    faults = FATAL_FAULTS;
  } else if (error instanceof DamagedPayloads) {
    // It is known of the data file, and is no reason to give it up.
  } else if (isDamage || code === undefined || (code.startsWith('SQLITE_IOERR') && !isDiskFull(error))) faults++;
  if (faults >= FATAL_FAULTS) post(main, { fatal: info.message });
  return info;
};

/**
 * Spans that are gone, in the order in which they went: so many at the most, and some MiB of text. Of one that was never indexed the
 * texts are not read.
 * @throws DamagedPayloads
 */
const erasuresAfter = (
  { erasedSeq, highWater }: SearchProgress,
  limit: number,
): [seq: number, span: number, texts?: [input: string | null, output: string | null]][] =>
  fromData(({ db, transactions, statements, erasuresAfter: after }) => {
    const read = () => {
      const payloads = payloadReaderOf(statements);
      const rows: ReturnType<typeof erasuresAfter> = [];
      let characters = 0;
      for (const [at, span] of after.all(erasedSeq, limit)) {
        if (span > highWater) {
          rows.push([at, span]);
          continue;
        }
        const [, input, output] = payloads.findTexts(span) ?? [0, null, null];
        rows.push([at, span, [input, output]]);
        characters += (input?.length ?? 0) + (output?.length ?? 0);
        if (characters >= MOST_CHARACTERS) break;
      }
      return rows;
    };
    return db.inTransaction ? read() : transactions.read(read);
  });

const setSecure = (current: Index, isSecure: boolean): void => {
  if (current.isSecure === isSecure) return;
  current.setSecure.run(isSecure ? 1n : 0n); // a number would be bound as a real, which the index refuses
  current.isSecure = isSecure;
};

/**
 * Lets go of the words of up to `limit` spans that are gone, the ones gone longest first.
 * @param ms how long it may take: it ends with the span that takes it over that
 * @throws DamagedPayloads when nobody can tell which words they are
 * @returns how many there were
 */
const eraseSome = (limit: number, isSecure: boolean, ms = Number.POSITIVE_INFINITY): number => {
  const current = reach();
  const rows = erasuresAfter(current, limit);
  if (rows.length === 0) return 0;
  setSecure(current, isSecure);
  current.transactions.begin();
  const from = performance.now();
  let [erased, erasedSeq, isStruckOut] = [0, current.erasedSeq, false];
  for (const [seq, span, texts] of rows) {
    if (texts !== undefined) {
      current.remove.run(span, indexed(texts[0]), indexed(texts[1]));
      isStruckOut ||= !isSecure;
    }
    erased += 1;
    erasedSeq = seq;
    if (performance.now() - from >= ms) break;
  }
  saveProgress(current, { erasedSeq, isPurgeDue: current.isPurgeDue || isStruckOut });
  hasStruckOut ||= isStruckOut;
  return erased;
};

/** Whether words were struck out since the last purge began: it does not take those out of the files. */
let hasStruckOut = false;
const strikeOut = (): void => {
  while (eraseSome(CATCH_UP_ROWS, false) > 0);
};

/** Empties the index: what the data file has is indexed anew. It is how words go that cannot be read any more. */
const beginAnew = (): void => {
  const current = reach();
  current.transactions.begin();
  current.removeAll.run();
  saveProgress(current, { highWater: 0, isPurgeDue: false });
  behind = true;
};

/** Indexes what the data file has beyond the index. One state of the data file tells both what is gone and what is new. */
const catchUp = (): void => {
  const current = reach();
  for (let isBehind = true; isBehind; )
    reachData().transactions.read(() => {
      try {
        strikeOut();
      } catch (error) {
        if (!(error instanceof DamagedPayloads)) throw error;
        beginAnew();
        strikeOut();
      }
      const rows = fromData(({ statements }) =>
        payloadReaderOf(statements).textsAfter(current.highWater, CATCH_UP_ROWS),
      );
      const last = rows.at(-1)?.[0];
      isBehind = last !== undefined;
      if (last === undefined) return;
      current.transactions.begin();
      insertRows(current, rows);
      commitProgress(current, last);
    });
  behind = false;
};

/**
 * On a full disk the index stays behind: what room there is serves deletes.
 * @throws an error with the code of a full disk
 */
const catchUpWithRoom = (): void => {
  if (isRefusing(options.roomFlag)) throw Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL' });
  catchUp();
};

const truncateLog = (): boolean => {
  const [result] = reach().db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
};

type Unit = { readonly id: number; readonly rows: SearchRow[] };
type Item = { readonly unit: Unit } | { readonly erase: EraseWhen } | { readonly close: number };

const queue: Item[] = [];
/** Units whose rows lie in the open transaction, until it is known how each ended. */
let group: Unit[] | undefined;
let groupError: ErrorInfo | undefined;
const endings = new Map<number, boolean>();

const answerGroup = (units: readonly Unit[], error: ErrorInfo | undefined): void => {
  for (const { id } of units) endings.delete(id);
  post(
    main,
    units.map(({ id }) => (error === undefined ? [id, undefined] : [id, undefined, error])),
  );
};

/** Indexes the rows of waiting units in a transaction that stays open: the data file commits first. */
const startGroup = (): void => {
  const units: Unit[] = [];
  let rows = 0;
  while (rows < GROUP_ROWS) {
    const next = queue[0];
    if (next === undefined || !('unit' in next)) break;
    const { unit } = next;
    if (units.length > 0 && unit.rows.length > GROUP_ROWS) break; // as the writer commits it: by itself
    queue.shift();
    units.push(unit);
    rows += unit.rows.length;
  }
  group = units;
  groupError = undefined;
  if (behind) return; // read from the data file, once it has them
  try {
    const current = reach();
    current.transactions.begin();
    for (const unit of units) insertRows(current, unit.rows);
  } catch (error) {
    groupError = fail(error);
  }
};

const finishGroup = (units: readonly Unit[]): void => {
  group = undefined;
  const allWritten = units.every(({ id }) => endings.get(id) === true);
  let error = groupError;
  try {
    if (error === undefined) {
      if (behind) catchUpWithRoom();
      else if (allWritten) {
        const current = reach();
        const last = units.at(-1)?.rows.at(-1)?.[0] ?? 0;
        commitProgress(current, Math.max(current.highWater, last));
      } else {
        // Some of it is not in the data file, or nobody knows: what is there is read from there.
        reach().transactions.rollback();
        behind = true;
        catchUpWithRoom();
      }
    }
  } catch (thrown) {
    error = fail(thrown);
  }
  answerGroup(units, error);
};

const tellWriter = (notice: SearchNotice): void => writerPort.postMessage(notice);

const isUrgent = (item: Item): boolean => 'erase' in item && item.erase === 'now';

/** What was cut out of the index since it last held nothing that is gone, and how long that took. */
let cutOut = { spans: 0, ms: 0 };
/** Cuts out some, where there are at most so many and all of them take no longer than they may. @returns whether it did */
const cutOutSome = (most: number): boolean => {
  const left = fromData(({ countErasures }) => countErasures.get(reach().erasedSeq, most + 1)) ?? 0;
  const expectedMs = cutOut.ms + (cutOut.spans === 0 ? 0 : left * (cutOut.ms / cutOut.spans));
  if (left === 0 || left > most || expectedMs > options.cutOutMs) return false;
  const from = performance.now();
  const spans = eraseSome(CUT_OUT_STEP.spans, true, CUT_OUT_STEP.ms);
  cutOut = { spans: cutOut.spans + spans, ms: cutOut.ms + performance.now() - from };
  return true;
};

const erase = (when: EraseWhen): void => {
  try {
    // An index that is behind holds none of the texts beyond it, so there is nothing of those to erase.
    if (behind && !isRefusing(options.roomFlag)) catchUp();
    // What is to go without a trace must not be struck out by an erasure that can wait and came in between.
    const isUrgentNow = when === 'now' || queue.some(isUrgent);
    // Spans that were sent again are cut out too when no unit waits: a purge for a handful of them would be a waste.
    const mayCutOut = isUrgentNow || (when === 'later' && !queue.some((item) => 'unit' in item));
    // Where a purge is due, it takes these words as well.
    if (mayCutOut && !reach().isPurgeDue && cutOutSome(isUrgentNow ? CUT_OUT_SPANS : CUT_OUT_STEP.spans)) {
      queue.push({ erase: when });
      return;
    }
    if (when === 'later' && eraseSome(CATCH_UP_ROWS, false, STRIKE_OUT_MS) > 0) {
      tellWriter(['erased', reach().erasedSeq, undefined]);
      queue.push({ erase: when });
      return;
    }
    strikeOut();
    cutOut = { spans: 0, ms: 0 };
    if (reach().isPurgeDue) planPurge();
    const isGone = when === 'now' ? truncateLog() && !reach().isPurgeDue : false;
    tellWriter(['erased', reach().erasedSeq, when === 'later' ? undefined : isGone]);
  } catch (error) {
    if (error instanceof DamagedPayloads && !isRefusing(options.roomFlag) && !behind) {
      beginAnew();
      queue.unshift({ erase: when });
      return;
    }
    fail(error);
    tellWriter(['erase_failed']);
  }
};

/**
 * Rewrites the index without the words that were struck out, a few pages at a time, while nothing else is to do.
 * @see SQLite FTS5 extension, "The 'merge' Command"
 */
const purge = (isStart: boolean): void => {
  try {
    const current = reach();
    if (group !== undefined || queue.length > 0) {
      purging = setTimeout(purge, BUSY_PAUSE_MS, isStart);
      return;
    }
    if (isStart) hasStruckOut = false;
    current.transactions.begin();
    const before = current.totalChanges.get() ?? 0;
    current.merge.run(BigInt(isStart ? -PURGE_PAGES : PURGE_PAGES));
    // Fewer than two changes: nothing was left to merge.
    const isOver = (current.totalChanges.get() ?? 0) - before < 2;
    saveProgress(current, { isPurgeDue: !isOver || hasStruckOut });
    if (!isOver) {
      purging = setTimeout(purge, 0, false);
      return;
    }
    purging = undefined;
    truncateLog();
    if (hasStruckOut) planPurge();
  } catch (error) {
    fail(error);
    purging = undefined;
    planPurge();
  }
};

let purging: NodeJS.Timeout | undefined;
/** A purge rewrites the whole index: erasures of some minutes share one. */
const planPurge = (): void => {
  purging ??= setTimeout(purge, options.purgeDelayMs, true);
};

const close = (id: number): void => {
  clearTimeout(purging);
  clearTimeout(idle);
  index?.db.close();
  data?.db.close();
  post(main, [[id, undefined]]);
  main.close();
  writerPort.close();
};

/** Rows of units whose last piece is on its way. */
const piecesOf = new Map<number, SearchRow[]>();

const takeRequest = ([id, method, ...args]: Request): void => {
  if (method === 'close') {
    queue.push({ close: id });
    return;
  }
  const rows = piecesOf.get(id) ?? [];
  const [more, firstSpan] = args as [SearchRow[], number];
  for (const row of more) rows.push(row);
  if (method === 'piece') piecesOf.set(id, rows);
  else {
    piecesOf.delete(id);
    for (const row of rows) row[0] += firstSpan;
    queue.push({ unit: { id, rows } });
  }
};
const takeRequests = (requests: Requests): void => requests.forEach(takeRequest);
const takeNotice = (notice: WriterNotice): void => {
  if (notice[0] === 'ended') {
    const [, units, written] = notice;
    for (const [i, id] of units.entries()) endings.set(id, written[i] === true);
  } else queue.push({ erase: notice[1] });
};

const takeAll = (): void => {
  // Rows before notices: a notice may concern rows that were posted before it.
  drain(main, takeRequests);
  drain(writerPort, takeNotice);
};

const idle = whenIdle(() => {
  data?.statements.blocks.clear();
  index?.db.pragma('shrink_memory');
  data?.db.pragma('shrink_memory');
  if (!behind || group !== undefined) return;
  // What a fault kept from the index is in the data file; it is not to wait for the next rows.
  try {
    catchUpWithRoom();
    tellWriter(['erased', reach().erasedSeq, undefined]);
    if (reach().isPurgeDue) planPurge();
  } catch (error) {
    fail(error);
    idle.refresh();
  }
});

const work = (): void => {
  takeAll();
  for (;;) {
    if (group !== undefined) {
      if (!group.every(({ id }) => endings.has(id))) break;
      finishGroup(group);
    } else {
      const next = queue[0];
      if (next === undefined) break;
      if ('unit' in next) startGroup();
      else {
        queue.shift();
        if ('close' in next) {
          close(next.close);
          return;
        }
        erase(next.erase);
      }
    }
    takeAll();
  }
  idle.refresh();
};

/** On a full disk the index is opened, or brought up to the data file, when there is room: searches find what it has. */
const start = (): void => {
  try {
    index = openIndex();
    if (behind) catchUpWithRoom();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    fail(error);
  }
  if (index?.isPurgeDue === true) planPurge();
  tellWriter(['erased', index?.erasedSeq ?? 0, undefined]);
};

try {
  start();
  main.on('message', (requests: Requests) => {
    takeRequests(requests);
    work();
  });
  writerPort.on('message', (notice: WriterNotice) => {
    drain(main, takeRequests);
    takeNotice(notice);
    work();
  });
  post(main, [[0, undefined]]);
} catch (error) {
  post(main, [[0, undefined, errorInfo(file, error, SIGNALS_FILE.store)]]);
  main.close();
  writerPort.close();
}
