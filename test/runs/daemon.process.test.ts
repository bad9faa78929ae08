import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import type { components } from '../../src/model/generated/openapi.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

type Run = components['schemas']['RunDetail'];
type Trace = components['schemas']['TraceDetail'];
type Entry = components['schemas']['JournalEntry'];

const example = join(import.meta.dirname, '..', '..', 'examples', 'refund-agent');

let folder: ReturnType<typeof temporaryFolder>;
let daemon: Daemon;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await daemon.stop('SIGKILL');
  folder.remove();
});

/** Starts a daemon. @returns starts it again, at the same address: clients of the one before find it */
const startLasting = async (...flags: string[]): Promise<() => Promise<void>> => {
  const port = String(await aLastingPort());
  const start = async (): Promise<void> => {
    daemon = await startDaemon(folder.path, [...flags, '--port', port]);
  };
  await start();
  return start;
};

/** Its model, which takes 300 ms otherwise, never answers: a worker is in the middle of its step for as long as it lives. */
const hangingModel = `
  import { syncBuiltinESMExports } from 'node:module';
  import timers from 'node:timers/promises';
  const { setTimeout } = timers;
  timers.setTimeout = (ms, ...more) => (ms === 300 ? new Promise(() => {}) : setTimeout(ms, ...more));
  syncBuiltinESMExports();
`;

