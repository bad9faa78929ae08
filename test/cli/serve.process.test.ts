import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const aFolder = (): string => {
  const folder = temporaryFolder();
  cleanups.push(folder.remove);
  return folder.path;
};
const aDaemon = async (folder: string, flags: readonly string[] = []): Promise<Daemon> => {
  const daemon = await startDaemon(folder, flags);
  cleanups.push(() => daemon.stop('SIGKILL'));
  return daemon;
};

const traceIdOf = (n: number): string => n.toString(16).padStart(32, 'a');
const aTrace = (n: number, text = 'hello'): string =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                traceId: traceIdOf(n),
                spanId: n.toString(16).padStart(16, 'b'),
                name: 'chat',
                startTimeUnixNano: `${Date.now()}000000`,
                endTimeUnixNano: `${Date.now() + 5}000000`,
                attributes: [{ key: 'input.value', value: { stringValue: text } }],
              },
            ],
          },
        ],
      },
    ],
  });

const JSON_HEADERS = { 'content-type': 'application/json' };
const send = (daemon: Daemon, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${daemon.url}/v1/traces`, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body });
const isStored = async (daemon: Daemon, n: number): Promise<boolean> =>
  (await fetch(`${daemon.url}/v1/api/traces/${traceIdOf(n)}`)).status === 200;

const logged = (daemon: Daemon, text: string): Promise<boolean> =>
  eventually(`the log line ${text}`, () => daemon.lines.some((line) => line.includes(text)));

/** A request whose body is held back half way, and known to have reached its handler. */
const aHeldRequest = async (
  daemon: Daemon,
  body: string,
): Promise<{ held: ClientRequest; answer: Promise<IncomingMessage>; finish: () => void }> => {
  const counted = async (): Promise<number> =>
    Number(/^svc_ingest_requests_total (\d+)$/m.exec(await (await fetch(`${daemon.url}/metrics`)).text())?.[1]);
  const before = await counted();
  const held = httpRequest(`${daemon.url}/v1/traces`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, 'content-length': Buffer.byteLength(body) },
  });
  const answer = once(held, 'response').then(([response]) => response as IncomingMessage);
  answer.catch(() => {});
  held.on('error', () => {});
  const half = Math.floor(body.length / 2);
  held.write(body.slice(0, half));
  await eventually('the request to arrive', async () => (await counted()) > before);
  return { held, answer, finish: () => held.end(body.slice(half)) };
};

const bin = join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs');

/** Runs the command to its end. */
const runToEnd = async (
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; out: string; err: string[] }> => {
  const child = spawn(process.execPath, [bin, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  cleanups.push(() => child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err: err.split('\n').filter((line) => line !== '') };
};
const filesIn = (folder: string): string[] => [
  '--data',
  join(folder, 'svc.db'),
  '--runs-data',
  join(folder, 'svc-runs.db'),
];

describe('a start', () => {
  it('logs its address and storage, serves, and creates files that nobody else may read', async () => {
    const folder = aFolder();
    const daemon = await aDaemon(folder);
    const listening = daemon.lines.find((line) => line.includes('"address"')) ?? '';
    expect(JSON.parse(listening)).toMatchObject({ level: 'info', address: daemon.url, msg: 'listening' });
    expect(listening).toContain(join(folder, 'svc.db'));
    expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    expect((await send(daemon, aTrace(1))).status).toBe(200);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
  });

  it('warns about nothing on loopback, and once for each open surface on any other address', async () => {
    const quiet = await aDaemon(aFolder());
    expect(quiet.lines.filter((line) => line.includes('"warn"'))).toEqual([]);
    const open = await aDaemon(aFolder(), ['--host', '0.0.0.0']);
    const warnings = open.lines.filter((line) => line.includes('"warn"'));
    for (const flag of ['--ingest-key', '--read-key', '--write-key', '--admin-key'])
      expect(
        warnings.some((line) => line.includes(flag)),
        flag,
      ).toBe(true);
    expect(new Set(warnings).size).toBe(warnings.length);
    const keyed = await aDaemon(aFolder(), [
      ...['--host', '0.0.0.0', '--ingest-key', 'i'.repeat(20), '--read-key', 'r'.repeat(20)],
    ]);
    expect(keyed.lines.filter((line) => line.includes('"warn"'))).toEqual([]);
  });
});

it('every operation of the document it serves has a route', async () => {
  const daemon = await aDaemon(aFolder());
  const document = (await (await fetch(`${daemon.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId }]) =>
      operationId === undefined ? [] : [{ method, path }],
    ),
  );
  expect(operations.length).toBeGreaterThan(25);
  for (const { method, path } of operations) {
    const response = await fetch(`${daemon.url}${path.replaceAll(/\{[^}]+\}/g, 'x')}`, {
      method: method.toUpperCase(),
    });
    const text = await response.text();
    expect(text, `${method} ${path}`).not.toContain('there is nothing at this path');
    expect(response.status, `${method} ${path}`).not.toBe(405);
    expect(response.status, `${method} ${path}`).toBeLessThan(500);
  }
});

