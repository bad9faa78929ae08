import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { actorText } from '../../src/cli/actor-text.ts';
import { createMoments } from '../../src/cli/moments.ts';
import { aFlow, aTask, type RunsHttp, startRunsService } from '../http/runs/service.ts';
import { aTerminal } from './a-terminal.ts';

let service: RunsHttp;
let runId: string;
beforeAll(async () => {
  service = await startRunsService({
    definitions: [aFlow('flow', [aTask('one')])],
    keys: { topLevel: { read: ['a-read-key'], worker: ['a-worker-key'], execute: ['an-execute-key'] } },
  });
  const worker = { key: 'a-worker-key' };
  await service.must(service.register('w1', undefined, {}, worker));
  ({ run_id: runId } = await service.start('flow', {}, {}, { key: 'an-execute-key' }));
  await service.take('w1', worker);
});
afterAll(() => service.close());

const svc = (...argv: string[]) => aTerminal({ SVC_ENDPOINT: service.url, SVC_API_KEY: 'a-read-key' })(argv);

describe('svc machines', () => {
  it('lists machines by name', async () => {
    const { code, out } = await svc('machines');
    expect(code).toBe(0);
    expect(out).toMatch(/^name +version +project +states\nbulk +1 +- /);
    expect(out).toMatch(/^dispatcher +1 +- +idle waiting matching\n/m);
    expect(out).toMatch(/^lease +1 +- +unissued offered running /m);
    expect(out).toContain('run:flow@1');
  });

  it('prints one as JSON that opens in createMachine, or as Mermaid', async () => {
    const { out } = await svc('machines', 'lease');
    expect(Object.keys(createMachine(JSON.parse(out) as object).states)).toContain('orphaned');
    expect((await svc('machines', 'run:flow@1', '--format', 'mermaid')).out).toMatch(/^stateDiagram-v2\n/);
  });

  it('refuses with one line: an unknown machine 1, an unknown format 2', async () => {
    expect(await svc('machines', 'nobody')).toEqual({
      code: 1,
      out: '',
      err: [expect.stringMatching(/^svc: not_found: /)],
    });
    expect(await svc('machines', 'nobody', '--format', 'mermaid')).toMatchObject({ code: 1 });
    expect(await svc('machines', 'lease', '--format', 'svg')).toEqual({
      code: 2,
      out: '',
      err: ['svc: --format: must be json or mermaid, is "svg"'],
    });
  });
});

