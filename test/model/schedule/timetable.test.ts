import { describe, expect, it } from 'vitest';
import { timesAfter, timetableOf } from '../../../src/model/schedule/timetable.ts';
import { zoneNamed } from '../../../src/model/schedule/zone.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (text: string): number => Date.parse(text);
const shown = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString().slice(0, 19));
const cron = (expression: string, timezone: string, more: object = {}) =>
  timetableOf({ timing: { kind: 'cron', cron: expression, timezone }, ...more }, 0);
const every = (everyMs: number, more: object = {}, createdAt = 0) =>
  timetableOf({ timing: { kind: 'every', everyMs }, ...more }, createdAt);

/** Zones whose clocks change in each hemisphere, by half an hour, at midnight, or not at all. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Asia/Kolkata',
  'Africa/Casablanca',
  'America/Santiago',
  'Asia/Beirut',
] as const;
/** Minutes of the day, so that each expression says what the rule below reads: the minutes at which it fires. */
const EXPRESSIONS = [
  ['30 2 * * *', (minute: number) => minute === 150],
  ['0 0 * * *', (minute: number) => minute === 0],
  ['30 1,23 * * *', (minute: number) => minute === 90 || minute === 1410],
  ['*/20 0-3 * * *', (minute: number) => minute < 240 && minute % 20 === 0],
] as const;
const FROM = at('2026-01-01T00:00:00Z');
const TO = at('2028-01-01T00:00:00Z');

/**
 * The rule, written down in another way: the wall clock of the zone is read at every minute of two years. A local minute fires when it is shown for the first
 * time; minutes that are passed over fire at the first instant that is shown after them.
 */
const shownMinutes = (zone: string): Int32Array => {
  const clock = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  const shown = new Int32Array((TO - FROM) / MINUTE + 1);
  // Zones change at whole quarters of an hour only, so one reading serves 15 minutes.
  for (let minute = 0; minute < shown.length; minute += 15) {
    const part = Object.fromEntries(
      clock.formatToParts(FROM + minute * MINUTE).map(({ type, value }) => [type, Number(value)]),
    );
    const first = Date.UTC(part['year'] ?? 0, (part['month'] ?? 1) - 1, part['day'], part['hour'], part['minute']);
    for (let next = 0; next < 15; next += 1) shown[minute + next] = first / MINUTE + next;
  }
  return shown;
};
const firedBy = (shown: Int32Array, fires: (minuteOfDay: number) => boolean): number[] => {
  const fired: number[] = [];
  let highest = (shown[0] ?? 0) - 1;
  for (const [minute, reading] of shown.entries()) {
    let isDue = false;
    for (let passed = highest + 1; passed <= reading; passed += 1) isDue ||= fires(((passed % 1440) + 1440) % 1440);
    if (isDue) fired.push(FROM + minute * MINUTE);
    highest = Math.max(highest, reading);
  }
  return fired.filter((time) => time < TO);
};

describe('the times of a cron expression in a time zone', () => {
  it.each(ZONES)(
    'in %s, over two years, are those that its wall clock shows',
    (zone) => {
      const minutes = shownMinutes(zone);
      for (const [expression, fires] of EXPRESSIONS) {
        const table = cron(expression, zone);
        const forward: number[] = [];
        for (let time = table.next(FROM - 1); time !== undefined && time < TO; time = table.next(time))
          forward.push(time);
        const expected = firedBy(minutes, fires);
        expect({ expression, times: shown(forward) }).toEqual({ expression, times: shown(expected) });
        expect(shown(table.latest(FROM, TO - 1, 1_000_000))).toEqual(shown(expected));
      }
    },
    120_000,
  );

  it('a local time that does not exist fires at the first instant after the gap, once however many there are', () => {
    const before = at('2026-03-08T06:50:00Z');
    expect(shown(timesAfter(cron('30 2 * * *', 'America/New_York'), before, 2))).toEqual([
      '2026-03-08T07:00:00',
      '2026-03-09T06:30:00',
    ]);
    expect(shown(timesAfter(cron('*/15 * * * *', 'America/New_York'), before, 2))).toEqual([
      '2026-03-08T07:00:00',
      '2026-03-08T07:15:00',
    ]);
    expect(cron('* * * * * *', 'America/New_York').latest(0, at('2026-03-08T07:00:00Z'), 2)).toEqual([
      at('2026-03-08T06:59:59Z'),
      at('2026-03-08T07:00:00Z'),
    ]);
  });

  it('a local time that exists twice fires at its first', () => {
    const table = cron('30 1 * * *', 'America/New_York');
    expect(shown(timesAfter(table, at('2026-11-01T04:00:00Z'), 2))).toEqual([
      '2026-11-01T05:30:00',
      '2026-11-02T06:30:00',
    ]);
    expect(shown(timesAfter(table, at('2026-11-01T06:10:00Z'), 1))).toEqual(['2026-11-02T06:30:00']);
  });

  it('are seconds with six fields, and later than the moment asked for, to the millisecond', () => {
    const table = cron('*/10 * * * * *', 'UTC');
    const time = at('2026-01-01T00:00:10Z');
    expect(table.next(time - 1)).toBe(time);
    expect(table.next(time)).toBe(time + 10_000);
    expect(table.latest(time, time, 5)).toEqual([time]);
    expect(table.latest(time + 1, time + 9999, 5)).toEqual([]);
  });

  it('begin at starts_at, which is one of them, and end before ends_at, which is none', () => {
    const [startsAt, endsAt] = [at('2026-01-02T09:00:00Z'), at('2026-01-04T09:00:00Z')];
    const table = cron('0 9 * * *', 'UTC', { startsAt, endsAt });
    expect(shown(timesAfter(table, 0, 9))).toEqual(['2026-01-02T09:00:00', '2026-01-03T09:00:00']);
    expect(shown(table.latest(0, endsAt, 9))).toEqual(['2026-01-02T09:00:00', '2026-01-03T09:00:00']);
    expect(shown(timesAfter(cron('0 9 * * *', 'UTC', { startsAt, endsAt: endsAt + 1 }), 0, 9))).toHaveLength(3);
  });
});

describe('the times of every_ms', () => {
  it('are counted from starts_at, else from the creation, without drift', () => {
    expect(every(1500, { startsAt: 10_000 }).next(0)).toBe(10_000);
    expect(every(1500, {}, 10_000).next(10_000)).toBe(11_500);
    expect(every(HOUR, {}, 7).next(7 + 1_000_000 * HOUR)).toBe(7 + 1_000_001 * HOUR);
    expect(every(1500, { startsAt: 10_000 }).next(11_499)).toBe(11_500);
    expect(every(1500, { startsAt: 10_000 }).next(11_500)).toBe(13_000);
  });

  it('are the last ones of any span, however long', () => {
    const table = every(1000, { startsAt: 0 });
    expect(table.latest(0, 10 * 365 * 24 * HOUR, 2)).toEqual([10 * 365 * 24 * HOUR - 1000, 10 * 365 * 24 * HOUR]);
    expect(table.latest(1500, 3500, 100)).toEqual([2000, 3000]);
    expect(table.latest(3001, 3999, 100)).toEqual([]);
  });
});

describe('the name of a time zone', () => {
  it('is one of the IANA database, whatever its case', () => {
    expect(zoneNamed('europe/berlin')).toBe('Europe/Berlin');
    expect(zoneNamed('UTC')).toBe('UTC');
    expect(zoneNamed('Mars/Olympus')).toBeUndefined();
    expect(zoneNamed('+02:00')).toBeUndefined();
    expect(zoneNamed('')).toBeUndefined();
  });
});
