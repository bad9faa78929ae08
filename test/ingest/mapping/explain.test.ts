import { describe, expect, it } from 'vitest';
import { type Span, wholeAttributes } from '../../../src/model/span.ts';
import { explainSpan } from '../../../src/ingest/mapping/explain.ts';
import { kindRules } from '../../../src/ingest/mapping/kind-rules.ts';
import { fieldShapes, type Row, rows } from '../../../src/ingest/mapping/table.ts';
import { mapped } from '../factories.ts';

/** As the store hands it out. */
const stored = (span: Span): Span => ({ ...span, attributes: wholeAttributes(span) });
const explained = (...sent: Parameters<typeof mapped>) => explainSpan(stored(mapped(...sent)));
const attributeOf = (explanation: ReturnType<typeof explainSpan>, field: string) =>
  explanation.fields.find((source) => source.field === field)?.attribute;

const valueOf = (row: Row): unknown => {
  const plain = { text: 'some-text', payload: 'a payload', tokens: 7, money: 0.5, tags: ['a', 'b'] }[
    fieldShapes[row.field]
  ];
  const [path] = row.members ?? [];
  return path === undefined
    ? plain
    : JSON.stringify(path.reduceRight((inner, name) => ({ [name]: inner }), plain as object));
};

describe('which attribute set which field', () => {
  const read = rows.filter((row) => row.only === undefined && row.late !== true && row.at !== 'resource');

  it.each(read.flatMap((row) => row.keys.map((key) => [row.field, key, row] as const)))(
    '%s by %s: no field is left that the table set',
    (_field, key, row) => {
      const sent = { 'gen_ai.usage.total_tokens': 9, 'svc.span.kind': 'tool_call', [key]: valueOf(row) };
      // The project is the sender's key's, where no attribute names one; a total is the sum of parts, where none was sent.
      expect(
        explained(sent).unexplained.filter((path) => path !== 'correlation.project' && path !== 'cost.total_cost'),
      ).toEqual([]);
    },
  );

  it.each(
    kindRules.flatMap((rule) =>
      (rule.reads.by === 'value' ? Object.entries(rule.reads.kinds) : []).map(
        ([value, kind]) => [rule.key, value, kind] as const,
      ),
    ),
  )('kind by %s = %s', (key, value, kind) => {
    const span = mapped({ [key]: value });
    expect(span.kind).toBe(kind);
    expect(attributeOf(explainSpan(stored(span)), 'kind')).toBe(key);
  });

  it('the first row that was read, and what it was read instead of', () => {
    const { fields } = explained({ 'gen_ai.request.model': 'a', 'svc.model': 'b', 'llm.model_name': 'c' });
    const [first, ...rest] = fields.filter(({ field }) => field === 'model');
    const span = mapped({ 'gen_ai.request.model': 'a', 'svc.model': 'b', 'llm.model_name': 'c' });
    const all = { a: 'gen_ai.request.model', b: 'svc.model', c: 'llm.model_name' };
    const winner = all[span.model as keyof typeof all];
    expect(rest).toEqual([]);
    expect(first?.attribute).toBe(winner);
    expect(first?.insteadOf.toSorted()).toEqual(
      Object.values(all)
        .filter((name) => name !== winner)
        .toSorted(),
    );
  });

  it('an attribute of the resource, and one of the span before it', () => {
    expect(attributeOf(explained({}, { 'service.name': 'shop' }), 'correlation.service_name')).toBe('service.name');
    expect(
      attributeOf(explained({ 'session.id': 'own' }, { 'session.id': 'resource' }), 'correlation.session_id'),
    ).toBe('session.id');
  });

  it('messages that came as many attributes are one source', () => {
    const explanation = explained({
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'hi',
    });
    expect(attributeOf(explanation, 'input')).toBe('llm.input_messages.*');
    expect(explanation.unmapped).toEqual([]);
  });

  it("a price of the book is no attribute's, and a field that came with the span is said to be unexplained", () => {
    const span = stored(mapped({ 'gen_ai.request.model': 'm' }));
    const native = explainSpan({
      ...span,
      provider: 'acme',
      cost: { totalCost: 1, currency: 'USD', isEstimated: true, priceBookId: 'builtin' },
    });
    expect(native.unexplained).toContain('provider');
    expect(native.unexplained).not.toContain('cost.total_cost');
  });

  it('what no row reads is unmapped, whatever it is called', () => {
    const { unmapped } = explained({ 'my.own': 1, __proto__2: 'x', constructor: 'y', 'gen_ai.request.model': 'm' });
    expect(unmapped.toSorted()).toEqual(['__proto__2', 'constructor', 'my.own']);
  });
});
