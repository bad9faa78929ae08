import { describe, expect, it } from 'vitest';
import { readConversation } from '../../src/model/conversation.ts';
import { payloadText, previewOf } from '../../src/model/payload.ts';
import { formatZoom, panned, parseZoom, ticksOf, withinTrace, zoomed } from '../../src/model/ticks.ts';
import {
  criticalPath,
  durationOf,
  firstToShow,
  viewOf,
  layOut,
  matchRows,
  nsSince,
  placeOf,
  sameNameBefore,
  type RowFilter,
  selfTimes,
  type Span,
  type TraceRows,
  visibleRows,
} from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const idsOf = (rows: TraceRows, which: Int32Array): string[] => [...which].map((row) => rows.spans[row]?.span_id ?? '');
const allOpen = { level: undefined, opened: new Set<string>(), closed: new Set<string>() };
const everything: RowFilter = { root: undefined, wanted: undefined };

const tree = [
  aSpan('root', undefined, 0, 100),
  aSpan('a', 'root', 10, 40),
  aSpan('a1', 'a', 12, 20),
  aSpan('a2', 'a', 22, 38),
  aSpan('b', 'root', 50, 95),
];

describe('the time of a span', () => {
  it('keeps its nanoseconds, which a Date loses', () => {
    expect(nsSince('2026-11-20T09:00:00.123456789Z', BASE)).toBe(123_456_789);
    expect(nsSince('2026-11-20T09:00:00.123456Z', BASE)).toBe(123_456_000);
    expect(nsSince('2026-11-20T09:00:01Z', BASE)).toBe(1_000_000_000);
  });

  it('has no duration while it runs, and is drawn until now', () => {
    const rows = layOut([aSpan('root', undefined, 0)], BASE + 250);
    expect([durationOf(rows, 0), rows.end[0], rows.isOpenEnded[0]]).toEqual([undefined, 250e6, 1]);
  });
});

describe('the rows of a trace', () => {
  it('are in the order of the tree, with level, place among siblings, and how many hang below', () => {
    const rows = layOut([...tree.slice(0, 1), ...tree.slice(1).toReversed()], BASE);
    expect(rows.spans.map(({ span_id }) => span_id)).toEqual(['root', 'b', 'a', 'a2', 'a1']);
    expect([...rows.depth]).toEqual([0, 1, 1, 2, 2]);
    expect([...rows.size]).toEqual([5, 1, 3, 1, 1]);
    expect([...rows.position]).toEqual([1, 1, 2, 1, 2]);
    expect([...rows.siblings]).toEqual([1, 2, 2, 2, 2]);
  });

  it('hold a span whose parent is not stored, and say so', () => {
    const rows = layOut(
      [aSpan('root', undefined, 0, 9), aSpan('lost', 'nobody', 1, 2), aSpan('late', 'nobody', 4, 7)],
      BASE,
    );
    expect(rows.spans.map(({ span_id }) => span_id)).toEqual(['root', 'nobody', 'lost', 'late']);
    expect([...rows.isMissing]).toEqual([0, 1, 0, 0]);
    expect([...rows.isOrphan]).toEqual([0, 0, 1, 1]);
    expect([...rows.depth]).toEqual([0, 0, 1, 1]);
    expect([rows.storedCount, rows.start[1], rows.end[1], durationOf(rows, 1)]).toEqual([3, 1e6, 7e6, undefined]);
  });

  it('hold each span once, also of parents in a circle and of a span that is its own parent', () => {
    const rows = layOut(
      [aSpan('x', 'y', 0, 1), aSpan('y', 'z', 0, 1), aSpan('z', 'x', 0, 1), aSpan('s', 's', 0, 1)],
      BASE,
    );
    expect(rows.spans.map(({ span_id }) => span_id).toSorted()).toEqual(['s', 'x', 'y', 'z']);
  });

  it('may be 10,000 deep or 10,000 wide', () => {
    const count = 10_000;
    const chain = layOut(
      Array.from({ length: count }, (_, n) => aSpan(`s${n}`, n === 0 ? undefined : `s${n - 1}`, n, count)),
      BASE,
    );
    expect([chain.maxDepth, chain.size[0], visibleRows(chain, allOpen, everything).length]).toEqual([
      count - 1,
      count,
      count,
    ]);
    expect(criticalPath(chain)[count - 1]).toBe(1);
    const wide = layOut(
      [
        aSpan('root', undefined, 0, count),
        ...Array.from({ length: count }, (_, n) => aSpan(`s${n}`, 'root', n, n + 1)),
      ],
      BASE,
    );
    expect([wide.maxDepth, wide.size[0], criticalPath(wide).reduce((sum, one) => sum + one, 0)]).toEqual([
      1,
      count + 1,
      count + 1,
    ]);
  });

  it('open at the deepest failure, else at the root', () => {
    const failed =
      (id: string) =>
      (span: Span): Span =>
        span.span_id === id ? { ...span, status: 'error' } : span;
    expect(firstToShow(layOut(tree, BASE))).toBe(0);
    expect(firstToShow(layOut(tree.map(failed('b')).map(failed('a2')), BASE))).toBe(3);
  });
});

