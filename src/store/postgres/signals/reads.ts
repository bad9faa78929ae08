import type { SignalStore } from '../../signals/signal-store.ts';
import type { Ask } from '../connection.ts';
import { costReport, summaryReport } from './read-analytics.ts';
import { countFacets } from './read-facets.ts';
import {
  listAspectNotes,
  listFeedback,
  listLogs,
  listMetricNames,
  listMetricPoints,
  listProjects,
  listScores,
} from './read-records.ts';
import { listRollUps } from './read-rollups.ts';
import { listSpans, readSpans, readTrace } from './read-spans.ts';
import { findSpan, findTrace, projectsOfTrace } from './read-trace.ts';
import { listTraces } from './read-traces.ts';
import { latencyPercentile, runTotals, scoreSample } from './read-watch.ts';

const reads = {
  listTraces,
  countFacets,
  findTrace,
  readTrace,
  projectsOfTrace,
  findSpan,
  listSpans,
  readSpans,
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
};
export type SignalReads = Pick<SignalStore, keyof typeof reads>;

/** All that is asked of signals. */
export const signalReads = (ask: Ask): SignalReads => ({
  listTraces: (query) => listTraces(ask, query),
  countFacets: (query) => countFacets(ask, query),
  findTrace: (traceId, reach, payloads) => findTrace(ask, traceId, reach, payloads),
  readTrace: (traceId, reach, payloads, expect) => readTrace(ask, traceId, reach, payloads, expect),
  projectsOfTrace: (traceId, reach) => projectsOfTrace(ask, traceId, reach),
  findSpan: (traceId, spanId, reach) => findSpan(ask, traceId, spanId, reach),
  listSpans: (query) => listSpans(ask, query),
  readSpans: (query, expect) => readSpans(ask, query, expect),
  listLogs: (query) => listLogs(ask, query),
  listMetricNames: (query) => listMetricNames(ask, query),
  listMetricPoints: (query) => listMetricPoints(ask, query),
  listScores: (query) => listScores(ask, query),
  listFeedback: (traceId, paging) => listFeedback(ask, traceId, paging),
  listAspectNotes: (query) => listAspectNotes(ask, query),
  listRollUps: (query) => listRollUps(ask, query),
  listProjects: (paging) => listProjects(ask, paging),
  costReport: (query) => costReport(ask, query),
  summaryReport: (query) => summaryReport(ask, query),
  runTotals: (window) => runTotals(ask, window),
  latencyPercentile: (window, share) => latencyPercentile(ask, window, share),
  scoreSample: (window, scorerId) => scoreSample(ask, window, scorerId),
});
