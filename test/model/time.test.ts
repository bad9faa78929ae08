import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../src/model/time.ts';

const digits = (value: number, count: number): string => String(value).padStart(count, '0');

describe('RFC 3339 timestamps', () => {
  it('are read as the platform reads them, and to the nanosecond', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true }),
        fc.nat(999_999_999),
        fc.integer({ min: -1439, max: 1439 }),
        (date, nanos, offsetMinutes) => {
          const second = Math.floor(date.getTime() / 1000);
          const local = new Date((second + offsetMinutes * 60) * 1000).toISOString().slice(0, 19);
          const [hours, minutes] = [Math.floor(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
          const offset = `${offsetMinutes < 0 ? '-' : '+'}${digits(hours, 2)}:${digits(minutes, 2)}`;
          expect(parseTimestamp(`${local}.${digits(nanos, 9)}${offset}`)).toBe(
            BigInt(second) * 1_000_000_000n + BigInt(nanos),
          );
        },
      ),
    );
  });

  it.each([
    ['2026-02-28T00:00:00Z', true],
    ['2026-02-29T00:00:00Z', false],
    ['2024-02-29T00:00:00Z', true],
    ['1900-02-29T00:00:00Z', false],
    ['2000-02-29T00:00:00Z', true],
    ['0000-02-29T00:00:00Z', true],
    ['2026-04-30T00:00:00Z', true],
    ['2026-04-31T00:00:00Z', false],
    ['2026-00-01T00:00:00Z', false],
    ['2026-13-01T00:00:00Z', false],
    ['2026-01-00T00:00:00Z', false],
    ['2026-01-01T23:59:60Z', true],
    ['2026-01-01T23:59:61Z', false],
    ['2026-01-01T24:00:00Z', false],
    ['2026-01-01T00:60:00Z', false],
    ['2026-01-01T00:00:00+23:59', true],
    ['2026-01-01T00:00:00+24:00', false],
    ['2026-01-01T00:00:00', false],
  ])('%s is one: %s', (text, isOne) => {
    expect(parseTimestamp(text) !== undefined).toBe(isOne);
  });

  it('a leap second is the first moment of the next minute, in early years too', () => {
    expect(parseTimestamp('2026-01-01T23:59:60Z')).toBe(parseTimestamp('2026-01-02T00:00:00Z'));
    expect(parseTimestamp('0002-10-02T23:59:60Z')).toBe(parseTimestamp('0002-10-03T00:00:00Z'));
  });
});
