import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

// Interface decisions, section 13, "Pause", over HTTP. What a pause does to a run is tested in test/actors/run/pause.test.ts.

let service: RunsHttp;
const open = async (): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one'), aTask('two')])] });
};
afterEach(() => service.close());

describe('POST /v1/api/runs/{run}/pause {reason?} and /resume', () => {
  it('answer 200 with the run', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const paused = await service.post(`/runs/${run_id}/pause`, { reason: 'weekend' });
    expect([paused.status, paused.body.status]).toEqual([200, 'paused']);
    expect(paused.body.pause).toEqual({
      since: new Date(service.now()).toISOString(),
      by_parent: false,
      reason: 'weekend',
    });
    expect((await service.get('/runs?status=paused')).body.runs).toMatchObject([
      { run_id, pause: { reason: 'weekend' } },
    ]);
    const resumed = await service.post(`/runs/${run_id}/resume`, { reason: 'monday' });
    expect([resumed.status, resumed.body.status]).toEqual([200, 'queued']);
    expect(resumed.body).not.toHaveProperty('pause');
    expect((await service.journal(run_id)).slice(-2)).toMatchObject([
      { kind: 'run.paused', data: { reason: 'weekend' } },
      { kind: 'run.unpaused', data: { reason: 'monday' } },
    ]);
  });

  it('need no body, and are idempotent', async () => {
    await open();
    const { run_id } = await service.start('flow');
    for (const [verb, status] of [
      ['resume', 'queued'],
      ['pause', 'paused'],
      ['pause', 'paused'],
      ['resume', 'queued'],
      ['resume', 'queued'],
    ] as const) {
      const answer = await service.post(`/runs/${run_id}/${verb}`);
      expect([answer.status, answer.body.status], verb).toEqual([200, status]);
    }
    expect((await service.journal(run_id)).filter(({ kind }) => kind.endsWith('paused'))).toHaveLength(2);
  });

  it('a worker notices nothing: its calls answer as ever, with the status `paused`', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    await service.must(service.post(`/runs/${run_id}/pause`));
    expect((await service.heartbeat(lease)).status).toBe(200);
    const { status, body } = await service.complete(lease, { output: 1 });
    expect([status, body]).toEqual([200, { run_status: 'paused', next_step: 'two' }]);
    expect(await service.claim()).toEqual([]);
  });

  it.each(['pause', 'resume'])(
    '%s: 409 `run_terminal` on an ended run, 404 on none, 400 on what is not known',
    async (verb) => {
      await open();
      const { run_id } = await service.start('flow');
      const codeOf = async (body?: object, id = run_id) => {
        const answer = await service.post(`/runs/${id}/${verb}`, body);
        return [answer.status, answer.body.code, answer.body.field];
      };
      expect(await codeOf({ reason: 'x'.repeat(4096) })).toEqual([200, undefined, undefined]);
      expect(await codeOf({ reason: 'x'.repeat(4097) })).toEqual([400, 'invalid_parameter', 'reason']);
      expect(await codeOf({ reason: 7 })).toEqual([400, 'invalid_parameter', 'reason']);
      expect(await codeOf({ why: 'x' })).toEqual([400, 'invalid_parameter', 'why']);
      expect((await codeOf({}, 'nobody')).slice(0, 2)).toEqual([404, 'not_found']);
      await service.must(service.post(`/runs/${run_id}/cancel`, {}));
      expect((await codeOf({})).slice(0, 2)).toEqual([409, 'run_terminal']);
    },
  );
});
