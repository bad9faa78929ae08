import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRun } from '../../../src/cli/run-commands/steer.ts';
import { watchRun } from '../../../src/cli/run-commands/watch.ts';
import { createMoments } from '../../../src/cli/moments.ts';
import { aFlow, aTask, type RunsHttp, startRunsService } from '../../http/runs/service.ts';
import { aTerminal } from '../a-terminal.ts';
import { RUN_ID } from '../mcp/a-service.ts';

const READ = 'a-read-key';
const EXECUTE = 'an-execute-key';
const worker = { key: 'a-worker-key' };

let service: RunsHttp;
let folder: string;
/** With a key that may do everything that these commands do. */
let svc: ReturnType<typeof aTerminal>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  const approve = { id: 'ask', kind: 'wait_event', event: 'approval', key: '${input.name}', timeout_ms: 3_600_000 };
  service = await startRunsService({
    definitions: [aFlow('flow', [aTask('one')]), aFlow('asks', [approve])],
    keys: { topLevel: { read: [READ, 'all'], worker: ['a-worker-key'], execute: [EXECUTE, 'all'] } },
  });
  await service.must(service.register('w1', undefined, {}, worker));
  svc = aTerminal({ SVC_ENDPOINT: service.url, SVC_API_KEY: 'all' });
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = async (definition: string, input: object = {}, more: object = {}): Promise<string> =>
  (await service.start(definition, input, more, { key: EXECUTE })).run_id;
const idsOf = (out: string): string[] =>
  (JSON.parse(out) as { readonly runs: readonly { readonly run_id: string }[] }).runs.map(({ run_id }) => run_id);

