import type { Pipeline } from '../ingest/pipeline.ts';
import { type Failure, Refusal } from '../model/failure.ts';
import { emptyBatch, type Score } from '../model/signal.ts';
import type { Correlation } from '../model/span.ts';
import type { UnixNano } from '../model/time.ts';
import type { Position, TraceSummary } from '../store/signals/query.ts';
import type { SignalStore } from '../store/signals/signal-store.ts';
import { findAnswer, findInput } from './answer.ts';
import { type BuiltInScorer, builtInScorers, defaultScorers, findBuiltIn, type RunUnderScore } from './built-in.ts';
import { createCompactList } from './compact-list.ts';
import { type PreparedConfig, prepareConfig } from './comparison.ts';
import { readScorerConfig } from './config.ts';
import { type Judge, NO_TIME_LEFT } from './judge.ts';
import { JUDGED_MAX, JUDGED_MIN } from './judge-reply.ts';
import { keepScoreId, offlineScoreId } from './score-id.ts';

export type ScoringDeps = {
  readonly store: Pick<SignalStore, 'listTraces' | 'findTrace' | 'findExpected' | 'listScores'>;
  readonly pipeline: Pick<Pipeline, 'write' | 'ingestScore'>;
  /** Absent where no judge is configured. */
  readonly judge?: Judge;
  readonly clock: () => UnixNano;
  /** The whole time that a request has. */
  readonly requestTimeoutSeconds: number;
};

export type ScoreRequest = {
  readonly project: string;
  /** Exactly these runs; else the newest `limit` of the project that started at `from` or after it. */
  readonly traceIds?: readonly string[];
  readonly from?: UnixNano;
  readonly limit?: number;
  /** Ids; else the deterministic ones that need no configuration. */
  readonly scorers?: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  /** Scores, and stores nothing. */
  readonly dryRun: boolean;
  /** Milliseconds until the answer must be on its way. */
  readonly remainingMs: () => number;
  readonly signal?: AbortSignal;
};

export type Skipped = { readonly traceId: string; readonly scorerId: string; readonly reason: string };

/** For every run and scorer, either a score or an entry of `skipped`. */
export type ScoreReport = {
  readonly scores: Iterable<Score>;
  readonly scoresWritten: number;
  readonly skipped: Iterable<Skipped>;
  /** True when the deadline came before all runs of the request had been looked up. */
  readonly isCutShort: boolean;
};

export type Scoring = {
  /** @throws Refusal `unknown_scorer`, `invalid_parameter`, `cap_exceeded` before anything is read; `overloaded`, `store_unavailable` */
  readonly score: (request: ScoreRequest) => Promise<ScoreReport>;
};

/** Runs of one request where it names no limit. */
const DEFAULT_RUNS = 1_000;
/** Runs loaded at once: payloads of no more than these are in memory together. */
const RUNS_AT_ONCE = 4;
const LISTED_AT_ONCE = 200;
/** Ids of scores read at once, of a run that was scored before. */
const SCORES_AT_ONCE = 1_000;
/** Deterministic scores in one write: an fsync serves that many, and the next runs are read meanwhile. */
const SCORES_A_WRITE = 500;

/** Why what judges success gives such a run no score. */
const CANCELLED = 'the run was cancelled: it neither succeeded nor failed';

const refuse = (failure: Failure): never => {
  throw new Refusal(failure);
};

/** A run to be scored: known to be stored when it was listed, only named when it was asked for. */
type Selected = { readonly traceId: string };

/** A run in memory, and the ids of the scores that a pass has given it before. */
type Loaded = RunUnderScore & { readonly scoreIds: readonly string[] };

