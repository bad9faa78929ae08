import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import type { WatchReport } from '../../src/watch/report.ts';
import { createSharedReports } from '../../src/watch/shared-reports.ts';
import { aMonitor, settle } from './watch-harness.ts';

const monitor = aMonitor();
const said = (condition: WatchReport['condition'], id = monitor.id): WatchReport => ({
  ...{ type: 'monitor', id, name: 'n', project: 'p', condition, watch: 'cost', threshold: 1, value: 2 },
  ...{ samples: 3, detail: 'd', at: 0 },
});

/** Two services that watch the same; the first reports, until it dies. */
const scene = () => {
  const rows = new Map<string, string>();
  const told: string[] = [];
  let reporter = 'one';
  let isAway = false;
  const sharing = {
    reported: async () => {
      if (isAway) throw new StoreUnavailable('away');
      return new Map(rows);
    },
    noteReported: async (subject: string, condition: string) => {
      if (isAway) throw new StoreUnavailable('away');
      rows.set(subject, condition);
    },
  };
  const serviceOf = (name: string) =>
    createSharedReports((_definition, { id, condition }) => void told.push(`${name}: ${id} ${condition}`), {
      reports: () => reporter === name,
      sharing,
    });
  return {
    one: serviceOf('one'),
    other: serviceOf('other'),
    told,
    die: () => {
      reporter = 'other';
    },
    goAway: () => {
      isAway = true;
    },
  };
};

describe('reports of several services that watch the same', () => {
  it('each transition is told by the one that reports', async () => {
    const { one, other, told } = scene();
    for (const condition of ['tripped', 'nominal'] as const)
      for (const service of [other, one]) service.report(monitor, said(condition));
    await settle();
    expect(told).toEqual(['one: errors tripped', 'one: errors nominal']);
  });

  it('who takes over tells what its predecessor did not, the last of each, and repeats nothing', async () => {
    const { one, other, told, die } = scene();
    for (const service of [one, other]) service.report(monitor, said('tripped', 'a'));
    await settle();
    other.report(monitor, said('tripped', 'b'));
    die();
    told.splice(0);
    await other.takeOver();
    expect(told).toEqual(['other: b tripped']);
    await other.takeOver();
    expect(told).toEqual(['other: b tripped']);
  });

  it('what only the predecessor lived to see is told when it is over', async () => {
    const { one, other, told, die } = scene();
    one.report(monitor, said('tripped'));
    await settle();
    other.report(monitor, said('nominal'));
    die();
    await other.takeOver();
    expect(told).toEqual(['one: errors tripped', 'other: errors nominal']);
  });

  it('a recovery from a trip that nobody was told of is not told', async () => {
    const { other, told, die } = scene();
    other.report(monitor, said('tripped'));
    other.report(monitor, said('nominal'));
    die();
    await other.takeOver();
    expect(told).toEqual([]);
  });

  it('notes reach the store in the order of the reports, however long the store takes for one of them', async () => {
    const rows = new Map<string, string>();
    const answers: (() => void)[] = [];
    const { report } = createSharedReports(() => {}, {
      reports: () => true,
      sharing: {
        reported: async () => rows,
        noteReported: (subject, condition) =>
          new Promise((resolve) => {
            answers.push(() => {
              rows.set(subject, condition);
              resolve();
            });
          }),
      },
    });
    for (const condition of ['tripped', 'nominal', 'tripped', 'nominal'] as const) report(monitor, said(condition));
    // The last question is answered first.
    for (let rounds = 0; rounds < 5; rounds += 1) {
      answers.pop()?.();
      await settle();
    }
    expect([...rows.values()]).toEqual(['nominal']);
    expect(answers).toEqual([]);
  });

  it('while the store is away, a report is told rather twice than never', async () => {
    const { one, other, told, die, goAway } = scene();
    goAway();
    for (const service of [one, other]) service.report(monitor, said('tripped'));
    await settle();
    die();
    await other.takeOver();
    expect(told).toEqual(['one: errors tripped', 'other: errors tripped']);
  });
});
