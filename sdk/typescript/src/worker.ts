import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { ServiceError } from './errors.ts';
import type { ExportOptions } from './export-queue.ts';
import type { Lease, Registration } from './generated/wire.ts';
import { createHttp } from './http.ts';
import { createInstrumentation } from './instrumentation.ts';
import type { AnswerOf, BodyOf } from './operation.ts';
import type { ContextBridge } from './platform.ts';
import { backoffMs, isRetryable, pause, untilAnswered, withRetries } from './retry.ts';
import { isOver } from './run-status.ts';
import { type LeaseEnd, type Logger, serveLease } from './serve-lease.ts';
import { createVersionCheck } from './spec-version.ts';
import { createStandbyHeart } from './standby-heart.ts';
import { createStepCalls } from './step-calls.ts';
import { readSettings, type SettingsInput } from './settings.ts';
import type { StepBody, Workflow } from './workflow.ts';

export type WorkerOptions = SettingsInput & {
  /** What this worker serves. Several versions of one workflow may stand side by side through a deploy. */
  readonly workflows: readonly Workflow[];
  /** Bodies that may run at once; 10 by default. */
  readonly concurrency?: number;
  /** Unique among workers; made of host, process and a random part by default. */
  readonly workerId?: string;
  readonly name?: string;
  /** Version of the worker's code, shown beside it. */
  readonly version?: string;
  /** Serves this run only, and ends with it; to see an end that came by other hands, its key needs the scope `read`. */
  readonly runId?: string;
  /** How long a claim may wait for work; 20 s by default. The service may answer sooner. */
  readonly claimWaitMs?: number;
  /** How long bodies may go on after `stop`; 30 s by default. */
  readonly graceMs?: number;
  /** How long a body may take to end after its signal fired because of that; 5 s by default. */
  readonly settleMs?: number;
  /** Whether SIGTERM and SIGINT stop the worker; they do by default. */
  readonly stopOnSignals?: boolean;
  readonly logger?: Logger;
  readonly exporting?: ExportOptions;
  /** Another tracer that shares its context with the spans of bodies. */
  readonly bridge?: ContextBridge;
};

const consoleLogger: Logger = {
  info: (message) => console.info(`worker: ${message}`),
  warn: (message) => console.warn(`worker: ${message}`),
  error: (message) => console.error(`worker: ${message}`),
};

const DEFAULT_CONCURRENCY = 10;
/** What one claim may ask for, and what one worker may say of itself. @see spec/openapi.yaml, `Claim` and `NewWorker` */
const CLAIM_LIMIT = 1000;
const CONCURRENCY_LIMIT = 100_000;
const DEFAULT_CLAIM_WAIT_MS = 20_000;
const DEFAULT_GRACE_MS = 30_000;
const DEFAULT_SETTLE_MS = 5000;
/** A claim that is not answered so long after its wait is over, is lost. */
const CLAIM_SLACK_MS = 15_000;

/**
 * A refusal of the worker itself as plain text: where in this library it came up says nothing to its reader, and of a definition
 * each fault has its own line.
 */
const asText = (refusal: ServiceError): ServiceError => {
  const colon = refusal.message.indexOf(': ');
  const isList = refusal.code === 'definition_invalid' && colon !== -1;
  const message = isList
    ? `${refusal.message.slice(0, colon + 1)}\n  ${refusal.message.slice(colon + 2).replaceAll('; ', '\n  ')}`
    : refusal.message;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const { code, status, field, requestId, retryAfterMs } = refusal;
  const text = new ServiceError({ code, status, field, requestId, retryAfterMs, message });
  Error.stackTraceLimit = stackTraceLimit;
  Object.defineProperty(text, 'stack', {
    value: `${text.name}: ${text.code}: ${message}`,
    configurable: true,
    writable: true,
  });
  // Read as ever, and not printed once more beneath the text.
  for (const name of Object.keys(text)) Object.defineProperty(text, name, { enumerable: false });
  return text;
};

const keyOf = (id: string, version: number): string => `${id}@${version}`;

