import { expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, tasks } from '../run-harness.ts';

onEachEngine('starting and cancelling', ({ createHarness }) => {
  it('an idempotency key used again returns the first run, also when both come at once', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const start = (project = 'p') =>
      service.runs.startRun({ ...ALL, project, definitionId: 'flow', input: {}, idempotencyKey: 'k' });
    const [a, b] = (await Promise.all([start(), start()])).map(must);
    expect([a?.created, b?.created]).toEqual([true, false]);
    expect(b?.run.runId).toBe(a?.run.runId);
    expect(must(await start('other')).created).toBe(true);
    must(await service.complete(await service.take()));
    expect(must(await start())).toMatchObject({ created: false, run: { status: 'succeeded' } });
  });

  it('pins the highest stored version at start; an unknown definition is not found', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one')), aDefinition('flow', tasks('one'), { version: 3 })],
    });
    expect((await service.start('flow')).definitionVersion).toBe(3);
    expect((await service.start('flow', {}, { definitionVersion: 1 })).definitionVersion).toBe(1);
    expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'nope', input: {} }))).toBe(
      'not_found',
    );
    expect(
      codeOf(
        await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', definitionVersion: 2, input: {} }),
      ),
    ).toBe('not_found');
  });

  it('validates the input against the schema of the definition', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one'), { input_schema: { type: 'object', required: ['ticket'] } })],
    });
    expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} }))).toBe(
      'input_invalid',
    );
    expect((await service.start('flow', { ticket: 1 })).status).toBe('queued');
  });

  it('refuses a schema without end at register, and checks inputs and those of children alike, in bounded time', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('toy', tasks('play'), {
          input_schema: { properties: { kind: { enum: [{ name: 'bear' }] }, code: { pattern: '^(a+)+$' } } },
        }),
        aDefinition('box', [
          { id: 'each', kind: 'child', definition: 'toy', for_each: '${input.toys}', input: '${item}' },
        ]),
      ],
    });
    const endless = aDefinition('endless', tasks('one'), { input_schema: { $ref: '#' } });
    const registered = await service.runs.registerWorker({ ...ALL, workerId: 'w2', definitions: [endless] });
    expect(registered.ok ? 'registered' : registered.failure).toMatchObject({
      code: 'definition_invalid',
      message: expect.stringContaining('input_schema: refers to itself without end'),
    });
    const start = (input: Json) =>
      service.runs.startRun({ ...ALL, project: 'p', definitionId: 'toy', input }).then(codeOf);
    expect(await start({ kind: { name: 'bear' }, code: 'aaa' })).toBe('ok');
    expect(await start({ kind: { name: 'duck' } })).toBe('input_invalid');
    expect(await start({ code: `${'a'.repeat(10_000)}b` })).toBe('input_invalid');
    const { runId } = await service.start('box', { toys: [{ kind: { name: 'bear' } }, { kind: { name: 'duck' } }] });
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: {
        class: 'fatal',
        code: 'child_failed',
        message: expect.stringContaining('child 1: input.kind must be one of'),
      },
    });
    expect(service.faults).toEqual([]);
  });

  it('a terminal run is returned unchanged by cancel', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1));
    const before = await service.detail(runId);
    service.time.advance(1000);
    expect(must(await service.runs.cancelRun({ ...ALL, runId }))).toMatchObject({
      status: 'succeeded',
      updatedAt: before.updatedAt,
    });
    expect((await service.journal(runId)).at(-1)?.data).toEqual({ status: 'succeeded' });
    expect(codeOf(await service.runs.cancelRun({ ...ALL, runId: 'nope' }))).toBe('not_found');
    expect(codeOf(await service.runs.cancelRun({ reach: ['q'], runId }))).toBe('forbidden');
  });

  it('refuses what the key does not reach', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    expect(codeOf(await service.runs.startRun({ reach: ['q'], project: 'p', definitionId: 'flow', input: {} }))).toBe(
      'forbidden',
    );
    const { runId } = await service.start('flow');
    expect(codeOf(await service.runs.getRun({ reach: ['q'], runId }))).toBe('forbidden');
    expect(codeOf(await service.runs.journal({ reach: ['q'], runId, after: -1, limit: 1 }))).toBe('forbidden');
  });
});