describe('svc runs', () => {
  it('lists runs, a line each, and says so when there is none', async () => {
    const id = await start('asks', { name: 'list' }, { project: 'lists' });
    const { code, out } = await svc(['runs', '--project', 'lists']);
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^RUN +DEFINITION +STATUS +STEP +STARTED +UPDATED +NOTE$/);
    expect(out.split('\n')[1]).toMatch(
      new RegExp(`^${id}  asks@1 +waiting +ask +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d +(?:now|\\d+ s ago)$`),
    );
    expect((await svc(['runs', '--project', 'nobody'])).out).toBe('No run matches.\n');
  });

  it('filters as the API does', async () => {
    const correlation = { session_id: 's-1', user_id: 'u-1', request_id: 'r-1' };
    const [asking, other] = [
      await start('asks', { name: 'x' }, { project: 'filters', correlation }),
      await start('flow', {}, { project: 'filters' }),
    ];
    const list = async (...filters: string[]): Promise<string[]> =>
      idsOf((await svc(['runs', '--json', '--project', 'filters', ...filters])).out);
    expect((await list()).toSorted()).toEqual([asking, other].toSorted());
    for (const [flag, hit, miss] of [
      ['--status', 'waiting', 'failed'],
      ['--definition', 'asks', 'nothing'],
      ['--waiting-on', 'event', 'timer'],
      ['--session', 's-1', 's-2'],
      ['--user', 'u-1', 'u-2'],
      ['--correlation', 'request_id=r-1', 'request_id=r-2'],
    ] as const) {
      expect(await list(flag, hit), flag).toEqual([asking]);
      expect(await list(flag, miss), flag).toEqual([]);
    }
    expect(await list('--parent', asking)).toEqual([]);
    expect(await list('--from', '2999-01-01T00:00:00Z')).toEqual([]);
    expect(await list('--to', '-1h')).toEqual([]);
  });

  it('prints one page, and by which cursor the next one goes on', async () => {
    const both = [await start('flow', {}, { project: 'pages' }), await start('flow', {}, { project: 'pages' })];
    const first = await svc(['runs', '--project', 'pages', '--limit', '1']);
    const cursor = /--cursor (\S+)/.exec(first.out)?.[1] ?? '';
    const second = await svc(['runs', '--project', 'pages', '--limit', '1', '--cursor', cursor]);
    const shown = [first, second].map(({ out }) => out.split('\n')[1]?.split(' ')[0]);
    expect(new Set(shown)).toEqual(new Set(both));
    expect(second.out).not.toContain('--cursor');
  });

  it('prints the body of the API as one JSON document with --json', async () => {
    const id = await start('flow', {}, { project: 'bodies' });
    const { out } = await svc(['runs', '--project', 'bodies', '--json']);
    expect(JSON.parse(out)).toEqual((await service.get('/runs?project=bodies', { key: READ })).body);
    expect(JSON.parse((await svc(['runs', id, '--json'])).out)).toEqual(
      (await service.get(`/runs/${id}`, { key: READ })).body,
    );
  });

  it('shows one run', async () => {
    const id = await start('asks', { name: 'one' });
    const { code, out } = await svc(['runs', id]);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^Run ${id} of asks version 1\n  status +waiting at step ask\n`));
    expect(out).toContain('  event "approval" with key "one" at step ask, since ');
    expect(out).toContain(`svc runs signal ${id} approval`);
  });

  it('shows with a parent what failed its child', async () => {
    const steps = [{ id: 'fan', kind: 'child', definition: 'flow', input: {} }];
    await service.must(service.register('w2', [aFlow('parent', steps), aFlow('flow', [aTask('one')])], {}, worker));
    const id = await start('parent', {}, { project: 'family' });
    const child = idsOf((await svc(['runs', '--json', '--project', 'family', '--parent', id])).out)[0] ?? '';
    const [lease] = await service.claim('w2', { run_id: child, wait_ms: 2000 }, worker);
    if (lease === undefined) throw new Error('the child offers no step');
    await service.must(service.started(lease, {}, 'w2', worker));
    await service.must(service.fail(lease, 'fatal', {}, 'w2', worker));
    expect((await svc(['runs', id])).out).toContain(`run ${child} failed at step one: fatal: it broke\n`);
  });

  it.each([
    [['runs', 'strat'], 2, /"strat" is neither the id of a run nor a command of svc runs \(start, signal/],
    [['runs', RUN_ID], 1, /^svc: not_found: /],
    [['runs', '--status', 'done'], 1, /^svc: invalid_parameter: .*status/],
    [['runs', '--limit', '0'], 2, /from 1 to 1000/],
    [['runs', '--limit', '1001'], 2, /from 1 to 1000/],
    [['runs', '--correlation', 'user'], 2, /name=value/],
    [['runs', '--staus', 'failed'], 2, /unknown option '--staus' \(Did you mean --status\?\)/],
    [['runs', 'start', 'flow', '--inptu', '{}'], 2, /unknown option '--inptu' \(Did you mean --input\?\)/],
    [['runs', 'start'], 2, /missing required argument 'definition'/],
    [['runs', 'watch', 'x'], 2, /"x" is not the id of a run/],
    [['runs', 'cancel', 'x'], 2, /"x" is not the id of a run/],
    [['runs', 'signal', 'x', 'e'], 2, /"x" is not the id of a run/],
    [['runs', 'watch', RUN_ID], 1, /^svc: not_found: /],
  ] as const)('refuses "svc %j" with one line', async (argv, code, line) => {
    const answer = await svc(argv);
    expect(answer).toEqual({ code, out: '', err: [expect.stringMatching(line)] });
  });

  it('says which key is missing', async () => {
    const withReadKey = aTerminal({ SVC_ENDPOINT: service.url, SVC_API_KEY: READ });
    expect(await withReadKey(['runs'])).toMatchObject({ code: 0 });
    expect(await withReadKey(['runs', 'start', 'flow'])).toMatchObject({
      code: 1,
      err: [expect.stringMatching(/execute/)],
    });
    const withoutKey = aTerminal({ SVC_ENDPOINT: service.url });
    expect((await withoutKey(['runs', 'start', 'flow'])).err[0]).toContain('one of its execute keys');
    expect((await withoutKey(['runs'])).err[0]).toContain('one of its read keys');
    expect((await withoutKey(['events'])).err[0]).toContain('one of its execute keys');
  });
});

describe('svc runs start', () => {
  it('starts a run with what it is given, and says how to follow it', async () => {
    const input = { name: 'Ada', n: [1, 2] };
    const { code, out } = await svc([
      ...['runs', 'start', 'asks@1', '--input', JSON.stringify(input), '--idempotency-key', 'ada-1'],
      ...['--correlation', 'user_id=u-9', '--correlation', 'session_id=s=9', '--project', 'starts'],
    ]);
    expect(code).toBe(0);
    const id = /^run (\S+) of asks version 1 is waiting\nfollow it: svc runs watch \1\n$/.exec(out)?.[1] ?? '';
    expect((await service.get(`/runs/${id}`, { key: READ })).body).toMatchObject({
      ...{ input, idempotency_key: 'ada-1', project: 'starts' },
      correlation: { user_id: 'u-9', session_id: 's=9' },
    });
    // The same key again: the same run.
    const again = await svc(['runs', 'start', 'asks', '--idempotency-key', 'ada-1', '--project', 'starts', '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ run_id: id });
  });

  it('reads input from a file, from standard input, and without --input takes an empty object', async () => {
    const path = join(folder, 'input.json');
    writeFileSync(path, '{"name": "of a file"}');
    const inputOf = async (argv: readonly string[], stdin?: string): Promise<unknown> =>
      (JSON.parse((await svc(['runs', 'start', 'flow', '--json', ...argv], stdin)).out) as { readonly input: unknown })
        .input;
    expect(await inputOf(['--input', `@${path}`])).toEqual({ name: 'of a file' });
    expect(await inputOf(['--input', '-'], '{"name": "of a pipe"}')).toEqual({ name: 'of a pipe' });
    expect(await inputOf([])).toEqual({});
    expect(await inputOf(['--input', 'null'])).toBeNull();
  });

  it.each([
    ['{name: 1}', '--input: is not JSON: "{name: 1}"; @path reads a file, - reads standard input'],
    ['@/nowhere/x.json', '--input: "/nowhere/x.json" cannot be read (ENOENT)'],
    ['-', '--input: standard input does not hold one JSON document'],
  ])('refuses the input %s', async (input, problem) => {
    expect(await svc(['runs', 'start', 'flow', '--input', input], 'secret')).toEqual({
      ...{ code: 2, out: '' },
      err: [`svc: ${problem}`],
    });
  });

  it('takes input up to the largest body of the service, and no more', async () => {
    const most = 4 * 1024 * 1024;
    const text = (length: number): string => JSON.stringify('x'.repeat(length - 2));
    expect((await svc(['runs', 'start', 'flow', '--input', '-'], text(most + 1))).err).toEqual([
      `svc: --input: standard input has more than ${most} bytes`,
    ]);
    // One of that length is sent, and with what stands around it the service refuses it.
    expect((await svc(['runs', 'start', 'flow', '--input', '-'], text(most))).err).toEqual([
      expect.stringMatching(/^svc: payload_too_large: /),
    ]);
  });

  it('refuses what is no definition', async () => {
    expect(await svc(['runs', 'start', 'no such'])).toMatchObject({ code: 2 });
    expect(await svc(['runs', 'start', 'nothing'])).toMatchObject({
      code: 1,
      err: [expect.stringMatching(/not_found/)],
    });
  });

  it('names what comes next: of a run that has ended what came of it, of an unknown definition its worker', async () => {
    const ended = await svc(['runs', 'start', 'asks', '--input', '{}']);
    expect(ended.out).toMatch(/^run (\S+) of asks version 1 is failed\nwhat came of it: svc runs \1\n$/);
    expect((await svc(['runs', 'start', 'nothing'])).err[0]).toMatch(
      /: the worker that serves it brings it, so start that first$/,
    );
  });

  it('with --wait shows how it ended: 0 when it succeeded, 3 when it did not', async () => {
    const serve = async (project: string, end: 'complete' | 'fail'): Promise<void> => {
      const [lease] = await service.claim('w1', { wait_ms: 5000 }, worker);
      if (lease === undefined) throw new Error(`nothing to claim in ${project}`);
      await service.must(service.started(lease, {}, 'w1', worker));
      const done = { output: 'paid' };
      await service.must(
        end === 'complete'
          ? service.complete(lease, done, 'w1', worker)
          : service.fail(lease, 'fatal', {}, 'w1', worker),
      );
    };
    // What other tests left queued is cancelled, so that the claims below get these runs.
    for (const id of idsOf((await svc(['runs', '--json', '--project', '*', '--status', 'queued'])).out))
      await svc(['runs', 'cancel', id]);
    const good = svc(['runs', 'start', 'flow', '--wait']);
    await serve('default', 'complete');
    expect(await good).toMatchObject({ code: 0, out: expect.stringContaining('\nOutput\n  "paid"\n') });
    const bad = svc(['runs', 'start', 'flow', '--wait', '--json']);
    await serve('default', 'fail');
    const { code, out, err } = await bad;
    expect({ code, err }).toEqual({ code: 3, err: [] });
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', error: { class: 'fatal' } });
  });
});

describe('svc runs signal, cancel and svc events', () => {
  it('signal gives an event to the wait of one run', async () => {
    const id = await start('asks', { name: 'signal' });
    const given = await svc(['runs', 'signal', id, 'approval', '--payload', '{"by": "you"}']);
    expect(given).toEqual({ code: 0, out: `delivered to run ${id}\n`, err: [] });
    expect((await svc(['runs', 'signal', id, 'approval'])).err[0]).toMatch(/^svc: run_terminal: /);
    expect((await svc(['runs', 'signal', id, 'approval', '--payload', '[1]'])).err).toEqual([
      'svc: --payload: must be a JSON object, such as {"approved": true}',
    ]);
  });

  it('cancel ends a run and says when', async () => {
    const id = await start('asks', { name: 'cancel' });
    const { code, out } = await svc(['runs', 'cancel', id, '--reason', 'ordered twice']);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^run ${id} is cancelled, ended \\S+ \\S+ \\((?:now|\\d+ s ago)\\)\n$`));
    const entries = (await service.get(`/runs/${id}/events`, { key: READ })).body.events as { data: object }[];
    expect(entries.at(-1)?.data).toMatchObject({ status: 'cancelled', reason: 'ordered twice' });
  });

  it('pause and resume say how the run stands, and start takes a time and a priority', async () => {
    const id = await start('asks', { name: 'pause' });
    expect(await svc(['runs', 'pause', id, '--reason', 'weekend'])).toMatchObject({
      code: 0,
      out: `run ${id} is paused\n`,
    });
    expect((await svc(['runs', id])).out).toContain('paused');
    expect(await svc(['runs', 'resume', id])).toMatchObject({ code: 0, out: `run ${id} is waiting\n` });
    const later = await svc(['runs', 'start', 'flow', '--start-at', '+10m', '--priority', '-7', '--json']);
    expect(JSON.parse(later.out)).toMatchObject({ status: 'scheduled', priority: -7, start_at: expect.any(String) });
    expect((await svc(['runs', 'start', 'flow', '--priority', '101'])).code).toBe(1);
    expect((await svc(['runs', 'start', 'flow', '--priority', 'high'])).code).toBe(2);
    expect(await svc(['runs', 'pause', 'x'])).toMatchObject({ code: 2 });
  });

  it('definitions pause and resume say how the definition stands', async () => {
    const paused = await svc(['definitions', 'pause', 'asks', '--reason', 'broken']);
    expect(paused).toMatchObject({ code: 0, out: expect.stringMatching(/^definition asks is paused since /) });
    const id = await start('asks', { name: 'held' });
    expect((await svc(['runs', id])).out).toContain('svc definitions resume asks');
    expect(await svc(['definitions', 'resume', 'asks'])).toMatchObject({
      code: 0,
      out: 'definition asks is not paused\n',
    });
    expect((await svc(['definitions', 'pause', 'nope'])).code).toBe(1);
  });

  it('restart takes an ended run up at a step, and refuses one that has not ended', async () => {
    const id = await start('asks', { name: 'restart' });
    expect((await svc(['runs', 'restart', id])).err[0]).toMatch(/^svc: conflict: /);
    await svc(['runs', 'cancel', id]);
    expect((await svc(['runs', 'restart', id])).err[0]).toMatch(/^svc: invalid_parameter: /);
    const step = (
      (await service.get(`/runs/${id}/events`, { key: READ })).body.events as { kind: string; step_id: string }[]
    ).find(({ kind }) => kind === 'cursor.moved')?.step_id;
    const { code, out } = await svc(['runs', 'restart', id, '--from-step', step ?? '', '--state-patch', '{"a": 1}']);
    expect(code).toBe(0);
    const [, again] = /^run (\S+) takes up run /.exec(out) ?? [];
    expect((await svc(['runs', again ?? ''])).out).toContain(`from run ${id} at step ${step}, visit 1`);
    await svc(['runs', 'cancel', again ?? '']);
  });

  it('events publish delivers or parks, and events lists what is parked', async () => {
    const id = await start('asks', { name: 'bus' }, { project: 'bus' });
    const publish = (...argv: string[]) => svc(['events', 'publish', 'approval', ...argv, '--project', 'bus']);
    expect((await publish('bus')).out).toBe(`delivered to run ${id}\n`);
    expect((await publish('late', '--event-id', 'e-1', '--payload', '{"a":1}')).out).toMatch(/^parked: no run waits/);
    expect((await publish('late', '--event-id', 'e-1')).out).toMatch(/^a duplicate: /);

    const { out } = await svc(['events', '--project', 'bus']);
    expect(out.split('\n')[0]).toMatch(/^EVENT +KEY +PROJECT +PARKED +EXPIRES +BYTES +EVENT ID$/);
    expect(out.split('\n')[1]).toMatch(/^approval +late +bus +\S+ \S+ \(.*\) +in 24 h +7 +e-1$/);
    const asked = await service.get('/events?project=bus', { key: EXECUTE });
    expect(JSON.parse((await svc(['events', '--project', 'bus', '--json'])).out)).toEqual(asked.body);
    expect((await svc(['events', '--project', 'nobody'])).out).toBe('No event is parked.\n');
  });
});

