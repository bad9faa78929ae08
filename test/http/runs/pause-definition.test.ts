import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService } from './service.ts';

// Interface decisions, section 13, "Pause": definitions, over HTTP. Their effect is tested in test/actors/definition.

let service: RunsHttp;
const definitions = [aFlow('flow', [aTask('one')])];
const open = async (options: RunsServiceOptions = {}): Promise<void> => {
  service = await startRunsService({ definitions, ...options });
};
afterEach(() => service.close());

describe('POST /v1/api/definitions/{id}/pause and /resume', () => {
  it('answer 200 with the definition; its reads and its runs say so', async () => {
    await open();
    const since = new Date(service.now()).toISOString();
    const paused = await service.post('/definitions/flow/pause', { reason: 'broken' });
    expect([paused.status, paused.body]).toEqual([200, { id: 'flow', pause: { since, reason: 'broken' } }]);
    expect((await service.get('/definitions/flow')).body.pause).toEqual({ since, reason: 'broken' });
    const run = await service.start('flow');
    expect([run.status, run.queued_reason, run.cursor]).toEqual(['queued', 'definition_paused', undefined]);
    expect((await service.get('/runs?waiting_on=worker')).body.runs).toEqual([]);
    expect((await service.get('/actors/definition/flow@')).body).toMatchObject({
      value: 'paused',
      machine: 'definition',
    });
    const resumed = await service.post('/definitions/flow/resume');
    expect([resumed.status, resumed.body]).toEqual([200, { id: 'flow' }]);
    await service.leap(1000);
    expect(await service.run(run.run_id)).toMatchObject({ cursor: 'one', queued_reason: 'workers_busy' });
  });

  it.each(['pause', 'resume'])('%s refuses what is not known', async (verb) => {
    await open();
    const codeOf = async (body: object, id = 'flow') => {
      const answer = await service.post(`/definitions/${id}/${verb}`, body);
      return [answer.status, answer.body.code, answer.body.field];
    };
    expect(await codeOf({ reason: 'x'.repeat(4096) })).toEqual([200, undefined, undefined]);
    expect(await codeOf({ reason: 'x'.repeat(4097) })).toEqual([400, 'invalid_parameter', 'reason']);
    expect(await codeOf({ version: 1 })).toEqual([400, 'invalid_parameter', 'version']);
    expect((await codeOf({}, 'nope')).slice(0, 2)).toEqual([404, 'not_found']);
    expect((await codeOf({ project: 'nobody' }, 'nope')).slice(0, 2)).toEqual([404, 'not_found']);
  });

  it('takes a key of its owner: the service, or a project', async () => {
    await open({
      keys: { topLevel: { execute: ['top'], worker: ['top-worker'] }, projects: { own: { execute: ['own'] } } },
    });
    await service.must(service.register('w', definitions, {}, { key: 'top-worker' }));
    const own = { definitions: [aFlow('mine', [aTask('one')])] };
    await service.must(service.post('/definitions', own, { key: 'own' }));
    const pause = async (id: string, key: string, body: object = {}) =>
      (await service.post(`/definitions/${id}/pause`, body, { key })).status;
    expect(await pause('flow', 'own')).toBe(403);
    expect(await pause('mine', 'top')).toBe(404);
    expect(await pause('mine', 'own', { project: 'other' })).toBe(403);
    expect(await pause('flow', 'top')).toBe(200);
    expect(await pause('mine', 'own')).toBe(200);
    expect(await pause('mine', 'top', { project: 'own' })).toBe(200);
  });
});