describe('svc actors', () => {
  it('lists actors, of one type when asked, a line each', async () => {
    const { code, out } = await svc('actors');
    expect(code).toBe(0);
    const types = (text: string) => text.split('\n').map((line) => line.split(' ')[0]);
    const residents = ['timer', 'dispatcher', 'outbox'];
    expect(types(out)).toEqual(['TYPE', ...residents, 'run', 'lease', '']);
    const run = await svc('actors', 'run');
    expect(run.out.split('\n')[1]).toMatch(
      new RegExp(`^run +${runId} +run:flow@1 +active +\\d+ +(?:now|\\d+ s ago) +active\\.one\\.leased$`),
    );
    expect(types((await svc('actors', '--project', 'nobody')).out)).toEqual(['TYPE', ...residents, '']);
    expect((await svc('actors', 'timer')).out.split('\n')[1]).toMatch(
      /^timer +main +timer +active +\d+ +(?:now|\d+ s ago) +idle$/,
    );
  });

  it('prints all of them as one JSON document with --json', async () => {
    const asked = await service.get('/actors?limit=1000', { key: 'a-read-key' });
    const { actors } = JSON.parse((await svc('actors', '--json')).out) as {
      readonly actors: readonly { id: string }[];
    };
    const ids = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id);
    expect(ids(actors)).toEqual(ids(asked.body.actors));
    expect(actors).toHaveLength(5);
  });

  it('prints one completely with --json, also as it was after an entry of its journal', async () => {
    expect(JSON.parse((await svc('actors', 'timer', 'main', '--json')).out)).toMatchObject({
      type: 'timer',
      id: 'main',
    });
    const now = JSON.parse((await svc('actors', 'run', runId, '--json')).out) as object;
    expect(now).toMatchObject({ type: 'run', id: runId, value: { active: { one: 'leased' } } });
    const before = JSON.parse((await svc('actors', 'run', runId, '--at-seq', '1', '--json')).out) as object;
    expect(before).toMatchObject({ value: { active: { one: 'queued' } } });
  });

  it('shows one for people: where it is, since when, what waits for it, what it remembers', async () => {
    const { code, out } = await svc('actors', 'run', runId);
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(`^run ${runId}\n  state +active\\.one\\.leased\n  status +active\n  updated +\\S+ \\S+ \\(`),
    );
    expect(out).toMatch(/^ {2}mailbox +0 \(calls that are not answered yet\)$/m);
    expect(out).toMatch(/^ {2}visits\n {4}one {2}1$/m);
    expect(out).toContain(`svc runs ${runId}\n`);
    expect((await svc('actors', 'run', runId, '--at-seq', '1')).out).toMatch(
      /, as it was after entry 1\n {2}state +active\.one\.queued$/m,
    );
  });

  type Snapshot = Parameters<typeof actorText>[0];
  const snapshot: Snapshot = {
    type: 'timer',
    id: 'main',
    machine: 'timer',
    machine_version: 2,
    value: 'firing',
    status: 'active',
    version: 1234,
    updated_at: '2026-11-20T09:09:58Z',
    mailbox: 3,
    context: {},
  };
  const textOf = (context: unknown, more: Partial<Snapshot> = {}): string =>
    actorText({ ...snapshot, context, ...more }, createMoments(Date.parse('2026-11-20T09:10:00Z'), 'UTC'));

  it('shows a number in the unit that its name closes with', () => {
    const at = Date.parse('2026-11-20T09:14:00Z');
    expect(
      textOf({
        nextTimerAt: at,
        everyMs: 1500,
        heldBytes: 10,
        maxBytes: 134_217_728,
        turns: 1200,
        ran: true,
        none: null,
      }),
    ).toBe(
      [
        'timer main',
        '  state    firing',
        '  status   active',
        '  updated  2026-11-20 09:09:58 (2 s ago)',
        '  changes  1,234',
        '  mailbox  3 (overdue timers)',
        '  machine  timer, version 2',
        '',
        'Remembers',
        '  nextTimerAt  2026-11-20 09:14:00 (in 4 min)',
        '  everyMs      1.5 s',
        '  heldBytes    10 bytes',
        '  maxBytes     128 MiB',
        '  turns        1,200',
        '  ran          yes',
        '  none         -',
        '',
        'Times are those of UTC.',
        '',
      ].join('\n'),
    );
  });

  it('shows a list of records as a table', () => {
    expect(
      textOf({
        rows: [
          { id: 'flow', queuedRuns: 1200 },
          { id: 'other', lostAt: 0 },
        ],
      }),
    ).toContain(
      '  rows\n    id     queuedRuns  lostAt\n    flow   1,200       -\n    other  -           1970-01-01 00:00:00 (',
    );
  });

  it('says why one cannot be loaded', () => {
    expect(textOf({}, { status: 'quarantined', fault: 'machine of version 9' })).toMatch(
      /^ {2}fault +machine of version 9$/m,
    );
  });

  it('shows fifty rows of a list, and counts the others', () => {
    const rows = (many: number) => Array.from({ length: many }, (_, n) => ({ n }));
    expect(textOf({ rows: rows(50) })).not.toContain('more; --json');
    expect(textOf({ rows: rows(51) })).toContain('    and 1 more; --json has all\n');
  });

  it('what an actor holds of senders steers no terminal, however deep it lies', () => {
    const hostile = 'x\u001b[2J\u202e\ny';
    const deep = Array.from({ length: 100 }).reduce<object>((inner) => ({ [hostile]: inner }), { [hostile]: hostile });
    const text = textOf(
      { [hostile]: hostile, list: [{ [hostile]: hostile }], texts: [hostile], deep },
      { id: hostile },
    );
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    expect(text.split('\n').length).toBeLessThan(40);
  });

  it('refuses what cannot be, with one line', async () => {
    expect(await svc('actors', '--at-seq', '1')).toMatchObject({ code: 2, err: [expect.stringContaining('--at-seq')] });
    expect(await svc('actors', 'run', runId, '--at-seq', 'x')).toMatchObject({ code: 2 });
    expect(await svc('actors', 'run', 'nobody')).toMatchObject({
      code: 1,
      err: [expect.stringContaining('not_found')],
    });
    expect(await svc('actors', '--api-key', 'wrong')).toMatchObject({
      code: 1,
      err: [expect.stringContaining('--api-key')],
    });
    expect(await svc('actors', '--endpoint', 'nowhere')).toMatchObject({
      code: 2,
      err: [expect.stringContaining('--endpoint')],
    });
  });
});
