import { afterAll, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { cutConnections } from './cutting-proxy.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

it('what is sent again after a connection was cut, before or after it arrived, is there exactly once', async () => {
  const figures = await cutConnections({ requests: 150, seed: 20261122, folder: folder.path });
  expect(figures.batches).toBeGreaterThan(4);
  expect(figures.runs).toBe(figures.batches);
  for (const cuts of [figures.cutBefore, figures.cutWithin, figures.cutAfter]) expect(cuts).toBeGreaterThan(0);
});
