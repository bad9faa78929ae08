import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeTracesProtobuf } from '../../../src/ingest/otlp/protobuf.ts';
import { builtinPriceBook } from '../../../src/ingest/price-book.ts';
import { priceSpan } from '../../../src/ingest/price.ts';
import type { Span } from '../../../src/model/span.ts';

/**
 * Bodies as the real libraries sent them (`test/clients/python`, against the fake model), with what each of their spans must
 * become, field by field. A library that changes its attributes is captured anew beside the old body, which stays.
 */
const folder = join(import.meta.dirname, 'captured');

type Expected = Readonly<Record<string, unknown>>;

/** Everything that a reader sees of a span, but for ids, times and the attribute map. Payloads by their first 120 characters. */
const seen = (span: Span): Expected => {
  const { projectOf, ...correlation } = { projectOf: span.correlation.project, ...span.correlation };
  const text = (value: unknown): string | undefined =>
    value === undefined ? undefined : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 120);
  return JSON.parse(
    JSON.stringify({
      name: span.name.replace(/took [\d.]+s/, 'took a while'),
      kind: span.kind,
      status: span.status,
      model: span.model,
      provider: span.provider,
      entity_name: span.entityName,
      usage: span.usage,
      cost: span.cost === undefined ? undefined : Number(span.cost.totalCost.toPrecision(9)),
      error: span.error?.message.slice(0, 60),
      project: projectOf,
      user: correlation.userId,
      session: correlation.sessionId?.replace(/^[\da-f-]{36}$/, 'a conversation'),
      thread: correlation.threadId,
      tags: correlation.tags,
      service: correlation.serviceName,
      input: text(span.input)?.replaceAll(/[\da-f]{8}-[\da-f-]{27,28}/g, 'id'),
      output: text(span.output)?.replaceAll(/[\da-f]{8}-[\da-f-]{27,28}/g, 'id'),
    }),
  ) as Expected;
};

const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Record<string, readonly Expected[]>;

describe('Real clients: bodies of Python libraries as they were sent', () => {
  it('has an expectation for each body, and a body for each expectation', () => {
    const bodies = readdirSync(folder).filter((name) => name.endsWith('.otlp'));
    expect(bodies.toSorted()).toEqual(Object.keys(expected).toSorted());
    expect(bodies.length).toBeGreaterThanOrEqual(9);
  });

  it.each(Object.keys(expected))('%s: every span becomes what it is, field by field', (name) => {
    const { batch, refusals } = decodeTracesProtobuf(readFileSync(join(folder, name)), {
      receivedAt: 1n,
      defaultProject: 'default',
      maxSignals: 10_000,
    });
    expect(refusals).toEqual([]);
    expect(batch.spans.map((span) => seen(priceSpan(span, builtinPriceBook)))).toEqual(expected[name]);
  });
});

describe('Real clients: one call is one call', () => {
  it('a streamed call of Logfire is one model call, priced once, though two spans tell of it', () => {
    const { batch } = decodeTracesProtobuf(readFileSync(join(folder, 'logfire-1.otlp')), {
      receivedAt: 1n,
      defaultProject: 'default',
      maxSignals: 10_000,
    });
    // The client made a plain call, a streamed one and one that failed.
    const calls = batch.spans.filter(({ kind }) => kind === 'model_generation');
    expect(calls.map(({ status }) => status).toSorted()).toEqual(['error', 'ok', 'ok']);
    expect(calls.filter(({ usage }) => usage !== undefined)).toHaveLength(2);
  });
});
