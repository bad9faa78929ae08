import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyRule, defaultRedactedKeys, type KeyVerdict } from '../../src/ingest/redact-keys.ts';

const fold = (segment: string): string => segment.toLowerCase().replaceAll(/[-_]/g, '');
const folded = (name: string): string => name.split('.').map(fold).join('');

const configured = ['card_number', 'k.elvin', '12', 'ΑΣ', 'i̇d', 'café', 'user_id'];
const redacted = new Set([...defaultRedactedKeys, ...configured].map(folded));
const hashed = new Map(['session_id', 'conversation_id'].map((name) => [folded(name), 'session_id'] as const));

/** The rule as it reads: of the last 256 characters, each run of segments up to the last that is no index of a list. */
const asRuled = (key: string): KeyVerdict => {
  const segments = key
    .slice(-256)
    .split('.')
    .map(fold)
    .filter((segment) => segment !== '');
  while (segments.length > 1 && /^\d+$/.test(segments.at(-1) ?? '')) segments.pop();
  const ends = segments.map((_, at) => segments.slice(at).join('')).toReversed();
  if (ends.some((end) => redacted.has(end))) return 'redact';
  return ends.map((end) => hashed.get(end)).find((verdict) => verdict !== undefined) ?? 'keep';
};

describe('a key is judged by its end', () => {
  const verdictOf = createKeyRule(configured, ['session_id']);

  it.each([
    ['a list of which only the indexes are left', 'order.12.0', 'keep'],
    ['a name that is itself a number', '12.0.7', 'redact'],
    ['dots, dashes and lines behind the name', 'user.token.-._..0.', 'redact'],
    ['a name of which segments are empty', 'api..-.key', 'redact'],
    ['a secret by more segments than an identifier', 'user.session.id', 'hash'],
    ['the Kelvin sign, which is a k', 'api_\u212aey', 'redact'],
    ['a sigma that ends a segment', 'x.ΑΣ.0', 'redact'],
    ['a sigma with a letter behind it in the next segment', 'ΑΣ.x', 'keep'],
    ['a letter that becomes two', 'İD', 'redact'],
    ['256 characters that hold the name', `${'.'.repeat(400)}token${'.'.repeat(251)}`, 'redact'],
    ['256 characters that hold all but one of the name', `token${'.'.repeat(252)}`, 'keep'],
  ])('%s', (_name, key, expected) => {
    expect(verdictOf(key)).toBe(expected === 'hash' ? 'session_id' : expected);
    expect(verdictOf(key)).toBe(asRuled(key));
  });

  it('whatever it is made of', () => {
    const parts = [
      ...['.', '.', '.', '-', '_', '0', '12', '٣', "'", '·', '\ud83d', '\ude00', 'a.'.repeat(128), '.'.repeat(250)],
      ...['token', 'TOKEN', 'api', 'key', 'card', 'number', 'user', 'session', 'conversation', 'id', 'ID', 'secret'],
      ...['\u212a', '\u212aey', 'elvin', 'İ', 'İd', 'Σ', 'ΑΣ', 'ας', 'ασ', 'CAF', 'é', 'É', 'aws_', 't', 'e', 'k'],
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 9 }), (some) => {
        const key = some.join('');
        expect(verdictOf(key)).toBe(asRuled(key));
      }),
      { numRuns: 5000 },
    );
  });
});
