import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { aDaemon, aFolder, clientOf, countersOf, daemonOn, ingest, nativeSpan, newTraceId, newWord } from './client.ts';

// "Storage", "Command-line surface", "Health document", "Operational endpoints" and "Versioning" of the interface
// specification; "Flags" of its decisions.

const files = aFolder();
const aFile = (content: string): string => {
  const path = join(files, newWord('f'));
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};

type Ended = { code: number | null; out: string; err: string };
/** Runs the command to its end. */
const run = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs'), ...args], {
    cwd: files,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    ended.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    ended.err += String(chunk);
  });
  [ended.code] = (await once(child, 'close')) as [number | null];
  return ended;
};
describe('"A flag with a bad value stops the start with one line naming it, exit status 2"', () => {
  const bad: readonly [string, string, ...string[]][] = [
    ['--sample', '1.1'],
    ['--sample', '-0.1'],
    ['--port', '65536'],
    ['--quota-per-minute', '-5'],
    ['--request-timeout-seconds', '0'],
    ['--max-body-bytes', '32MiB'],
    ['--audit-trusted-range', '10.0.0.0/33'],
    ['--ingest-key', '@/no/such/file'],
    ['--config-file', '/no/such/file'],
    ['--project', '*'],
  ];
  it('each of them', async () => {
    const ended = await Promise.all(bad.map(([flag, value]) => run(['--port', '0', `${flag}=${value}`])));
    for (const [index, { code, out, err }] of ended.entries()) {
      const [flag, value] = bad[index] ?? ['', ''];
      expect([flag, value, code, out, err.trim().split('\n').length]).toEqual([flag, value, 2, '', 1]);
      expect(err).toContain(flag);
    }
    expect(readdirSync(files).filter((name) => name.includes('.db'))).toEqual([]);
  });
  it('and a variable that is set to nothing, which would open what it was to close', async () => {
    const { code, err } = await run(['--port', '0'], { SVCD_INGEST_KEY: '' });
    expect([code, err.trim().split('\n').length]).toEqual([2, 1]);
    expect(err).toContain('SVCD_INGEST_KEY');
  });
  it('an unknown flag and an unknown subcommand too', async () => {
    for (const args of [['--nonsense', '1'], ['nonsense']]) {
      const { code, err } = await run(args);
      expect([args[0], code, err.trim().split('\n').length]).toEqual([args[0], 2, 1]);
      expect(err).toContain('nonsense');
    }
  });
});

describe('"unknown key in the config file": "startup fails"', () => {
  const monitor = { id: 'm', watch: 'cost', compare: 'above', threshold: 1, window_seconds: 60 };
  const slo = { id: 's', objective: 0.99, window_days: 7 };
  const bad: readonly [unknown, RegExp][] = [
    [{ nonsense: 1 }, /nonsense/],
    [{ projects: { shop: { quota: 5 } } }, /projects\.shop\.quota/],
    [{ projects: { shop: { sample: 1.5 } } }, /projects\.shop\.sample/],
    [{ projects: { shop: { keys: { owner: ['k'] } } } }, /projects\.shop\.keys/],
    [{ forward: { headers: {} } }, /forward/],
    [{ judge: { endpoint: 'http://x', model: 'm', criteria: {}, timeout_seconds: 301 } }, /judge\.timeout_seconds/],
    [{ judge: { endpoint: 'http://x', model: 'm', criteria: {}, timeout_seconds: 0 } }, /judge\.timeout_seconds/],
    [{ monitors: [{ ...monitor, limit: 1 }] }, /monitors\[0\]\.limit/],
    [{ monitors: [{ ...monitor, watch: 'weather' }] }, /monitors\[0\]\.watch/],
    [{ monitors: [{ ...monitor, watch: 'score_mean' }] }, /monitors\[0\]/],
    [{ monitors: [monitor, monitor] }, /monitors/],
    [{ slos: [{ ...slo, objective: 1 }] }, /slos\[0\]\.objective/],
    [{ monitor_interval_seconds: 'often' }, /monitor_interval_seconds/],
    [[], /./],
  ];
  it('and so do a wrong type and an impossible value, in one line naming the path, exit 2', async () => {
    const ended = await Promise.all(
      bad.map(([content]) => run(['config', '--config-file', aFile(JSON.stringify(content))])),
    );
    for (const [index, { code, err }] of ended.entries()) {
      const [content, named] = bad[index] ?? [];
      expect([JSON.stringify(content), code, err.trim().split('\n').length]).toEqual([JSON.stringify(content), 2, 1]);
      expect(err).toMatch(named ?? /never/);
    }
  });
  it('and so does a file that is no JSON', async () => {
    const { code, err } = await run(['config', '--config-file', aFile('{"a": ')]);
    expect([code, err.trim().split('\n').length]).toEqual([2, 1]);
  });
});

