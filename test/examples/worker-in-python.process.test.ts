import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient, type Run, type RunDetail, type RunFailed } from '../../sdk/typescript/src/index.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const program = join(import.meta.dirname, '..', '..', 'examples', 'worker-in-python', 'worker.py');
const found = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;

const PAGES = ['to be or', 'not to be', 'that is', 'the question'];

const folder = temporaryFolder();
const flags = ['--lease-ttl-ms', '1500', '--reclaim-window-ms', '1000', '--port', String(await aLastingPort())];
let daemon: Daemon;
let client: Client;
const children: ChildProcess[] = [];

beforeEach(({ skip }) => skip(!found, 'there is no python3 of version 3.9 or later on this machine'));
beforeAll(async () => {
  daemon = await startDaemon(folder.path, flags);
  client = createClient({ endpoint: daemon.url, retry: { attempts: 40, baseMs: 20, maxMs: 500 } });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  client.close();
  await daemon.stop('SIGKILL');
  folder.remove();
});

/** Runs the worker; it says that it serves once it is registered. */
const work = async () => {
  const child = spawn('python3', [program], {
    env: { ...process.env, SVC_ENDPOINT: daemon.url, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  let isRead = false;
  // Once its output has been read to the end, not before.
  const ended = once(child, 'close').then(([code]) => {
    isRead = true;
    return code as number | null;
  });
  const line = async (pattern: RegExp): Promise<void> => {
    while (!lines.some((text) => pattern.test(text))) {
      if (isRead) throw new Error(`no line like ${String(pattern)}:\n${lines.join('\n')}`);
      await pause(10);
    }
  };
  await line(/serves count-words/);
  return {
    line,
    end: (signal: NodeJS.Signals): Promise<number | null> => {
      child.kill(signal);
      return ended;
    },
  };
};
const start = (input: object): Promise<Run> => client.start('count-words', input);
const until = async (runId: string, isSo: (run: RunDetail) => boolean): Promise<RunDetail> => {
  for (;;) {
    const run = await client.getRun(runId);
    if (isSo(run)) return run;
    await pause(20);
  }
};
const isRunning = (run: RunDetail): boolean => run.attempts.at(-1)?.status === 'running';
const triesOf = async (runId: string) =>
  (await client.getRun(runId)).attempts
    .filter(({ status }) => status !== 'lapsed')
    .map(({ status, error }) => (error === undefined ? status : `${status}: ${error.class}`));

describe('the worker in Python, written from the page on the protocol', () => {
  it('serves a step, and reports its output', async () => {
    await work();
    const run = await start({ pages: PAGES });
    expect(await client.wait(run.run_id)).toEqual({ words: 10, from_page: 0 });
    expect(await triesOf(run.run_id)).toEqual(['succeeded']);
  });

  it('fails a step with the class that its body names, or as fatal', async () => {
    const worker = await work();
    const errorOf = async (input: object): Promise<unknown> => {
      const failed = await client.wait((await start(input)).run_id).catch((error: unknown) => error);
      return (failed as RunFailed).run.error;
    };
    expect(await errorOf({ pages: ['one', 2] })).toMatchObject({ class: 'not_a_page', message: 'page 2 is no text' });
    expect(await errorOf({ pages: 17 })).toMatchObject({ class: 'fatal' });
    await worker.line(/attempt 1: fail$/);
  });

  it('killed in the middle, is followed by one that goes on from its last heartbeat', async () => {
    const first = await work();
    const run = await start({ pages: Array.from({ length: 24 }, () => 'a page'), pause: 0.4 });
    // Heartbeats come every half a second: the fourth tells a mark of one page at least.
    const expiries = new Set<string | undefined>();
    await until(run.run_id, ({ attempts }) => expiries.add(attempts.at(-1)?.lease_expires_at).size > 6);
    await first.end('SIGKILL');
    await work();
    const { words, from_page } = await client.wait<{ words: number; from_page: number }>(run.run_id);
    expect(words).toBe(48);
    expect(from_page).toBeGreaterThan(0);
    expect(await triesOf(run.run_id)).toEqual(['orphaned: orphaned', 'succeeded']);
  });

  it('keeps its step through the death of the service, and its report lands', async () => {
    await work();
    const run = await start({ pages: PAGES, pause: 0.5 });
    await until(run.run_id, isRunning);
    await daemon.stop('SIGKILL');
    daemon = await startDaemon(folder.path, flags);
    expect(await client.wait(run.run_id)).toEqual({ words: 10, from_page: 0 });
    expect(await triesOf(run.run_id)).toEqual(['succeeded']);
  });

  it('ends the body of a cancelled run, and reports nothing', async () => {
    const worker = await work();
    const run = await start({ pages: PAGES, pause: 600 });
    await until(run.run_id, isRunning);
    await client.cancel(run.run_id);
    await worker.line(/attempt 1: run_terminal$/);
    expect(await triesOf(run.run_id)).toEqual(['cancelled']);
  });

  it('ends with 0 on SIGTERM, at once while it waits for work, and with its step reported while it has some', async () => {
    const idle = await work();
    expect(await idle.end('SIGTERM')).toBe(0);
    const busy = await work();
    const run = await start({ pages: PAGES, pause: 0.2 });
    await until(run.run_id, isRunning);
    expect(await busy.end('SIGTERM')).toBe(0);
    expect((await client.getRun(run.run_id)).status).toBe('succeeded');
  });

  it('gives back a version that it does not hold, as unservable', async () => {
    await work();
    const step = { id: 'count', kind: 'task' };
    const registered = await fetch(`${daemon.url}/v1/api/workers/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ worker_id: 'newer', definitions: [{ id: 'count-words', version: 2, steps: [step] }] }),
    });
    expect(registered.status).toBe(200);
    const run = await start({ pages: [] });
    expect(run.definition_version).toBe(2);
    const { status } = await until(run.run_id, ({ attempts }) => attempts.at(-1)?.status === 'unservable');
    expect(status).toBe('queued');
  });
});
