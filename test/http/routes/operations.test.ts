import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { BuiltInterface } from '../../../src/http/page/built-interface.ts';
import { expositionOf } from '../../../src/http/routes/operations.ts';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { type Counters, createCounters } from '../../../src/model/counters.ts';
import { sendBytes } from '../send-bytes.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

let service: Service | undefined;
const start = async (options: ServiceOptions = {}): Promise<Service> => (service = await startService(options));
afterEach(async () => service?.close());

const closed = { topLevel: { ingest: ['i'], read: ['r'], write: ['w'], admin: ['a'] } };

describe('operational endpoints', () => {
  it('/healthz tells status, version, spec_version, uptime_seconds and storage, needs no key and touches no storage', async () => {
    const { ask, calls } = await start({ keys: closed });
    const answer = await ask('/healthz');
    expect([answer.status, answer.body]).toEqual([
      200,
      { status: 'ok', version: '1.2.3', spec_version: openapi.info.version, uptime_seconds: 61, storage: 'fake' },
    ]);
    expect(calls).toEqual([]);
  });

  it('/readyz reads each store once and answers 200 when all do', async () => {
    const asked: string[] = [];
    const probe = (name: string) => ({ name, ping: async () => void asked.push(name) });
    const { ask } = await start({ keys: closed, probes: [probe('signal store'), probe('runs store')] });
    const answer = await ask('/readyz');
    expect([answer.status, answer.body.status, answer.body.detail]).toEqual([200, 'ok', undefined]);
    expect(asked).toEqual(['signal store', 'runs store']);
  });

  it('/readyz tells what the signal store promises, also while a store does not answer; /healthz does not', async () => {
    const probes = [{ name: 'runs store', ping: () => Promise.reject(new Error('away')) }];
    const { ask } = await start({ probes });
    const promised = {
      deletes: 'deferred',
      idempotency: 'converging',
      atomicity: 'converging',
      longest_word_bytes: 1_000,
      order: 'identity',
    };
    const answer = await ask('/readyz');
    expect([answer.status, answer.body.capabilities]).toEqual([503, promised]);
    expect((await ask('/healthz')).body).not.toHaveProperty('capabilities');
    await service?.close();
    expect((await (await start()).ask('/readyz')).body.capabilities).toEqual(promised);
  });

  it('/readyz answers 503 with status degraded and a detail naming the failure otherwise', async () => {
    const { ask } = await start({
      probes: [
        { name: 'signal store', ping: async () => {} },
        { name: 'runs store', ping: () => Promise.reject(new Error('the file is locked')) },
      ],
    });
    const answer = await ask('/readyz');
    expect([answer.status, answer.body.status, answer.body.detail]).toEqual([
      503,
      'degraded',
      'runs store: the file is locked',
    ]);
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('/metrics names every counter of the specification and the gauges, in the text format', async () => {
    const { ask, calls } = await start({ keys: closed });
    const answer = await ask('/metrics');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const types = [...answer.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(types.filter(([, type]) => type === 'counter').map(([name]) => name)).toEqual([
      'svc_signals_accepted_total',
      'svc_signals_rejected_total',
      'svc_batches_duplicate_total',
      'svc_traces_sampled_out_total',
      'svc_signals_over_quota_total',
      'svc_signals_unbounded_total',
      'svc_ingest_requests_total',
      'svc_query_requests_total',
      'svc_request_errors_total',
      'svc_audit_write_failures_total',
      'svc_signals_doubtful_time_total',
      'svc_forward_dropped_total',
      'svc_watch_transitions_dropped_total',
      'svc_runs_quarantined_total',
      'svc_answers_refused_total',
      'svc_slow_readers_cut_total',
      'svc_connections_refused_total',
      'svc_idle_connections_cut_total',
    ]);
    expect(types.filter(([, type]) => type === 'gauge')).toEqual([
      ['svc_answer_bytes', 'gauge'],
      ['svc_answer_bytes_limit', 'gauge'],
      ['svc_uptime_seconds', 'gauge'],
    ]);
    expect(answer.text).toMatch(/^svc_answer_bytes 0$/m);
    expect(answer.text).toMatch(/^svc_answer_bytes_limit 268435456$/m);
    expect(answer.text).toMatch(/^svc_uptime_seconds 61$/m);
    expect(calls).toEqual([]);
  });

  it('runs are counted by status where they are on, and by nothing else', () => {
    const open = { scheduled: 1, queued: 2, running: 3, waiting: 4, paused: 5 };
    const ended = { succeeded: 6, failed: 7, cancelled: 8 };
    const gauges = { answerBytes: 0, maxAnswerBytes: 0, uptimeSeconds: 0 };
    const text = expositionOf(createCounters(), { ...gauges, runs: { open, ended } });
    const lines = text.split('\n').filter((line) => /svc_runs_(open|ended)/.test(line));
    expect(lines).toEqual([
      '# HELP svc_runs_open Runs that have not ended, by status.',
      '# TYPE svc_runs_open gauge',
      'svc_runs_open{status="scheduled"} 1',
      'svc_runs_open{status="queued"} 2',
      'svc_runs_open{status="running"} 3',
      'svc_runs_open{status="waiting"} 4',
      'svc_runs_open{status="paused"} 5',
      '# HELP svc_runs_ended_total Runs that ended since the process started, by status.',
      '# TYPE svc_runs_ended_total counter',
      'svc_runs_ended_total{status="succeeded"} 6',
      'svc_runs_ended_total{status="failed"} 7',
      'svc_runs_ended_total{status="cancelled"} 8',
    ]);
    expect(expositionOf(createCounters(), gauges)).not.toContain('svc_runs_open');
  });

  it('each counter moves its own line and no other', () => {
    const read = (counters: Counters) =>
      expositionOf(counters, { answerBytes: 0, maxAnswerBytes: 0, uptimeSeconds: 0 })
        .split('\n')
        .filter((line) => !line.startsWith('#'));
    const before = read(createCounters());
    const moved = (Object.keys(createCounters()) as (keyof Counters)[]).map((name) => {
      const after = read({ ...createCounters(), [name]: 7 });
      const changed = after.filter((line, index) => line !== before[index]);
      expect(changed).toHaveLength(1);
      expect(changed[0]).toMatch(/ 7$/);
      return changed[0];
    });
    expect(new Set(moved).size).toBe(moved.length);
  });

  it('/openapi.json serves the document', async () => {
    const { ask } = await start({ keys: closed });
    expect((await ask('/openapi.json')).body).toEqual(openapi);
  });
});

const POLICY =
  "default-src 'self'; connect-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe('the interface', () => {
  const script = 'console.log(1);'.repeat(2000);
  const page = '<!doctype html><script type="module" src="/assets/index-1a2b.js"></script>';
  const built: BuiltInterface = {
    page: { type: 'text/html; charset=utf-8', plain: Buffer.from(page), codings: {} },
    assets: new Map([
      [
        'index-1a2b.js',
        {
          type: 'text/javascript; charset=utf-8',
          plain: Buffer.from(script),
          codings: { br: brotliCompressSync(script), gzip: gzipSync(script) },
        },
      ],
    ]),
  };

  it('answers / and each page of the document, with all below it and any query, with the same markup and no key', async () => {
    const { ask } = await start({ keys: closed, built });
    const pages = openapi.paths['/'].get['x-pages'].flatMap((name) => [`/${name}`, `/${name}/a/b%2Fc?any=1&any=2`]);
    expect(pages.length).toBeGreaterThan(20);
    for (const path of ['/', '/?project=p&from=-24h', ...pages]) {
      const answer = await ask(path);
      expect([path, answer.status, answer.text]).toEqual([path, 200, page]);
      expect(answer.headers.get('cache-control')).toBe('no-cache');
      expect(answer.headers.get('content-security-policy')).toBe(POLICY);
    }
  });

  it('answers no other path with markup: the API refuses as ever, and what nobody serves is 404', async () => {
    const { ask } = await start({ keys: closed, built });
    for (const path of ['/v1/api/nothing', '/v1/traces/x', '/tracesx', '/metrics/x', '/healthz/x', '/assets', '/api/x'])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    expect((await ask('/v1/api/traces')).status).toBe(401);
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect((await ask(path)).headers.get('content-type')).not.toContain('html');
    expect((await ask('/traces', { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD');
  });

  it('gives scripts in the best coding that they were built in, to be kept for a year', async () => {
    const { ask, url } = await start({ built });
    const codings = { 'gzip, br': 'br', 'gzip, zstd': 'gzip', identity: null, 'br;q=0, gzip': 'gzip' };
    for (const [accepted, given] of Object.entries(codings)) {
      const answer = await ask('/assets/index-1a2b.js', { headers: { 'accept-encoding': accepted } });
      expect([accepted, answer.headers.get('content-encoding'), answer.text]).toEqual([accepted, given, script]);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(answer.headers.get('vary')).toBe('Accept-Encoding');
    }
    const old = await ask('/assets/index-0000.js');
    expect([old.status, old.headers.get('cache-control')]).toEqual([404, 'no-cache']);
    expect(
      await sendBytes(url, 'GET /assets/../../package.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
    ).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe('the page that stands in for an interface that was not built', () => {
  it('needs no key, loads nothing from elsewhere and runs nothing inline', async () => {
    const { ask } = await start({ keys: closed });
    const page = await ask('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toBe(POLICY);
    expect(page.text).toContain('npm ci');
    expect(page.text).not.toMatch(/https?:\/\//);
    expect(page.text).not.toMatch(/<script>|<style| style=| on[a-z]+=/);
    const references = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, reference]) => reference ?? '');
    expect(references).toEqual(expect.arrayContaining(['/page.js', '/page.css']));
    for (const reference of references.filter((reference) => reference !== 'data:,'))
      expect([reference, (await ask(reference)).status]).toEqual([reference, 200]);
  });

  it('its script makes text nodes only and keeps the key for the tab alone', async () => {
    const { ask } = await start();
    const script = await ask('/page.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.text).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|cookie/,
    );
    expect(script.text).toContain('sessionStorage');
  });

  it('tells how to send the first trace, to where the page came from', async () => {
    const { ask } = await start();
    const { text } = await ask('/page.js');
    for (const piece of ['OTEL_EXPORTER_OTLP_ENDPOINT=${origin}', '${origin}/v1/traces', 'location'] as const)
      expect(text).toContain(piece);
  });
});
