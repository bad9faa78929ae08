import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refund } from '../../examples/refund-agent/refund.ts';
import { createWorker, type Lease, type Worker } from '../../sdk/typescript/src/index.ts';
import { compileDefinition, resolveNext } from '../../src/model/definition/compile.ts';
import type { ExpressionScope } from '../../src/model/definition/expression-scope.ts';
import { parseDefinition } from '../../src/model/definition/parse.ts';
import { aScope } from '../model/definition/a-definition.ts';
import { aLease, type FakeService, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';

let service: FakeService;
let worker: Worker;
beforeEach(async () => {
  service = await startFakeService();
  worker = createWorker({ endpoint: service.url, workflows: [refund], stopOnSignals: false });
  void worker.run();
});
afterEach(async () => {
  await worker.stop();
  await service.stop();
});

const ticket = (text: string) => ({ id: 't', text, amount: 40 });
const serve = async (verb: 'complete' | 'fail', over: Partial<Lease>): Promise<Record<string, unknown>> => {
  const before = service.callsTo(verb).length;
  service.offer(aLease({ lease_id: `${over.step_id}-${over.attempt ?? 1}`, ...over }));
  return (await service.seen(verb, before + 1)).body;
};

describe('the refund agent', () => {
  const parsed = parseDefinition(refund.definition);
  const compiled = parsed.ok ? compileDefinition(parsed.value) : undefined;
  const next = (step: string, scope: Partial<ExpressionScope>) => {
    const branches = compiled?.steps.get(step)?.next ?? [];
    const decided = resolveNext(branches, aScope(scope));
    return decided.ok ? decided.value : decided.error.message;
  };

  it('is a definition that the service accepts', () => {
    expect(parsed).toMatchObject({ ok: true });
  });

  it.each([
    [0.93, 40, 'pay'],
    [0.93, 100, 'pay'],
    [0.93, 100.5, 'ask'],
    [0.55, 40, 'ask'],
  ])('judged with %d, a refund of %d goes to %s', (confidence, amount, to) => {
    expect(next('triage', { state: { confidence }, input: { ticket: { amount } } })).toBe(to);
  });

  it.each([
    [true, 'pay'],
    [false, 'apologise'],
  ])('answered with %s, it goes to %s', (approved, to) => {
    expect(next('ask', { steps: { ask: { output: { approved } } } })).toBe(to);
  });

  it('judges with a model whose tokens are the usage of the step', async () => {
    const clear = await serve('complete', { step_id: 'triage', input: { ticket: ticket('It arrived broken.') } });
    expect(clear).toMatchObject({
      output: { confidence: 0.93 },
      state_patch: { confidence: 0.93 },
      usage: [{ model: 'gpt-4o-mini', input_tokens: 225 }],
    });
    const unclear = await serve('complete', {
      step_id: 'triage',
      attempt: 2,
      input: { ticket: ticket('I changed my mind.') },
    });
    expect(unclear).toMatchObject({ output: { confidence: 0.55 } });
  });

  it('pays once for one step key, after a first try that the bank refuses', async () => {
    const lease = { step_id: 'pay', input: { amount: 40 }, step_key: 'key-of-the-visit' };
    expect(await serve('fail', lease)).toMatchObject({
      error: { class: 'retryable', message: 'the bank does not answer' },
    });
    const paid = await serve('complete', { ...lease, attempt: 2 });
    expect(paid).toMatchObject({ output: { amount: 40 } });
    const again = await serve('complete', { ...lease, attempt: 3 });
    expect(again['output']).toEqual(paid['output']);
  });

  it('writes to the customer when it is refused', async () => {
    const body = await serve('complete', { step_id: 'apologise', input: { ticket: ticket('No.') } });
    expect(body).toMatchObject({ output: { text: expect.stringContaining('sorry') as string } });
  });
});
