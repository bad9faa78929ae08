import { randomBytes } from 'node:crypto';
import { afterAll } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

// The conformance tests know the service as a stranger does: a process, its log, and HTTP. Nothing of src/ is imported.

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads answers freely, and fails where they are not as it says
export type Json = any;
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string; readonly json: Json };
export type Client = ReturnType<typeof clientOf>;

type Body = string | Uint8Array<ArrayBuffer> | object;
const isRaw = (body: Body): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array;

// `afterAll` counts only while a file is collected; what a test itself starts is ended by this.
const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** An empty folder that is removed when the file that asked for it has run. */
export const aFolder = (): string => {
  const { path, remove } = temporaryFolder();
  cleanups.push(remove);
  return path;
};

/** Starts a daemon in a folder that may hold the files of another; it ends with the file that started it. */
export const daemonOn = async (
  folder: string,
  flags: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Daemon> => {
  const daemon = await startDaemon(folder, flags, env);
  cleanups.push(() => daemon.stop('SIGKILL'));
  return daemon;
};

/** Speaks to one daemon. A body that is an object is sent as JSON. */
export const clientOf = (url: string, headers: Record<string, string> = {}) => {
  const call = async (
    method: string,
    path: string,
    body?: Body,
    more: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers, ...more },
      ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = text !== '' && (response.headers.get('content-type')?.startsWith('application/json') ?? false);
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
  };
  return {
    url,
    call,
    get: (path: string, more?: Record<string, string>) => call('GET', path, undefined, more),
    post: (path: string, body: Body, more?: Record<string, string>) => call('POST', path, body, more),
    delete: (path: string, more?: Record<string, string>) => call('DELETE', path, undefined, more),
    /** The same daemon, with a key. */
    withKey: (key: string) => clientOf(url, { ...headers, authorization: `Bearer ${key}` }),
  };
};

/** Starts a daemon of its own in an empty folder; it ends with the file that started it. */
export const aDaemon = async (
  flags: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Client & { daemon: Daemon; folder: string }> => {
  const folder = aFolder();
  const daemon = await daemonOn(folder, flags, env);
  return { ...clientOf(daemon.url), daemon, folder };
};

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');
/** A marker that no other test sends. */
export const newWord = (prefix = 'w'): string => prefix + randomBytes(6).toString('hex');

/** Nanoseconds of now and a little more, as OTLP sends them. */
export const nowNano = (moreMs = 0): string => `${BigInt(Date.now() + moreMs) * 1_000_000n}`;
export const nowIso = (moreMs = 0): string => new Date(Date.now() + moreMs).toISOString();

/** One value of OTLP/JSON. */
export const otlpValue = (value: unknown): object => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(otlpValue) } };
  return { kvlistValue: { values: otlpAttributes(value as Record<string, unknown>) } };
};
export const otlpAttributes = (attributes: Record<string, unknown>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) }));

export type OtlpSpan = { traceId: string; spanId: string; [more: string]: unknown };

/** One span of OTLP/JSON, finished and with ids of its own unless the test says otherwise. */
export const otlpSpan = (attributes: Record<string, unknown> = {}, more: object = {}): OtlpSpan => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  name: 'step',
  startTimeUnixNano: nowNano(-20),
  endTimeUnixNano: nowNano(-10),
  attributes: otlpAttributes(attributes),
  ...more,
});

export const otlpTraces = (spans: readonly object[], resource: Record<string, unknown> = {}): Json => ({
  resourceSpans: [
    { resource: { attributes: otlpAttributes(resource) }, scopeSpans: [{ scope: { name: 's' }, spans }] },
  ],
});

/** Sends one span over OTLP/JSON and reads it back whole. */
export const roundTrip = async (
  client: Client,
  attributes: Record<string, unknown>,
  resource: Record<string, unknown> = {},
  more: object = {},
): Promise<Json> => {
  const span = otlpSpan(attributes, more);
  const sent = await client.post('/v1/traces', otlpTraces([span], resource));
  if (sent.status !== 200 || sent.json.partialSuccess.rejectedSpans !== 0) throw new Error(sent.text);
  const read = await client.get(`/v1/api/traces/${span.traceId}/spans/${span.spanId}`);
  if (read.status !== 200) throw new Error(read.text);
  return read.json.span;
};

/** A native span, finished and with ids of its own unless the test says otherwise. */
export const nativeSpan = (more: object = {}): { trace_id: string; span_id: string; [more: string]: unknown } => ({
  trace_id: newTraceId(),
  span_id: newSpanId(),
  name: 'step',
  status: 'ok',
  start_time: nowIso(-20),
  end_time: nowIso(-10),
  ...more,
});

/** Sends signals natively; all of them must be taken. */
export const ingest = async (client: Client, batch: object): Promise<Json> => {
  const sent = await client.post('/v1/ingest', batch);
  if (sent.status !== 200 || sent.json.rejected !== 0) throw new Error(sent.text);
  return sent.json;
};

/** The counters of `/metrics` by name. */
export const countersOf = async (client: Client): Promise<Record<string, number>> => {
  const { text } = await client.get('/metrics');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split(' ')).map(([name, value]) => [name, Number(value)]));
};