it('2.2 transcript: the default when the root is agent_run; one that failed, or a span that is named, is a waterfall', () => {
  const agent = tree.map((span): Span => (span.span_id === 'root' ? { ...span, kind: 'agent_run' } : span));
  expect(viewOf(layOut(agent, BASE), undefined)).toBe('transcript');
  expect(viewOf(layOut(agent, BASE), 'a1')).toBe('waterfall');
  expect(viewOf(layOut(tree, BASE), undefined)).toBe('waterfall');
  const failed = agent.map((span): Span => (span.span_id === 'b' ? { ...span, status: 'error' } : span));
  expect(viewOf(layOut(failed, BASE), undefined)).toBe('waterfall');
});

describe('what of a trace is drawn', () => {
  const rows = layOut(tree, BASE);
  it('is everything, down to a level, and what was opened or closed by hand', () => {
    expect(idsOf(rows, visibleRows(rows, allOpen, everything))).toEqual(['root', 'a', 'a1', 'a2', 'b']);
    expect(idsOf(rows, visibleRows(rows, { ...allOpen, level: 2 }, everything))).toEqual(['root', 'a', 'b']);
    expect(idsOf(rows, visibleRows(rows, { ...allOpen, level: 2, opened: new Set(['a']) }, everything))).toHaveLength(
      5,
    );
    expect(idsOf(rows, visibleRows(rows, { ...allOpen, closed: new Set(['a']) }, everything))).toEqual([
      'root',
      'a',
      'b',
    ]);
    expect(idsOf(rows, visibleRows(rows, { ...allOpen, level: 1 }, everything))).toEqual(['root']);
  });

  it('is a part of the tree, or what is wanted with all above it, whatever was closed', () => {
    expect(idsOf(rows, visibleRows(rows, allOpen, { ...everything, root: 1 }))).toEqual(['a', 'a1', 'a2']);
    const wanted = (row: number): boolean => row === 3;
    expect(idsOf(rows, visibleRows(rows, { ...allOpen, level: 1 }, { root: undefined, wanted }))).toEqual([
      'root',
      'a',
      'a2',
    ]);
  });

  it('shows a row that is closed away at the row it is closed into', () => {
    const visible = visibleRows(rows, { ...allOpen, closed: new Set(['a']) }, everything);
    expect([0, 1, 2, 3, 4].map((row) => placeOf(visible, row))).toEqual([0, 1, 1, 1, 2]);
  });

  it('finds by name, model, error and id, in any case', () => {
    const some = layOut(
      [
        aSpan('one', undefined, 0, 1, { name: 'Chat' }),
        aSpan('two', undefined, 0, 1, { model: 'gpt-4o' }),
        aSpan('three', undefined, 0, 1, { error: { message: 'bad Gateway' } }),
      ],
      BASE,
    );
    expect(['chat', 'GPT', 'gateway', 'one', ' '].map((find) => [...matchRows(some, find)])).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
      [1, 0, 0],
      [0, 0, 0],
    ]);
  });
});

describe('where the time went', () => {
  it('self time is what no child covers', () => {
    const rows = layOut(tree, BASE);
    expect(selfTimes(rows, 0)).toEqual([
      [0, 10e6],
      [40e6, 50e6],
      [95e6, 100e6],
    ]);
    expect(selfTimes(rows, 2)).toEqual([[12e6, 20e6]]);
  });

  it('a child that outlives its parent takes no time that the parent did not have', () => {
    const rows = layOut([aSpan('root', undefined, 0, 10), aSpan('late', 'root', 5, 50)], BASE);
    expect(selfTimes(rows, 0)).toEqual([[0, 5e6]]);
  });

  it('the critical path goes back from the end by what ended last', () => {
    const rows = layOut([...tree, aSpan('beside', 'root', 20, 60)], BASE);
    expect([...criticalPath(rows)].flatMap((flag, row) => (flag === 1 ? [rows.spans[row]?.span_id] : []))).toEqual([
      'root',
      'a',
      'a1',
      'a2',
      'b',
    ]);
  });
});

describe('the critical path through a child that outlives its parent', () => {
  it('counts the time inside the parent alone', () => {
    const rows = layOut(
      [aSpan('root', undefined, 0, 10), aSpan('early', 'root', 0, 5), aSpan('late', 'root', 6, 50)],
      BASE,
    );
    expect([...criticalPath(rows)]).toEqual([1, 1, 1]);
  });
});

