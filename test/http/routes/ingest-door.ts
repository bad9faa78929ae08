import { createAnswerRoom } from '../../../src/http/answer/answer-room.ts';
import pino from 'pino';
import { type ConfiguredKeys, createAuthenticator } from '../../../src/http/access/auth.ts';
import { createRefusalLog } from '../../../src/http/answer/refusal-log.ts';
import { refusalRoutes } from '../../../src/http/routes/refusals.ts';
import { ingestRoutes } from '../../../src/http/routes/ingest.ts';
import { operationsRoutes } from '../../../src/http/routes/operations.ts';
import { type Admission, createAdmission } from '../../../src/ingest/admission.ts';
import type { IngestLimits } from '../../../src/ingest/limits.ts';
import { createPipeline, type Pipeline, type PipelineOptions } from '../../../src/ingest/pipeline.ts';
import { createQuota, type QuotaPolicy } from '../../../src/ingest/quota.ts';
import type { RedactionSettings } from '../../../src/ingest/redact.ts';
import { createSampler, type SamplingPolicy } from '../../../src/ingest/sample.ts';
import { type Counters, createCounters } from '../../../src/model/counters.ts';
import type { Span } from '../../../src/model/span.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { sqliteEngine } from '../../../src/store/sqlite/signals/capabilities.ts';
import { createMemoryStore, type MemoryStore } from '../../memory-store.ts';
import { listeningApp } from '../listening-app.ts';

export type DoorOptions = {
  readonly limits?: Partial<IngestLimits>;
  readonly maxInflightBytes?: number;
  readonly keys?: ConfiguredKeys;
  readonly quota?: QuotaPolicy;
  readonly sampling?: SamplingPolicy;
  readonly redaction?: RedactionSettings;
  readonly decodeThread?: PipelineOptions['decodeThread'];
  readonly requestTimeoutSeconds?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly forward?: (spans: readonly Span[]) => void;
  /** Where signals go instead of memory. */
  readonly writeTo?: Pick<SignalStore, 'write' | 'isWritten'>;
};

export type Door = {
  readonly url: string;
  readonly store: MemoryStore;
  readonly counters: Counters;
  readonly pipeline: Pipeline;
  readonly heldBytes: () => number;
  /** The most that was held at any moment so far. */
  readonly mostHeldBytes: () => number;
  readonly logLines: readonly string[];
  readonly close: () => Promise<void>;
};

const defaultLimits: IngestLimits = {
  maxBodyBytes: 33_554_432,
  maxInflatedBytes: 4 * 33_554_432,
  maxSignals: 10_000,
};

/** Notes what is held after each byte that is let in: a peak between two looks would be missed. */
const watchPeak = (admission: Admission): { admission: Admission; mostHeldBytes: () => number } => {
  let most = 0;
  const enter: Admission['enter'] = (announcedBytes) => {
    const reservation = admission.enter(announcedBytes);
    return {
      ...reservation,
      hold: (bytes) => {
        reservation.hold(bytes);
        most = Math.max(most, admission.heldBytes());
      },
    };
  };
  return { admission: { ...admission, enter }, mostHeldBytes: () => most };
};

/** The real service over HTTP on a free port of the loopback address, with the ingest doors, health and a store in memory. */
export const openDoor = async (options: DoorOptions = {}): Promise<Door> => {
  const store = createMemoryStore();
  const counters = createCounters();
  const limits = { ...defaultLimits, ...options.limits };
  const { admission, mostHeldBytes } = watchPeak(createAdmission(options.maxInflightBytes ?? 256 * 1024 * 1024));
  const { now = Date.now } = options;
  const pipeline = createPipeline({
    store: options.writeTo ?? store,
    counters,
    limits,
    admission,
    defaultProject: 'default',
    sample: createSampler(options.sampling ?? { default: 1, projects: {} }),
    quota: createQuota(options.quota ?? { projects: {} }),
    finish: { redaction: options.redaction ?? {} },
    clock: () => BigInt(now()) * 1_000_000n,
    ...(options.forward === undefined ? {} : { forward: options.forward }),
    ...(options.decodeThread === undefined ? {} : { decodeThread: options.decodeThread }),
  });
  const logLines: string[] = [];
  const log = pino({}, { write: (line: string) => void logLines.push(line) });
  const refusals = createRefusalLog(() => BigInt(now()) * 1_000_000n);
  const { app, url } = await listeningApp({
    refusals,
    routes: [
      ...ingestRoutes({ pipeline, log, refusals }),
      ...refusalRoutes(refusals),
      ...operationsRoutes({
        counters,
        answers: createAnswerRoom(counters),
        probes: [],
        store: { kind: 'memory', capabilities: sqliteEngine.capabilities },
        version: '1',
        uptimeSeconds: () => 0,
      }),
    ],
    authenticator: createAuthenticator(options.keys ?? { topLevel: {} }),
    audit: { append: () => undefined, ready: async () => {}, flush: () => Promise.resolve() },
    counters,
    body: { limits, admission },
    log,
    options: { requestTimeoutSeconds: options.requestTimeoutSeconds ?? 30 },
  });
  return {
    url,
    store,
    counters,
    pipeline,
    heldBytes: admission.heldBytes,
    mostHeldBytes,
    logLines,
    close: async () => {
      await app.close();
      await pipeline.close();
    },
  };
};
