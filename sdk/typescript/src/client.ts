import { randomUUID } from 'node:crypto';
import { bulkBody, type BulkFilter, type BulkWork } from './bulk.ts';
import { readEvents } from './event-stream.ts';
import { ConnectionError, RunFailed, ServiceError } from './errors.ts';
import { parseExactly } from './exact-json.ts';
import type {
  CheckedDefinitions,
  Definition,
  EventOutcome,
  JournalEntry,
  Json,
  JsonObject,
  Run,
  RunCorrelation,
  RunDetail,
  StoredDefinitions,
} from './generated/wire.ts';
import { createHttp, type Http } from './http.ts';
import type { AnswerOf, BodyOf, CreatedBy, OperationId, QueryOf } from './operation.ts';
import { backoffMs, callerPolicy, isRetryable, pause, type RetryPolicy, withRetries } from './retry.ts';
import { isOver } from './run-status.ts';
import type { RunsQuery } from './runs-query.ts';
import { createVersionCheck } from './spec-version.ts';
import { scheduleBody, type ScheduleOptions } from './schedules.ts';
import { readSettings, type SettingsInput } from './settings.ts';
import type { HttpRequest, Query } from './transport.ts';
import type { Workflow } from './workflow.ts';

export type ClientOptions = SettingsInput & {
  /** Milliseconds for one try of one call. */
  readonly timeoutMs?: number;
  readonly retry?: RetryPolicy;
  /** A followed journal that is silent for so many milliseconds is taken for dead, and asked for anew; 50,000 by default. */
  readonly streamIdleMs?: number;
};

/** Absent: the project of the client's settings, or that of the key. */
type InProject = { readonly project?: string };
type OwnedQuery = InProject & { readonly limit?: number; readonly cursor?: string };

export type StartOptions = {
  readonly project?: string;
  /** Absent: the highest version that is stored. */
  readonly version?: number;
  /** The same key again gives the run that it started first. Absent: a new one, so that a retry of this call is safe. */
  readonly idempotencyKey?: string;
  readonly correlation?: RunCorrelation;
  /** How long the call waits for the end of the run, up to 60,000 ms; the run may still be open in its answer. */
  readonly waitMs?: number;
  /** When the run begins: RFC 3339, or from now, as `+10m`. Absent, or not ahead: at once. */
  readonly startAt?: string;
  /** From -100 to 100; steps of a higher priority are offered first. Absent: 0. */
  readonly priority?: number;
};

export type FollowOptions = {
  /** The last `seq` that was seen; -1, the default, for the start of the journal. */
  readonly after?: number;
  readonly signal?: AbortSignal;
};

/** The service writes a comment every 15 s; three of them missed, and the stream is dead. */
const DEFAULT_STREAM_IDLE_MS = 50_000;

/** A service that was there once may be away so long, for a restart or an upgrade, before a follower gives up. */
const STREAM_PATIENCE_MS = 5 * 60_000;

/** How long one call asks the service to wait for the end of a run; it may answer sooner. */
const END_WAIT_MS = 20_000;
/** A call that is not answered so long after its wait is over, is lost. */
const END_WAIT_SLACK_MS = 15_000;
/** Answered sooner than this, the call was not held: the next one waits a moment. */
const HELD_MS = 1000;

/** An id of our own where the caller gives none, so that a retry replaces what the lost try has stored. */
const named = <T extends object>(member: string, record: T): T => ({ [member]: randomUUID(), ...record });

const segment = (text: string): string => encodeURIComponent(text);

/**
 * Talks to the service on behalf of who starts, follows and steers runs. Every call is tried again on 429, on a 5xx that
 * says "later" and when there is no answer; that is safe, because starts and events carry a key of their own.
 *
 * Calls throw `ServiceError` when the service refuses, `ConnectionError` when it does not answer; what starts a run throws
 * `IncompatibleServer` when the service has another major version of the data model.
 * @throws TypeError when the endpoint is not an http or https URL
 */
