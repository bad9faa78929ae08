import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  countersOf,
  type Json,
  nativeSpan,
  newSpanId,
  newTraceId,
  nowIso,
  nowNano,
  otlpAttributes,
} from './client.ts';

// "One bad signal never fails its batch" (interface decisions, "Ingest policy"): each member of each signal is given each of
// these, one at a time, beside a good signal.

const service = await aDaemon();

const ODD: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e308, 2 ** 63, '', 'x', '\0', '\ud800', 'a'.repeat(2000), '0'.repeat(32), '{"a":1}'],
  ...[[], {}, [null], { a: null }, JSON.parse('{"__proto__":{"a":1},"toJSON":1}')],
];

type Path = readonly (string | number)[];
const pathsOf = (value: unknown, at: Path = []): Path[] => {
  if (typeof value !== 'object' || value === null) return [at];
  const inside = Object.entries(value).flatMap(([key, member]) =>
    pathsOf(member, [...at, Array.isArray(value) ? Number(key) : key]),
  );
  return at.length === 0 ? inside : [at, ...inside];
};
const withValue = (signal: object, path: Path, value: unknown): object => {
  const copy = structuredClone(signal);
  let place: Json = copy;
  for (const key of path.slice(0, -1)) place = place[key];
  place[path.at(-1) as string] = value;
  return copy;
};

/** How many of two signals were accepted and how many refused, when the first is odd. */
type Send = (odd: unknown) => Promise<{ status: number; accepted: number; rejected: number; text: string }>;

const expectGoodOnesTaken = async (signal: object, send: Send): Promise<void> => {
  const wrong: unknown[] = [];
  let sent = 0;
  const before = await countersOf(service);
  const attempt = async (odd: unknown, what: unknown): Promise<void> => {
    const { status, accepted, rejected, text } = await send(odd);
    sent += 2;
    if (status !== 200 || accepted + rejected !== 2 || accepted < 1) wrong.push([what, status, text.slice(0, 200)]);
  };
  for (const path of pathsOf(signal))
    for (const value of ODD) await attempt(withValue(signal, path, value), [path.join('.'), value]);
  for (const item of [null, 5, 'x', []]) await attempt(item, item);
  expect(wrong).toEqual([]);
  const after = await countersOf(service);
  const moved = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  expect(moved('svc_signals_accepted_total') + moved('svc_signals_rejected_total')).toBe(sent);
  expect(moved('svc_request_errors_total')).toBe(0);
};

const correlation = { project: 'p', user_id: 'u', tags: ['a'] };
const cost = { total_cost: 1, input_cost: 1, currency: 'USD', is_estimated: true };
const traceId = newTraceId();
const spanId = newSpanId();
const timestamp = nowIso();
const native: Readonly<Record<string, object>> = {
  spans: {
    ...nativeSpan({
      parent_span_id: newSpanId(),
      kind: 'generic',
      input: { a: 1 },
      model: 'gpt-4o',
      cost,
      correlation,
    }),
    usage: { input_tokens: 1, total_tokens: 2, input_details: { cache_read: 1 }, output_details: { text: 1 } },
    error: { message: 'm', type: 't', stack: 's' },
    attributes: { a: 1 },
    events: [{ name: 'e', time: timestamp, attributes: { a: 1 } }],
    links: [{ trace_id: traceId, span_id: spanId, attributes: { a: 1 } }],
  },
  logs: {
    log_id: 'l',
    timestamp,
    severity: 'info',
    message: 'm',
    logger: 'l',
    trace_id: traceId,
    attributes: { a: 1 },
  },
  metrics: {
    ...{ name: 'm', type: 'histogram', unit: 'u', timestamp, sum: 1, count: 1, bounds: [1], bucket_counts: [1, 0] },
    exemplars: [{ trace_id: traceId, span_id: spanId, value: 1, timestamp }],
    correlation,
  },
  scores: {
    ...{ score_id: 's', trace_id: traceId, span_id: spanId, scorer_id: 's', value: 1, min: 0, max: 1, source: 'live' },
    ...{ score_trace_id: traceId, cost, timestamp, correlation, metadata: { a: 1 } },
  },
  feedback: {
    ...{
      feedback_id: 'f',
      trace_id: traceId,
      kind: 'rating',
      value: 1,
      author_kind: 'end_user',
      timestamp,
      correlation,
    },
    metadata: { scale_min: 0, scale_max: 5 },
  },
  aspect_notes: { note_id: 'n', trace_id: traceId, span_id: spanId, aspect: 'a', text: 't', timestamp, correlation },
};

describe('"One bad signal never fails its batch" at the native door', () => {
  it.each(Object.keys(native))('%s', async (list) => {
    const good = native[list] as object;
    await expectGoodOnesTaken(good, async (odd) => {
      const { status, json, text } = await service.post('/v1/ingest', { [list]: [odd, good] });
      return { status, accepted: json.accepted, rejected: json.rejected, text };
    });
  });
});

const attributes = otlpAttributes({ a: 'x', b: [1, { z: true }], 'gen_ai.usage.input_tokens': 5, d: 1.5 });
const ids = { traceId, spanId };
const doors: readonly [path: string, rejected: string, signal: object, around: (items: unknown[]) => object][] = [
  [
    '/v1/traces',
    'rejectedSpans',
    {
      ...{
        ...ids,
        parentSpanId: newSpanId(),
        name: 'n',
        kind: 1,
        startTimeUnixNano: nowNano(),
        endTimeUnixNano: nowNano(),
      },
      ...{ attributes, status: { code: 2, message: 'm' } },
      events: [{ name: 'e', timeUnixNano: nowNano(), attributes: otlpAttributes({ a: 1 }) }],
      links: [{ ...ids, attributes: otlpAttributes({ a: 1 }) }],
    },
    (spans) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  ],
  [
    '/v1/logs',
    'rejectedLogRecords',
    {
      ...{ ...ids, timeUnixNano: nowNano(), observedTimeUnixNano: nowNano(), severityNumber: 9, attributes },
      ...{ body: { stringValue: 'b' }, eventName: 'e' },
    },
    (logRecords) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  ],
  [
    '/v1/metrics',
    'rejectedDataPoints',
    {
      ...{ timeUnixNano: nowNano(), asDouble: 1.5, attributes },
      exemplars: [{ ...ids, timeUnixNano: nowNano(), asInt: '1', filteredAttributes: otlpAttributes({ a: 1 }) }],
    },
    (dataPoints) => ({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', gauge: { dataPoints } }] }] }] }),
  ],
];

describe('"One bad signal never fails its batch" at the doors of OTLP/JSON', () => {
  it.each(doors)('%s', async (path, rejectedKey, good, around) => {
    await expectGoodOnesTaken(good, async (odd) => {
      const { status, json, text } = await service.post(path, around([odd, good]));
      const rejected: number = json.partialSuccess?.[rejectedKey];
      return { status, accepted: 2 - rejected, rejected, text };
    });
  });
});
