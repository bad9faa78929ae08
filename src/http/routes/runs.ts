import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal, type Result } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { ownProject } from '../../model/scope.ts';
import { parseLaterTime, type UnixNano } from '../../model/time.ts';
import type { Paging, Window } from '../../store/signals/query.ts';
import { asksForStream } from '../answer/negotiation.ts';
import {
  attemptToWire,
  journalEntryToWire,
  outcomeToWire,
  parkedEventToWire,
  runDetailToWire,
  runSummaryToWire,
  runToWire,
  stalledRunToWire,
} from '../codec/run.ts';
import type { BodyOf, PathOf, QueryOf } from '../contract/contract.ts';
import { type StreamedEvent, streamEvents, type StreamTiming, streamTiming } from '../answer/event-stream.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { auditedProjects, given, LIST_BYTES, ROW_BYTES, pageBody, projectsOf, windowOf } from '../lists/listing.ts';
import { listRows } from '../lists/read-on.ts';
import type { Route } from '../route.ts';
import { holdMsOf, type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** Largest body that brings payloads: an input, an output, a patch, an event. */
export const RUN_BODY_BYTES = 4 * 1024 * 1024;

const NANOS_PER_MILLI = 1_000_000n;

/** A bound of a half-open window, for times that are whole milliseconds: the first that is not before it. */
export const boundMs = (at: UnixNano | undefined): number | undefined =>
  at === undefined ? undefined : Number((at > 0n ? at + NANOS_PER_MILLI - 1n : at) / NANOS_PER_MILLI);

const CORRELATION = 'correlation.';
/** The members of the correlation that a list of runs asks for; absent when it asks for none. */
const correlationOf = (
  query: QueryOf<'listRuns' | 'countWaitingRuns'>,
): [name: string, value: string][] | undefined => {
  const named = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    name.startsWith(CORRELATION) ? [[name.slice(CORRELATION.length), String(value)]] : [],
  );
  if (query.session_id !== undefined) named.push(['session_id', query.session_id]);
  return named.length === 0 ? undefined : named;
};

/** The filters of a list of runs, and of what is counted of it. */
const filtersOf = (query: QueryOf<'listRuns' | 'countWaitingRuns'>, window: Window) =>
  given({
    status: query.status,
    definitionId: query.definition_id,
    userId: query.user_id,
    parentRunId: query.parent_run_id,
    restartedFrom: query.restarted_from,
    correlation: correlationOf(query),
    from: boundMs(window.from),
    to: boundMs(window.to),
  });

async function* asEvents<T extends { readonly seq: number }>(
  pages: AsyncIterable<readonly T[]>,
  toWire: (entry: T) => object,
): AsyncGenerator<StreamedEvent[]> {
  for await (const page of pages) yield page.map((entry) => ({ id: entry.seq, data: toWire(entry) }));
}