export const createClient = (options: ClientOptions = {}) => {
  const settings = readSettings(options);
  if (settings.problems.length > 0) throw new TypeError(settings.problems.join('; '));
  const http: Http = createHttp(settings);
  const policy = options.retry ?? callerPolicy;
  const version = createVersionCheck(http);
  /** When the service last answered; absent while it never did. */
  let answeredAt: number | undefined;
  const answered = (): void => {
    answeredAt = performance.now();
  };
  const callOnce = async <T>(request: HttpRequest): Promise<T> => {
    const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
    const answer = await http.call<T>({ ...timeout, ...request });
    answered();
    return answer;
  };
  const call = <T>(request: HttpRequest, patience: RetryPolicy = policy): Promise<T> =>
    withRetries(patience, () => callOnce<T>(request), request.signal);
  const get = <O extends OperationId>(path: string, query?: Query, signal?: AbortSignal): Promise<AnswerOf<O>> =>
    call({ method: 'GET', path, ...(query === undefined ? {} : { query }), signal });
  const post = <O extends OperationId>(path: string, body: BodyOf<O>, timeoutMs?: number): Promise<AnswerOf<O>> =>
    call({ method: 'POST', path, body, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  /** For what starts a run: a service that this library does not understand starts none. */
  const begin = async <O extends OperationId>(
    path: string,
    body: BodyOf<O>,
    timeoutMs?: number,
  ): Promise<AnswerOf<O>> => {
    await version.pass();
    return post<O>(path, body, timeoutMs);
  };

  const schedulePath = (id: string, verb = ''): string => `/v1/api/schedules/${segment(id)}${verb}`;
  const moveSchedule = (
    verb: 'pause' | 'resume' | 'trigger',
    id: string,
    { project = settings.project }: InProject,
  ): HttpRequest => ({ method: 'POST', path: schedulePath(id, `/${verb}`), query: { project } });
  const moveDefinition = <O extends 'pauseDefinition' | 'resumeDefinition'>(
    verb: 'pause' | 'resume',
    id: string,
    { project = settings.project, reason }: InProject & { readonly reason?: string },
  ): Promise<AnswerOf<O>> =>
    call({ method: 'POST', path: `/v1/api/definitions/${segment(id)}/${verb}`, body: { project, reason } });

  const definitionsBody = (
    definitions: readonly Definition[],
    { project = settings.project }: InProject,
  ): BodyOf<'storeDefinitions'> => ({ definitions, project });

  const getRun = (runId: string, signal?: AbortSignal): Promise<RunDetail> =>
    get<'getRun'>(`/v1/api/runs/${segment(runId)}`, undefined, signal);

  const journal = (
    runId: string,
    page: { after?: number; limit?: number; signal?: AbortSignal } = {},
  ): Promise<AnswerOf<'listRunEvents'>> =>
    get<'listRunEvents'>(
      `/v1/api/runs/${segment(runId)}/events`,
      { after: page.after, limit: page.limit },
      page.signal,
    );

  /** Entries of one connection. Ends when the service ends the stream; throws when it breaks. */
  async function* streamOnce(
    runId: string,
    after: number,
    signal: AbortSignal,
    onOpen: () => void,
  ): AsyncGenerator<JournalEntry> {
    const bytes = await http.stream({
      method: 'GET',
      path: `/v1/api/runs/${segment(runId)}/events`,
      accept: 'text/event-stream',
      ...(after < 0 ? {} : { headers: { 'last-event-id': String(after) } }),
      signal,
    });
    onOpen();
    for await (const event of readEvents(bytes, options.streamIdleMs ?? DEFAULT_STREAM_IDLE_MS)) {
      let entry: JournalEntry;
      try {
        entry = parseExactly(event.data) as JournalEntry;
      } catch (cause) {
        throw new ConnectionError('the journal stream holds something that is not JSON', { cause });
      }
      yield entry;
    }
  }

  /**
   * Follows the journal of a run: every entry once, in order, also across broken connections and restarts of the service.
   * Ends when the run has ended, or when the signal fires.
   */
  async function* watch(runId: string, follow: FollowOptions = {}): AsyncGenerator<JournalEntry> {
    const { signal } = follow;
    const stopped = (): boolean => signal?.aborted === true;
    let last = follow.after ?? -1;
    let failures = 0;
    /** When the service was last there, for whatever call; absent while it never was. */
    let thereAt = answeredAt;
    let isOpen = false;
    const onOpen = (): void => {
      isOpen = true;
      answered();
    };
    while (!stopped()) {
      const connection = new AbortController();
      const hangUp = (): void => connection.abort();
      signal?.addEventListener('abort', hangUp, { once: true });
      try {
        for await (const entry of streamOnce(runId, last, connection.signal, onOpen)) {
          failures = 0;
          if (entry.seq <= last) continue;
          last = entry.seq;
          yield entry;
          if (entry.kind === 'run.finished') return;
        }
        // The stream ended in good order, and no end of the run was in it: either the service stops, or the end lies
        // before the point from which we were asked to follow. The run is read before its journal: when it had ended by
        // then, the journal holds all there is; the other way round, it could end between the two, and its end be missed.
        if (stopped()) return;
        const { status } = await getRun(runId, signal);
        const { events } = await journal(runId, { after: last, ...(signal === undefined ? {} : { signal }) });
        for (const entry of events) {
          last = entry.seq;
          yield entry;
          if (entry.kind === 'run.finished') return;
        }
        if (events.length === 0) {
          if (isOver(status)) return;
          await pause(backoffMs(policy, 1), signal);
        }
      } catch (error) {
        if (stopped()) return;
        if (!isRetryable(error)) throw error;
        failures += 1;
        // It was there until now, however long the run was silent.
        if (isOpen) thereAt = performance.now();
        isOpen = false;
        const patient = thereAt !== undefined && performance.now() - thereAt < STREAM_PATIENCE_MS;
        if (failures >= policy.attempts && !patient) throw error;
        await pause(backoffMs(policy, failures), signal);
      } finally {
        signal?.removeEventListener('abort', hangUp);
        connection.abort();
      }
    }
  }

  /** For a service that has answered before: a restart must not hide how a run ended. */
  const patient: RetryPolicy = { ...policy, attempts: Number.POSITIVE_INFINITY, forMs: STREAM_PATIENCE_MS };

  /** Asks for the end of a run, again and again; each call is held by the service. */
  const askForEnd = async (runId: string, signal: AbortSignal | undefined): Promise<RunDetail> => {
    for (let unheld = 0; ; ) {
      const askedAt = performance.now();
      const run = await call<RunDetail>(
        {
          method: 'GET',
          path: `/v1/api/runs/${segment(runId)}`,
          query: { wait_ms: END_WAIT_MS },
          timeoutMs: END_WAIT_MS + END_WAIT_SLACK_MS,
          signal,
        },
        answeredAt === undefined ? policy : patient,
      );
      if (isOver(run.status)) return run;
      unheld = performance.now() - askedAt < HELD_MS ? unheld + 1 : 0;
      if (unheld > 0) await pause(backoffMs(policy, unheld), signal);
      signal?.throwIfAborted();
    }
  };

  /** The end of a run on a service that does not hold a read: its journal is followed. */
  const followToEnd = async (runId: string, signal: AbortSignal | undefined): Promise<RunDetail> => {
    for await (const entry of watch(runId, signal === undefined ? {} : { signal }))
      if (entry.kind === 'run.finished') break;
    signal?.throwIfAborted();
    return call<RunDetail>({ method: 'GET', path: `/v1/api/runs/${segment(runId)}`, signal }, patient);
  };

  const isUnknownWait = (error: unknown): boolean =>
    error instanceof ServiceError && error.status === 400 && error.field === 'wait_ms';

  return {
    /**
     * Starts a run.
     * @param workflow the id of a definition, or the workflow that `defineWorkflow` gave
     * @returns the run as it was stored; with `waitMs` as it ended, or as it stood when that time was over
     */
    start: <Input>(workflow: string | Workflow<Input>, input: NoInfer<Input>, start: StartOptions = {}): Promise<Run> =>
      begin<'startRun'>(
        '/v1/api/runs',
        {
          definition_id: typeof workflow === 'string' ? workflow : workflow.definition.id,
          // Of the caller's own type; what JSON cannot say of it is not sent.
          input: input as Json,
          project: start.project ?? settings.project,
          definition_version: start.version,
          idempotency_key: start.idempotencyKey ?? randomUUID(),
          correlation: start.correlation,
          wait_ms: start.waitMs,
          start_at: start.startAt,
          priority: start.priority,
        },
        start.waitMs === undefined ? undefined : start.waitMs + END_WAIT_SLACK_MS,
      ),

    watch,

    /**
     * Waits for the end of a run.
     * @returns its output
     * @throws RunFailed, with the run, when it did not succeed; the reason of the signal when that fires first
     */
    wait: async <Output = Json>(runId: string, follow: { signal?: AbortSignal } = {}): Promise<Output> => {
      const { signal } = follow;
      let run: RunDetail;
      try {
        signal?.throwIfAborted();
        run = await askForEnd(runId, signal).catch((error: unknown) => {
          if (isUnknownWait(error)) return followToEnd(runId, signal);
          throw error;
        });
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
      if (run.status !== 'succeeded') throw new RunFailed(run);
      return run.output as Output;
    },

    /** Gives an event to one run's own open wait. @throws ServiceError `conflict` when it has none, `run_terminal` */
    signal: (
      runId: string,
      event: string,
      payload: JsonObject,
      more: { eventId?: string } = {},
    ): Promise<EventOutcome> =>
      post<'signalRun'>(`/v1/api/runs/${segment(runId)}/signal`, {
        event,
        payload,
        event_id: more.eventId ?? randomUUID(),
      }),

    /** Pauses a run and its children: what a worker holds goes on, and nothing new is offered or starts. */
    pause: (runId: string, reason?: string): Promise<Run> =>
      post<'pauseRun'>(`/v1/api/runs/${segment(runId)}/pause`, { reason }),

    /** Resumes a paused run: what fell due or came meanwhile acts at once. */
    resume: (runId: string, reason?: string): Promise<Run> =>
      post<'resumeRun'>(`/v1/api/runs/${segment(runId)}/resume`, { reason }),

    /** Ends a run and its children. A run that has ended is returned as it is. */
    cancel: (runId: string, reason?: string): Promise<Run> =>
      post<'cancelRun'>(`/v1/api/runs/${segment(runId)}/cancel`, { reason }),

    /**
     * Takes up an ended run at the step that failed, or at the one named, as a new run with the state and outputs of that moment.
     * The ended run stays as it is.
     */
    restart: (
      runId: string,
      options: {
        /** Absent: the step that failed. */
        fromStep?: string;
        /** Absent: the last visit of that step. */
        visit?: number;
        definitionVersion?: number;
        /** In place of the input of the ended run. */
        input?: Json;
        /** Top-level keys replace those of the state as it was then. */
        statePatch?: JsonObject;
        /** The same key again gives the run that is there. Absent: a new one, so that a retry of this call is safe. */
        idempotencyKey?: string;
      } = {},
    ): Promise<Run> =>
      begin<'restartRun'>(`/v1/api/runs/${segment(runId)}/restart`, {
        from_step: options.fromStep,
        visit: options.visit,
        definition_version: options.definitionVersion,
        input: options.input,
        state_patch: options.statePatch,
        idempotency_key: options.idempotencyKey ?? randomUUID(),
      }),

    /** Publishes an event to whichever run waits for it by name and key; it is held for 24 hours when none does. */
    publish: (event: {
      event: string;
      key: string;
      payload: JsonObject;
      project?: string;
      /** The same id again changes nothing. Absent: a new one, so that a retry of this call is safe. */
      eventId?: string;
    }): Promise<EventOutcome> =>
      post<'publishEvent'>('/v1/api/events', {
        project: event.project ?? settings.project,
        event: event.event,
        key: event.key,
        payload: event.payload,
        event_id: event.eventId ?? randomUUID(),
      }),

    getRun,
    journal,

    /** Runs, newest-updated first. */
    listRuns: (query: RunsQuery = {}): Promise<AnswerOf<'listRuns'>> =>
      get<'listRuns'>('/v1/api/runs', {
        project: query.project ?? settings.project,
        status: query.status,
        definition_id: query.definitionId,
        user_id: query.userId,
        session_id: query.sessionId,
        parent_run_id: query.parentRunId,
        restarted_from: query.restartedFrom,
        waiting_on: query.waitingOn,
        ...Object.fromEntries(
          Object.entries(query.correlation ?? {}).map(([name, value]) => [`correlation.${name}`, value]),
        ),
        from: query.from,
        to: query.to,
        limit: query.limit,
        cursor: query.cursor,
      }),

    /** Why a step was attempted: the journal entries that led to it, oldest last. */
    stepCause: (runId: string, stepId: string): Promise<AnswerOf<'getStepCause'>> =>
      get<'getStepCause'>(`/v1/api/runs/${segment(runId)}/steps/${segment(stepId)}/cause`),

    /**
     * Stores definitions without a worker, all or none. A run of them can be started before the first worker is there. They belong to the
     * project of the key (of a key of several, the one given or set), or to the service where the key is a top-level one.
     * @throws ServiceError `definition_invalid`, or `definition_conflict` where a version is stored with other content
     */
    storeDefinitions: (definitions: readonly Definition[], owner: InProject = {}): Promise<StoredDefinitions> =>
      call({ method: 'POST', path: '/v1/api/definitions', body: definitionsBody(definitions, owner) }),
    /** Stores nothing, and says of each definition what is wrong with it: all faults, not the first alone. */
    checkDefinitions: (definitions: readonly Definition[], owner: InProject = {}): Promise<CheckedDefinitions> =>
      call({
        method: 'POST',
        path: '/v1/api/definitions',
        query: { check: true },
        body: definitionsBody(definitions, owner),
      }),
    /** Those of the project, where one is given or set, and those of the service; without one, of all that the key reaches. */
    listDefinitions: (query: OwnedQuery = {}): Promise<AnswerOf<'listDefinitions'>> =>
      get<'listDefinitions'>('/v1/api/definitions', { project: settings.project, ...query }),
    /** The project's own where it owns one of that id, else the service's. */
    getDefinition: (id: string, { project = settings.project }: InProject = {}): Promise<AnswerOf<'getDefinition'>> =>
      get<'getDefinition'>(`/v1/api/definitions/${segment(id)}`, { project }),
    getDefinitionVersion: (
      id: string,
      version: number,
      { project = settings.project }: InProject = {},
    ): Promise<AnswerOf<'getDefinitionVersion'>> =>
      get<'getDefinitionVersion'>(`/v1/api/definitions/${segment(id)}/versions/${version}`, { project }),
    /** Pauses a definition in all its versions: starts stay queued, and no step of its runs is offered. */
    pauseDefinition: (
      id: string,
      options: InProject & { readonly reason?: string } = {},
    ): Promise<AnswerOf<'pauseDefinition'>> => moveDefinition<'pauseDefinition'>('pause', id, options),
    /** Resumes a paused definition: the runs that waited for it begin. Runs that were paused by name stay paused. */
    resumeDefinition: (
      id: string,
      options: InProject & { readonly reason?: string } = {},
    ): Promise<AnswerOf<'resumeDefinition'>> => moveDefinition<'resumeDefinition'>('resume', id, options),

    /** By project and id, without their inputs. */
    listSchedules: (query: OwnedQuery = {}): Promise<AnswerOf<'listSchedules'>> =>
      get<'listSchedules'>('/v1/api/schedules', { project: settings.project, ...query }),
    /** With its next ten times, and what became of the last ten. */
    getSchedule: (id: string, { project = settings.project }: InProject = {}): Promise<AnswerOf<'getSchedule'>> =>
      get<'getSchedule'>(schedulePath(id), { project }),
    /**
     * Makes a schedule. One that is there with the same content is the answer.
     * @throws ServiceError `conflict` where it is there with other content
     */
    createSchedule: (
      id: string,
      schedule: ScheduleOptions,
      { project = settings.project }: InProject = {},
    ): Promise<AnswerOf<'createSchedule'>> =>
      post<'createSchedule'>('/v1/api/schedules', { id, project, ...scheduleBody(schedule) }),
    /** Replaces all that a schedule was made of; what is left out gets its default. */
    replaceSchedule: (
      id: string,
      schedule: ScheduleOptions,
      { project = settings.project }: InProject = {},
    ): Promise<AnswerOf<'changeSchedule'>> =>
      call({ method: 'PUT', path: schedulePath(id), query: { project }, body: scheduleBody(schedule) }),
    /** Deletes a schedule; runs that it started go on. `not_found` also where an earlier try was not answered. */
    deleteSchedule: async (id: string, { project = settings.project }: InProject = {}): Promise<void> => {
      await call({ method: 'DELETE', path: schedulePath(id), query: { project } });
    },
    /** Its times are missed from now on; a trigger still works. */
    pauseSchedule: (id: string, options: InProject = {}): Promise<AnswerOf<'pauseSchedule'>> =>
      call(moveSchedule('pause', id, options)),
    /** Goes on; the times that were missed follow its `catchUp`. */
    resumeSchedule: (id: string, options: InProject = {}): Promise<AnswerOf<'resumeSchedule'>> =>
      call(moveSchedule('resume', id, options)),
    /** Fires once, now: the first of `firings` says what became of it. Not tried again, as a lost try may have started a run. */
    triggerSchedule: (id: string, options: InProject = {}): Promise<AnswerOf<'triggerSchedule'>> =>
      callOnce(moveSchedule('trigger', id, options)),

    /** How many runs match, and ten of them; nothing is begun. */
    countBulk: (work: BulkWork, filter: BulkFilter): Promise<AnswerOf<'startBulk'>> =>
      post<'startBulk'>('/v1/api/runs/bulk', bulkBody(work, filter, { dryRun: true, project: settings.project })),
    /**
     * Does something with all runs that match, in slices behind this call; without a `bulk_id` no run matched.
     * @param options.idempotencyKey The same key again gives the action that it began first, for as long as that is kept. Absent: a new
     * one, so that a retry of this call is safe.
     */
    startBulk: (
      work: BulkWork,
      filter: BulkFilter,
      { idempotencyKey = randomUUID() }: { readonly idempotencyKey?: string } = {},
    ): Promise<AnswerOf<'startBulk'>> =>
      post<'startBulk'>(
        '/v1/api/runs/bulk',
        bulkBody(work, filter, { dryRun: false, project: settings.project, idempotencyKey }),
      ),
    /** How far it is: `count`, `done`, `refused`. */
    getBulk: (bulkId: string): Promise<AnswerOf<'getBulk'>> => get<'getBulk'>(`/v1/api/runs/bulk/${segment(bulkId)}`),
    /** Ends it; what was done stays done. */
    stopBulk: (bulkId: string): Promise<AnswerOf<'stopBulk'>> =>
      call({ method: 'DELETE', path: `/v1/api/runs/bulk/${segment(bulkId)}` }),

    /** Those limited to the project, where one is given or set, and those limited to none. */
    listWorkers: (query: OwnedQuery = {}): Promise<AnswerOf<'listWorkers'>> =>
      get<'listWorkers'>('/v1/api/workers', { project: settings.project, ...query }),

    /** Events that no run has taken, newest first, without payloads. */
    listParkedEvents: (query: OwnedQuery = {}): Promise<AnswerOf<'listParkedEvents'>> =>
      get<'listParkedEvents'>('/v1/api/events', { project: settings.project, ...query }),

    /** Traces, newest first unless sorted otherwise; the filters are those of the interface, in its spelling. */
    listTraces: (query: QueryOf<'listTraces'> = {}): Promise<AnswerOf<'listTraces'>> =>
      get<'listTraces'>('/v1/api/traces', { project: settings.project, ...query }),
    /** A trace with its spans, and with its scores or feedback where they are asked for; `all` adds its logs, too. */
    getTrace: (
      traceId: string,
      { include = [] }: { readonly include?: readonly ('scores' | 'feedback' | 'all')[] } = {},
    ): Promise<AnswerOf<'getTrace'>> =>
      get<'getTrace'>(
        `/v1/api/traces/${segment(traceId)}`,
        include.length === 0 ? undefined : { include: include.join(',') },
      ),
    /** Newest first. */
    listScores: (query: QueryOf<'listScores'> = {}): Promise<AnswerOf<'listScores'>> =>
      get<'listScores'>('/v1/api/scores', { project: settings.project, ...query }),
    /** Records a score and answers with it as stored, unlike instrumentation, which sends it in the background. */
    createScore: (score: BodyOf<'createScore'>): Promise<CreatedBy<'createScore'>> =>
      call({ method: 'POST', path: '/v1/api/scores', body: named('score_id', score) }),
    /** The judgements on one trace and its spans, oldest first. */
    listFeedback: (query: QueryOf<'listFeedback'>): Promise<AnswerOf<'listFeedback'>> =>
      get<'listFeedback'>('/v1/api/feedback', { project: settings.project, ...query }),
    /** Records a person's judgement and answers with it as stored. */
    createFeedback: (feedback: BodyOf<'createFeedback'>): Promise<CreatedBy<'createFeedback'>> =>
      call({ method: 'POST', path: '/v1/api/feedback', body: named('feedback_id', feedback) }),

    /** Whether the service is well, and which version it is. Needs no key. */
    health: (): Promise<AnswerOf<'getHealth'>> => get<'getHealth'>('/healthz'),

    /** A read of the query API that has no method here: `read('/v1/api/sessions', { limit: 10 })`. */
    read: <T = JsonObject>(path: `/v1/api/${string}`, query?: Query): Promise<T> =>
      call<T>({ method: 'GET', path, ...(query === undefined ? {} : { query }) }),

    /** Lets go of the connections. */
    close: (): void => http.close(),
  };
};

export type Client = ReturnType<typeof createClient>;
