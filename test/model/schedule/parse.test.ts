import { describe, expect, it } from 'vitest';
import { firstTimeOf, type GivenSchedule, parseSchedule } from '../../../src/model/schedule/parse.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const refusalOf = (given: Partial<GivenSchedule>) => {
  const parsed = parseSchedule({ definitionId: 'flow', ...given });
  const first = parsed.ok ? firstTimeOf(parsed.value, NOW, NOW) : parsed;
  return first.ok ? undefined : { field: first.failure.field, message: first.failure.message };
};

describe('a schedule as it is given', () => {
  it('gets the defaults', () => {
    expect(parseSchedule({ definitionId: 'flow', cron: ' 0  9 * * 1-5 ' })).toEqual({
      ok: true,
      value: {
        definitionId: 'flow',
        input: {},
        correlation: {},
        timing: { kind: 'cron', cron: '0 9 * * 1-5', timezone: 'UTC' },
        overlap: 'skip',
        catchUp: 'last',
        catchUpWindowMs: 3_600_000,
        jitterMs: 0,
      },
    });
  });

  it.each([
    [{}, 'cron', /needs `cron` \(five fields.*or `every_ms` \(at least 1000\)/],
    [{ cron: '* * * * *', everyMs: 1000 }, 'every_ms', /not both/],
    [{ everyMs: 999 }, 'every_ms', /every_ms is 999, less than 1000/],
    [{ everyMs: 1000, timezone: 'Mars/Olympus' }, 'timezone', /no time zone "Mars\/Olympus"/],
    [{ cron: '@daily' }, 'cron', /"@daily" has 1 fields: it takes five fields/],
    [{ cron: '* * * * * * 2027' }, 'cron', /has 7 fields/],
    [
      { cron: '61 * * * *' },
      'cron',
      /"61 \* \* \* \*" cannot be read: Invalid value for minute: 61; it takes five fields/,
    ],
    [{ cron: 'a b c d e' }, 'cron', /cannot be read/],
    [{ cron: '0 0 30 2 *' }, 'cron', /"0 0 30 2 \*" never fires/],
    [
      { cron: '* * * * *', timezone: 'Mars/Olympus' },
      'timezone',
      /no time zone "Mars\/Olympus".*such as Europe\/Berlin/,
    ],
    [{ everyMs: 1000, startsAt: 5, endsAt: 5 }, 'ends_at', /not after starts_at/],
    [{ everyMs: 1000, endsAt: NOW + 1000 }, 'ends_at', /give a later ends_at/],
    [{ everyMs: 1000, jitterMs: 1001 }, 'jitter_ms', /jitter_ms is 1001, more than the 1000 ms/],
    [{ cron: '0,5 9 * * *', jitterMs: 300_001 }, 'jitter_ms', /more than the 300000 ms/],
  ] as const)('%j is refused on %s', (given, field, message) => {
    expect(refusalOf(given)).toEqual({ field, message: expect.stringMatching(message) });
  });

  it.each([
    { everyMs: 1000 },
    { everyMs: 1000, timezone: 'Europe/Berlin' },
    { everyMs: 1000, jitterMs: 1000 },
    { everyMs: 1000, endsAt: NOW + 1001 },
    { cron: '0 0 29 2 *' },
    { cron: '0,5 9 * * *', jitterMs: 300_000 },
  ])('%j is taken', (given) => {
    expect(refusalOf(given)).toBeUndefined();
  });
});
