import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';

const exitNow = new URL('../../src/cli/exit-now.ts', import.meta.url).href;
const root = new URL('../../', import.meta.url).pathname;

/** A process with a thread in a statement that does not end. It leaves as the code says once the statement itself has told that it runs. */
const aBusyProcess = (leave: string) =>
  spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { once } from 'node:events';
       import { Worker } from 'node:worker_threads';
       import { exitNow } from ${JSON.stringify(exitNow)};
       const thread = new Worker(\`
         import { parentPort } from 'node:worker_threads';
         import Database from 'better-sqlite3';
         const db = new Database(':memory:');
         db.function('begins', () => {
           parentPort.postMessage('begins');
           return 1;
         });
         db.prepare('WITH RECURSIVE n(i) AS (SELECT begins() UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n').get();
       \`, { eval: true });
       await once(thread, 'message');
       console.log('leaves');
       ${leave}`,
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );

let busy: ReturnType<typeof aBusyProcess> | undefined;
afterEach(() => {
  busy?.kill('SIGKILL');
});

describe('a process whose thread is in a statement that does not end', () => {
  it('ends at once, with the status that was asked for', async () => {
    busy = aBusyProcess('exitNow(3);');
    expect(await once(busy, 'exit')).toEqual([3, null]);
  });

  it('would not end by process.exit: this is what the other is for', async () => {
    busy = aBusyProcess('process.exit(3);');
    const ended = once(busy, 'exit').then(() => 'ended');
    await once(busy.stdout, 'data');
    const waited = new Promise((resolve) => {
      setTimeout(resolve, 1000, 'still runs');
    });
    expect(await Promise.race([ended, waited])).toBe('still runs');
  });
});
