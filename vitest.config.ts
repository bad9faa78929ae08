import { existsSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './tools/longest-first.ts';

/** Tests that start processes of their own: slow, load-bearing, and each file in a process of its own. */
const processTests = [
  'test/conformance/**/*.test.ts',
  'test/clients/**/*.test.ts',
  'test/crash/**/*.test.ts',
  'test/**/*.process.test.ts',
];

/**
 * The client libraries: compilers, virtual machines and a kit that holds what they do to times, so that nothing else runs beside them. They
 * wait for less than the other tests that start processes.
 */
const libraryTests = 'test/sdk/**/*.process.test.ts';
const LIBRARY_WORKERS = 2;

/** Tests that start processes, and tests in a browser, wait half of their time: two at once would leave a core idle. */
const WAITING_WORKERS = 5;

/** What only the project without plans runs. */
const onlyWithoutPlans = 'test/machines/without-plans/**';

const MEMORY_DISK = '/dev/shm';
const FREE_BYTES = 2 * 1024 ** 3;

/** A disk in memory, where there is a roomy one; in some containers it holds less than one large test. */
const hasMemoryDisk = (): boolean => {
  if (!existsSync(MEMORY_DISK)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_DISK);
  return bavail * bsize >= FREE_BYTES;
};

/** What processes and threads load is compiled and stripped of its types once, and not by each of them again. */
const compileOnce = { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/test', import.meta.url)) };

/** Most tests open a store. They wait for no disk, since what survives what is the affair of the project `process`. */
const quickStores = { ...compileOnce, ...(hasMemoryDisk() ? { TMPDIR: MEMORY_DISK } : {}) };

/**
 * Ends a test that hangs, and asserts nothing: no test relies on being slow or quick, so that one machine with idle cores and
 * one with none agree. Far above what the slowest takes where other processes keep every core busy.
 */
const HANGS_AFTER_MS = 300_000;
/** The same for a test that starts dozens of processes one after another, each of which takes ten seconds on such a machine. */
const PROCESSES_HANG_AFTER_MS = 900_000;

// Sized for two cores. Most tests are pure and share one module graph in threads, which is eight times faster than a
// fresh one for each file; a test file there leaves nothing behind that another could see.
export default defineConfig({
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // A test that asserts nothing cannot fail.
    expect: { requireAssertions: true },
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', onlyWithoutPlans, ...processTests],
          pool: 'threads',
          isolate: false,
          env: quickStores,
          testTimeout: HANGS_AFTER_MS,
          hookTimeout: HANGS_AFTER_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // What the interface knows, without a browser.
        test: {
          name: 'interface',
          include: ['ui/test/model/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          testTimeout: HANGS_AFTER_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Machines, and drawn runs beside the naive model, once more with xstate alone: nothing above `machines/plan.ts` may depend on it.
        // The rest follows from `test/simulation/without-plans.test.ts`, where both ways end in the same rows.
        test: {
          name: 'without-plans',
          include: ['test/{machines,oracle}/**/*.test.ts'],
          exclude: ['test/machines/plan.test.ts'],
          setupFiles: ['test/machines/without-plans/switch-off.ts'],
          pool: 'threads',
          isolate: false,
          env: quickStores,
          testTimeout: HANGS_AFTER_MS,
          hookTimeout: HANGS_AFTER_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'process',
          include: processTests,
          exclude: ['**/node_modules/**', libraryTests],
          pool: 'forks',
          env: compileOnce,
          maxWorkers: WAITING_WORKERS,
          testTimeout: PROCESSES_HANG_AFTER_MS,
          hookTimeout: PROCESSES_HANG_AFTER_MS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'libraries',
          include: [libraryTests],
          pool: 'forks',
          env: compileOnce,
          maxWorkers: LIBRARY_WORKERS,
          testTimeout: PROCESSES_HANG_AFTER_MS,
          hookTimeout: PROCESSES_HANG_AFTER_MS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // The interface in one real browser, against real daemons.
        test: {
          name: 'browser',
          include: ['ui/test/browser/**/*.test.ts'],
          globalSetup: ['ui/test/browser/build.ts'],
          pool: 'forks',
          env: quickStores,
          maxWorkers: WAITING_WORKERS,
          // What is not there by then is not there: no test relies on being quick.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: PROCESSES_HANG_AFTER_MS,
          hookTimeout: PROCESSES_HANG_AFTER_MS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
