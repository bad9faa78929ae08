import { type ReadsWith, readsWith } from '../../signals/reads-with.ts';
import type { SignalReads } from '../../signals/signal-store.ts';
import type { Ask, Database } from '../connection.ts';
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

const reads: Omit<ReadsWith<Ask>, 'listTraces' | 'countFacets'> = {
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

/** All that is asked of signals. */
export const signalReads = (database: Database): SignalReads =>
  readsWith(database.ask, {
    ...reads,
    // A search asks for the words of an index, which it names with its database.
    listTraces: (_, query) => listTraces(database, query),
    countFacets: (_, query) => countFacets(database, query),
  });
