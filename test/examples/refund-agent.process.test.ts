import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../sdk/typescript/src/index.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const root = join(import.meta.dirname, '..', '..');
const example = join(root, 'examples', 'refund-agent');
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;

const folder = temporaryFolder();
let daemon: Daemon;
const children: ChildProcess[] = [];

beforeAll(async () => {
  daemon = await startDaemon(folder.path);
});
afterAll(async () => {
  await daemon.stop('SIGKILL');
  folder.remove();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Runs a file of the example as its README says. */
const run = (file: string, ...args: string[]) => start(process.execPath, [join(example, file), ...args]);

const start = (command: string, args: readonly string[], env: Record<string, string> = {}) => {
  const child = spawn(command, args, {
    env: { ...process.env, SVC_ENDPOINT: daemon.url, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines: string[] = [];
  const looks = new Set<() => void>();
  let isRead = false;
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of looks) look();
    });
  // Once its output has been read to the end, not before.
  const ended = once(child, 'close').then(([code]) => {
    isRead = true;
    for (const look of looks) look();
    return code as number | null;
  });
  return {
    child,
    ended,
    /** The first line that matches; fails with all lines when the process ends without it. */
    line: (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
          if (found !== undefined) resolve(found);
          else if (isRead) reject(new Error(`no line like ${String(pattern)}:\n${lines.join('\n')}`));
          else return;
          looks.delete(look);
        };
        looks.add(look);
        look();
      }),
  };
};

/** A worker that serves: its definition is stored, so that a run can start. */
const worker = async () => {
  const started = run('worker.ts');
  await started.line(/^worker: \S+ is registered at http:\S+ and serves refund@1, up to 10 steps at once$/);
  return started;
};

describe('the example, as its README tells to run it', () => {
  it('started before any worker, says what comes first', async () => {
    const early = run('start.ts');
    await early.line(/^there is no definition refund: .*start worker\.ts first$/);
    expect(await early.ended).toBe(1);
  });

  it('keeps an approval that comes before the run asks, and a second one changes nothing', async () => {
    const first = await worker();
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    const asking = run('start.ts', '250', 'I do not like the colour any more.');
    const [, ticket = ''] = await asking.line(/^run \S+, trace \S+, ticket (\S+)$/);
    const early = run('approve.ts', ticket, 'yes');
    await early.line(/kept until a run asks/);
    expect(await early.ended).toBe(0);
    await run('approve.ts', ticket, 'yes').line(/answered before/);
    await worker();
    await asking.line(/^paid: \{ payment: 'payment-1', amount: 250 \}/);
    expect(await asking.ended).toBe(0);
  });

  it('ends a worker on Ctrl-C with status 0: it finishes the step that it holds, and the next one goes on', async () => {
    const first = await worker();
    const clear = run('start.ts', '40', 'It arrived broken.');
    const [, runId = ''] = await clear.line(/^run (\S+), trace/);
    await clear.line(/step\.started\s+triage/);
    first.child.kill('SIGINT');
    expect(await first.ended).toBe(0);
    await worker();
    await clear.line(/^paid: /);
    const client = createClient({ endpoint: daemon.url });
    const { attempts } = await client.getRun(runId);
    client.close();
    const triage = attempts.filter(({ step_id, status }) => step_id === 'triage' && status !== 'lapsed');
    expect(triage.map(({ status }) => status)).toEqual(['succeeded']);
  });

  it('one run is served by workers of two languages', async ({ skip }) => {
    skip(!hasPython, 'there is no python3 of version 3.10 or later on this machine');
    const first = await worker();
    const asking = run('start.ts', '250', 'I do not like the colour any more.');
    const [, runId = '', ticket = ''] = await asking.line(/^run (\S+), trace \S+, ticket (\S+)$/);
    await asking.line(/run\.waiting\s+ask/);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    const sdk = join(root, 'sdk', 'python');
    start('python3', [join(sdk, 'examples', 'refund_agent', 'worker.py')], { PYTHONPATH: join(sdk, 'src') });
    await run('approve.ts', ticket, 'yes').line(/the run goes on/);
    await asking.line(/^paid: \{ payment: 'payment-1', amount: 250 \}/);
    const client = createClient({ endpoint: daemon.url });
    const { attempts } = await client.getRun(runId);
    client.close();
    const workerOf = (step: string): string | undefined =>
      attempts.find(({ step_id, status }) => step_id === step && status === 'succeeded')?.worker_id;
    expect(workerOf('triage')).toBeTypeOf('string');
    expect(workerOf('pay')).toBeTypeOf('string');
    expect(workerOf('pay')).not.toBe(workerOf('triage'));
  });

  it('refuses half an approval', async () => {
    const half = run('approve.ts', 'ticket');
    await half.line(/usage: approve\.ts <ticket> yes\|no/);
    expect(await half.ended).toBe(2);
  });
});
