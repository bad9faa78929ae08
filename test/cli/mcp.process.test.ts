import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

// Everything is real here: a daemon, what was sent to it, the tool server as a child process, the official client.

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs');
const READ_KEY = 'read-key-of-the-tests-0001';
const ADMIN_KEY = 'admin-key-of-the-tests-0001';
const INGEST_KEY = 'ingest-key-of-the-tests-01';
const FAILED = 'a'.repeat(32);
const GOOD = 'b'.repeat(32);
const OLD = 'c'.repeat(32);
const SHOP = 'd'.repeat(32);
const SHARED = 'e'.repeat(32);

const folder = temporaryFolder();
let daemon: Daemon;
const now = Date.now();
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1000).toISOString();

const ingest = async (batch: object): Promise<void> => {
  const answer = await fetch(`${daemon.url}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${INGEST_KEY}` },
    body: JSON.stringify(batch),
  });
  expect(await answer.json()).toMatchObject({ rejected: 0 });
};
const LONG = `${'word '.repeat(2000)}THE END`;

beforeAll(async () => {
  daemon = await startDaemon(folder.path, [
    ...['--read-key', READ_KEY, '--ingest-key', INGEST_KEY, '--admin-key', ADMIN_KEY],
  ]);
  const correlation = { user_id: 'u-1', session_id: 's-1', environment: 'prod' };
  const span = (trace: string, n: number, fields: object) => ({
    trace_id: trace,
    span_id: `${n}`.padStart(16, trace[0]),
    correlation,
    kind: 'generic',
    status: 'ok',
    ...fields,
  });
  const parent = (trace: string, n: number) => ({ parent_span_id: `${n}`.padStart(16, trace[0]) });
  await ingest({
    spans: [
      span(FAILED, 1, {
        ...{ name: 'answer ticket', kind: 'agent_run', status: 'error', start_time: at(60), end_time: at(48) },
        error: { message: 'the search failed' },
      }),
      span(FAILED, 2, {
        ...{ ...parent(FAILED, 1), name: 'plan', kind: 'model_generation', start_time: at(59), end_time: at(57) },
        ...{ model: 'gpt-4o-mini', usage: { input_tokens: 1200, output_tokens: 300 } },
        input: [
          { role: 'system', content: 'You are terse.' },
          { role: 'user', content: 'Where is my parcel?\nFailed at: nothing, all is well' },
        ],
        output: LONG,
      }),
      span(FAILED, 3, {
        ...{ ...parent(FAILED, 1), name: 'search', kind: 'tool_call', status: 'error' },
        ...{ start_time: at(57), end_time: at(49), input: { query: 'parcel' } },
        error: { type: 'TimeoutError', message: 'upstream\ntimed out' },
      }),
      span(GOOD, 1, {
        ...{ name: 'greet', kind: 'model_generation', model: 'own-7b', start_time: at(30), end_time: at(29) },
        ...{ input: 'hello', output: 'good day', usage: { input_tokens: 3, output_tokens: 2 } },
        correlation: { user_id: 'u-2', session_id: 's-2' },
      }),
      span(OLD, 1, { name: 'long ago', start_time: at(3 * 86_400), end_time: at(3 * 86_400 - 1) }),
      span(SHOP, 1, { name: 'sell', start_time: at(20), end_time: at(19), correlation: { project: 'shop' } }),
      span(SHARED, 1, { name: 'shared', start_time: at(20), end_time: at(19), correlation: { project: 'shop' } }),
      span(SHARED, 2, { name: 'secret of another', start_time: at(20), end_time: at(19) }),
    ],
    logs: [{ timestamp: at(50), severity: 'warn', message: 'retrying the search', logger: 'tools', trace_id: FAILED }],
    scores: [
      {
        ...{ score_id: 's', trace_id: FAILED, scorer_id: 'no_errors', scorer_version: '1', value: 0, min: 0, max: 1 },
        ...{ reason: 'search failed', source: 'offline', timestamp: at(10) },
      },
    ],
    feedback: [{ feedback_id: 'f', trace_id: FAILED, kind: 'thumbs', value: 'down', timestamp: at(5) }],
  });
});
afterAll(async () => {
  await daemon.stop();
  folder.remove();
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** The tool server under the official client, with nothing of this process's environment that it would read. */
const aClient = async (args: readonly string[] = [], env: Record<string, string> = {}) => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stderr: 'pipe',
  });
  const errors: string[] = [];
  transport.stderr?.on('data', (chunk) => errors.push(String(chunk)));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  cleanups.push(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: given });
    const [content] = result.content as [{ type: string; text: string }];
    expect(result.content).toHaveLength(1);
    expect(content.type).toBe('text');
    expect(result.structuredContent).toBeUndefined();
    return { text: content.text, isError: result.isError === true };
  };
  return { client, call, errors };
};
const aReader = (args: readonly string[] = []) => aClient(['--endpoint', daemon.url, '--api-key', READ_KEY, ...args]);
const lineOf = (text: string, start: string): string =>
  text.split('\n').find((line) => line.startsWith(start)) ?? `no line starts with ${start}`;

