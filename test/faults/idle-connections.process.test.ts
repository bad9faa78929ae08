import { existsSync, readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { idleConnections } from './idle-connections.ts';

/** What the service takes of one address, if nothing else is said; and more than that. */
const PER_ADDRESS = 5000;
const IDLE = PER_ADDRESS + 200;
const OTHER_FILES = 500;

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** How many files a process may have open at one time; nothing where the system does not say. Node takes all that it may. */
const mostOpenFiles = (): number => {
  if (!existsSync('/proc/self/limits')) return 0;
  return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
};

it('more idle connections of one address than it may have are cut down to its share, and neither another address nor that one is shut out', async ({
  skip,
}) => {
  skip(mostOpenFiles() < IDLE + OTHER_FILES, `a process may not open ${IDLE + OTHER_FILES} files here`);
  const { kept, first, later, same, beside, exit } = await idleConnections({
    idle: IDLE,
    heads: 50,
    folder: folder.path,
  });
  // The client of the same address takes the place of one more.
  expect(kept).toBeGreaterThanOrEqual(PER_ADDRESS - 1);
  expect(kept).toBeLessThanOrEqual(PER_ADDRESS);
  expect([first, later, same, beside].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(exit).toBe(0);
});
