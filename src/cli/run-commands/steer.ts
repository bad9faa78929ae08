import { setTimeout as wait } from 'node:timers/promises';
import type { components } from '../../model/generated/openapi.ts';
import { isRunId } from '../../model/ids.ts';
import { EXIT_RUN_FAILED } from '../exit-status.ts';
import { readJsonArgument } from '../json-argument.ts';
import { jsonText, printable, quoted } from '../printable.ts';
import { DaemonError, type SteeringClient } from '../daemon-client.ts';
import { misused, printed, type ShowIo, withDaemon } from '../with-daemon.ts';
import { type RunDetail, runText } from './detail.ts';

type Schemas = components['schemas'];

export type RunIo = ShowIo & { readonly input: AsyncIterable<Uint8Array | string> };

/** How long one call asks the service to hold the read of a run; it may answer sooner. */
const HELD_MS = 20_000;

export const notARun = (text: string): string => `${quoted(text)} is not the id of a run; svc runs lists them`;

export const runPath = (id: string): string => `/v1/api/runs/${encodeURIComponent(id)}`;

/** @returns 0, or 3 for a run that failed or was cancelled */
export const endStatus = ({ status }: Pick<RunDetail, 'status'>): number =>
  status === 'failed' || status === 'cancelled' ? EXIT_RUN_FAILED : 0;

const print = (io: RunIo, run: RunDetail): number =>
  printed(io, io.json ? `${jsonText(run, 2)}\n` : runText(run, io.moments()));

/** `svc runs <id>`: one run, where it stands and what happens next. @returns the exit status */
export const showRun = async (io: RunIo, id: string): Promise<number> => {
  if (!isRunId(id))
    return misused(
      io,
      `${quoted(id)} is neither the id of a run nor a command of svc runs (start, signal, pause, resume, restart, cancel, watch)`,
    );
  return withDaemon(io, async (client) => print(io, await client.get<RunDetail>(runPath(id))));
};

/** How often a service that is away is asked in a row, and what lies between: it may be starting again. */
export const patience = { failures: 60, betweenMs: 1000 } as const;

const awaitEnd = async (client: SteeringClient, id: string, betweenMs: number): Promise<RunDetail> => {
  let failures = 0;
  for (;;) {
    try {
      const run = await client.get<RunDetail>(runPath(id), { wait_ms: HELD_MS });
      if (run.ended_at !== undefined) return run;
      failures = 0;
    } catch (error) {
      if (!(error instanceof DaemonError) || !error.isBroken || failures >= patience.failures) throw error;
      failures += 1;
      await wait(betweenMs);
    }
  }
};

const DEFINITION = /^([a-z][a-z0-9_-]{0,63})(?:@(\d{1,9}))?$/;

/** `svc runs start`. @returns the exit status; with `wait`, 3 for a run that failed or was cancelled */
export const startRun = async (
  io: RunIo,
  definition: string,
  options: {
    /** JSON, `@` and a path, or `-`. */
    readonly input: string;
    readonly idempotencyKey?: string;
    readonly project?: string;
    readonly correlation: Readonly<Record<string, string>>;
    readonly wait: boolean;
    /** RFC 3339, or relative as +10m. */
    readonly startAt?: string;
    readonly priority?: number;
    /** What lies between two questions to a service that is away. */
    readonly betweenMs?: number;
  },
): Promise<number> => {
  const [, id, version] = DEFINITION.exec(definition) ?? [];
  if (id === undefined)
    return misused(io, `${quoted(definition)} is not the id of a definition, such as refund or refund@2`);
  const input = await readJsonArgument('--input', options.input, io.input);
  if (!input.ok) return misused(io, input.problem);
  const { idempotencyKey, project, correlation, startAt, priority, betweenMs = patience.betweenMs } = options;
  return withDaemon(io, async (client) => {
    const body: Schemas['NewRun'] = {
      definition_id: id,
      input: input.value,
      ...(version === undefined ? {} : { definition_version: Number(version) }),
      ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
      ...(project === undefined ? {} : { project }),
      ...(Object.keys(correlation).length === 0 ? {} : { correlation }),
      ...(startAt === undefined ? {} : { start_at: startAt }),
      ...(priority === undefined ? {} : { priority }),
    };
    const run = await client.post<Schemas['Run']>('/v1/api/runs', body).catch((error: unknown): never => {
      if (!(error instanceof DaemonError && error.code === 'not_found')) throw error;
      throw new DaemonError(`${error.message}: the worker that serves it brings it, so start that first`, {
        cause: error,
      });
    });
    if (options.wait) {
      if (!io.json) io.err(`svc: run ${printable(run.run_id)} is ${run.status}; waiting for its end`);
      const ended = await awaitEnd(client, run.run_id, betweenMs);
      print(io, ended);
      return endStatus(ended);
    }
    if (io.json) return printed(io, `${jsonText(run, 2)}\n`);
    return printed(
      io,
      `run ${printable(run.run_id)} of ${printable(run.definition_id)} version ${run.definition_version} is ${run.status}\n` +
        `${run.ended_at === undefined ? 'follow it: svc runs watch' : 'what came of it: svc runs'} ${printable(run.run_id)}\n`,
    );
  });
};

const outcomes: Record<Schemas['EventOutcome']['outcome'], string> = {
  delivered: 'delivered',
  parked: 'parked: no run waits for it; one that accepts parked events takes it within 24 hours',
  duplicate: 'a duplicate: an event of this id was seen before, and nothing changes',
};

const outcomeText = ({ outcome, run_id: id }: Schemas['EventOutcome']): string =>
  `${outcomes[outcome]}${id === undefined ? '' : `${outcome === 'delivered' ? ' to' : '; taken by'} run ${printable(id)}`}\n`;