describe('svc runs watch', () => {
  it('prints every entry in words, and then how the run ended', async () => {
    const id = await start('asks', { name: 'watch' });
    const watching = svc(['runs', 'watch', id]);
    await svc(['runs', 'signal', id, 'approval']);
    const { code, out } = await watching;
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.replace(/^( +\d+ {2})\S+ \S+ {2}/, '$1'))).toEqual([
      '   0  the run starts: asks version 1',
      '   1  enters step ask',
      expect.stringMatching(
        /^ {3}2 {2}step ask: waits for event "approval" with key "watch", until \S+ \S+ \(in \d+ min\)$/,
      ),
      '   3  step ask: event "approval" with key "watch" came',
      '   4  step ask: goes on (event)',
      '   5  the run has succeeded',
      expect.stringMatching(new RegExp(`^run ${id} succeeded after `)),
      '',
    ]);
  });

  it('with --json prints an entry a line, from behind the one named, and ends with 3 for a run that was cancelled', async () => {
    const id = await start('asks', { name: 'json' });
    await svc(['runs', 'cancel', id]);
    const { code, out } = await svc(['runs', 'watch', id, '--json', '--after', '1']);
    expect(code).toBe(3);
    const entries = (await service.get(`/runs/${id}/events?after=1`, { key: READ })).body.events;
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(entries);
    expect((await svc(['runs', 'watch', id, '--after', '99'])).code).toBe(3);
  });

  /** A service whose streams break: `streams` says what each connection sends. */
  const aBreakingService = async (streams: readonly ((answer: ServerResponse) => void)[], isOverAfter: number) => {
    const asked: string[] = [];
    const server = createServer((request, answer) => {
      if (request.url?.includes('/events') !== true) {
        const ended = asked.length >= isOverAfter ? { ended_at: '2026-11-20T09:00:09Z', status: 'succeeded' } : {};
        answer.end(JSON.stringify({ run_id: RUN_ID, status: 'running', created_at: '2026-11-20T09:00:00Z', ...ended }));
        return;
      }
      asked.push(new URL(request.url, 'http://localhost').searchParams.get('after') ?? '');
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      streams[asked.length - 1]?.(answer);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const lines: string[] = [];
    const code = await watchRun(
      {
        ...{ endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, environment: {}, json: true },
        moments: () => createMoments(0, 'UTC'),
        input: (async function* () {})(),
        out: (text) => void lines.push(text),
        err: (line) => void lines.push(line),
      },
      RUN_ID,
      { after: -1, betweenMs: 0 },
    );
    server.closeAllConnections();
    server.close();
    return { code, asked, seqs: lines.map((line) => (JSON.parse(line) as { readonly seq: number }).seq) };
  };
  const entry = (seq: number, kind = 'cursor.moved'): string =>
    `id: ${seq}\ndata: ${JSON.stringify({ seq, kind, at: '2026-11-20T09:00:00Z', data: {} })}\n\n`;

  it('goes on behind the last entry when its connection breaks or the service stops, and prints none twice', async () => {
    const { code, asked, seqs } = await aBreakingService(
      [
        (answer) => answer.write(`: alive\n\n${entry(0)}${entry(1)}`, () => answer.destroy()),
        (answer) => answer.end(`${entry(1)}${entry(2)}`),
        (answer) => answer.end(entry(3, 'run.finished')),
      ],
      3,
    );
    expect({ code, asked, seqs }).toEqual({ code: 0, asked: ['-1', '1', '2'], seqs: [0, 1, 2, 3] });
  });

  it('misses no entry of a run that ends between its stream and its next question', async () => {
    const { code, asked, seqs } = await aBreakingService(
      [(answer) => answer.end(entry(0)), (answer) => answer.end(entry(1, 'run.finished'))],
      1,
    );
    expect({ code, asked, seqs }).toEqual({ code: 0, asked: ['-1', '0'], seqs: [0, 1] });
  });
});

