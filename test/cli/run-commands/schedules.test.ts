import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, startRunsService } from '../../http/runs/service.ts';
import { aTerminal } from '../a-terminal.ts';

let service: RunsHttp;
let folder: string;
let svc: ReturnType<typeof aTerminal>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  service = await startRunsService({
    definitions: [
      aFlow('flow', [aTask('one')]),
      aFlow('asks', [{ id: 'ask', kind: 'wait_event', event: 'approved' }], { output: '${event.payload}' }),
    ],
  });
  svc = aTerminal({ SVC_ENDPOINT: service.url });
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('svc schedules', () => {
  it('makes, shows, pauses, triggers, resumes and deletes one', async () => {
    expect((await svc(['schedules'])).out).toBe('There is no schedule.\n');
    const flags = ['--definition', 'flow', '--cron', '30 2 * * *', '--timezone', 'Europe/Berlin', '--input', '{"n":1}'];
    const made = await svc(['schedules', 'create', 'nightly', ...flags]);
    expect([made.code, made.out.split('\n')[0]]).toEqual([
      0,
      'nightly of project default is active: starts flow, 30 2 * * * in Europe/Berlin',
    ]);
    expect((await svc(['schedules', 'pause', 'nightly'])).out).toMatch(
      /is paused[^]*\nnothing fires until it is resumed\n/,
    );
    expect((await svc(['schedules'])).out).toMatch(/ paused +- /);
    expect((await svc(['schedules', 'trigger', 'nightly'])).out).toMatch(/\(trigger\) {2}started run [0-9a-f-]{36}/);
    expect((await svc(['schedules', 'trigger', 'nightly'])).out).toContain('skipped: overlap');
    expect((await svc(['schedules', 'resume', 'nightly'])).out).toContain('is active');
    expect(JSON.parse((await svc(['schedules', 'nightly', '--json'])).out)).toMatchObject({
      id: 'nightly',
      input: { n: 1 },
    });
    expect((await svc(['schedules'])).out).toMatch(
      /^SCHEDULE +PROJECT +DEFINITION +TIMES +STATUS +NEXT +LAST\nnightly +default +flow/,
    );
    const deleted = await svc(['schedules', 'delete', 'nightly']);
    expect([deleted.code, deleted.out]).toEqual([
      0,
      'schedule nightly of project default is deleted; runs that it started go on\n',
    ]);
    const gone = await svc(['schedules', 'nightly']);
    expect([gone.code, gone.err.join()]).toEqual([1, expect.stringContaining('not_found')]);
  });

  it('makes one from a file, over which flags win', async () => {
    const file = join(folder, 'schedule.json');
    writeFileSync(file, JSON.stringify({ definition_id: 'flow', every_ms: 5000, overlap: 'queue' }));
    const made = await svc(['schedules', 'create', 'filed', '--file', `@${file}`, '--overlap', 'allow', '--json']);
    expect(JSON.parse(made.out)).toMatchObject({ id: 'filed', every_ms: 5000, overlap: 'allow' });
    writeFileSync(file, '[]');
    expect((await svc(['schedules', 'create', 'filed', '--file', `@${file}`])).err.join()).toContain(
      'must hold one JSON object',
    );
    expect((await svc(['schedules', 'create', 'bad', '--definition', 'flow', '--every', '999'])).err.join()).toContain(
      '999',
    );
  });
});

describe('svc runs bulk', () => {
  it('shows the count and does nothing without a yes; with it, says what became of them', async () => {
    const run = await service.start('flow', {}, { correlation: { session_id: 'bulk' } });
    const asked = await svc(['runs', 'bulk', 'cancel', '--session', 'bulk']);
    expect([asked.code, asked.err.join()]).toEqual([
      2,
      expect.stringContaining(`cancel 1 run, such as ${run.run_id}? [y/N]`),
    ]);
    expect((await service.run(run.run_id)).status).toBe('queued');
    expect((await svc(['runs', 'bulk', 'cancel', '--session', 'nobody', '--yes'])).out).toBe('No run matches.\n');
    expect((await svc(['runs', 'bulk', 'pause', '--session', 'bulk'], 'y\n')).out).toBe(
      'pause: 1 done, 0 refused, of 1\n',
    );
    const done = await svc(['runs', 'bulk', 'cancel', '--session', 'bulk', '--yes']);
    expect([done.code, done.out]).toEqual([0, 'cancel: 1 done, 0 refused, of 1\n']);
    expect((await service.run(run.run_id)).status).toBe('cancelled');
    expect((await svc(['runs', 'bulk', 'cancel'])).err.join()).toContain('needs a filter');
  });

  it('waits for the action that its idempotency key began before, and asks nothing', async () => {
    await service.start('flow', {}, { correlation: { session_id: 'keyed' } });
    const call = ['runs', 'bulk', 'cancel', '--session', 'keyed', '--idempotency-key', 'k'];
    expect((await svc([...call, '--yes'])).out).toBe('cancel: 1 done, 0 refused, of 1\n');
    await service.start('flow', {}, { correlation: { session_id: 'keyed' } });
    expect(await svc(call)).toMatchObject({ code: 0, out: 'cancel: 1 done, 0 refused, of 1\n', err: [] });
    const other = await svc([...call, '--reason', 'another', '--yes']);
    expect([other.code, other.err.join()]).toEqual([1, expect.stringContaining('another key')]);
  });

  it('restarts runs that failed', async () => {
    const run = await service.start('flow', {}, { correlation: { session_id: 'again' }, priority: 100 });
    await service.must(service.fail(await service.take(), 'fatal'));
    expect((await svc(['runs', 'bulk', 'restart', '--session', 'again', '--status', 'failed', '--yes'])).out).toBe(
      'restart: 1 done, 0 refused, of 1\n',
    );
    const { runs } = await service.must(service.get(`/runs?restarted_from=${run.run_id}`));
    expect(runs).toMatchObject([{ status: 'queued' }]);
  });

  it('takes a correlation as filter, and the payload of a signal', async () => {
    const correlation = { request_id: 'bulk-signal', release: '4.2' };
    const run = await service.start('flow', {}, { correlation });
    const other = await service.start('flow', {}, { correlation: { request_id: 'bulk-signal' } });
    const filters = ['--correlation', 'request_id=bulk-signal', '--correlation', 'release=4.2'];
    expect((await svc(['runs', 'bulk', 'pause', ...filters, '--yes'])).out).toBe('pause: 1 done, 0 refused, of 1\n');
    expect((await service.run(run.run_id)).status).toBe('paused');
    expect((await service.run(other.run_id)).status).toBe('queued');

    const asks = await service.start('asks', {}, { correlation });
    const signal = ['runs', 'bulk', 'signal', '--definition', 'asks', ...filters, '--event', 'approved'];
    for (const [payload, problem] of [
      ['[]', 'must be a JSON object'],
      ['-', '--payload - needs --yes'],
    ] as const) {
      const refused = await svc([...signal, '--payload', payload]);
      expect([refused.code, refused.err.join()]).toEqual([2, expect.stringContaining(problem)]);
    }
    const sent = await svc([...signal, '--payload', '-', '--yes'], '{"by":"ann"}');
    expect(sent.out).toBe('signal: 1 done, 0 refused, of 1\n');
    expect(await service.run(asks.run_id)).toMatchObject({ status: 'succeeded', output: { by: 'ann' } });
  });
});
