import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { runsSharedLoop, sharedFaults } from './runs-shared-loop.ts';

it('three services on one database keep every acknowledged step, with one winner, no gap and no lease lost to a takeover, while their owner is killed or stopped, another is killed, and the database crashes', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`runs shared loop seed ${seed}`);
  try {
    const figures = await runsSharedLoop({
      folder: folder.path,
      seed,
      cycles: sharedFaults.length,
      faults: sharedFaults,
    });
    expect(figures.faults).toEqual({
      kill_owner: 1,
      stop_owner: 1,
      kill_bystander: 1,
      crash_database: 1,
      kill_in_turn: 1,
    });
    expect(figures.ownerships).toBeGreaterThan(2);
    expect(figures.acknowledgedCompletes).toBeGreaterThan(figures.runs);
    console.log(`runs shared loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});

it('the same of runs in six shards behind PgBouncer in transaction mode: an owner is killed or stopped, several services are killed in turn, and the database crashes', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`runs shared loop seed ${seed}, six shards, behind PgBouncer`);
  try {
    const faults = ['kill_owner', 'stop_owner', 'crash_database', 'kill_in_turn'] as const;
    const figures = await runsSharedLoop({
      ...{ folder: folder.path, seed, shards: 6, cycles: faults.length },
      ...{ isPooled: true, faults },
    });
    expect(figures.faults).toMatchObject({ kill_owner: 1, stop_owner: 1, crash_database: 1, kill_in_turn: 1 });
    expect(figures.kills).toBeGreaterThan(3);
    expect(figures.ownerships).toBeGreaterThan(8);
    expect(figures.acknowledgedCompletes).toBeGreaterThan(figures.runs);
  } finally {
    folder.remove();
  }
});