describe('a start that cannot be', () => {
  it('names a flag with a bad value in one line, exit 2', async () => {
    const { code, out, err } = await runToEnd(['--sample', '2', ...filesIn(aFolder())]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toEqual(['svc: --sample: must be a number from 0 to 1, is "2"']);
  });

  it('names a variable with a bad value in one line, exit 2', async () => {
    const { code, err } = await runToEnd(filesIn(aFolder()), { SVCD_PORT: 'http' });
    expect(code).toBe(2);
    expect(err).toEqual(['svc: SVCD_PORT: must be an integer from 0 to 65535, is "http"']);
  });

  it('names the path of an unknown key in the config file in one line, exit 2', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.json');
    writeFileSync(file, '{"monitors":[{"id":"a","watch":"cost","window_seconds":60,"compare":"above","limit":1}]}');
    const { code, err } = await runToEnd(['--config-file', file, ...filesIn(folder)]);
    expect(code).toBe(2);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain(`${file}: monitors[0].limit: unknown key`);
  });

  it('names an address that holds a password in one line, without it, exit 2', async () => {
    const { code, err } = await runToEnd(['--colstore-url', 'http://user:canary@db:8123']);
    expect(code).toBe(2);
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(/^svc: --colstore-url: /);
    expect(err[0]).not.toContain('canary');
  });

  it('names the port that is taken in one line, exit 1', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    cleanups.push(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const { code, err } = await runToEnd(['--port', String(port), ...filesIn(aFolder())]);
    expect(code).toBe(1);
    expect(err).toEqual([`svc: 127.0.0.1:${port}: the address is taken by another process; choose another --port`]);
  });

  it('refuses a second daemon on the same file in one line, exit 1, and the first one goes on', async () => {
    const folder = aFolder();
    const first = await aDaemon(folder);
    const { code, err } = await runToEnd(['--port', '0', ...filesIn(folder)]);
    expect(code).toBe(1);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain('svc.db');
    expect((await send(first, aTrace(2))).status).toBe(200);
  });

  it('refuses a file that is none of its own in one line, exit 1, and leaves it as it is', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.db');
    writeFileSync(file, 'not a database, and long enough to be looked at as one '.repeat(40));
    const before = statSync(file);
    const { code, err } = await runToEnd(['--port', '0', ...filesIn(folder)]);
    expect(code).toBe(1);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain(file);
    expect(statSync(file)).toMatchObject({ size: before.size, mtimeMs: before.mtimeMs });
  });

  it('names a path that cannot be made in one line, exit 1', async () => {
    const folder = aFolder();
    writeFileSync(join(folder, 'file'), '');
    const { code, err } = await runToEnd(['--port', '0', '--data', join(folder, 'file', 'svc.db')]);
    expect(code).toBe(1);
    expect(err).toHaveLength(1);
    expect(err[0]).not.toContain('    at ');
  });
});

