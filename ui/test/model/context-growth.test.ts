import { describe, expect, it } from 'vitest';
import { allSources, contextGrowth, modelCalls } from '../../src/model/context-growth.ts';
import { layOut, type Span } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const ask = (id: string, from: number, more: Partial<Span>): Span =>
  aSpan(id, undefined, from, from + 1, { kind: 'model_generation', ...more });

describe('the context of the calls of a trace', () => {
  it('is what each call read, in the order of their start, and how it grew', () => {
    const rows = layOut(
      [
        ask('late', 20, { usage: { input_tokens: 300, input_details: { cache_read: 200, cache_write_5m: 5 } } }),
        ask('early', 0, { usage: { input_tokens: 100 } }),
        ask('uncounted', 10, {}),
        aSpan('tool', undefined, 5, 6, { kind: 'tool_call' }),
      ],
      BASE,
    );
    expect(modelCalls(rows).map(({ row, ...rest }) => [rows.spans[row]?.span_id, rest])).toEqual([
      ['early', { tokens: 100, cached: undefined, written: undefined, grewBy: undefined }],
      ['uncounted', { tokens: undefined, cached: undefined, written: undefined, grewBy: undefined }],
      ['late', { tokens: 300, cached: 200, written: 5, grewBy: 200 }],
    ]);
  });

  it('adds cached tokens where the sender counts them beside the input, and not where they are inside', () => {
    const tokens = (cache_read: number): number | undefined =>
      modelCalls(layOut([ask('a', 0, { usage: { input_tokens: 100, input_details: { cache_read } } })], BASE))[0]
        ?.tokens;
    expect([tokens(100), tokens(101)]).toEqual([100, 201]);
  });

  const user = { role: 'user', content: 'hello' };
  const tool = { role: 'tool', name: 'search', content: 'x'.repeat(50) };
  const call = (row: number, input: unknown) => ({
    row,
    span: ask(`s${row}`, row, { input }),
    receipt: undefined,
  });

  it('holds each message once, with the calls that carry it', () => {
    const { messages, calls } = contextGrowth([call(0, [user]), call(1, [user, tool]), call(2, [user, tool, user])]);
    expect(messages.map(({ turn, calls: carried }) => [turn.role, carried])).toEqual([
      ['user', [0, 1, 2]],
      ['tool', [1, 2]],
      ['user', [2]],
    ]);
    expect(calls.map(({ repeated, fresh }) => [repeated, fresh])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
  });

  it('knows a message again by its role and parts, whatever else was sent with it', () => {
    const { messages } = contextGrowth([call(0, [user]), call(1, [{ ...user, cache_control: { type: 'ephemeral' } }])]);
    expect(messages.map(({ calls: carried }) => carried)).toEqual([[0, 1]]);
  });

  it('says where what is new comes from, by role, and of results by tool', () => {
    const growth = contextGrowth([call(0, [user]), call(1, [user, tool])]);
    expect(growth.calls[1]?.sources).toEqual([{ name: 'tool search', characters: 50 }]);
    expect(allSources(growth)).toEqual([
      { name: 'tool search', characters: 50 },
      { name: 'user', characters: 5 },
    ]);
  });

  it('says nothing of a call whose input is no list of messages', () => {
    expect(contextGrowth([call(0, 'plain text')]).calls).toEqual([
      { row: 0, repeated: undefined, fresh: undefined, savedByCache: undefined, sources: [] },
    ]);
  });
});