/** Runs a file of the example as its README says. */
const run = (file: string, ...args: string[]) => runWith({}, file, ...args);
const runWith = (environment: NodeJS.ProcessEnv, file: string, ...args: string[]) => {
  const child = spawn(process.execPath, [join(example, file), ...args], {
    env: { ...process.env, SVC_ENDPOINT: daemon.url, ...environment },
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
  return {
    lines,
    kill: async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
    },
    ended,
    line: (pattern: RegExp): Promise<RegExpExecArray> =>
      eventually(`a line like ${String(pattern)}`, () => {
        const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
        if (found === undefined && isRead) throw new Error(`no line like ${String(pattern)}:\n${lines.join('\n')}`);
        return found;
      }),
  };
};

const read = async <T>(path: string): Promise<T> => {
  const response = await fetch(`${daemon.url}/v1/api${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
};
const post = async (path: string, body: object): Promise<Response> =>
  fetch(`${daemon.url}/v1/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const isRegistered = async (): Promise<void> => {
  await eventually(
    'the definition',
    async () => (await fetch(`${daemon.url}/v1/api/definitions/refund`)).status === 200,
  );
};

/**
 * What a run is as a trace: one root, one span an attempt, the worker's spans below those. `fromWorker` names the
 * spans that the worker exports: they come by its own exporter, in no order with those of the run.
 */
const expectWholeTrace = async (
  runId: string,
  { fromWorker = [] }: { fromWorker?: string[] } = {},
): Promise<{ run: Run; trace: Trace }> => {
  const wanted = await read<Run>(`/runs/${runId}`);
  const { trace, root } = await eventually('the spans of the run', async () => {
    const trace = await read<Trace>(`/traces/${wanted.trace_id}`).catch(() => undefined);
    const root = trace?.spans.find((span) => span.is_root);
    const ids = new Set(trace?.spans.map(({ span_id }) => span_id));
    const names = new Set(trace?.spans.map(({ name }) => name));
    const isThere =
      root?.end_time !== undefined &&
      wanted.attempts.every(({ span_id }) => ids.has(span_id)) &&
      fromWorker.every((name) => names.has(name));
    return trace !== undefined && isThere && { trace, root };
  });
  expect(trace.spans.filter((span) => span.is_root)).toHaveLength(1);
  expect(root).toMatchObject({ kind: 'workflow_run', name: wanted.definition_id });
  const steps = trace.spans.filter(({ parent_span_id }) => parent_span_id === root.span_id);
  expect(steps.map(({ span_id }) => span_id).toSorted()).toEqual(
    wanted.attempts.map(({ span_id }) => span_id).toSorted(),
  );
  const below = trace.spans.filter((span) => span !== root && !steps.includes(span));
  for (const span of below) expect(steps.map(({ span_id }) => span_id)).toContain(span.parent_span_id);
  return { run: wanted, trace };
};

const expectWholeJournal = async (runId: string): Promise<void> => {
  const { events } = await read<{ events: Entry[] }>(`/runs/${runId}/events?limit=1000`);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at));
  expect(events.at(-1)?.kind).toBe('run.finished');
};

describe('the refund agent, against the real daemon', () => {
  it('pays a clear case: the run is a trace in which each token counts once', async () => {
    daemon = await startDaemon(folder.path);
    const worker = run('worker.ts');
    await isRegistered();
    const clear = run('start.ts', '40', 'It arrived broken.');
    const [, runId = ''] = await clear.line(/^run (\S+), trace/);
    await clear.line(/^paid: /);
    expect(await clear.ended).toBe(0);
    const { run: ended, trace } = await expectWholeTrace(runId, { fromWorker: ['judge the complaint'] });
    expect(ended.attempts.map(({ step_id, status }) => [step_id, status])).toEqual([
      ['triage', 'succeeded'],
      ['pay', 'failed'],
      ['pay', 'succeeded'],
    ]);
    expect(trace.spans.find(({ name }) => name === 'judge the complaint')).toMatchObject({ kind: 'model_generation' });
    // The worker reported to the run what its span says; the trace adds the span up, and nothing twice.
    expect(trace.trace.usage?.input_tokens).toBe(ended.usage.input_tokens);
    expect(trace.trace.cost?.total_cost).toBeCloseTo(ended.usage.cost ?? Number.NaN, 12);
    const step = trace.spans.find(({ span_id }) => span_id === ended.attempts[0]?.span_id);
    expect(step).toMatchObject({ input: { ticket: expect.anything() }, output: { confidence: 0.93 } });
    expect(step).not.toHaveProperty('usage');
    expect(worker.lines.join('\n')).not.toMatch(/error/i);
  });

  it('waits for a person through kill -9 of worker and daemon, and finishes', async () => {
    const restart = await startLasting();
    const first = run('worker.ts');
    await isRegistered();
    const asking = run('start.ts', '250', 'I do not like the colour any more.');
    const [, runId = ''] = await asking.line(/^run (\S+), trace/);
    const [, ticket = ''] = await asking.line(/approve\.ts (\S+) yes/);
    await first.kill();
    await daemon.stop('SIGKILL');
    await restart();
    run('worker.ts');
    await run('approve.ts', ticket, 'yes').line(/the run goes on/);
    await asking.line(/^paid: /);
    expect(await asking.ended).toBe(0);
    await expectWholeJournal(runId);
    await expectWholeTrace(runId);
  });

  it('goes on where it was after kill -9 of worker and daemon in the middle of a step', async () => {
    const restart = await startLasting('--lease-ttl-ms', '3000', '--reclaim-window-ms', '100');
    const first = runWith(
      { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hangingModel)}` },
      'worker.ts',
    );
    await isRegistered();
    const clear = run('start.ts', '40', 'It arrived broken.');
    const [, runId = ''] = await clear.line(/^run (\S+), trace/);
    await clear.line(/step\.started\s+triage/);
    await Promise.all([first.kill(), daemon.stop('SIGKILL')]);
    await restart();
    run('worker.ts');
    await clear.line(/^paid: /);
    expect(await clear.ended).toBe(0);
    await expectWholeJournal(runId);
    const { run: ended } = await expectWholeTrace(runId);
    expect(ended.attempts[0]).toMatchObject({ step_id: 'triage', status: 'orphaned' });
    expect(ended.attempts[1]).toMatchObject({ step_id: 'triage', status: 'succeeded', attempt: 2 });
  });
});

describe('the daemon', () => {
  const hello = { id: 'hello', version: 1, steps: [{ id: 'greet', kind: 'task' }] };
  /** Nobody answers it: a run of it goes on, and has nothing to claim. */
  const asking = { id: 'asking', version: 1, steps: [{ id: 'ask', kind: 'wait_event', event: 'answer', key: 'k' }] };
  /** Follows a run, and has its first entry. @returns reads on to the end of the stream, which is not to be cut off */
  const openStream = async (runId: string): Promise<() => Promise<void>> => {
    const headers = { accept: 'text/event-stream' };
    const { body } = await fetch(`${daemon.url}/v1/api/runs/${runId}/events`, { headers });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('"kind":"run.started"')) {
      const piece = await reader?.read();
      if (piece?.value === undefined) throw new Error(`the stream ended with ${text}`);
      text += piece.value;
    }
    return async () => {
      while ((await reader?.read())?.done === false);
    };
  };

  it('stops with claims held and streams open: each is answered, and the process ends with 0', async () => {
    daemon = await startDaemon(folder.path);
    await post('/workers/register', { worker_id: 'w', definitions: [asking] });
    const { run_id } = (await (await post('/runs', { definition_id: 'asking', input: {} })).json()) as Run;
    const claims = Array.from({ length: 10 }, async () => {
      const answer = await post('/steps/claim', { worker_id: 'w', max: 1, wait_ms: 20_000 });
      return [answer.status, await answer.json()];
    });
    const streams = await Promise.all(Array.from({ length: 10 }, () => openStream(run_id)));
    await eventually('all claims to be held', async () => {
      const { context } = await read<{ context: { waitingClaims: number } }>('/actors/dispatcher/main');
      return context.waitingClaims === 10;
    });
    expect(await daemon.stop('SIGTERM')).toBe(0);
    for (const claim of claims) expect(await claim).toEqual([200, { leases: [] }]);
    await expect(Promise.all(streams.map((toItsEnd) => toItsEnd()))).resolves.toHaveLength(10);
  });

  it('tells what ended a moment before it stopped: the trace is whole after the next start', async () => {
    daemon = await startDaemon(folder.path);
    await post('/workers/register', { worker_id: 'w', definitions: [hello] });
    const { run_id } = (await (await post('/runs', { definition_id: 'hello', input: {} })).json()) as Run;
    const claimed = await post('/steps/claim', { worker_id: 'w', max: 1, wait_ms: 20_000 });
    const [lease] = ((await claimed.json()) as { leases: { lease_id: string }[] }).leases;
    expect((await post(`/steps/${lease?.lease_id}/complete`, { worker_id: 'w' })).status).toBe(200);
    expect(await daemon.stop('SIGTERM')).toBe(0);
    daemon = await startDaemon(folder.path);
    await expectWholeTrace(run_id);
  });

  it('keeps the runs in a file of their own, for the owner alone, and refuses a file that is none', async () => {
    daemon = await startDaemon(folder.path);
    const file = join(folder.path, 'svc-runs.db');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const second = startDaemon(folder.path, ['--data', join(folder.path, 'other.db')]);
    await expect(second).rejects.toThrow(/ended with 1[^]*svc-runs\.db/);
    await daemon.stop();
    writeFileSync(file, 'not a database, but long enough to look at '.repeat(200));
    await expect(startDaemon(folder.path)).rejects.toThrow(/ended with 1[^]*svc-runs\.db/);
  });

  it('--runs-data off: runs answer 503 runs_disabled, the rest works, and no file is made', async () => {
    daemon = await startDaemon(folder.path, ['--runs-data', 'off']);
    const answer = await post('/runs', { definition_id: 'hello', input: {} });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'runs_disabled']);
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${daemon.url}/v1/api/machines`)).status).toBe(200);
    expect(await daemon.stop('SIGTERM')).toBe(0);
    expect(() => statSync(join(folder.path, 'off'))).toThrow('ENOENT');
    expect(() => statSync(join(folder.path, 'svc-runs.db'))).toThrow('ENOENT');
  });
});