describe('SIGTERM and SIGINT', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`${signal} takes no new connections, finishes the request in flight, and exits 0`, async () => {
      const folder = aFolder();
      const daemon = await aDaemon(folder);
      const { answer, finish } = await aHeldRequest(daemon, aTrace(3));
      daemon.process.kill(signal);
      await logged(daemon, 'stopping');
      await eventually('new connections to be refused', () =>
        fetch(`${daemon.url}/healthz`).then(
          () => false,
          () => true,
        ),
      );
      finish();
      expect((await answer).statusCode).toBe(200);
      expect(await daemon.ended).toBe(0);
      expect(readdirSync(folder)).toContain('svc.db');
      const wal = readdirSync(folder).filter((name) => name.endsWith('-wal') && name.startsWith('svc.db'));
      for (const name of wal) expect(statSync(join(folder, name)).size, name).toBe(0);
      expect(await isStored(await aDaemon(folder), 3)).toBe(true);
    });

  it('under load lose nothing that was acknowledged', async () => {
    const folder = aFolder();
    const daemon = await aDaemon(folder);
    const acknowledged: number[] = [];
    let next = 100;
    const writer = async (): Promise<void> => {
      for (;;) {
        const n = next++;
        try {
          const response = await send(daemon, aTrace(n));
          if (response.status !== 200) return;
          await response.text();
          acknowledged.push(n);
        } catch {
          return; // the daemon takes no new connections
        }
      }
    };
    const writers = Array.from({ length: 8 }, writer);
    await eventually('a hundred answers', () => acknowledged.length > 100);
    expect(await daemon.stop('SIGTERM')).toBe(0);
    await Promise.all(writers);
    const restarted = await aDaemon(folder);
    for (const n of acknowledged) expect(await isStored(restarted, n), `trace ${n}`).toBe(true);
  });

  it('end the process at once when sent a second time', async () => {
    const daemon = await aDaemon(aFolder());
    const { held } = await aHeldRequest(daemon, aTrace(4));
    cleanups.push(() => held.destroy());
    daemon.process.kill('SIGTERM');
    await logged(daemon, 'stopping');
    await eventually('the process to end', () => {
      daemon.process.kill('SIGTERM');
      return daemon.process.exitCode !== null;
    });
    expect(await daemon.ended).toBe(143);
  });
});

it('SIGKILL and a restart keep every acknowledged span', async () => {
  const folder = aFolder();
  const daemon = await aDaemon(folder);
  for (let n = 10; n < 30; n += 1) expect((await send(daemon, aTrace(n))).status).toBe(200);
  await daemon.stop('SIGKILL');
  const restarted = await aDaemon(folder);
  for (let n = 10; n < 30; n += 1) expect(await isStored(restarted, n), `trace ${n}`).toBe(true);
});

it('the log holds no payload and no key, whatever is sent and however it fails', async () => {
  const canary = 'canary-0123456789-canary';
  const daemon = await aDaemon(aFolder(), [
    ...['--log-level', 'trace', '--ingest-key', `ingest-${canary}`, '--read-key', `read-${canary}`],
  ]);
  const ingest = { authorization: `Bearer ingest-${canary}` };
  const read = { 'x-svc-key': `read-${canary}` };
  expect((await send(daemon, aTrace(5, canary), ingest)).status).toBe(200);
  expect((await send(daemon, aTrace(6, canary), { authorization: `Bearer wrong-${canary}` })).status).toBe(401);
  expect((await send(daemon, `{"resourceSpans": ["${canary}`, ingest)).status).toBe(400);
  expect((await send(daemon, `{"resourceSpans": "${canary}"}`, ingest)).status).toBeLessThan(500);
  await send(daemon, canary, { ...ingest, 'content-encoding': 'gzip' });
  await send(daemon, canary, { ...ingest, 'content-type': 'application/x-protobuf' });
  for (const path of [`traces?q=${canary}`, `traces?${canary}=1`, `traces/${canary}`, `nothing/${canary}`])
    await fetch(`${daemon.url}/v1/api/${path}`, { headers: read });
  await fetch(`${daemon.url}/v1/api/scores`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...ingest },
    body: `{"${canary}`,
  });
  expect((await fetch(`${daemon.url}/v1/api/traces/${traceIdOf(5)}`, { headers: read })).status).toBe(200);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.lines.length).toBeGreaterThan(1);
  expect(daemon.lines.join('\n')).not.toContain('canary');
});