describe('find_runs', () => {
  it('shows one line per trace, newest first, of the last 24 hours by default', async () => {
    const { call } = await aReader();
    const { text, isError } = await call('find_runs');
    expect(isError).toBe(false);
    const lines = text.split('\n');
    expect(lines[0]).toContain('the last 24 hours');
    expect(lines.slice(1).map((line) => line.slice(0, 32))).toEqual([SHARED, GOOD, FAILED]);
    expect(lineOf(text, FAILED)).toMatch(/ error +12\.0s +\$\d/);
    expect(lineOf(text, FAILED)).toContain('1,200 in, 300 out tokens');
    expect(lineOf(text, FAILED)).toContain('3 spans, 2 failed');
    expect(lineOf(text, FAILED)).toContain('answer ticket; gpt-4o-mini; user u-1; session s-1; env prod');
    // A model that the book does not hold has no cost, which is not zero.
    expect(lineOf(text, GOOD)).toContain('no cost');
  });

  it.each([
    ['status', { status: 'error' }, [FAILED]],
    ['model', { model: 'own-7b' }, [GOOD]],
    ['user', { user: 'u-2' }, [GOOD]],
    ['session', { session: 's-2' }, [GOOD]],
    ['free text', { text: 'parcel' }, [FAILED]],
    ['a wider window', { from: '-7d', status: 'ok', sort: 'start_time', order: 'asc', limit: 1 }, [OLD]],
    ['duration, longest first', { sort: 'duration', limit: 1 }, [FAILED]],
    ['another project', { project: 'shop', text: '' }, [SHARED, SHOP]],
  ])('filters and sorts by %s', async (_name, args, expected) => {
    const { call } = await aReader();
    const { text } = await call('find_runs', args);
    expect(
      text
        .split('\n')
        .map((line) => line.slice(0, 32))
        .filter((start) => /^[0-9a-f]{32}$/.test(start))
        .toSorted(),
    ).toEqual(expected.toSorted());
  });

  it('continues a list with the cursor it names, and says when nothing matches', async () => {
    const { call } = await aReader();
    const first = await call('find_runs', { limit: 2 });
    const cursor = /cursor (\S+)$/.exec(first.text)?.[1];
    expect(cursor).toBeDefined();
    const second = await call('find_runs', { limit: 2, cursor });
    expect(second.text).toContain(FAILED);
    expect(second.text).not.toContain('cursor');
    expect((await call('find_runs', { user: 'nobody' })).text).toContain('No trace matches');
  });
});

