import { describe, expect, it } from 'vitest';
import { createFinish } from '../../src/ingest/finish.ts';
import { createRedactionFinder } from '../../src/ingest/find-redactions.ts';
import type { RedactionSettings } from '../../src/ingest/redact.ts';
import { emptyBatch } from '../../src/model/signal.ts';
import type { Span } from '../../src/model/span.ts';
import { mapped } from './factories.ts';

/** A span as it is after ingest, and what is found in it. */
const foundIn = (attributes: Record<string, unknown>, redaction: RedactionSettings = {}, more: Partial<Span> = {}) => {
  const [span] = createFinish({ redaction })({ ...emptyBatch, spans: [{ ...mapped(attributes), ...more }] }).spans;
  if (span === undefined) throw new Error('the span is gone');
  return { span, ...createRedactionFinder(redaction)(span) };
};

describe('what was redacted, and by which rule', () => {
  it('a built-in key, a configured key, and a key inside a text', () => {
    const { redactions, isComplete } = foundIn(
      {
        'http.request.header.authorization': 'Bearer abc',
        'customer.iban': 'DE00',
        note: '{"password":"hunter2"}',
        harmless: 'text',
      },
      { keys: ['iban'] },
    );
    expect(redactions).toEqual([
      { path: 'attributes.http.request.header.authorization', rule: 'built_in_key' },
      { path: 'attributes.customer.iban', rule: 'configured_key' },
      { path: 'attributes.note', rule: 'in_text' },
    ]);
    expect(isComplete).toBe(true);
  });

  it('a member of a payload, and of an event', () => {
    const { redactions } = foundIn(
      {},
      {},
      {
        input: { headers: [{ api_key: 'k' }] },
        events: [{ name: 'e', time: 1n, attributes: { cookie: 'c' } }],
      },
    );
    expect(redactions).toEqual([
      { path: 'input.headers.0.api_key', rule: 'built_in_key' },
      { path: 'events.0.cookie', rule: 'built_in_key' },
    ]);
  });

  it('an identifier that is hashed under the settings, where it looks so', () => {
    const settings: RedactionSettings = { hashIdentifiers: ['user_id'], hashKey: 'secret' };
    const { span, redactions } = foundIn({ 'user.id': 'ann' }, settings);
    expect(span.correlation.userId).toMatch(/^[0-9a-f]{32}$/);
    expect(redactions).toEqual([{ path: 'correlation.user_id', rule: 'hashed' }]);
    expect(createRedactionFinder({})(span).redactions).toEqual([]);
    const before = { ...span, correlation: { ...span.correlation, userId: 'ann' } };
    expect(createRedactionFinder(settings)(before).redactions).toEqual([]);
  });

  it('no value, even of a key that is a secret by itself: paths are cut, and their number is bounded', () => {
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`h${n}.password`, 'x']));
    const { redactions, isComplete } = foundIn(many);
    expect([redactions.length, isComplete]).toEqual([500, false]);
    const long = foundIn({ [`${'x'.repeat(1000)}.password`]: 'x' });
    expect(long.redactions[0]?.path).toHaveLength(300);
  });
});