/** Runs and the events that move them. @see Interface specification, "Query API: durable runs and events" */
export const runRoutes = (deps: RunsDeps, timing: StreamTiming = streamTiming): Route[] => {
  const { runs, streams, defaultProject, log } = deps;
  const holdMs = holdMsOf(deps);

  const ownerOf = (request: FastifyRequest): Promise<string | undefined> =>
    runs.projectOfRun((request.params as PathOf<'getRun'>).run);
  const noteOwner = async (request: FastifyRequest): Promise<void> => {
    const project = await ownerOf(request);
    if (project !== undefined) request.audit.projects = [project];
  };

  /** What a reader that connects again says it saw last. */
  const lastEventId = (request: FastifyRequest): number | undefined => {
    const header = request.headers['last-event-id'];
    if (header === undefined || header === '') return undefined;
    if (typeof header === 'string' && /^(?:-1|0|[1-9]\d{0,14})$/.test(header)) return Number(header);
    throw new Refusal({
      code: 'invalid_parameter',
      message: 'the header Last-Event-ID must be the `id` of an event of this stream, an integer from -1',
      field: 'Last-Event-ID',
    });
  };

  /** The value of a read of one run, whose project goes into the audit row, refused or not. @throws Refusal */
  const valueOfRead = async <T extends { readonly project: string }>(
    request: FastifyRequest,
    result: Result<T>,
  ): Promise<T> => {
    if (result.ok) request.audit.projects = [result.value.project];
    else await noteOwner(request);
    return valueOf(result);
  };

  /** Whether this is the last entry that the run will ever have. */
  const isItsEnd = async (request: FastifyRequest, runId: string, seq: number): Promise<boolean> => {
    const { reach } = request.caller;
    const { events } = await valueOfRead(request, await runs.journal({ runId, reach, after: seq - 1, limit: 1 }));
    return events[0]?.seq === seq && events[0].kind === 'run.finished';
  };

  const stream = async (request: FastifyRequest, reply: FastifyReply, runId: string, after: number): Promise<void> => {
    const over = new AbortController();
    const end = (): void => over.abort();
    const { reach, keyFingerprint, remoteAddress } = request.caller;
    const release = valueOf(streams.open(keyFingerprint ?? remoteAddress, end));
    try {
      const followed = await runs.followJournal({ runId, reach, after }, over.signal);
      const { pages } = await valueOfRead(request, followed);
      void streamEvents(request, reply, asEvents(pages, journalEntryToWire), end, log, timing).finally(release);
    } catch (error) {
      release();
      throw error;
    }
  };

  /** A call that moves one run, for a reason that may be given, and answers the run as it then stands. */
  const steer = (verb: 'cancel' | 'pause' | 'resume'): Route => ({
    method: 'POST',
    path: `/v1/api/runs/:run/${verb}`,
    scope: 'execute',
    operationId: `${verb}Run`,
    surface: 'runs',
    body: 'json',
    maxBodyBytes: RUN_BODY_BYTES,
    audit: `${verb}_run`,
    ownerOf,
    handler: async (request) => {
      const { run: runId } = request.params as PathOf<'cancelRun'>;
      const body = request.body as BodyOf<'cancelRun'> | undefined;
      const { reach } = request.caller;
      const moved = await runs[`${verb}Run`]({ runId, reach, ...given({ reason: body?.reason }) });
      return runToWire(await valueOfRead(request, moved));
    },
  });

  return [
    {
      method: 'POST',
      path: '/v1/api/runs',
      scope: 'execute',
      operationId: 'startRun',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      waits: true,
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'startRun'>;
        const { reach } = request.caller;
        const { run, created } = valueOf(
          await runs.startRun(
            {
              reach,
              project: body.project ?? ownProject(reach, defaultProject),
              definitionId: body.definition_id,
              input: body.input as JsonObject,
              waitMs: Math.min(body.wait_ms ?? 0, holdMs),
              ...given({
                startAt: body.start_at === undefined ? undefined : parseLaterTime(body.start_at),
                priority: body.priority,
                definitionVersion: body.definition_version,
                idempotencyKey: body.idempotency_key,
                correlation: body.correlation,
              }),
            },
            request.released,
          ),
        );
        reply.code(created ? 201 : 200);
        return runToWire(run);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs',
      scope: 'read',
      operationId: 'listRuns',
      surface: 'runs',
      audit: 'list_runs',
      handler: async (request) => {
        const query = request.query as QueryOf<'listRuns'>;
        const { paging, window, cursorAfter } = runListingOf(request, 'listRuns', deps);
        const page = valueOf(
          await runs.listRuns({
            ...paging,
            ...filtersOf(query, window),
            ...given({ waitingOn: query.waiting_on }),
          }),
        );
        return pageBody('runs', mapLazily(page.items, runSummaryToWire), cursorAfter(page));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/waiting',
      scope: 'read',
      operationId: 'countWaitingRuns',
      surface: 'runs',
      handler: async (request) => {
        const query = request.query as QueryOf<'countWaitingRuns'>;
        const reach = projectsOf(request.caller, query.project, defaultProject);
        const counts = valueOf(
          await runs.countWaitingRuns({ reach, ...filtersOf(query, windowOf(query, deps.clock())) }),
        );
        return {
          waiting: counts.map(({ waitingOn, count, isCapped }) => ({
            waiting_on: waitingOn,
            count,
            ...(isCapped ? { capped: true } : {}),
          })),
        };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/stalled',
      scope: 'read',
      operationId: 'listStalledRuns',
      surface: 'runs',
      audit: 'list_runs',
      handler: async (request) => {
        const { project, run_id: runId, limit = 50 } = request.query as QueryOf<'listStalledRuns'>;
        // A run that is named is found in any project that the key reaches.
        const reach =
          runId !== undefined && project === undefined
            ? request.caller.reach
            : projectsOf(request.caller, project, defaultProject);
        request.audit.projects = auditedProjects(reach);
        const { runs: stalled, isCut } = valueOf(await runs.listStalledRuns({ reach, limit, ...given({ runId }) }));
        return { runs: mapLazily(stalled, stalledRunToWire), ...(isCut ? { capped: true } : {}) };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/:run',
      scope: 'read',
      operationId: 'getRun',
      surface: 'runs',
      audit: 'get_run',
      ownerOf,
      waits: true,
      handler: async (request) => {
        const { run: runId } = request.params as PathOf<'getRun'>;
        const { wait_ms = 0 } = request.query as QueryOf<'getRun'>;
        const waitMs = Math.min(wait_ms, holdMs);
        const found = await runs.getRun({ runId, reach: request.caller.reach, waitMs }, request.released);
        const run = await valueOfRead(request, found);
        return { ...runDetailToWire(run), attempts: mapLazily(run.attempts, attemptToWire) };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/:run/events',
      scope: 'read',
      operationId: 'listRunEvents',
      surface: 'runs',
      audit: 'list_run_events',
      ownerOf,
      streams: true,
      handler: async (request, reply) => {
        const { run: runId } = request.params as PathOf<'listRunEvents'>;
        const { after = -1, limit = 50 } = request.query as QueryOf<'listRunEvents'>;
        if (asksForStream(request)) {
          // Goes before `after`, which an EventSource repeats as it stood in its URL.
          const seen = lastEventId(request);
          // The one answer after which an EventSource does not come back.
          if (seen !== undefined && (await isItsEnd(request, runId, seen))) return reply.code(204).send();
          await stream(request, reply, runId, seen ?? after);
          return reply;
        }
        const { reach } = request.caller;
        request.answer.expect(Math.min(limit * ROW_BYTES, LIST_BYTES));
        let nextAfter = after;
        const { rows } = await listRows(
          request,
          { limit },
          async ({ limit: most, maxBytes }: Pick<Paging, 'limit' | 'maxBytes'>) => {
            const asked = { runId, reach, after: nextAfter, limit: most, ...given({ maxBytes }) };
            const page = await valueOfRead(request, await runs.journal(asked));
            ({ nextAfter } = page);
            return { items: page.events, ...(page.isCut === true ? { next: [nextAfter] } : {}) };
          },
          journalEntryToWire,
        );
        return { events: rows, next_after: () => nextAfter };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/:run/steps/:step/cause',
      scope: 'read',
      operationId: 'getStepCause',
      surface: 'runs',
      audit: 'get_step_cause',
      ownerOf,
      handler: async (request) => {
        const { run: runId, step: stepId } = request.params as PathOf<'getStepCause'>;
        const { visit, attempt } = request.query as QueryOf<'getStepCause'>;
        await noteOwner(request);
        const cause = valueOf(
          await runs.stepCause({ runId, stepId, reach: request.caller.reach, ...given({ visit, attempt }) }),
        );
        return {
          attempt: cause.attempt && attemptToWire(cause.attempt),
          chain: mapLazily(cause.chain, journalEntryToWire),
        };
      },
    },
    steer('cancel'),
    steer('pause'),
    steer('resume'),
    {
      method: 'POST',
      path: '/v1/api/runs/:run/restart',
      scope: 'execute',
      operationId: 'restartRun',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      handler: async (request, reply) => {
        const { run: runId } = request.params as PathOf<'restartRun'>;
        const body = (request.body ?? {}) as BodyOf<'restartRun'>;
        const { run, created } = valueOf(
          await runs.restartRun({
            runId,
            reach: request.caller.reach,
            ...given({
              fromStep: body.from_step,
              visit: body.visit,
              definitionVersion: body.definition_version,
              input: body.input as Json | undefined,
              statePatch: body.state_patch as JsonObject | undefined,
              idempotencyKey: body.idempotency_key,
            }),
          }),
        );
        reply.code(created ? 201 : 200);
        return runToWire(run);
      },
    },
    {
      method: 'POST',
      path: '/v1/api/runs/:run/signal',
      scope: 'execute',
      operationId: 'signalRun',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      handler: async (request) => {
        const { run: runId } = request.params as PathOf<'signalRun'>;
        const body = request.body as BodyOf<'signalRun'>;
        return outcomeToWire(
          valueOf(
            await runs.signalRun({
              runId,
              reach: request.caller.reach,
              event: body.event,
              payload: body.payload as JsonObject,
              ...given({ eventId: body.event_id }),
            }),
          ),
        );
      },
    },
    {
      method: 'GET',
      path: '/v1/api/events',
      scope: 'execute',
      operationId: 'listParkedEvents',
      surface: 'runs',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listParkedEvents', deps);
        const page = valueOf(await runs.listParkedEvents(paging));
        return pageBody('events', mapLazily(page.items, parkedEventToWire), cursorAfter(page));
      },
    },
    {
      method: 'POST',
      path: '/v1/api/events',
      scope: 'execute',
      operationId: 'publishEvent',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'publishEvent'>;
        return outcomeToWire(
          valueOf(
            await runs.publishEvent({
              reach: request.caller.reach,
              project: body.project ?? ownProject(request.caller.reach, defaultProject),
              event: body.event,
              key: body.key,
              payload: body.payload as JsonObject,
              ...given({ eventId: body.event_id }),
            }),
          ),
        );
      },
    },
  ];
};