describe('"subcommand `config`: prints configuration including how many monitors are armed"', () => {
  it('with what is in effect, secrets never', async () => {
    const file = aFile(
      JSON.stringify({
        retention_days: 30,
        redaction: { keys: ['ssn'], hash_key: 'canary-hash-key', hash_identifiers: ['user_id'] },
        forward: { endpoint: 'http://127.0.0.1:9', headers: { authorization: 'canary-header' } },
        judge: { endpoint: 'http://127.0.0.1:9', model: 'm', api_key: 'canary-judge', criteria: { polite: '?' } },
        monitors: [
          { id: 'a', watch: 'cost', compare: 'above', threshold: 1, window_seconds: 60 },
          { id: 'b', watch: 'cost', compare: 'above', threshold: 1, window_seconds: 60, enabled: false },
          { id: 'c', watch: 'error_rate', compare: 'above', threshold: 0.5, window_seconds: 60 },
        ],
        projects: { shop: { keys: { read: ['canary-of-a-project-key'] } } },
      }),
    );
    const { code, out, err } = await run(
      ['config', '--config-file', file, '--read-key', 'canary-of-a-long-key-9876', '--sample', '0.5'],
      {
        SVCD_SAMPLE: '0.25',
        SVCD_RETENTION_DAYS: '20',
        SVCD_QUOTA_PER_MINUTE: '7',
      },
    );
    expect([code, err]).toEqual([0, '']);
    for (const secret of ['canary', 'key-9876']) expect(out).not.toContain(secret);
    const config = JSON.parse(out) as Record<string, unknown>;
    // "flag, then environment, then config file"; "`config` shows a count and the last four characters"
    expect(config).toMatchObject({
      sample: 0.5,
      retention_days: 20,
      quota_per_minute: 7,
      read_key: { count: 1, last_characters: ['...9876'] },
      monitors_armed: 2,
    });
  });
});

describe('"When bound to a non-loopback address it logs one warning per surface open to callers who should not reach it"', () => {
  const warningsOf = async (...flags: string[]): Promise<string[]> => {
    const daemon = await daemonOn(aFolder(), ['--host', '0.0.0.0', ...flags]);
    expect((await fetch(daemon.url.replace('0.0.0.0', '127.0.0.1').concat('/healthz'))).status).toBe(200);
    return daemon.lines
      .filter((line) => line.includes('"level":"warn"'))
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
  };
  it('"naming the flags to set; it never refuses to start for this reason"', async () => {
    const open = await warningsOf();
    expect(open).toHaveLength(6);
    for (const scope of ['ingest', 'read', 'write', 'admin', 'execute', 'worker'])
      expect(
        open.filter((line) => line.includes(`the ${scope} surface`) && line.includes(`--${scope}-key`)),
      ).toHaveLength(1);
    const some = await warningsOf('--ingest-key', 'ingest-0123456789', '--runs-data', 'off');
    expect(some.map((line) => /the (\w+) surface/.exec(line)?.[1])).toEqual(['read', 'admin']);
  });
});