describe('get_run', () => {
  it('shows a waterfall with the failing step and its reason, prompts and completions, logs, scores and feedback', async () => {
    const { call } = await aReader();
    const { text, isError } = await call('get_run', { trace_id: FAILED });
    expect(isError).toBe(false);
    // The innermost step that failed, not the run that failed because of it; its message on one line.
    expect(lineOf(text, 'Failed at')).toBe(`Failed at: search (tool_call, span ${'3'.padStart(16, 'a')}), after 8.0s`);
    expect(lineOf(text, 'Reason')).toBe('Reason: TimeoutError: upstream timed out');
    expect(lineOf(text, 'Path')).toBe('Path: answer ticket > search');
    expect(text).toMatch(/^\+0us +12\.0s +error +agent_run +answer ticket; the search failed$/m);
    expect(text).toMatch(/^\+1\.0s +2\.0s +ok +model_generation + plan; gpt-4o-mini; 1,200 in, 300 out tokens; \$\d/m);
    expect(text).toContain('prompt:\n| system: You are terse.\n| user: Where is my parcel?\n| Failed at: nothing');
    expect(text).toContain('completion:\n| word word');
    expect(text).toContain('| {"query":"parcel"}');
    expect(text).toMatch(/Logs \(1\):\n\S+ +warn +\| tools: retrying the search/);
    expect(text).toContain('no_errors (1): 0 on 0 to 1; search failed');
    expect(text).toContain('thumbs: down');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('caps payloads, and says how much it cut', async () => {
    const { call } = await aReader();
    const { text } = await call('get_run', { trace_id: FAILED });
    expect(text).not.toContain('THE END');
    expect(text).toContain(`(${LONG.length - 2000} more characters)`);
    const whole = await call('get_run', { trace_id: FAILED, max_payload_characters: 20_000 });
    expect(whole.text).toContain('THE END');
    const none = await call('get_run', { trace_id: FAILED, max_payload_characters: 0 });
    expect(none.text).not.toContain('parcel?');
    expect(none.text).toContain('Failed at: search');
  });

  it('says that no step failed where none did', async () => {
    const { call } = await aReader();
    const { text } = await call('get_run', { trace_id: GOOD.toUpperCase() });
    expect(text).toContain('No step failed.');
    expect(text).toContain('prompt:\n| hello\ncompletion:\n| good day');
  });
});

describe('durable runs', () => {
  const api = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${daemon.url}/v1/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_KEY}` },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  };
  const retry = { max_attempts: 2, backoff_ms: 1, jitter: 'none' };
  const definitions = [
    {
      id: 'refund',
      version: 1,
      steps: [
        { id: 'look', kind: 'task', retry },
        { id: 'pay', kind: 'task', retry },
      ],
    },
    {
      ...{ id: 'approval', version: 1 },
      steps: [{ id: 'ask', kind: 'wait_event', event: 'approved', key: 'ticket-1', timeout_ms: 3_600_000 }],
    },
  ];
  const start = async (id: string): Promise<string> =>
    (await api('/runs', { definition_id: id, input: {}, project: 'flows' }))['run_id'] as string;
  /** Takes the next step of a worker that waits for it. */
  const take = async (runId: string): Promise<string> => {
    const lease = await eventually('a step to be offered', async () => {
      const { leases } = await api('/steps/claim', { worker_id: 'w1', max: 1, wait_ms: 5000, run_id: runId });
      return (leases as { lease_id: string }[])[0];
    });
    await api(`/steps/${lease.lease_id}/started`, { worker_id: 'w1' });
    return lease.lease_id;
  };
  const fail = async (lease: string, kind: string, message: string): Promise<unknown> =>
    api(`/steps/${lease}/fail`, { worker_id: 'w1', error: { class: kind, message } });

  beforeAll(() => api('/workers/register', { worker_id: 'w1', definitions }));

  it('a waiting run says for what and until when, found by its run_id', async () => {
    const runId = await start('approval');
    const { call } = await aReader();
    for (const tool of ['find_runs', 'get_run']) {
      const { text } = await call(tool, { run_id: runId });
      expect(lineOf(text, 'Durable run')).toContain(`${runId}: approval version 1; waiting; at step ask;`);
      expect(text).toMatch(
        /Waits for:\n {2}event "approved" with key "ticket-1" at step ask, since \S+, until \S+ \(in \w+\)/,
      );
    }
  });

  it('the failing step is the one that failed the run, never an attempt that was retried', async () => {
    const runId = await start('refund');
    await fail(await take(runId), 'retryable', 'down for a moment');
    await api(`/steps/${await take(runId)}/complete`, { worker_id: 'w1', output: {} });
    await fail(await take(runId), 'fatal', 'no such account');
    const { call } = await aReader();
    const { text } = await call('get_run', { run_id: runId });
    expect(lineOf(text, 'Durable run')).toContain('refund version 1; failed;');
    expect(lineOf(text, 'Run failed at')).toBe('Run failed at: pay, visit 1, attempt 1');
    expect(lineOf(text, 'Reason')).toBe('Reason: fatal: no such account');
    expect(text).toContain('  look, visit 1, attempt 1: retryable: down for a moment');
    expect(text).toMatch(/^look +visit 1 +attempt 2 +succeeded +\S+ +\S+ +w1$/m);
  });

  it.each([
    ['find_runs', 'No trace matches.'],
    ['get_run', 'not_found'],
  ])('%s says that there is no such run', async (tool, words) => {
    const { call } = await aReader();
    expect((await call(tool, { run_id: '019aa1ef-8a11-7c42-9d5e-000000000000' })).text).toContain(words);
  });

  it('another project than that of the tools sees none of it', async () => {
    const runId = await start('approval');
    const { call } = await aReader(['--project', 'shop']);
    for (const tool of ['find_runs', 'get_run']) {
      const { text, isError } = await call(tool, { run_id: runId });
      expect([isError, text]).toEqual([true, expect.stringContaining('limited to (--project, SVC_PROJECT)')]);
      expect(text).not.toContain('approval');
    }
  });
});

describe('run_stats', () => {
  it('adds up cost, failure rate, latency and tokens of a window', async () => {
    const { call } = await aReader();
    const { text } = await call('run_stats');
    const lines = text.split('\n');
    expect(lines[0]).toMatch(/^the last 24 hours: 3 traces, 1 failed \(33\.3%\), \$\d\S*, 1,203 in, 302 out tokens$/);
    expect(lines[1]).toMatch(/^latency: p50 1\.0s, p95 12\.0s, p99 12\.0s, max 12\.0s$/);
    expect(lines).toHaveLength(2);
    expect((await call('run_stats', { from: '-7d' })).text).toContain('from -7d to now: 4 traces');
  });

  it.each([
    ['model', /^own-7b +1 trace +0 failed \(0\.0%\) +no cost/m],
    ['name', /^answer ticket +1 trace +1 failed \(100\.0%\) +\$\d/m],
    ['status', /^error +1 trace +1 failed/m],
    ['environment', /^prod +2 traces +1 failed|^prod +1 trace +1 failed/m],
    ['user', /^u-2 +1 trace +0 failed/m],
  ])('groups by %s', async (groupBy, line) => {
    const { call } = await aReader();
    const { text } = await call('run_stats', { group_by: groupBy });
    expect(text).toContain(`by ${groupBy}:`);
    expect(text).toMatch(line);
  });
});

describe('errors are answers that can be read', () => {
  it('names what to set when the key is missing or unknown, and never says the key', async () => {
    const withoutKey = await aClient(['--endpoint', daemon.url]);
    const { text, isError } = await withoutKey.call('find_runs');
    expect(isError).toBe(true);
    expect(text).toContain('--api-key or SVC_API_KEY');
    const wrong = await aClient(['--endpoint', daemon.url, '--api-key', 'canary-key-0123456789']);
    const refused = await wrong.call('run_stats');
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('does not know this key');
    expect(refused.text + wrong.errors.join('')).not.toContain('canary');
  });

  it('says that nothing answers at the endpoint', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const { call } = await aClient(['--endpoint', `http://127.0.0.1:${port}`]);
    const { text, isError } = await call('find_runs');
    expect(isError).toBe(true);
    expect(text).toBe(
      `nothing answers at http://127.0.0.1:${port} (ECONNREFUSED): start the service, or set --endpoint or SVC_ENDPOINT`,
    );
  });

  it('says that something else answers there, and follows no redirect with the key', async () => {
    let asked = 0;
    const other = createServer((request, response) => {
      asked += 1;
      if (request.url?.startsWith('/elsewhere') === true) response.end('{"traces":[]}');
      else response.writeHead(302, { location: '/elsewhere' }).end();
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    cleanups.push(() => other.close());
    const { port } = other.address() as AddressInfo;
    const { call } = await aClient(['--endpoint', `http://127.0.0.1:${port}`, '--api-key', READ_KEY]);
    const { text, isError } = await call('find_runs');
    expect(isError).toBe(true);
    expect(text).toContain('answered 302, and not as the service does');
    expect(asked).toBe(1);
  });

  it.each([
    ['an unknown trace', 'get_run', { trace_id: '9'.repeat(32) }, /not_found: no trace 9{32} is stored/],
    ['a malformed id', 'get_run', { trace_id: 'xyz' }, /32 hexadecimal digits/],
    ['a window that is none', 'find_runs', { from: 'yesterday' }, /invalid_parameter: .*\(from\)/],
    ['a limit over 100', 'find_runs', { limit: 101 }, /limit/],
    ['an unknown argument', 'find_runs', { modle: 'x' }, /modle/],
    ['an unknown group', 'run_stats', { group_by: 'weather' }, /group_by/],
  ])('refuses %s by name', async (_name, tool, args, message) => {
    const { call } = await aReader();
    const { text, isError } = await call(tool, args);
    expect(isError).toBe(true);
    expect(text).toMatch(message);
  });
});

describe('configuration', () => {
  it('reads SVC_ENDPOINT, SVC_API_KEY and SVC_PROJECT; the command line wins', async () => {
    const env = { SVC_ENDPOINT: daemon.url, SVC_API_KEY: READ_KEY, SVC_PROJECT: 'shop' };
    const fromEnvironment = await aClient([], env);
    const { text } = await fromEnvironment.call('find_runs');
    expect(text).toContain(SHOP);
    expect(text).not.toContain(FAILED);
    const fromFlags = await aClient(['--project', 'default'], { ...env, SVC_ENDPOINT: daemon.url });
    expect((await fromFlags.call('find_runs')).text).toContain(FAILED);
  });

  it('a project named at the start is a fence: no argument, no foreign trace, none in part', async () => {
    const { client, call } = await aReader(['--project', 'shop']);
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(3);
    for (const { inputSchema } of tools) expect(Object.keys(inputSchema.properties ?? {})).not.toContain('project');
    expect((await call('find_runs', { project: 'default' })).isError).toBe(true);
    expect((await call('get_run', { trace_id: SHOP })).text).toContain('sell');
    for (const foreign of [FAILED, SHARED]) {
      const { text, isError } = await call('get_run', { trace_id: foreign });
      expect(isError).toBe(true);
      expect(text).toContain('limited to (--project, SVC_PROJECT)');
      expect(text).not.toContain('secret of another');
    }
    expect((await call('run_stats')).text).toMatch(/project shop: 2 traces/);
  });

  it.each([
    [['--endpoint', 'ftp://x'], '--endpoint: must be a URL that begins with http:// or https://'],
    [['--api-key', 'with space'], '--api-key: must be printable ASCII without spaces'],
  ])('refuses %j with one line, exit 2', async (args, line) => {
    const child = spawn(process.execPath, [BIN, 'mcp', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    let err = '';
    let out = '';
    child.stderr.on('data', (chunk) => (err += String(chunk)));
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    const [code] = await once(child, 'close');
    expect([code, out, err]).toEqual([2, '', `svc: ${line}\n`]);
  });
});

describe('the wire', () => {
  it('tools/list by raw JSON-RPC lines: three tools with schemas, nothing but protocol on standard output, exit 0 at its end', async () => {
    const child = spawn(process.execPath, [BIN, 'mcp', '--endpoint', daemon.url, '--api-key', READ_KEY], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout });
    reader.on('line', (line) => lines.push(line));
    const ask = async (message: object): Promise<{ id: number; result: Record<string, unknown> }> => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const [line] = (await once(reader, 'line')) as [string];
      return JSON.parse(line) as { id: number; result: Record<string, unknown> };
    };
    const opened = await ask({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    });
    expect(opened).toMatchObject({ id: 1, result: { serverInfo: { name: 'svc' } } });
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    const listed = await ask({ id: 2, method: 'tools/list' });
    const tools = listed.result['tools'] as { name: string; inputSchema: Record<string, unknown> }[];
    expect(tools.map(({ name }) => name)).toEqual(['find_runs', 'get_run', 'run_stats']);
    for (const { inputSchema } of tools)
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(Object.keys(tools[0]?.inputSchema['properties'] ?? {})).toEqual(
      expect.arrayContaining(['project', 'status', 'model', 'user', 'session', 'text', 'from', 'to', 'sort']),
    );
    await ask({ id: 3, method: 'tools/call', params: { name: 'find_runs', arguments: {} } });
    child.stdin.end();
    expect((await ended)[0]).toBe(0);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(lines).toHaveLength(3);
  });
});
