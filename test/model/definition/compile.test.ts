import { describe, expect, it } from 'vitest';
import { type CompiledStep, compileDefinition, resolveNext } from '../../../src/model/definition/compile.ts';
import { leadsOn } from '../../../src/model/definition/definition.ts';
import type { ExpressionScope } from '../../../src/model/definition/expression-scope.ts';
import { render } from '../../../src/model/definition/template.ts';
import { aDocument, aScope, parsed, refundDocument } from './a-definition.ts';

const refund = compileDefinition(parsed(refundDocument));
const step = (id: string): CompiledStep => {
  const found = refund.steps.get(id);
  if (found === undefined) throw new Error(id);
  return found;
};
const after = (id: string, scope: Partial<ExpressionScope>) => resolveNext(step(id).next, aScope(scope));

describe('where a run goes next', () => {
  it('is the first branch whose condition is true, read in order', () => {
    expect(after('triage', { state: { confidence: 0.8 }, visits: { triage: 1 } })).toEqual({ ok: true, value: 'pay' });
    expect(after('triage', { state: { confidence: 0.79 }, visits: { triage: 2 } })).toEqual({
      ok: true,
      value: 'triage',
    });
    expect(after('triage', { state: { confidence: 0.79 }, visits: { triage: 3 } })).toEqual({ ok: true, value: 'ask' });
  });

  it('is the following step where next is absent, and the end after the last', () => {
    expect(after('ask', {})).toEqual({ ok: true, value: 'cool_down' });
    const alone = compileDefinition(parsed(aDocument()));
    expect(resolveNext(alone.first.next, aScope())).toEqual({ ok: true, value: 'end' });
  });

  it('is the step that a short next names', () => {
    expect(after('apologise', {})).toEqual({ ok: true, value: 'refused' });
  });

  it('fails with class expression when no branch is taken', () => {
    const { first } = compileDefinition(
      parsed(aDocument({ steps: [{ id: 'a', kind: 'task', next: [{ when: 'visits.a > 9', to: 'end' }] }] })),
    );
    expect(resolveNext(first.next, aScope())).toEqual({
      ok: false,
      error: { class: 'expression', message: 'no branch of next was taken: all 1 conditions are false' },
    });
  });

  it('fails with class expression when a condition fails, whatever the branches after it say', () => {
    expect(after('triage', { state: {} })).toMatchObject({ ok: false, error: { class: 'expression' } });
  });
});

describe('a compiled definition', () => {
  it('starts at its first step', () => {
    expect(refund.first.step.id).toBe('triage');
    expect([...refund.steps.keys()]).toEqual(refund.definition.steps.map((each) => each.id));
  });

  it('has a template exactly where the step has the field', () => {
    const { input } = step('triage');
    if (input === undefined) throw new Error('no input');
    expect(render(input, aScope({ input: { ticket: { id: 1 } } }))).toEqual({ ok: true, value: { ticket: { id: 1 } } });
    expect(step('apologise').input).toBeUndefined();
    expect(step('index')).toMatchObject({ forEach: {}, input: {} });
    expect(step('ask').keys).toHaveLength(1);
    expect(step('triage').keys).toBeUndefined();
    expect(step('refused').next).toEqual([]);
    expect([...refund.steps.values()].filter((each) => leadsOn(each.step))).toHaveLength(6);
  });
});
