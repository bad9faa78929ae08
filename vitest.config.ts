import { defineConfig } from 'vitest/config';

/** Tests that start processes of their own: slow, load-bearing, and kept apart from each other. */
const processTests = [
  'test/conformance/**/*.test.ts',
  'test/clients/**/*.test.ts',
  'test/crash/**/*.test.ts',
  'test/**/*.process.test.ts',
];

// Sized for two cores. Most tests are pure and share one module graph in threads, which is eight times faster than a
// fresh one for each file; a test file there leaves nothing behind that another could see.
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...processTests],
          pool: 'threads',
          isolate: false,
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'process',
          include: processTests,
          exclude: ['**/node_modules/**'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
