import { afterEach, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { receiverFaults } from './receivers.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

it('receivers that hang, drip, reset, refuse, redirect and flood each get one report of each transition, and hold up neither ingest nor a stop', async () => {
  const home = temporaryFolder();
  cleanups.push(home.remove);
  const { faults } = await receiverFaults({ faults: 36, monitorsOfEach: 2, home: home.path });
  for (const [does, met] of Object.entries(faults)) expect(met, does).toBeGreaterThanOrEqual(4);
  expect(Object.keys(faults)).toHaveLength(6);
});
