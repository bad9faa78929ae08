import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { runProgram } from '../../src/cli/program.ts';
import { aFlow, aTask, type RunsHttp, startRunsService } from '../http/runs/service.ts';

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

const svc = async (...argv: string[]) => {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runProgram(argv, {
    environment: { SVC_ENDPOINT: service.url, SVC_API_KEY: 'a-read-key' },
    out: (text) => out.push(text),
    err: (line) => err.push(line),
    serve: () => Promise.reject(new Error('this does not serve')),
  });
  return { code, out: out.join(''), err };
};

describe('svc machines', () => {
  it('lists machines by name', async () => {
    const { code, out } = await svc('machines');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^name +version +states\ndispatcher +1 +idle waiting matching\nlease +1 +unissued offered running /,
    );
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
    expect(types(out)).toEqual(['type', ...residents, 'run', 'lease', '']);
    const run = await svc('actors', 'run');
    expect(run.out.split('\n')[1]).toMatch(
      new RegExp(`^run +${runId} +run:flow@1 +active +\\d+ +\\S+Z +active\\.one\\.leased$`),
    );
    expect(types((await svc('actors', '--project', 'nobody')).out)).toEqual(['type', ...residents, '']);
    expect((await svc('actors', 'timer')).out.split('\n')[1]).toMatch(/^timer +main +timer +active +\d+ +\S+Z +idle$/);
    expect(JSON.parse((await svc('actors', 'timer', 'main')).out)).toMatchObject({ type: 'timer', id: 'main' });
  });

  it('prints one whole, also as it was after an entry of its journal', async () => {
    const now = JSON.parse((await svc('actors', 'run', runId)).out) as object;
    expect(now).toMatchObject({ type: 'run', id: runId, value: { active: { one: 'leased' } } });
    const before = JSON.parse((await svc('actors', 'run', runId, '--at-seq', '1')).out) as object;
    expect(before).toMatchObject({ value: { active: { one: 'queued' } } });
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
