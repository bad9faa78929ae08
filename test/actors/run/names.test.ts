import { expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/model/json.ts';
import { onEachEngine } from '../engines.ts';
import { aDefinition, must } from '../run-harness.ts';

/** As a body arrives: with a member that is called `__proto__`, which a literal in code cannot have. */
const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const task = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });

onEachEngine('names that every object inherits', ({ createHarness }) => {
  it('may be names of steps: entries are counted, outputs are read, a loop ends', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('constructor', {
            next: [{ when: 'visits.prototype == 0 && visits.constructor < 2', to: 'constructor' }, { to: 'prototype' }],
          }),
          task('prototype', {
            input: { seen: '${steps.constructor.output.toString}' },
            next: [{ when: 'visits.constructor == 2 && steps.prototype.output == "done"', to: 'end' }],
          }),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    const first = await service.take();
    expect(first).toMatchObject({ stepId: 'constructor', visit: 1, attempt: 1 });
    expect(first.steps).toEqual({});
    must(await service.complete(first, { toString: 1 }));
    const second = await service.take();
    expect(second).toMatchObject({ stepId: 'constructor', visit: 2 });
    must(await service.complete(second, { toString: 2 }));
    const third = await service.take();
    expect(third).toMatchObject({ stepId: 'prototype', visit: 1, input: { seen: 2 } });
    expect(third.steps).toEqual({ constructor: { output: { toString: 2 } } });
    must(await service.complete(third, 'done'));
    const ended = await service.detail(runId);
    expect(ended).toMatchObject({ status: 'succeeded', stepCount: 3, output: 'done' });
    expect(ended.attempts.map(({ stepId, visit }) => [stepId, visit])).toEqual([
      ['constructor', 1],
      ['constructor', 2],
      ['prototype', 1],
    ]);
    expect(service.faults).toEqual([]);
  });

  it('may be names of a wait, a child step and a fail, and of what leads to them', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('toy', [task('work')]),
        aDefinition('flow', [
          { id: 'prototype', kind: 'wait_event', event: 'go', key: '${input.constructor}', next: 'constructor' },
          { id: 'constructor', kind: 'child', definition: 'toy', on_error: [{ to: 'tostring' }], next: 'end' },
          { id: 'tostring', kind: 'fail', message: '${error.step_id}' },
        ]),
      ],
    });
    const { runId } = await service.start('flow', { constructor: 'k' });
    must(await service.runs.publishEvent({ reach: 'all', project: 'p', event: 'go', key: 'k', payload: {} }));
    must(await service.fail(await service.take(), 'fatal'));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'fatal', message: 'constructor' },
    });
    expect(service.faults).toEqual([]);
  });

  it('may be members of an input, keys of the state and of outputs: templates and conditions read them as any other', async () => {
    const names = ['constructor', 'prototype', 'toString', '__proto__', 'hasOwnProperty'];
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            input: Object.fromEntries(names.map((name) => [`of_${name}`, `\${input["${name}"].n}`])),
            next: [
              {
                when: names
                  .map((name) => `input["${name}"].n == state["${name}"] && steps.one.output["${name}"] == "${name}"`)
                  .join(' && '),
                to: 'two',
              },
            ],
          }),
          task('two', { input: names.map((name) => `\${state["${name}"]}`), next: 'end' }),
        ]),
      ],
    });
    const texts = (valueOf: (name: string, index: number) => Json) =>
      parse(`{${names.map((name, index) => `"${name}":${JSON.stringify(valueOf(name, index))}`).join(',')}}`);
    const { runId } = await service.start(
      'flow',
      texts((_name, index) => ({ n: index })),
    );
    const one = await service.take();
    expect(one.input).toEqual(Object.fromEntries(names.map((name, index) => [`of_${name}`, index])));
    must(
      await service.complete(
        one,
        texts((name) => name),
        { statePatch: texts((_name, index) => index) },
      ),
    );
    const two = await service.take();
    expect(two).toMatchObject({ stepId: 'two', input: [0, 1, 2, 3, 4] });
    expect(Object.keys(two.state).toSorted()).toEqual(names.toSorted());
    must(await service.complete(two, 'end'));
    const ended = await service.detail(runId);
    expect(Object.keys(ended.state).toSorted()).toEqual(names.toSorted());
    expect(Object.keys(ended.input as JsonObject).toSorted()).toEqual(names.toSorted());
    expect(({} as Record<string, unknown>)['n']).toBeUndefined();
    expect(service.faults).toEqual([]);
  });

  it.each(['constructor', 'prototype', 'toString', '__proto__', 'length'])(
    'fail the step with class expression where nothing of the data is called %s',
    async (name) => {
      const route = { on_error: [{ class: 'expression', to: 'sorry' }] };
      const service = await createHarness({
        definitions: [
          aDefinition('reads', [
            task('one', { input: { x: `\${input["${name}"]}` }, next: 'end', ...route }),
            task('sorry', { input: '${error.message}', next: 'end' }),
          ]),
          aDefinition('decides', [
            task('one', { next: [{ when: `state["${name}"] != 1`, to: 'end' }], ...route }),
            task('sorry', { input: '${error.message}', next: 'end' }),
          ]),
        ],
      });
      await service.start('reads', { list: [] });
      const sorry = await service.take();
      expect(sorry).toMatchObject({ stepId: 'sorry', input: `input.${name} is missing` });
      must(await service.complete(sorry));
      await service.start('decides');
      must(await service.complete(await service.take()));
      const after = await service.take();
      expect(after.stepId).toBe('sorry');
      expect(after.input).toContain(`No such key: ${name}`);
      expect(service.faults).toEqual([]);
    },
  );

  it('outlive the memory of the service', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('constructor', { next: 'prototype' }), task('prototype')])],
    });
    const { runId } = await service.start('flow', parse('{"__proto__": {"n": 1}}'));
    must(await service.complete(await service.take(), 1, { statePatch: parse('{"__proto__": 7, "constructor": 8}') }));
    const later = await service.reopen();
    const detail = must(await later.getRun({ reach: 'all', runId }));
    expect(JSON.stringify(detail.state)).toBe('{"__proto__":7,"constructor":8}');
    expect(JSON.stringify(detail.input)).toBe('{"__proto__":{"n":1}}');
    expect(detail).toMatchObject({ status: 'queued', cursor: 'prototype' });
  });
});