/** What a score keeps of its run. Identities stay with the run: hashed there, they would be hashed again here. */
const correlationOf = (trace: TraceSummary): Correlation => ({
  project: trace.project,
  ...(trace.environment === undefined ? {} : { environment: trace.environment }),
  ...(trace.serviceName === undefined ? {} : { serviceName: trace.serviceName }),
  ...(trace.serviceVersion === undefined ? {} : { serviceVersion: trace.serviceVersion }),
  ...(trace.release === undefined ? {} : { release: trace.release }),
  ...(trace.runId === undefined ? {} : { runId: trace.runId }),
  ...(trace.experimentId === undefined ? {} : { experimentId: trace.experimentId }),
  ...(trace.tags.length === 0 ? {} : { tags: trace.tags }),
});

type ScorerIds = { readonly builtIn: readonly BuiltInScorer[]; readonly judged: readonly string[] };

const chooseScorers = (ids: readonly string[] | undefined, judge: Judge | undefined): ScorerIds => {
  if (ids === undefined) return { builtIn: defaultScorers, judged: [] };
  const builtIn: BuiltInScorer[] = [];
  const judged: string[] = [];
  for (const id of new Set(ids)) {
    const known = findBuiltIn(id);
    if (known !== undefined) builtIn.push(known);
    else if (judge?.criteria.includes(id) === true) judged.push(id);
    else {
      const criteria =
        judge === undefined
          ? 'no judge is configured (block `judge` of the config file), so there are no criteria'
          : `configured criteria: ${judge.criteria.join(', ')}`;
      refuse({
        code: 'unknown_scorer',
        message: `there is no scorer ${JSON.stringify(id.slice(0, 128))}; built-in: ${builtInScorers.map((scorer) => scorer.id).join(', ')}; ${criteria}`,
        field: 'scorers',
      });
    }
  }
  return { builtIn, judged };
};

/** Runs that a judged pass can hold: as if every call took the whole timeout. */
const judgedCap = (requestTimeoutSeconds: number, timeoutSeconds: number, judgedScorers: number): number =>
  Math.floor(requestTimeoutSeconds / (timeoutSeconds * judgedScorers));

/**
 * How many runs a request may score.
 * @throws Refusal `cap_exceeded`, naming the cap, when judged scorers are asked for more than fits
 */
const boundRuns = (request: ScoreRequest, judged: number, judge: Judge | undefined, requestTimeoutSeconds: number) => {
  const asked = request.traceIds?.length ?? request.limit;
  if (judged === 0 || judge === undefined) return asked ?? DEFAULT_RUNS;
  const cap = judgedCap(requestTimeoutSeconds, judge.timeoutSeconds, judged);
  if (cap < 1 || (asked !== undefined && asked > cap))
    refuse({
      code: 'cap_exceeded',
      message:
        `${asked === undefined ? 'a judged pass' : `${asked} runs`} with ${judged} judged ${judged === 1 ? 'scorer' : 'scorers'}: at most ${cap} ` +
        `${cap === 1 ? 'run fits' : 'runs fit'} into one request, because each model call may take ${judge.timeoutSeconds} s (judge.timeout_seconds) ` +
        `of its ${requestTimeoutSeconds} s (--request-timeout-seconds); ${cap < 1 ? 'name fewer scorers, or change one of the two' : 'name fewer runs or scorers, or change one of the two'}`,
      field: request.traceIds === undefined ? 'limit' : 'trace_ids',
    });
  return asked ?? cap;
};

/**
 * Makes the pass that scores stored runs.
 *
 * A few runs are in memory at a time, whatever the number of those asked for, and the rows of the answer are kept compressed until it
 * is written. Deterministic scores are written some hundreds at a time, judged ones one by one as the model answers, so that
 * what was paid for is kept.
 * @see Interface specification, "Query API: traces, scores, feedback", `POST /v1/api/score`
 */
