import { describe, expect, it } from 'vitest';
import { ALL_CALLS, callGraph, firstView, MOST_EDGES, MOST_NODES } from '../../src/model/call-graph.ts';
import { layOutCalls, layOutInRoom } from '../../src/model/call-layout.ts';
import { layOut } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const rows = layOut(
  [
    aSpan('agent', undefined, 0, 100),
    aSpan('m1', 'agent', 0, 10, { name: 'ask', kind: 'model_generation' }),
    aSpan('t1', 'agent', 10, 20, { name: 'search', kind: 'tool_call' }),
    aSpan('h1', 't1', 12, 18, { name: 'get' }),
    aSpan('m2', 'agent', 20, 30, { name: 'ask', kind: 'model_generation' }),
    aSpan('t2', 'agent', 25, 40, { name: 'search', kind: 'tool_call', status: 'error' }),
  ],
  BASE,
);
const said = ({ edges }: ReturnType<typeof callGraph>): string[] =>
  edges.map(({ from, to, how, count }) => `${from} → ${to} ${how} ${count}`).toSorted();

describe('the calls of a trace as a graph', () => {
  it('by name have one box a name and kind, with its calls, failures and time', () => {
    const { nodes } = callGraph(rows, 'name');
    expect(nodes.map(({ name, rows: held, errors, totalNs }) => [name, held.length, errors, totalNs])).toEqual([
      ['agent', 1, 0, 100e6],
      ['ask', 2, 0, 20e6],
      ['search', 2, 1, 25e6],
      ['get', 1, 0, 6e6],
    ]);
  });

  it('mark as recorded what names its parent, and as inferred what merely began when the call before it had ended', () => {
    expect(said(callGraph(rows, 'name'))).toEqual([
      'generic agent → model_generation ask recorded 2',
      'generic agent → tool_call search recorded 2',
      'model_generation ask → tool_call search inferred 1',
      'tool_call search → generic get recorded 1',
      'tool_call search → model_generation ask inferred 1',
    ]);
  });

  it('one by one have a box each; calls that overlap have no order', () => {
    expect(said(callGraph(rows, 'call')).filter((text) => text.includes('inferred'))).toEqual([
      '1 → 2 inferred 1',
      '2 → 4 inferred 1',
    ]);
  });

  it('of one part of the trace are those below its row alone', () => {
    const { nodes, edges } = callGraph(rows, 'call', 2);
    expect([nodes.map(({ name }) => name), edges.length]).toEqual([['search', 'get'], 1]);
  });

  it('of a parent that is not stored are drawn without it', () => {
    const lost = layOut([aSpan('a', 'nobody', 0, 1), aSpan('b', 'nobody', 2, 3)], BASE);
    expect(said(callGraph(lost, 'call'))).toEqual(['1 → 2 inferred 1']);
  });

  it('of which there are 10,000 are cut, and say by how many', () => {
    const wide = layOut(
      [
        aSpan('root', undefined, 0, 20_000),
        ...Array.from({ length: 10_000 }, (_, n) => aSpan(`c${n}`, 'root', n, n + 1, { name: `call ${n}` })),
      ],
      BASE,
    );
    for (const by of ['call', 'name'] as const) {
      const { nodes, left } = callGraph(wide, by);
      expect([nodes.length, left]).toEqual([MOST_NODES, 10_001 - MOST_NODES]);
      const all = callGraph(wide, by, undefined, ALL_CALLS);
      expect([all.nodes.length, all.left, all.leftEdges]).toEqual([10_001, 0, 0]);
    }
    const alike = layOut(
      [
        aSpan('root', undefined, 0, 9),
        ...Array.from({ length: 10_000 }, (_, n) => aSpan(`c${n}`, 'root', n, n + 1, { name: 'c' })),
      ],
      BASE,
    );
    expect(callGraph(alike, 'name')).toMatchObject({ left: 0, nodes: [{}, { name: 'c' }] });
  });

  it(`have ${MOST_EDGES} lines at the most: the rarest are left out, inferred ones before recorded ones`, () => {
    // Each of 30 names calls each, one after the other: 900 recorded lines, of which those from the first are doubled.
    const names = Array.from({ length: 30 }, (_, n) => n);
    const pairs = [...names, 0].flatMap((from) => names.map((to) => [from, to] as const));
    const dense = layOut(
      pairs.flatMap(([from, to], at) => [
        aSpan(`p${at}`, undefined, at * 2, at * 2 + 1, { name: `n${from}` }),
        aSpan(`c${at}`, `p${at}`, at * 2, at * 2 + 1, { name: `n${to}` }),
      ]),
      BASE,
    );
    const { edges, leftEdges } = callGraph(dense, 'name');
    expect(edges).toHaveLength(MOST_EDGES);
    expect(leftEdges).toBeGreaterThanOrEqual(600);
    expect(edges.every(({ how }) => how === 'recorded')).toBe(true);
    expect(edges.slice(0, 30).every(({ from, count }) => from === 'generic n0' && count === 2)).toBe(true);
  });

  it('are placed so that no two boxes overlap and each edge between two has a way', () => {
    const { nodes, edges } = layOutCalls(callGraph(rows, 'name'));
    for (const a of nodes)
      for (const b of nodes)
        if (a !== b)
          expect(Math.abs(a.x - b.x) >= a.width || Math.abs(a.y - b.y) >= a.height, `${a.name} and ${b.name}`).toBe(
            true,
          );
    for (const { points } of edges) expect(points.length).toBeGreaterThan(1);
  });

  it('lie in the direction in which they are drawn larger', () => {
    const chain = callGraph(
      layOut(
        Array.from({ length: 8 }, (_, n) => aSpan(`s${n}`, n === 0 ? undefined : `s${n - 1}`, n, 20)),
        BASE,
      ),
      'call',
    );
    const wide = layOutInRoom(chain, { width: 2000, height: 300 });
    const high = layOutInRoom(chain, { width: 300, height: 2000 });
    expect([wide.width > wide.height, high.width > high.height]).toEqual([true, false]);
  });

  it('are first seen completely where they can be read so, else from their beginning', () => {
    const room = { width: 1000, height: 500 };
    expect(firstView({ width: 500, height: 100 }, room)).toEqual({ x: 250, y: 200, zoom: 1 });
    expect(firstView({ width: 1250, height: 100 }, room)).toEqual({ x: 0, y: 210, zoom: 0.8 });
    expect(firstView({ width: 10_000, height: 100 }, room)).toMatchObject({ x: 0, zoom: 0.55 });
  });
});
