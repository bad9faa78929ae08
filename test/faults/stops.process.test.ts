import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { kinds, type StopFigures, stopUnderLoad, violationsOf } from './stops.ts';

// Three of the five hundred of `node test/faults/stops.ts`.
it('a stop answers all that was sent, or is sent shortly after it, on connections that stood before it', async () => {
  const folder = temporaryFolder();
  try {
    const figures = await stopUnderLoad({ stops: 3, seed: 20261122, folder: folder.path });
    expect(violationsOf(figures)).toEqual([]);
    expect(figures.exitCodes).toEqual([0]);
    for (const [kind, { answered }] of Object.entries(figures.before))
      expect([kind, answered > 0]).toEqual([kind, true]);
  } finally {
    folder.remove();
  }
});

it('each way not to answer such a request is a violation, and so is an exit that is not clean', () => {
  const counts = (more: object = {}) => ({ answered: 9, ended: 0, reset: 0, refused: 0, silent: 0, ...more });
  const clean = Object.fromEntries(kinds.map((kind) => [kind, counts()])) as StopFigures['before'];
  expect(violationsOf({ before: clean, exitCodes: [0] })).toEqual([]);
  expect(
    violationsOf({
      before: { ...clean, burst: counts({ reset: 2, ended: 1 }), reader: counts({ silent: 1, refused: 3 }) },
      exitCodes: [0, 1, null],
    }),
  ).toEqual(['burst: 1 ended', 'burst: 2 reset', 'reader: 3 refused', 'reader: 1 silent', 'exit 1', 'exit null']);
});
