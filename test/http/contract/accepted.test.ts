import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { constantFrom, sample, string, stringMatching } from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { SPAN, TRACE } from '../factories.ts';
import { type Service, startService } from '../service.ts';

/** A validator that knows the document and nothing of ours, as other people's tools do. */
const ajv = new Ajv2020({ strict: false, validateFormats: true, formats: { int64: true } });
addFormats.default(ajv);
for (const ours of ['trace-id', 'span-id', 'time-parameter']) ajv.addFormat(ours, true);
ajv.addSchema({ $id: 'oas', components: openapi.components });
const allows = (schema: string) => {
  const validate = ajv.getSchema(`oas#/components/schemas/${schema}`);
  if (validate === undefined) throw new Error(`the document has no schema ${schema}`);
  return (value: unknown): boolean => validate(value) === true;
};

const running: Service[] = [];
const start = async (): Promise<Service> => {
  const service = await startService({
    pipeline: { ingestScore: async (score) => score, ingestFeedback: async (feedback) => feedback },
  });
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

const about = { trace_id: TRACE };
const bodies: readonly (readonly [schema: string, path: string, body: object])[] = [
  ...[
    { ...about, kind: 'thumbs', value: 'up' },
    { ...about, kind: 'thumbs', value: 'down' },
    { ...about, kind: 'thumbs', value: 'sideways' },
    { ...about, kind: 'thumbs', value: 1 },
    { ...about, kind: 'rating', value: 4.5 },
    { ...about, kind: 'rating', value: -1e300 },
    { ...about, kind: 'rating', value: '4' },
    { ...about, kind: 'comment', value: 'late' },
    { ...about, kind: 'comment', value: '' },
    { ...about, kind: 'comment', value: 3 },
    { ...about, kind: 'tag', value: 'slow' },
    { ...about, kind: 'correction', value: 'the 4th' },
    { ...about, kind: 'applause', value: 'up' },
    { ...about, kind: 'tag' },
    { ...about, value: 'up' },
    { span_id: SPAN, kind: 'tag', value: 'slow' },
    { kind: 'tag', value: 'slow' },
    { trace_id: TRACE.toUpperCase(), kind: 'tag', value: 'slow' },
    { trace_id: '0'.repeat(32), kind: 'tag', value: 'slow' },
    { trace_id: `${TRACE}0`, kind: 'tag', value: 'slow' },
    { span_id: '0'.repeat(16), kind: 'tag', value: 'slow' },
    { ...about, kind: 'tag', value: 'slow', timestamp: '2026-11-20T09:00:00+01:00' },
    { ...about, kind: 'tag', value: 'slow', timestamp: 'yesterday' },
    { ...about, kind: 'tag', value: 'slow', author_kind: 'robot' },
    { ...about, kind: 'tag', value: 'slow', metadata: [] },
  ].map((body) => ['NewFeedback', '/v1/api/feedback', body] as const),
  ...[
    { ...about, scorer_id: 'tone', value: 0 },
    { ...about, scorer_id: 'tone', value: '0' },
    { ...about, scorer_id: '', value: 0 },
    { ...about, value: 0 },
    { span_id: SPAN, scorer_id: 'tone', value: 1 },
    { scorer_id: 'tone', value: 1 },
    { ...about, scorer_id: 'tone', value: 1, score_trace_id: 'mine' },
    { ...about, scorer_id: 'tone', value: 1, source: 'manual' },
    { ...about, scorer_id: 'tone', value: 1, source: 'hearsay' },
    { ...about, scorer_id: 'tone', value: 1, timestamp: '2026-02-30T09:00:00Z' },
    { ...about, scorer_id: 'tone', value: 1, cost: { total_cost: 0.01 } },
    { ...about, scorer_id: 'tone', value: 1, cost: {} },
  ].map((body) => ['NewScore', '/v1/api/scores', body] as const),
];

const HEX = '0123456789abcdef'.split('');

describe('what the document allows is accepted, and what it does not is refused', () => {
  it.each(bodies)('%s at %s: %j', async (schema, path, body) => {
    const service = await start();
    const { status } = await service.ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    expect([201, 400, 422]).toContain(status);
    expect(status === 201).toBe(allows(schema)(body));
  });

  it.each(['TraceId', 'SpanId'] as const)('any %s of its pattern', async (name) => {
    const service = await start();
    const { maxLength } = openapi.components.schemas[name];
    const digits = string({
      unit: constantFrom(...HEX, 'A', 'G'),
      minLength: maxLength - 1,
      maxLength: maxLength + 1,
    });
    const hex = string({ unit: constantFrom(...HEX), minLength: maxLength, maxLength });
    const ids = [...sample(digits, 50), ...sample(hex, 150), '0'.repeat(maxLength)];
    const allowed = ids.filter(allows(name));
    expect(allowed.length).toBeGreaterThan(100);
    expect(allowed.length).toBeLessThan(ids.length);
    for (const id of ids) {
      const trace = name === 'TraceId' ? id : TRACE;
      const path = `/v1/api/traces/${trace}${name === 'TraceId' ? '' : `/spans/${id}`}`;
      expect((await service.ask(path)).status, id).toBe(allowed.includes(id) ? 404 : 400);
    }
  });

  it('a time parameter of its pattern, where the calendar has the day', async () => {
    const service = await start();
    const times = sample(stringMatching(new RegExp(openapi.components.schemas.TimeParameter.pattern)), 300).filter(
      (text) => text.startsWith('-') || Number(text.slice(8, 10)) <= 28,
    );
    expect(times.length).toBeGreaterThan(100);
    for (const time of times) {
      const { status, body } = await service.ask(`/v1/api/traces?to=${encodeURIComponent(time)}`);
      expect(status, `${time}: ${JSON.stringify(body)}`).toBe(200);
    }
  });
});