export const createScoring = ({ store, pipeline, judge, clock, requestTimeoutSeconds }: ScoringDeps): Scoring => {
  async function* select(
    request: ScoreRequest,
    most: number,
    stop: () => boolean,
  ): AsyncGenerator<readonly Selected[]> {
    if (request.traceIds !== undefined) {
      const ids = [...new Set(request.traceIds)];
      for (let at = 0; at < ids.length; at += RUNS_AT_ONCE)
        yield ids.slice(at, at + RUNS_AT_ONCE).map((traceId) => ({ traceId }));
      return;
    }
    let after: Position | undefined;
    let left = most;
    while (left > 0 && !stop()) {
      const page = await store.listTraces({
        projects: [request.project],
        sort: 'start_time',
        order: 'desc',
        limit: Math.min(left, LISTED_AT_ONCE),
        ...(request.from === undefined ? {} : { from: request.from }),
        ...(after === undefined ? {} : { after }),
      });
      for (let at = 0; at < page.items.length; at += RUNS_AT_ONCE) yield page.items.slice(at, at + RUNS_AT_ONCE);
      left -= page.items.length;
      after = page.next;
      if (after === undefined) return;
    }
  }

  const listScoreIds = async ({ traceId, project, scores }: TraceSummary): Promise<readonly string[]> => {
    const ids: string[] = [];
    if (scores.length === 0) return ids;
    let after: Position | undefined;
    do {
      const page = await store.listScores({
        projects: [project],
        traceId,
        source: 'offline',
        limit: SCORES_AT_ONCE,
        ...(after === undefined ? {} : { after }),
      });
      ids.push(...page.items.map(({ scoreId }) => scoreId));
      after = page.next;
    } while (after !== undefined);
    return ids;
  };

  const load = async (
    traceId: string,
    project: string,
    { builtIn, judged }: ScorerIds,
    config: PreparedConfig,
  ): Promise<Loaded | undefined> => {
    const payloads = judged.length > 0 || builtIn.some(({ reads }) => reads === 'payloads');
    const detail = await store.findTrace(traceId, [project], payloads);
    if (detail === undefined) return undefined;
    const readsExpected = judged.length > 0 || builtIn.some((scorer) => scorer.readsExpected === true);
    const captured =
      readsExpected && config.expected === undefined ? await store.findExpected(traceId, project) : undefined;
    const answer = payloads ? findAnswer(detail) : undefined;
    return {
      ...detail,
      scoreIds: await listScoreIds(detail.trace),
      ...(answer === undefined ? {} : { answer }),
      ...(captured === undefined ? {} : { captured }),
    };
  };

  const scoreOf = (
    { trace, scoreIds }: Loaded,
    project: string,
    scorerId: string,
    scorerVersion: string,
    verdict: Pick<Score, 'value' | 'min' | 'max' | 'reason' | 'cost'>,
  ): Score => {
    const now = clock();
    return {
      scoreId: keepScoreId(offlineScoreId(project, trace.traceId, scorerId, scorerVersion, trace.startTime), scoreIds),
      traceId: trace.traceId,
      scorerId,
      scorerVersion,
      ...verdict,
      source: 'offline',
      timestamp: now,
      receivedAt: now,
      correlation: correlationOf(trace),
      ...(trace.experimentId === undefined ? {} : { experimentId: trace.experimentId }),
    };
  };

  return {
    score: async (request) => {
      const scorers = chooseScorers(request.scorers, judge);
      const read = readScorerConfig(request.config);
      if (!read.ok) return refuse(read.failure);
      const config = prepareConfig(read.value);
      const { project, dryRun } = request;
      const most = boundRuns(request, scorers.judged.length, judge, requestTimeoutSeconds);
      const ids = [...scorers.builtIn.map(({ id }) => id), ...scorers.judged];

      // Every run gives each scorer an entry in one of the two, so they are long where the runs are many.
      const scores = createCompactList<Score>();
      const skipped = createCompactList<Skipped>();
      let scoresWritten = 0;
      let isCutShort = false;
      const skip = (traceId: string, scorerIds: readonly string[], reason: string): void => {
        for (const scorerId of scorerIds) skipped.add({ traceId, scorerId, reason });
      };
      const isOver = (): boolean => request.remainingMs() <= 0 || request.signal?.aborted === true;

      let gathered: Score[] = [];
      let writing: Promise<void> = Promise.resolve();

      const write = async (made: readonly Score[]): Promise<void> => {
        const { refusals } = await pipeline.write({ ...emptyBatch, scores: made }, { quota: true, sample: false });
        const refused = new Map(refusals.map(({ index, message }) => [index, message]));
        for (const [index, score] of made.entries()) {
          const reason = refused.get(index);
          if (reason === undefined) {
            scores.add(score);
            scoresWritten++;
          } else skip(score.traceId ?? '', [score.scorerId], reason);
        }
      };

      /** Begins to write what was gathered, after the write before it; what the ceiling refuses is listed, the rest is stored. */
      const flush = async (): Promise<void> => {
        await writing;
        const made = gathered;
        gathered = [];
        if (dryRun) scores.add(...made);
        else if (made.length > 0) {
          writing = write(made);
          writing.catch(() => {}); // the next `await writing` throws it
        }
      };

      /** Writes one score, as soon as it is there. */
      const writeOne = async (score: Score): Promise<void> => {
        if (dryRun) {
          scores.add(score);
          return;
        }
        try {
          scores.add(await pipeline.ingestScore(score, [project]));
          scoresWritten++;
        } catch (error) {
          if (!(error instanceof Refusal) || error.failure.code !== 'over_quota') throw error;
          skip(score.traceId ?? '', [score.scorerId], error.failure.message);
        }
      };

      const judgeRun = async (run: Loaded): Promise<void> => {
        if (judge === undefined || scorers.judged.length === 0) return;
        const { trace, answer } = run;
        if (trace.isCancelled === true) {
          skip(trace.traceId, scorers.judged, CANCELLED);
          return;
        }
        if (answer === undefined || answer.text.trim() === '') {
          skip(trace.traceId, scorers.judged, 'the run has no answer');
          return;
        }
        const input = findInput(run);
        const expected = config.expected?.value ?? run.captured;
        for (const criterion of scorers.judged) {
          const verdict = await judge.ask(
            criterion,
            {
              answer: answer.text,
              ...(input === undefined ? {} : { input }),
              ...(expected === undefined ? {} : { expected }),
            },
            request.remainingMs(),
            request.signal,
          );
          if (verdict.kind === 'declined') skip(trace.traceId, [criterion], verdict.reason);
          else {
            const { kind: _, ...judged } = verdict;
            await writeOne(
              scoreOf(run, project, criterion, judge.model, { ...judged, min: JUDGED_MIN, max: JUDGED_MAX }),
            );
          }
        }
      };

      for await (const group of select(request, most, () => (isCutShort = isOver()))) {
        if (isOver()) {
          for (const { traceId } of group) skip(traceId, ids, NO_TIME_LEFT);
          continue;
        }
        const runs = await Promise.all(
          group.map(async ({ traceId }) => ({ traceId, run: await load(traceId, project, scorers, config) })),
        );
        for (const { traceId, run } of runs) {
          if (run === undefined) {
            skip(traceId, ids, `no run ${traceId} is stored in project ${JSON.stringify(project)}`);
            continue;
          }
          for (const scorer of scorers.builtIn) {
            if (run.trace.isCancelled === true && scorer.judgesSuccess === true) {
              skip(traceId, [scorer.id], CANCELLED);
              continue;
            }
            const verdict = scorer.score(run, config);
            if (verdict.kind === 'declined') skip(traceId, [scorer.id], verdict.reason);
            else {
              const { value, reason } = verdict;
              gathered.push(scoreOf(run, project, scorer.id, scorer.version, { value, reason, min: 0, max: 1 }));
            }
          }
        }
        if (scorers.judged.length === 0) {
          if (gathered.length >= SCORES_A_WRITE) await flush();
          continue;
        }
        await flush();
        await writing;
        for (const { run } of runs) if (run !== undefined) await judgeRun(run);
      }
      await flush();
      await writing;
      return { scores, scoresWritten, skipped, isCutShort };
    },
  };
};
