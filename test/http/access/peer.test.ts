import { describe, expect, it } from 'vitest';
import { createFailureLimit } from '../../../src/http/access/failure-limit.ts';
import { parseTrustedRanges, readSubject } from '../../../src/http/access/peer.ts';

describe('trusted ranges', () => {
  const ranges = parseTrustedRanges(['10.0.0.0/8', '192.168.1.7', 'fd00::/8']);
  it.each(['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3', '192.168.1.7', 'fd12::1'])('%s is inside', (address) =>
    expect(ranges.includes(address)).toBe(true),
  );
  it.each(['11.0.0.0', '9.255.255.255', '192.168.1.8', 'fe80::1', '::ffff:11.0.0.1', '', 'localhost'])(
    '%s is outside',
    (address) => expect(ranges.includes(address)).toBe(false),
  );
  it('without a range nobody is inside', () => expect(parseTrustedRanges([]).includes('127.0.0.1')).toBe(false));
  it.each(['10.0.0.0/33', 'fd00::/129', '10.0.0/8', '10.0.0.0/8/8', 'example.com', '', '10.0.0.0/'])(
    'refuses "%s", naming it',
    (range) => expect(() => parseTrustedRanges([range])).toThrow(`"${range}"`),
  );
});

describe('the audit subject', () => {
  it('is taken as sent', () => expect(readSubject(' ada@example.com ')).toBe('ada@example.com'));
  it('is read as UTF-8, though headers arrive as bytes', () =>
    expect(readSubject(Buffer.from('Zoë', 'utf8').toString('latin1'))).toBe('Zoë'));
  it('has its control characters written out', () =>
    expect(readSubject('a\tb\u0085')).not.toMatch(/[\u0000-\u001f\u0085]/));
  it('is bounded', () => expect(readSubject('x'.repeat(10_000))).toHaveLength(256));
  it.each([undefined, '', '   '])('%j names nobody', (header) => expect(readSubject(header)).toBeUndefined());
  it('a repeated header names nobody', () => expect(readSubject(['a', 'b'])).toBeUndefined());
});

describe('the limit on failed authentication', () => {
  it('lets 100 failures of a peer pass in a second, and holds back the 101st', () => {
    const limit = createFailureLimit();
    for (let n = 0; n < 100; n += 1) expect(limit.allow('a', 5000)).toBe(true);
    expect(limit.allow('a', 5999)).toBe(false);
    expect(limit.allow('b', 5999)).toBe(true);
    expect(limit.allow('a', 6000)).toBe(true);
  });
  it('remembers a bounded number of peers', () => {
    const limit = createFailureLimit(1);
    for (let n = 0; n < 10_000; n += 1) limit.allow(`peer ${n}`, 0);
    expect(limit.allow('one more', 0)).toBe(true);
    expect(limit.allow('another', 0)).toBe(false);
  });
});
