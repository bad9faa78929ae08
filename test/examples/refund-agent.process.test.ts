import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunsOverHttp, startRunsOverHttp } from '../sdk/runs-over-http.ts';

const folder = join(import.meta.dirname, '..', '..', 'examples', 'refund-agent');

let service: RunsOverHttp;
const children: ChildProcess[] = [];

beforeEach(async () => {
  service = await startRunsOverHttp({ leaseTtlMs: 900, reclaimWindowMs: 100 });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await service.stop();
});

/** Runs a file of the example as its README says. */
const run = (file: string, ...args: string[]) => {
  const child = spawn(process.execPath, [join(folder, file), ...args], {
    env: { ...process.env, SVC_ENDPOINT: service.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  const ended = once(child, 'exit').then(([code]) => {
    for (const look of waiting) look();
    return code as number | null;
  });
  return {
    child,
    lines,
    ended,
    /** The first line that matches; fails with all lines when the process ends without it. */
    line: (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
          if (found !== undefined) resolve(found);
          else if (child.exitCode !== null) reject(new Error(`no line like ${String(pattern)}:\n${lines.join('\n')}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
  };
};

const worker = async () => {
  const started = run('worker.ts');
  await started.line(/serves refund version 1/);
  return started;
};
const isRegistered = async (): Promise<void> => {
  // The first run needs a stored definition, which the worker brings a moment after its first line.
  for (;;) {
    const probe = run('start.ts', '1', 'It arrived broken.');
    if ((await probe.ended) === 0) return;
  }
};

describe('the example, as its README tells to run it', () => {
  it('pays a clear case, and waits for a person in another, through the death of worker and service', async () => {
    const first = await worker();
    await isRegistered();

    const clear = run('start.ts', '40', 'It arrived broken.');
    await clear.line(/^paid: \{ payment: 'payment-\d', amount: 40 \}/);
    expect(await clear.ended).toBe(0);

    const asking = run('start.ts', '250', 'I do not like the colour any more.');
    const [, ticket = ''] = await asking.line(/approve\.ts (\S+) yes/);
    first.child.kill('SIGKILL');
    await first.ended;
    await service.restart();
    await worker();
    const approval = run('approve.ts', ticket, 'yes');
    await approval.line(/the run goes on/);
    await asking.line(/^paid: \{ payment: 'payment-1', amount: 250 \}/);
    expect(await asking.ended).toBe(0);
    const again = run('approve.ts', ticket, 'yes');
    await again.line(/answered before/);
  });

  it('ends a worker on SIGTERM with status 0, and refuses half an approval', async () => {
    const stopping = await worker();
    stopping.child.kill('SIGTERM');
    expect(await stopping.ended).toBe(0);
    const half = run('approve.ts', 'ticket');
    await half.line(/usage: approve\.ts <ticket> yes\|no/);
    expect(await half.ended).toBe(2);
  });
});
