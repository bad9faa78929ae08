/** Body of a thread that reads: one connection, one question at a time. */
import { workerData } from 'node:worker_threads';
import { openForReading } from '../connection.ts';
import { driverCode, needsReopening } from '../driver-error.ts';
import { errorInfo, mainPort, post, takeEach, whenIdle } from '../inbox.ts';
import { costReport, summaryReport } from './read-analytics.ts';
import {
  findDataset,
  findExpected,
  findExperiment,
  findItem,
  listDatasets,
  listExperiments,
  listItems,
  scoreStatistics,
} from './read-evaluation.ts';
import {
  listAspectNotes,
  listAudit,
  listFeedback,
  listLogs,
  listMetricNames,
  listMetricPoints,
  listProjects,
  listScores,
} from './read-records.ts';
import { countHeld, scanHeld } from './move.ts';
import { countFacets } from './read-facets.ts';
import { listRollUps } from './read-rollups.ts';
import { findSpan, findTrace, listSpans, openSpans, openTrace, projectsOfTrace } from './read-spans.ts';
import { writeSpans } from './span-json.ts';
import { listTraces } from './read-traces.ts';
import { latencyPercentile, runTotals, scoreSample } from './read-watch.ts';
import { findView, listViews } from './view-rows.ts';
import { SIGNALS_FILE } from './schema.ts';
import { attachSearch } from './search-file.ts';
import { statementsOf } from './statements.ts';
import { transactionsOf } from '../transaction.ts';
import type { Request } from '../messages.ts';
import type { ReaderOptions } from './wire.ts';

const { options } = workerData as { options: ReaderOptions };
const main = mainPort();

const methods = {
  isWritten: (statements: ReturnType<typeof statementsOf>, ingestKey: string) =>
    statements.pluck('SELECT 1 FROM ingest_keys WHERE ingest_key = ?').get(ingestKey) !== undefined,
  listTraces,
  countFacets,
  findTrace,
  findSpan,
  listSpans,
  projectsOfTrace,
  openTrace,
  openSpans,
  writeSpans,
  listLogs,
  listMetricNames,
  listMetricPoints,
  listScores,
  listFeedback,
  listAspectNotes,
  listRollUps,
  listProjects,
  costReport,
  summaryReport,
  runTotals,
  latencyPercentile,
  scoreSample,
  listAudit,
  listDatasets,
  findDataset,
  listItems,
  findItem,
  findExpected,
  listExperiments,
  findExperiment,
  scoreStatistics,
  listViews,
  findView,
  countHeld,
  scanHeld,
  ping: (statements: ReturnType<typeof statementsOf>) => {
    statements.pluck('SELECT 1 FROM schema_version').get();
  },
};

const answersInBytes: ReadonlySet<string> = new Set(['writeSpans', 'openTrace', 'openSpans']);

const connect = () => {
  const db = openForReading(options.path, options.cacheMiB);
  try {
    attachSearch(db, options.path);
    return { db, statements: statementsOf(db), transactions: transactionsOf(db) };
  } catch (error) {
    db.close();
    throw error;
  }
};

/** Opened again after a fault of the disk, when nobody knows what state it is in. */
let connection: ReturnType<typeof connect> | undefined;

const idle = whenIdle(() => {
  connection?.statements.blocks.clear();
  connection?.db.pragma('shrink_memory');
});

/** The bytes of written spans in an answer: they are handed over, not copied. */
const bytesIn = (value: unknown): ArrayBufferLike[] => {
  if (value instanceof Uint8Array) return [value.buffer];
  return Array.isArray(value)
    ? value.flatMap((part: unknown) => (Array.isArray(part) ? bytesIn(part[0]) : bytesIn(part)))
    : [];
};

const answer = ([id, method, ...args]: Request): void => {
  try {
    connection ??= connect();
    const { statements, transactions } = connection;
    const read = methods[method as keyof typeof methods] as (...args: unknown[]) => unknown;
    const value = transactions.read(() => read(statements, ...args));
    post(main, [[id, value]], answersInBytes.has(method) ? bytesIn(value) : []);
  } catch (error) {
    const code = driverCode(error);
    if (code !== undefined && needsReopening(code)) {
      try {
        connection?.db.close();
      } catch {
        // It is dropped whether or not it could be closed.
      }
      connection = undefined;
    }
    post(main, [[id, undefined, errorInfo(options.path, error, SIGNALS_FILE.store)]]);
  }
  idle.refresh();
};

try {
  connection = connect();
  takeEach(main, (request) => {
    if (request[1] !== 'close') {
      answer(request);
      return;
    }
    clearTimeout(idle);
    connection?.db.close();
    post(main, [[request[0], undefined]]);
    main.close();
  });
  post(main, [[0, undefined]]);
} catch (error) {
  post(main, [[0, undefined, errorInfo(options.path, error, SIGNALS_FILE.store)]]);
  main.close();
}