describe('a bug', () => {
  const plant = (fault: string): Record<string, string> => ({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2',()=>{${fault}})`)}`,
  });
  for (const [title, fault] of [
    ['an exception that nobody caught', 'throw new Error("planted")'],
    ['a rejection that nobody handled', 'Promise.reject(new Error("planted"))'],
  ] as const)
    it(`${title} is logged and ends the process with 70`, async () => {
      const folder = aFolder();
      const child: ChildProcess = spawn(process.execPath, [bin, '--port', '0', ...filesIn(folder)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...plant(fault) },
      });
      cleanups.push(() => child.kill('SIGKILL'));
      let out = '';
      child.stdout?.on('data', (chunk) => {
        out += String(chunk);
      });
      await eventually('the daemon to listen', () => out.includes('"listening"'));
      child.kill('SIGUSR2');
      expect(await once(child, 'close')).toEqual([70, null]);
      const fatal = out.split('\n').filter((line) => line.includes('"fatal"'));
      expect(fatal).toHaveLength(1);
      expect(fatal[0]).toContain('planted');
    });
});

it('a data file that is lost under the running service ends it with 70 and one line', async () => {
  const folder = aFolder();
  const daemon = await aDaemon(folder);
  expect((await send(daemon, aTrace(1))).status).toBe(200);
  truncateSync(join(folder, 'svc.db'), 0);
  truncateSync(join(folder, 'svc.db-wal'), 0);
  await eventually('the process to end', async () => {
    await send(daemon, aTrace(2)).catch(() => {});
    return daemon.process.exitCode !== null;
  });
  expect(await daemon.ended).toBe(70);
  const fatal = daemon.lines.filter((line) => line.includes('"fatal"'));
  expect(fatal).toHaveLength(1);
  expect(fatal[0]).toContain('svc.db');
});

describe('started by an older Node', () => {
  /** The Node that npm itself runs on: the one of the machine, where scripts run on the one of the lock file. */
  const ofTheMachine = process.env['npm_node_execpath'] ?? process.execPath;
  const major = Number(execFileSync(ofTheMachine, ['-p', 'process.versions.node.split(".")[0]'], { encoding: 'utf8' }));

  it('hands over to the Node of the lock file, passes SIGTERM on, and dies with its starter', async ({ skip }) => {
    if (major >= 26) skip(`needs npm on a Node older than 26; this one runs on ${major}`);
    const start = async (folder: string): Promise<{ child: ChildProcess; url: string }> => {
      const child = spawn(ofTheMachine, [bin, '--port', '0', ...filesIn(folder)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      cleanups.push(() => child.kill('SIGKILL'));
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += String(chunk);
      });
      await eventually('the daemon to listen', () => out.includes('"listening"'));
      return { child, url: /"address":"([^"]+)"/.exec(out)?.[1] ?? '' };
    };
    const folder = aFolder();
    const stopped = await start(folder);
    const ended = once(stopped.child, 'exit');
    stopped.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);

    const killed = await start(folder);
    killed.child.kill('SIGKILL');
    await eventually('the service to be gone', () =>
      fetch(`${killed.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    expect((await fetch(`${(await start(folder)).url}/healthz`)).status).toBe(200);
  });
});