describe('"At shutdown (SIGTERM or SIGINT) the process stops accepting connections and lets in-flight requests finish before exiting"', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`${signal}: the request in flight is answered and kept, new ones find nobody, exit 0`, async () => {
      const folder = aFolder();
      const daemon = await daemonOn(folder);
      const span = nativeSpan();
      const sent = request(`${daemon.url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
      });
      const answered = once(sent, 'response') as Promise<[{ statusCode: number; resume: () => void }]>;
      const text = `${JSON.stringify({ spans: [span] })}\n`;
      sent.write(text.slice(0, 50));
      await eventually('the request to arrive', async () => {
        const counters = await countersOf(clientOf(daemon.url));
        return counters['svc_ingest_requests_total'] === 1;
      });
      const ended = daemon.stop(signal);
      const { hostname, port } = new URL(daemon.url);
      for (let refused = false; !refused; await later(5))
        refused = await new Promise<boolean>((resolve) => {
          const socket = connect(Number(port), hostname, () => {
            socket.destroy();
            resolve(false);
          }).on('error', () => resolve(true));
        });
      sent.end(text.slice(50));
      const [response] = await answered;
      response.resume();
      expect(response.statusCode).toBe(200);
      expect(await ended).toBe(0);
      const again = await daemonOn(folder);
      expect((await fetch(`${again.url}/v1/api/traces/${span.trace_id}`)).status).toBe(200);
    });
});

describe('"Storage"', () => {
  it('"the applied version is recorded in a `schema_version` table (this build: version 2)", and starting again changes nothing', async () => {
    const folder = aFolder();
    for (let start = 0; start < 2; start += 1) {
      const daemon = await daemonOn(folder);
      await ingest(clientOf(daemon.url), { spans: [nativeSpan()] });
      expect(await daemon.stop()).toBe(0);
      const file = new Database(join(folder, 'svc.db'), { readonly: true });
      try {
        const rows = file.prepare('SELECT max(version) AS version FROM schema_version').all();
        expect(rows).toEqual([{ version: 2 }]);
        expect(file.pragma('journal_mode', { simple: true })).toBe('wal');
        expect(file.pragma('page_size', { simple: true })).toBe(16384);
      } finally {
        file.close();
      }
    }
  });
  it('a key of a batch is known after a restart, and so is what it brought', async () => {
    const folder = aFolder();
    const batch = { ingest_key: newWord(), spans: [nativeSpan({ output: 'remembered' })] };
    const first = await daemonOn(folder);
    expect(await ingest(clientOf(first.url), batch)).toMatchObject({ accepted: 1, duplicate: 0 });
    await first.stop('SIGKILL');
    const again = clientOf((await daemonOn(folder)).url);
    expect(await ingest(again, batch)).toMatchObject({ accepted: 0, duplicate: 1 });
    expect((await again.get('/v1/api/traces?q=remembered')).json.traces).toHaveLength(1);
  });
  it('"an older binary is not promised to read a newer file": it is refused in one line, exit 1', async () => {
    const folder = aFolder();
    await (await daemonOn(folder)).stop();
    const path = join(folder, 'svc.db');
    const file = new Database(path);
    file.prepare("INSERT INTO schema_version VALUES (99, '2040-01-01T00:00:00Z')").run();
    file.close();
    const { code, err } = await run(['--port', '0', '--data', path, '--runs-data', join(folder, 'svc-runs.db')]);
    expect([code, err.trim().split('\n').length]).toEqual([1, 1]);
    expect(err).toMatch(/99/);
  });
});

describe('with other flags', async () => {
  const service = await aDaemon(['--runs-data', 'off', '--project', 'mine']);

  it('"When `--runs-data off`, every run endpoint answers 503", `runs_disabled`', async () => {
    const id = newTraceId();
    for (const [method, path] of [
      ['POST', 'runs'],
      ['GET', 'runs'],
      ['GET', `runs/${id}`],
      ['GET', `runs/${id}/events`],
      ['POST', `runs/${id}/cancel`],
      ['POST', `runs/${id}/signal`],
      ['POST', 'events'],
      ['GET', 'definitions'],
      ['GET', 'workers'],
      ['GET', 'leases'],
      ['POST', 'workers/register'],
      ['POST', 'steps/claim'],
      ['POST', `steps/${id}/started`],
      ['POST', `steps/${id}/heartbeat`],
      ['POST', `steps/${id}/complete`],
      ['POST', `steps/${id}/fail`],
      ['DELETE', 'subjects/ada'],
    ] as const) {
      const { status, json } = await service.call(method, `/v1/api/${path}`, method === 'POST' ? {} : undefined);
      expect([method, path, status, json?.code]).toEqual([method, path, 503, 'runs_disabled']);
    }
    expect((await service.get('/v1/api/machines')).status).toBe(200);
    expect(readdirSync(service.folder).filter((name) => name.includes('runs'))).toEqual([]);
  });
  it('`--project` is the project of signals and queries that name none', async () => {
    const span = nativeSpan();
    await ingest(service, { spans: [span] });
    expect((await service.get('/v1/api/traces')).json.traces).toMatchObject([
      { trace_id: span.trace_id, correlation: { project: 'mine' } },
    ]);
    expect((await service.get('/v1/api/traces?project=default')).json.traces).toEqual([]);
  });
  it('"Both `/healthz` and `/readyz` return: `status`, `version`, `spec_version`, `uptime_seconds` (integer), `storage`"', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { status, json } = await service.get(path);
      expect(status).toBe(200);
      const { capabilities, ...specified } = json;
      expect(capabilities !== undefined, path).toBe(path === '/readyz');
      expect(specified).toEqual({
        status: 'ok',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        spec_version: expect.any(String),
        uptime_seconds: expect.any(Number),
        storage: expect.any(String),
      });
      expect(Number.isInteger(json.uptime_seconds)).toBe(true);
    }
  });
  it('a body that does not come is given up at `--request-timeout-seconds`: 503 `request_timeout`, counted as a failed request', async () => {
    // Nobody else asks it anything: a busy machine may take a second for any answer.
    const hasty = await aDaemon(['--request-timeout-seconds', '1']);
    const started = performance.now();
    const answer = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/x-ndjson' };
      const sent = request(`${hasty.url}/v1/ingest`, { method: 'POST', headers });
      sent.on('error', reject).on('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += String(chunk);
        });
        response.on('end', () => {
          resolve([response.statusCode, (JSON.parse(text) as { code: string }).code]);
          sent.destroy();
        });
      });
      sent.write(' ');
    });
    expect(answer).toEqual([503, 'request_timeout']);
    expect(performance.now() - started).toBeGreaterThan(900); // never early; how late is the machine's affair
    expect((await countersOf(hasty))['svc_request_errors_total']).toBe(1);
    expect((await hasty.get('/healthz')).status).toBe(200);
  });
  it('the log of it all is JSON, one object a line, without a trace id, a payload or a stack', () => {
    for (const line of service.daemon.lines) {
      const entry = JSON.parse(line) as Record<string, unknown>;
      expect(entry).toMatchObject({ level: expect.any(String), time: expect.any(String), msg: expect.any(String) });
      expect(line).not.toMatch(/"stack"|[0-9a-f]{32}/);
    }
    expect(service.daemon.lines.some((line) => line.includes(service.url) && line.includes('svc.db'))).toBe(true);
  });
});
