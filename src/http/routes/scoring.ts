import { Refusal } from '../../model/failure.ts';
import { parseTimeParameter } from '../../model/time.ts';
import { builtInScorers } from '../../scoring/built-in.ts';
import type { Scoring } from '../../scoring/score-runs.ts';
import { scorerToWire, skippedToWire } from '../codec/evaluation.ts';
import { scoreToWire } from '../codec/judgement.ts';
import type { BodyOf } from '../contract/contract.ts';
import { checkTraceIds, projectToWrite } from './evaluation-scope.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** The part of a request's time that is reserved for the answer: a quarter, at most a second. */
const ANSWER_SHARE = 0.25;
const MAX_ANSWER_MS = 1_000;

export type ScoringRouteDeps = Pick<QueryDeps, 'defaultProject' | 'clock'> & {
  readonly scoring: Scoring;
  readonly requestTimeoutSeconds: number;
};

/** Scorers over stored runs. @see Interface specification, "Query API: traces, scores, feedback" */
export const scoringRoutes = ({ scoring, defaultProject, clock, requestTimeoutSeconds }: ScoringRouteDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/scorers',
    scope: 'read',
    operationId: 'listScorers',
    neverRefused: true,
    surface: 'query',
    handler: () => ({ scorers: builtInScorers.map(scorerToWire) }),
  },
  {
    method: 'POST',
    path: '/v1/api/score',
    scope: 'write',
    operationId: 'scoreRuns',
    surface: 'query',
    body: 'typed',
    audit: 'score_runs',
    handler: async (request) => {
      // The deadline ran while the body arrived, too; bodies are small, and the share that is kept covers them.
      const startedAt = performance.now();
      const body = request.body as BodyOf<'scoreRuns'>;
      if (body.project !== undefined) request.audit.projects = [body.project];
      const project = projectToWrite(request.caller, body.project, defaultProject);
      request.audit.projects = [project];
      if (body.trace_ids !== undefined) checkTraceIds(body.trace_ids, 'trace_ids');
      const from = body.from === undefined ? undefined : parseTimeParameter(body.from, clock());
      if (body.from !== undefined && from === undefined)
        throw new Refusal({
          code: 'invalid_parameter',
          message: '`from` must be an RFC 3339 time such as 2026-11-20T09:00:00Z, or a time before now such as -1d',
          field: 'from',
        });
      const wholeMs = requestTimeoutSeconds * 1000;
      const usableMs = wholeMs - Math.min(MAX_ANSWER_MS, wholeMs * ANSWER_SHARE);
      const report = await scoring.score({
        project,
        ...(body.trace_ids === undefined ? {} : { traceIds: body.trace_ids }),
        ...(from === undefined ? {} : { from }),
        ...(body.limit === undefined ? {} : { limit: body.limit }),
        ...(body.scorers === undefined ? {} : { scorers: body.scorers }),
        config: body.config ?? {},
        dryRun: body.dry_run ?? false,
        remainingMs: () => usableMs - (performance.now() - startedAt),
        signal: request.abandoned,
      });
      return {
        scores: mapLazily(report.scores, scoreToWire),
        scores_written: report.scoresWritten,
        skipped: mapLazily(report.skipped, skippedToWire),
        cut_short: report.isCutShort ? true : undefined,
      };
    },
  },
];
