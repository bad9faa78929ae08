import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createDecodeThread } from '../../src/ingest/decode-thread.ts';
import { createPace } from '../../src/ingest/pace.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from '../daemon.ts';
import { aSpan, aUnit } from '../store/signals/factories.ts';

/** Name and nice value of each thread of this process. @see proc(5) */
const threads = (): { name: string; nice: number }[] =>
  readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    return { name: stat.slice(stat.indexOf('(') + 1, end), nice: Number(stat.slice(end + 2).split(' ')[16]) };
  });

// In a process of its own: the threads of other tests have the same names.
describe.runIf(process.platform === 'linux')('while processors are scarce', () => {
  const folder = temporaryFolder();
  afterAll(folder.remove);

  it('the threads that write signals stand back behind those that a heartbeat or a step waits for', async () => {
    const signals = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
    const runs = await openSqliteRunStore({ path: join(folder.path, 'svc-runs.db') });
    await signals.write(aUnit({ spans: [aSpan({ input: 'a word' })] }));
    const own = threads().find(({ name }) => name === 'runs-writer')?.nice;
    expect(own).toBeDefined();
    for (const name of ['signal writer', 'signal search'])
      expect(threads().find((thread) => thread.name === name)?.nice, name).toBe((own ?? 0) + 5);
    await signals.close();
    await runs.close();
  });

  it('the thread that reads bodies of much work stands back behind those that write what was read', async () => {
    const thread = createDecodeThread({ finish: { redaction: {} }, pace: createPace() });
    const body = Buffer.from('{"spans":[]}');
    await thread.decode(
      { kind: 'native', body },
      { receivedAt: 0n, defaultProject: 'default', maxSignals: 1 },
      () => {},
    );
    const main = threads()[0]?.nice ?? 0;
    expect(threads().find(({ name }) => name === 'decode')?.nice).toBe(main + 8);
    await thread.close();
  });
});