describe('svc runs start --wait', () => {
  it('goes on asking while the service is away, and shows how the run ended', async () => {
    const asked: string[] = [];
    const server = createServer((request, answer) => {
      asked.push(`${request.method} ${(request.url ?? '').split('?')[0]}`);
      // Between the start and the end it is away, twice.
      if (asked.length === 2 || asked.length === 3) {
        answer.destroy();
        return;
      }
      const ended =
        asked.length > 4 ? { status: 'succeeded', ended_at: '2026-11-20T09:00:01Z' } : { status: 'running' };
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ run_id: RUN_ID, ...ended }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const out: string[] = [];
    const code = await startRun(
      {
        ...{ endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, environment: {}, json: true },
        moments: () => createMoments(0, 'UTC'),
        input: (async function* () {})(),
        out: (text) => void out.push(text),
        err: () => {},
      },
      'flow',
      { input: '{}', correlation: {}, wait: true, betweenMs: 0 },
    );
    server.closeAllConnections();
    server.close();
    expect({ code, status: (JSON.parse(out.join('')) as { readonly status: string }).status }).toEqual({
      code: 0,
      status: 'succeeded',
    });
    expect(asked).toEqual(['POST /v1/api/runs', ...Array.from({ length: 4 }, () => `GET /v1/api/runs/${RUN_ID}`)]);
  });
});
