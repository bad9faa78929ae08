import { describe, expect, it } from 'vitest';
import { type ExpectingCase, expectingCase } from '../../src/model/expected.ts';

const root = { traceId: 't1', isRoot: true, input: { b: 2, a: 'refund' } };
const aCase = (item_id: string, more: Partial<ExpectingCase> = {}): ExpectingCase => ({
  item_id,
  input: 'another',
  expected: 'yes',
  ...more,
});
const found = (cases: readonly ExpectingCase[], asked = root): string | undefined =>
  expectingCase(cases, asked)?.item_id;

describe('the case that says what a span should have answered', () => {
  const made = aCase('made', { source_trace_id: 't1' });
  const same = aCase('same', { input: { a: 'refund', b: 2 } });

  it('is the one that was made of its trace, before one with the same input', () => {
    expect(found([made, same])).toBe('made');
    expect(found([same, aCase('other', { source_trace_id: 't2' })])).toBe('same');
  });

  it('is of a span that is no root the one with the same input', () => {
    expect(found([made, same], { ...root, isRoot: false })).toBe('same');
    expect(found([made], { ...root, isRoot: false })).toBeUndefined();
  });

  it('is the newest of several, and never one that expects nothing', () => {
    expect(found([made, { ...made, item_id: 'newer' }])).toBe('newer');
    expect(found([made, { item_id: 'empty', input: 1, source_trace_id: 't1' }])).toBe('made');
  });

  it('is none where nothing was asked, whatever cases ask', () => {
    expect(found([same], { ...root, input: undefined as unknown as typeof root.input })).toBeUndefined();
  });
});
