/** Body of a thread that reads: one connection, one question at a time. */
import { workerData } from 'node:worker_threads';
import { openForReading, searchPath } from './connection.ts';
import { errorInfo, IDLE_MS, mainPort, post } from './inbox.ts';
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
import { listRollUps } from './read-rollups.ts';
import { findSpan, findTrace, listSpans } from './read-spans.ts';
import { listTraces } from './read-traces.ts';
import { statementsOf } from './statements.ts';
import { transactionsOf } from './transaction.ts';
import type { ReaderOptions, Request } from './wire.ts';

const { options } = workerData as { options: ReaderOptions };
const main = mainPort();

const methods = {
  listTraces,
  findTrace,
  findSpan,
  listSpans,
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
  listAudit,
  listDatasets,
  findDataset,
  listItems,
  findItem,
  findExpected,
  listExperiments,
  findExperiment,
  scoreStatistics,
  ping: (statements: ReturnType<typeof statementsOf>) => {
    statements.pluck('SELECT 1 FROM schema_version').get();
  },
};
export type ReaderMethods = typeof methods;

try {
  const db = openForReading(options.path, options.cacheMiB);
  db.prepare('ATTACH ? AS search').run(searchPath(options.path));
  const statements = statementsOf(db);
  const transactions = transactionsOf(db);
  const idle = setTimeout(() => db.pragma('shrink_memory'), IDLE_MS);
  main.on('message', ([id, method, ...args]: Request) => {
    if (method === 'close') {
      clearTimeout(idle);
      db.close();
      post(main, [[id, undefined]]);
      main.close();
      return;
    }
    try {
      const read = methods[method as keyof typeof methods] as (...args: unknown[]) => unknown;
      const value = transactions.read(() => read(statements, ...args));
      post(main, [[id, value]]);
    } catch (error) {
      post(main, [[id, undefined, errorInfo(options.path, error)]]);
    }
    idle.refresh();
  });
  post(main, [[0, undefined]]);
} catch (error) {
  post(main, [[0, undefined, errorInfo(options.path, error)]]);
  main.close();
}
