import { createExportQueue, type ExportCounters, type ExportOptions } from './export-queue.ts';
import type {
  AuthorKind,
  JsonObject,
  CorrelationInput,
  CostInput,
  ScoreSource,
  Severity,
  SpanKind,
  Usage,
} from './generated/wire.ts';
import type { ContextBridge, Platform } from './platform.ts';
import { createVersionCheck } from './spec-version.ts';
import { readSettings, type Settings, type SettingsInput } from './settings.ts';
import type { Transport } from './transport.ts';

/** What code runs under: the span that new ones become children of. */
export type TraceContext = {
  readonly traceId: string;
  readonly spanId: string;
  readonly correlation: CorrelationInput;
  /** Called at the end of every model span below, and of any other that carries usage. */
  readonly onModelSpan?: (model: string | undefined, usage: Usage | undefined) => void;
};

export type SpanOptions = {
  readonly kind?: SpanKind;
  readonly input?: unknown;
  readonly model?: string;
  readonly provider?: string;
  /** The agent, tool or retriever that this is an operation of. */
  readonly entityName?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly correlation?: CorrelationInput;
  /** A W3C `traceparent` to continue; a malformed one starts a new trace. Absent: the span around the call. */
  readonly traceparent?: string;
};

/** A span that runs. Setters may be called until its end, in any order; none of them throws. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  /** The `traceparent` header for a service that continues this trace. */
  readonly traceparent: string;
  readonly setInput: (input: unknown) => void;
  readonly setOutput: (output: unknown) => void;
  readonly setModel: (model: string, provider?: string) => void;
  /** Tokens of this model call. On a step of a run, they are reported as the step's usage too. */
  readonly setUsage: (usage: Usage) => void;
  readonly setAttribute: (key: string, value: unknown) => void;
  readonly addEvent: (name: string, attributes?: Readonly<Record<string, unknown>>) => void;
  /** Marks the span as failed. */
  readonly setError: (error: unknown) => void;
  /** Ends the span, once; a second call does nothing. */
  readonly end: () => void;
};

export type ScoreInput = {
  readonly scorerId: string;
  readonly value: number;
  /** The scale is part of the score: without it a number says nothing. */
  readonly min: number;
  readonly max: number;
  /** Absent, with `spanId` absent too: the trace around the call. */
  readonly traceId?: string;
  readonly spanId?: string;
  readonly scorerVersion?: string;
  readonly label?: string;
  readonly reason?: string;
  readonly source?: ScoreSource;
  readonly scoreTraceId?: string;
  readonly cost?: CostInput;
  readonly experimentId?: string;
  readonly metadata?: JsonObject;
};

/** One point of a metric, counted since the point before it. Send few of them: a sum each some seconds, not each call. */
export type MetricInput = {
  readonly name: string;
  /** Of UCUM, as OpenTelemetry writes it: `ms`, `By`, `{token}`. */
  readonly unit?: string;
  readonly description?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Single measurements to look at, each with the span that it came from; absent: the span around the call. */
  readonly exemplars?: readonly {
    readonly value: number;
    readonly traceId?: string;
    readonly spanId?: string;
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
} & (
  | { readonly type: 'counter' | 'gauge'; readonly value: number }
  | {
      readonly type: 'histogram';
      /** Of all measurements. */
      readonly sum: number;
      /** How many there were; absent: as many as the buckets hold. */
      readonly count?: number;
      /** The upper bounds of all buckets but the last, rising. */
      readonly bounds: readonly number[];
      /** One more than there are bounds. */
      readonly bucketCounts: readonly number[];
    }
);

/** The numbers of a point, in wire spelling. @throws TypeError when they are none */
const valuesOf = (input: MetricInput): object => {
  if (input.type !== 'histogram') {
    if (!Number.isFinite(input.value)) throw new TypeError('not a number');
    return { value: input.value };
  }
  const { sum, bounds, bucketCounts } = input;
  const counted = bucketCounts.reduce((total, count) => total + count, 0);
  const areBuckets =
    bucketCounts.length === bounds.length + 1 &&
    bucketCounts.every((count) => Number.isSafeInteger(count) && count >= 0) &&
    bounds.every((bound, at) => Number.isFinite(bound) && bound > (bounds[at - 1] ?? Number.NEGATIVE_INFINITY));
  if (!areBuckets || !Number.isFinite(sum) || (input.count ?? counted) !== counted)
    throw new TypeError('not a histogram');
  return { sum, count: counted, bounds, bucket_counts: bucketCounts };
};

/** One sentence that a model wrote about a run. */
export type AspectNoteInput = {
  /** What the sentence is about: `tone`, `safety`. */
  readonly aspect: string;
  readonly text: string;
  /** Absent: the trace around the call. */
  readonly traceId?: string;
  readonly spanId?: string;
  /** The model that wrote it. */
  readonly model?: string;
};

export type FeedbackInput = {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly comment?: string;
  readonly authorKind?: AuthorKind;
  /** Stored exactly as sent: a pseudonymous id, never a name or an address. */
  readonly authorId?: string;
  readonly metadata?: JsonObject;
} & (
  | { readonly kind: 'thumbs'; readonly value: 'up' | 'down' }
  | { readonly kind: 'rating'; readonly value: number; readonly scaleMin: number; readonly scaleMax: number }
  | { readonly kind: 'correction' | 'tag' | 'comment'; readonly value: string }
);

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a `traceparent` header. @see W3C Trace Context, "traceparent Header" */
export const parseTraceparent = (header: string): { traceId: string; spanId: string } | undefined => {
  const match = TRACEPARENT.exec(header.trim());
  const [, version, traceId, spanId, , more] = match ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId };
};