/**
 * A worker: registers its workflows, claims steps, runs their bodies, reports what came of them. It takes no more steps
 * than it has free slots.
 *
 * @example
 * await createWorker({ workflows: [refund] }).run();
 */
export const createWorker = (options: WorkerOptions) => {
  const settings = readSettings(options);
  if (settings.problems.length > 0) throw new TypeError(settings.problems.join('; '));
  const concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
  if (!(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= CONCURRENCY_LIMIT))
    throw new RangeError(`concurrency is a whole number from 1 to ${CONCURRENCY_LIMIT}, not ${concurrency}`);
  const workerId = options.workerId ?? `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const logger = options.logger ?? consoleLogger;
  const http = createHttp(settings);
  const instrumentation = createInstrumentation({ ...options, ...options.exporting }, http);

  const held = new Map<string, Workflow>();
  for (const workflow of options.workflows) {
    const key = keyOf(workflow.definition.id, workflow.definition.version);
    if (held.has(key)) throw new TypeError(`workflow ${key} is given twice`);
    held.set(key, workflow);
  }
  const bodyFor = (lease: Lease): StepBody | undefined => {
    const bodies = held.get(keyOf(lease.definition_id, lease.definition_version))?.bodies;
    return bodies !== undefined && Object.hasOwn(bodies, lease.step_id) ? bodies[lease.step_id] : undefined;
  };

  const stopping = new AbortController();
  const force = new AbortController();
  // One listener a running body, and each takes its own away.
  setMaxListeners(0, force.signal);
  const active = new Set<Promise<LeaseEnd>>();
  /** Lets the claims look again: a slot is free, or the worker stops. */
  let wakeClaims = (): void => {};
  stopping.signal.addEventListener('abort', () => wakeClaims());
  let ran: Promise<void> | undefined;

  const standby = createStandbyHeart({ workerId, service: settings, concurrency }, (reason) =>
    logger.warn(`no heartbeats while a body blocks its thread: ${reason}`),
  );
  let registered: Registration | undefined;
  const calls = createStepCalls({
    http,
    workerId,
    runId: options.runId,
    claims: () => registered !== undefined && !stopping.signal.aborted,
    // Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time that bodies have then.
    onLeases: (leases) => {
      if (registered !== undefined) for (const lease of leases) serve(registered, lease);
    },
  });

  const register = async (): Promise<Registration> => {
    // Asked anew each time: a service that was away may come back as another release.
    await createVersionCheck(http).pass(stopping.signal);
    const registration = await withRetries(
      untilAnswered,
      () =>
        http.call<AnswerOf<'registerWorker'>>({
          method: 'POST',
          path: '/v1/api/workers/register',
          body: {
            worker_id: workerId,
            definitions: options.workflows.map((workflow) => workflow.definition),
            name: options.name,
            version: options.version,
            project: settings.project,
            concurrency,
          } satisfies BodyOf<'registerWorker'>,
          signal: stopping.signal,
        }),
      stopping.signal,
    ).catch((error: unknown): never => {
      throw error instanceof ServiceError ? asText(error) : error;
    });
    const served = options.workflows.map(({ definition }) => keyOf(definition.id, definition.version)).join(', ');
    const project = settings.project === undefined ? '' : `, project ${settings.project}`;
    logger.info?.(
      `${workerId} is registered at ${new URL(settings.endpoint).origin}${project} and serves ${served}, up to ${concurrency} steps at once`,
    );
    standby.start({ heartbeatMs: registration.heartbeat_ms, leaseTtlMs: registration.lease_ttl_ms });
    registered = registration;
    return registration;
  };

  const serve = (registration: Registration, lease: Lease): void => {
    const host = {
      calls,
      workerId,
      heartbeatMs: registration.heartbeat_ms,
      leaseTtlMs: registration.lease_ttl_ms,
      hold: standby.hold,
      instrumentation,
      logger,
      force: force.signal,
      // The one run that this worker serves is over.
      onRunEnd: (runId: string) => {
        if (options.runId === runId) stopping.abort();
      },
      settleMs: options.settleMs ?? DEFAULT_SETTLE_MS,
    };
    const served = serveLease(host, lease, bodyFor(lease)).finally(() => {
      active.delete(served);
      wakeClaims();
    });
    active.add(served);
  };

  /**
   * A claim on a run that has ended, by a cancel for example, is answered as one that found nothing. A key that may serve
   * steps need not be one that may read runs: then the worker goes on until it is stopped.
   */
  const hasEnded = async (runId: string): Promise<boolean> => {
    try {
      const path = `/v1/api/runs/${encodeURIComponent(runId)}`;
      const { status } = await http.call<AnswerOf<'getRun'>>({ method: 'GET', path, signal: stopping.signal });
      return isOver(status);
    } catch (error) {
      if (error instanceof ServiceError && (error.status === 401 || error.status === 403)) return false;
      throw error;
    }
  };

  const claimLoop = async (): Promise<void> => {
    let registration = await register();
    let failures = 0;
    while (!stopping.signal.aborted) {
      if (active.size >= concurrency) {
        // Not a race between the bodies: each race would stay with a body that goes on, for as long as that one does.
        await new Promise<void>((resolve) => {
          wakeClaims = resolve;
        });
        continue;
      }
      const waitMs = options.claimWaitMs ?? DEFAULT_CLAIM_WAIT_MS;
      try {
        const { leases } = await http.call<AnswerOf<'claimSteps'>>({
          method: 'POST',
          path: '/v1/api/steps/claim',
          body: {
            worker_id: workerId,
            max: Math.min(CLAIM_LIMIT, concurrency - active.size),
            wait_ms: waitMs,
            run_id: options.runId,
          } satisfies BodyOf<'claimSteps'>,
          timeoutMs: waitMs + CLAIM_SLACK_MS,
          // Hanging up gives back what was on its way to us.
          signal: stopping.signal,
        });
        failures = 0;
        for (const lease of leases) serve(registration, lease);
        if (leases.length === 0 && options.runId !== undefined && (await hasEnded(options.runId))) return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        // With one run to serve, it may be the run that is not there.
        const forgotten =
          error instanceof ServiceError &&
          error.status === 404 &&
          (options.runId === undefined || error.field === 'worker_id');
        if (!forgotten && !isRetryable(error)) throw error;
        failures += 1;
        if (failures === 3) logger.warn(`the service does not answer claims: ${(error as Error).message}`);
        const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
        await pause(Math.max(asked, backoffMs(untilAnswered, failures)), stopping.signal);
        // A service that was away may be another one, with an older file.
        if (!stopping.signal.aborted) registration = await register();
      }
    }
  };

  const runOnce = async (): Promise<void> => {
    const onSignal = (): void => void stop();
    const signals = options.stopOnSignals === false ? [] : (['SIGTERM', 'SIGINT'] as const);
    for (const signal of signals) process.once(signal, onSignal);
    try {
      await claimLoop();
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    } finally {
      stopping.abort();
      const graceMs = options.graceMs ?? DEFAULT_GRACE_MS;
      const settleMs = options.settleMs ?? DEFAULT_SETTLE_MS;
      const grace = setTimeout(() => force.abort(), graceMs);
      // Twice: once for the bodies, once for the reports of those that did end. Then calls on their way are cut.
      const cut = setTimeout(() => http.close(), graceMs + 2 * settleMs);
      // What ends may bring more.
      while (active.size > 0) await Promise.all(active);
      clearTimeout(grace);
      clearTimeout(cut);
      for (const signal of signals) process.off(signal, onSignal);
      standby.stop();
      await instrumentation.close();
      http.close();
    }
  };

  /**
   * Serves until `stop`, a signal, or the end of its one run.
   * @throws ServiceError when the service refuses the worker itself: a bad key, a bad definition, a `definition_conflict`;
   * IncompatibleServer when it has another major version of the data model
   */
  const run = (): Promise<void> => {
    ran ??= runOnce();
    return ran;
  };

  /** Claims nothing more, lets bodies finish for `graceMs`, then asks them to end. Resolves when all is over. */
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ran?.catch(() => {});
  };

  return {
    workerId,
    run,
    stop,
    /** Bodies that run now. */
    active: (): number => active.size,
    instrumentation,
  };
};

export type Worker = ReturnType<typeof createWorker>;