describe('the span of the same name before one', () => {
  it('may have another parent, and is of the same kind', () => {
    const rows = layOut(
      [
        aSpan('root', undefined, 0, 100),
        aSpan('a', 'root', 1, 2, { name: 'ask' }),
        aSpan('b', 'root', 3, 4, { name: 'ask', kind: 'tool_call' }),
        aSpan('c', 'root', 5, 9, { name: 'group' }),
        aSpan('d', 'c', 6, 7, { name: 'ask' }),
      ],
      BASE,
    );
    expect(rows.spans.map((_span, row) => sameNameBefore(rows, row))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'a',
    ]);
  });
});

describe('the axis', () => {
  it('has its marks at round times, never more than asked for by more than one', () => {
    expect(ticksOf(0, 1000, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
    expect(ticksOf(130, 990, 4)).toEqual([500]);
    expect(ticksOf(5, 5, 4)).toEqual([]);
    for (const to of [7, 999, 12_345, 9.1e12]) expect(ticksOf(0, to, 6).length).toBeLessThanOrEqual(7);
  });

  it('is zoomed around a point and never leaves the trace', () => {
    expect(zoomed({ from: 0, to: 1e9 }, 0.5, 5e8, 1e9)).toEqual({ from: 2.5e8, to: 7.5e8 });
    expect(zoomed({ from: 0, to: 1e9 }, 4, 5e8, 1e9)).toEqual({ from: 0, to: 1e9 });
    expect(panned({ from: 8e8, to: 1e9 }, 0.5, 1e9)).toEqual({ from: 8e8, to: 1e9 });
    expect(withinTrace({ from: 10, to: 11 }, 1e9).to).toBe(1010);
  });

  it('stands in the address in milliseconds', () => {
    expect(formatZoom({ from: 1.5e6, to: 2e9 })).toBe('1.5-2000');
    expect(parseZoom('1.5-2000')).toEqual({ from: 1.5e6, to: 2e9 });
    expect(['', '5', '9-3', 'a-b', '-1-5'].map(parseZoom)).toEqual(Array.from({ length: 5 }));
  });
});

describe('a payload', () => {
  it('is shown by a bounded piece, and kept as it is for the file', () => {
    const huge = 'x'.repeat(5_000_000);
    const preview = previewOf(huge);
    expect([preview.text.length, preview.isCut, preview.size]).toEqual([4000, true, '5 MB of text']);
    expect(payloadText(huge)).toBe(huge);
    expect(previewOf({ a: 1 })).toMatchObject({ text: '{\n  "a": 1\n}', isCut: false });
  });

  it.each([
    ['messages', [{ role: 'user', content: 'hi' }]],
    ['messages in an object', { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }],
    ['choices', { choices: [{ index: 0, message: { role: 'user', content: 'hi' } }] }],
    ['parts', [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }]],
  ])('is read as a conversation from %s', (_shape, value) => {
    expect(readConversation(value)).toMatchObject([{ role: 'user', parts: [{ kind: 'text', text: 'hi' }] }]);
  });

  it('keeps each message as it was sent', () => {
    const messages = [{ index: 0, message: { role: 'user', content: 'hi', refusal: null } }];
    expect(readConversation({ choices: messages })?.[0]?.message).toBe(messages[0]);
  });

  it('tells calls of tools and what came back', () => {
    expect(
      readConversation([
        { role: 'assistant', content: null, tool_calls: [{ function: { name: 'find', arguments: '{"a":1}' } }] },
        { role: 'tool', name: 'find', content: 'none' },
      ]),
    ).toMatchObject([
      { role: 'assistant', parts: [{ kind: 'call', name: 'find', text: '{"a":1}' }] },
      { role: 'tool', parts: [{ kind: 'result', name: 'find', text: 'none' }] },
    ]);
  });

  it('is no conversation when it is anything else', () => {
    for (const value of [undefined, null, 'text', 7, [], {}, [1, 2], { messages: 'x' }, [{ content: 'no role' }]])
      expect(readConversation(value)).toBeUndefined();
  });

  it.each<[string, object]>([
    ['an address', { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }],
    ['a source', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }],
    ['inline data', { inlineData: { mimeType: 'image/png', data: 'QUJD' } }],
  ])('has images of %s by type and size', (_shape, part) => {
    expect(readConversation([{ role: 'user', content: [part] }])?.[0]?.parts).toEqual([
      { kind: 'image', text: 'image/png, 3 B', address: 'data:image/png;base64,QUJD' },
    ]);
  });

  it('has no image of what is a document, or names no type of pixels', () => {
    for (const type of ['image/svg+xml', 'text/html', 'application/pdf'])
      expect(
        readConversation([{ role: 'user', content: [{ source: { media_type: type, data: 'QUJD' } }] }])?.[0]?.parts,
      ).toEqual([{ kind: 'other', text: `${type}, 3 B` }]);
  });

  it('loads no image that it names', () => {
    expect(
      readConversation([
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://evil.example/a.png' } }] },
      ]),
    ).toMatchObject([{ role: 'user', parts: [{ kind: 'other', text: 'image at https://evil.example/a.png' }] }]);
  });
});