/** The rule of the service, so that both keep the same traces: the low 56 bits of the id, as a fraction of 2^56. */
export const isSampled = (traceId: string, fraction: number): boolean =>
  fraction >= 1 || BigInt(`0x${traceId.slice(18)}`) < BigInt(Math.ceil(fraction * 2 ** 56));

/** RFC 3339 in UTC, of milliseconds since 1970. */
export const timestamp = (epochMs: number): string => {
  // Microseconds: a span shorter than a millisecond has a length.
  const whole = Math.floor(epochMs);
  const micros = Math.floor((epochMs - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
};

const errorOf = (error: unknown): JsonObject => {
  if (!(error instanceof Error))
    return { message: typeof error === 'string' ? error : 'an error that is not an Error' };
  return { message: error.message, type: error.name, ...(error.stack === undefined ? {} : { stack: error.stack }) };
};

export type InstrumentationOptions = SettingsInput &
  ExportOptions & {
    /** Another tracer that shares its context with this one. */
    readonly bridge?: ContextBridge;
    /** Called once, when the service has a data model of another major version; the console by default. */
    readonly onWarning?: (message: string) => void;
  };

/** Records on a platform. @see `createInstrumentation` of each platform */
export const createRecorder = (platform: Platform, options: InstrumentationOptions, shared?: Transport) => {
  const settings: Settings = readSettings(options, platform.env);
  const http = shared ?? platform.createTransport(settings);
  const newId = (bytes: number): string => {
    const id = platform.randomHex(bytes);
    return /^0+$/.test(id) ? newId(bytes) : id;
  };
  const warn = options.onWarning ?? ((message: string): void => console.warn(`svc: ${message}`));
  const version = createVersionCheck(http);
  let isWarned = false;
  /** What it cannot understand is the service's to refuse: signals go out all the same. */
  const checkVersion = (): void => {
    version.pass().catch((error: unknown) => {
      if (isWarned) return;
      isWarned = true;
      quietly(() => warn((error as Error).message));
    });
  };
  // A worker that lends its connections asks by itself.
  const queue = createExportQueue(http, options, {
    newKey: () => platform.randomHex(16),
    ...(shared === undefined ? { beforeBatch: checkVersion } : {}),
  });
  const storage = platform.createStorage<TraceContext>();
  const { bridge } = options;
  let invalid = 0;

  const baseCorrelation: CorrelationInput = {
    ...(settings.project === undefined ? {} : { project: settings.project }),
    ...(settings.environment === undefined ? {} : { environment: settings.environment }),
    ...(settings.serviceName === undefined ? {} : { service_name: settings.serviceName }),
    ...(settings.serviceVersion === undefined ? {} : { service_version: settings.serviceVersion }),
  };

  const isKept = (traceId: string): boolean => settings.enabled && isSampled(traceId, settings.sample);

  /** Runs code of ours that must not reach the caller, whatever happens in it. */
  const quietly = (record: () => void): void => {
    try {
      record();
    } catch {
      invalid += 1;
    }
  };

  /** Runs a function with a span around it, for the other tracer too; a fault of that one keeps the function from nothing. */
  const enter = <T>(context: TraceContext, body: () => T): T =>
    storage.run(context, () => {
      if (bridge === undefined) return body();
      const { traceId, spanId } = context;
      let isEntered = false;
      const entered = (): T => {
        isEntered = true;
        return body();
      };
      try {
        return bridge.run({ traceId, spanId, isKept: isKept(traceId) }, entered);
      } catch (error) {
        if (isEntered) throw error;
        invalid += 1;
        return body();
      }
    });
  /** The innermost span around the call: of the other tracer, whose spans can only lie within ours where it has one. */
  const current = (): { readonly traceId: string; readonly spanId: string } | undefined => {
    try {
      return bridge?.active() ?? storage.getStore();
    } catch {
      return storage.getStore();
    }
  };

  const startSpan = (name: string, span: SpanOptions = {}): Span & { readonly context: TraceContext } => {
    const around = storage.getStore();
    const parent = span.traceparent === undefined ? current() : parseTraceparent(span.traceparent);
    const traceId = parent?.traceId ?? newId(16);
    const spanId = newId(8);
    const startedAt = Date.now();
    const startedTick = performance.now();
    const correlation = { ...baseCorrelation, ...around?.correlation, ...span.correlation };
    const fields: Record<string, unknown> = {
      trace_id: traceId,
      span_id: spanId,
      ...(parent === undefined ? {} : { parent_span_id: parent.spanId }),
      name,
      kind: span.kind ?? 'generic',
      start_time: timestamp(startedAt),
      input: span.input,
      model: span.model,
      provider: span.provider,
      entity_name: span.entityName,
      correlation,
    };
    const attributes: Record<string, unknown> = { ...span.attributes };
    const events: unknown[] = [];
    let ended = false;
    const set = (key: string, value: unknown): void => {
      if (!ended) fields[key] = value;
    };
    return {
      traceId,
      spanId,
      traceparent: `00-${traceId}-${spanId}-${isKept(traceId) ? '01' : '00'}`,
      context: {
        traceId,
        spanId,
        correlation,
        ...(around?.onModelSpan === undefined ? {} : { onModelSpan: around.onModelSpan }),
      },
      setInput: (input) => set('input', input),
      setOutput: (output) => set('output', output),
      setModel: (model, provider) => {
        set('model', model);
        if (provider !== undefined) set('provider', provider);
      },
      setUsage: (usage) => set('usage', usage),
      setAttribute: (key, value) => {
        attributes[key] = value;
      },
      addEvent: (eventName, eventAttributes = {}) => {
        if (!ended) events.push({ name: eventName, time: timestamp(Date.now()), attributes: eventAttributes });
      },
      setError: (error) => {
        set('error', errorOf(error));
        set('status', 'error');
      },
      end: () => {
        if (ended) return;
        ended = true;
        quietly(() => {
          const usage = fields['usage'] as Usage | undefined;
          if (usage !== undefined || fields['kind'] === 'model_generation')
            around?.onModelSpan?.(fields['model'] as string | undefined, usage);
          if (!isKept(traceId)) return;
          queue.add('spans', {
            status: 'ok',
            ...fields,
            end_time: timestamp(startedAt + (performance.now() - startedTick)),
            ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
            ...(events.length === 0 ? {} : { events }),
          });
        });
      },
    };
  };

  /**
   * Runs a function under a span, and ends the span with it. An error of the function is recorded and goes on to the
   * caller as it is. Without an output set by hand, what the function returns is not recorded.
   */
  const span = async <T>(name: string, spanOptions: SpanOptions, body: (span: Span) => T | Promise<T>): Promise<T> => {
    const started = startSpan(name, spanOptions);
    try {
      return await enter(started.context, () => body(started));
    } catch (error) {
      started.setError(error);
      throw error;
    } finally {
      started.end();
    }
  };

  /** Where a signal without an address of its own belongs: to the span around the call. */
  const here = (given: { traceId?: string; spanId?: string }): { trace_id?: string; span_id?: string } => {
    if (given.traceId !== undefined || given.spanId !== undefined)
      return {
        ...(given.traceId === undefined ? {} : { trace_id: given.traceId }),
        ...(given.spanId === undefined ? {} : { span_id: given.spanId }),
      };
    const around = current();
    return around === undefined ? {} : { trace_id: around.traceId };
  };
  const correlationHere = (): CorrelationInput => ({ ...baseCorrelation, ...storage.getStore()?.correlation });

  const log = (
    severity: Severity,
    message: string,
    more: { logger?: string; attributes?: Readonly<Record<string, unknown>> } = {},
  ): void =>
    quietly(() => {
      const around = current();
      if (around === undefined ? !settings.enabled : !isKept(around.traceId)) return;
      queue.add('logs', {
        timestamp: timestamp(Date.now()),
        severity,
        message,
        logger: more.logger,
        attributes: more.attributes,
        ...(around === undefined ? {} : { trace_id: around.traceId, span_id: around.spanId }),
        correlation: correlationHere(),
      });
    });

  const metric = (input: MetricInput): void =>
    quietly(() => {
      if (!settings.enabled) return;
      const now = timestamp(Date.now());
      queue.add('metrics', {
        name: input.name,
        type: input.type,
        unit: input.unit,
        description: input.description,
        ...valuesOf(input),
        ...(input.type === 'gauge' ? {} : { temporality: 'delta' }),
        attributes: input.attributes,
        exemplars: input.exemplars?.map(({ value, attributes, ...place }) => {
          const around = place.traceId === undefined ? current() : place;
          return { value, timestamp: now, attributes, trace_id: around?.traceId, span_id: around?.spanId };
        }),
        timestamp: now,
        correlation: correlationHere(),
      });
    });

  /** Records a machine's evaluation of a trace or a span. */
  const score = (input: ScoreInput): void =>
    quietly(() => {
      if (!settings.enabled) return;
      const target = here(input);
      const onScale = [input.value, input.min, input.max].every(Number.isFinite) && input.min < input.max;
      if (!onScale || Object.keys(target).length === 0) throw new TypeError('not a score');
      queue.add('scores', {
        score_id: '',
        ...target,
        scorer_id: input.scorerId,
        scorer_version: input.scorerVersion,
        value: input.value,
        min: input.min,
        max: input.max,
        label: input.label,
        reason: input.reason,
        source: input.source ?? 'live',
        score_trace_id: input.scoreTraceId,
        cost: input.cost,
        experiment_id: input.experimentId,
        metadata: input.metadata,
        timestamp: timestamp(Date.now()),
        correlation: correlationHere(),
      });
    });

  /** Records a person's judgement. It is counted by kind and never averaged with anything. */
  const feedback = (input: FeedbackInput): void =>
    quietly(() => {
      if (!settings.enabled) return;
      const target = here(input);
      if (Object.keys(target).length === 0) throw new TypeError('feedback on nothing');
      const scale = input.kind === 'rating' ? { scale_min: input.scaleMin, scale_max: input.scaleMax } : undefined;
      queue.add('feedback', {
        feedback_id: '',
        ...target,
        kind: input.kind,
        value: input.value,
        comment: input.comment,
        author_kind: input.authorKind,
        author_id: input.authorId,
        metadata: scale === undefined ? input.metadata : { ...input.metadata, ...scale },
        timestamp: timestamp(Date.now()),
        correlation: correlationHere(),
      });
    });

  /** Records a sentence that a model wrote about the trace around the call, or the one named. */
  const aspectNote = (input: AspectNoteInput): void =>
    quietly(() => {
      if (!settings.enabled) return;
      const target = here(input);
      if (target.trace_id === undefined) throw new TypeError('a note on no trace');
      queue.add('aspect_notes', {
        ...target,
        aspect: input.aspect,
        text: input.text,
        model: input.model,
        timestamp: timestamp(Date.now()),
        correlation: correlationHere(),
      });
    });

  return {
    span,
    /** A span that its caller ends. What runs meanwhile does not become its child: `span` does that. */
    startSpan: (name: string, spanOptions: SpanOptions = {}): Span => startSpan(name, spanOptions),
    log,
    metric,
    score,
    feedback,
    aspectNote,
    /** The span around the call, as a `traceparent` header; absent outside of any. */
    traceparent: (): string | undefined => {
      const around = current();
      return around === undefined
        ? undefined
        : `00-${around.traceId}-${around.spanId}-${isKept(around.traceId) ? '01' : '00'}`;
    },
    /** Runs a function under a span that somebody else records: a step of a run, an incoming request. */
    under: enter,
    /** `invalid`: calls that gave something that is no signal, such as a score without a scale. */
    counters: (): ExportCounters & { invalid: number } => ({ ...queue.counters, invalid }),
    /** Settings that could not be used. */
    problems: settings.problems,
    /** Sends what is queued now. @returns whether it went out in time */
    flush: (timeoutMs?: number): Promise<boolean> =>
      settings.enabled ? queue.flush(timeoutMs) : Promise.resolve(true),
    /** Sends what is queued, then stops. */
    close: async (timeoutMs?: number): Promise<void> => {
      await queue.close(timeoutMs);
      if (shared === undefined) http.close();
    },
  };
};

export type Instrumentation = ReturnType<typeof createRecorder>;