type EventOptions = { readonly payload: string; readonly eventId?: string };

/** The payload of an event, which is an object. */
export const readPayload = async (io: RunIo, { payload }: Pick<EventOptions, 'payload'>) => {
  const read = await readJsonArgument('--payload', payload, io.input);
  if (!read.ok) return read;
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, problem: '--payload: must be a JSON object, such as {"approved": true}' } as const;
  return { ok: true, value } as const;
};

const sendEvent = async (io: RunIo, path: string, options: EventOptions, more: object): Promise<number> => {
  const payload = await readPayload(io, options);
  if (!payload.ok) return misused(io, payload.problem);
  return withDaemon(io, async (client) => {
    const outcome = await client.post<Schemas['EventOutcome']>(path, {
      ...more,
      payload: payload.value,
      ...(options.eventId === undefined ? {} : { event_id: options.eventId }),
    });
    return printed(io, io.json ? `${jsonText(outcome, 2)}\n` : outcomeText(outcome));
  });
};

/** `svc runs signal`: gives an event to one run's own wait. @returns the exit status */
export const signalRun = async (io: RunIo, id: string, event: string, options: EventOptions): Promise<number> =>
  isRunId(id) ? sendEvent(io, `${runPath(id)}/signal`, options, { event }) : misused(io, notARun(id));

/** `svc events publish`: gives an event to whichever run waits for it. @returns the exit status */
export const publishEvent = (
  io: RunIo,
  event: string,
  key: string,
  { project, ...options }: EventOptions & { readonly project?: string },
): Promise<number> =>
  sendEvent(io, '/v1/api/events', options, { event, key, ...(project === undefined ? {} : { project }) });

/** `svc runs pause` and `svc runs resume`. @returns the exit status */
export const changePause = async (
  io: RunIo,
  verb: 'pause' | 'resume',
  id: string,
  reason: string | undefined,
): Promise<number> => {
  if (!isRunId(id)) return misused(io, notARun(id));
  return withDaemon(io, async (client) => {
    const run = await client.post<Schemas['Run']>(`${runPath(id)}/${verb}`, reason === undefined ? {} : { reason });
    return printed(io, io.json ? `${jsonText(run, 2)}\n` : `run ${printable(run.run_id)} is ${run.status}\n`);
  });
};

/** `svc definitions pause` and `svc definitions resume`. @returns the exit status */
export const changeDefinitionPause = (
  io: RunIo,
  verb: 'pause' | 'resume',
  id: string,
  options: { readonly reason?: string; readonly project?: string },
): Promise<number> =>
  withDaemon(io, async (client) => {
    const path = `/v1/api/definitions/${encodeURIComponent(id)}/${verb}`;
    const state = await client.post<Schemas['DefinitionState']>(path, options);
    if (io.json) return printed(io, `${jsonText(state, 2)}\n`);
    const { moment } = io.moments();
    const now = state.pause === undefined ? 'is not paused' : `is paused since ${moment(state.pause.since)}`;
    return printed(io, `definition ${printable(state.id)} ${now}\n`);
  });

export type RestartOptions = {
  readonly fromStep?: string;
  readonly visit?: number;
  readonly definitionVersion?: number;
  /** JSON, `@` and a path, or `-`. */
  readonly input?: string;
  readonly statePatch?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
};

/** `svc runs restart`. @returns the exit status; with `wait`, 3 for a run that failed or was cancelled */
export const restartRun = async (io: RunIo, id: string, options: RestartOptions): Promise<number> => {
  if (!isRunId(id)) return misused(io, notARun(id));
  const { fromStep, visit, definitionVersion, idempotencyKey } = options;
  const given: Record<string, unknown> = {};
  for (const [flag, member, text] of [
    ['--input', 'input', options.input],
    ['--state-patch', 'state_patch', options.statePatch],
  ] as const) {
    if (text === undefined) continue;
    const read = await readJsonArgument(flag, text, io.input);
    if (!read.ok) return misused(io, read.problem);
    given[member] = read.value;
  }
  return withDaemon(io, async (client) => {
    const run = await client.post<Schemas['Run']>(`${runPath(id)}/restart`, {
      ...given,
      ...(fromStep === undefined ? {} : { from_step: fromStep }),
      ...(visit === undefined ? {} : { visit }),
      ...(definitionVersion === undefined ? {} : { definition_version: definitionVersion }),
      ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
    });
    if (options.wait === true) {
      const ended = await awaitEnd(client, run.run_id, patience.betweenMs);
      print(io, ended);
      return endStatus(ended);
    }
    if (io.json) return printed(io, `${jsonText(run, 2)}\n`);
    const { step_id: step, visit: made } = run.restarted_from ?? { step_id: run.cursor ?? '', visit: 1 };
    return printed(
      io,
      `run ${printable(run.run_id)} takes up run ${printable(id)} at step ${printable(step)}, visit ${made}, and is ${run.status}\n` +
        `follow it: svc runs watch ${printable(run.run_id)}\n`,
    );
  });
};

/** `svc runs cancel`. @returns the exit status */
export const cancelRun = async (io: RunIo, id: string, reason: string | undefined): Promise<number> => {
  if (!isRunId(id)) return misused(io, notARun(id));
  return withDaemon(io, async (client) => {
    const run = await client.post<Schemas['Run']>(`${runPath(id)}/cancel`, reason === undefined ? {} : { reason });
    if (io.json) return printed(io, `${jsonText(run, 2)}\n`);
    const { moment } = io.moments();
    const when = run.ended_at === undefined ? '' : `, ended ${moment(run.ended_at)}`;
    return printed(io, `run ${printable(run.run_id)} is ${run.status}${when}\n`);
  });
};
