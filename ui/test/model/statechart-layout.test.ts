import { describe, expect, it } from 'vitest';
import { ownMachines } from '../../../src/machines/catalogue.ts';
import { chartOf, chartOfDefinition, openedAtFirst } from '../../src/model/statechart.ts';
import { layoutChart, layoutInRoom } from '../../src/model/statechart-layout.ts';
import { svgOf } from '../../src/model/statechart-svg.ts';
import { type Box, type ChartLayout, linePath, viewportOf } from '../../src/model/statechart-view.ts';

const nested = {
  id: 'm',
  initial: 'off',
  states: {
    off: { on: { go: 'on' } },
    on: {
      initial: 'slow',
      on: { stop: '#m.off', beat: { actions: 'note' } },
      states: {
        slow: { on: { faster: { target: 'fast', guard: { type: 'mayHurry', params: { to: 'fast' } } }, go: '#m.off' } },
        fast: { on: { slower: 'slow' } },
      },
    },
  },
};
const charts = [
  ...ownMachines.map(({ machine }) => ({ name: machine.id, chart: chartOf(machine.config) })),
  { name: 'one with states within states', chart: chartOf(nested) },
  {
    name: 'a definition of 300 steps',
    chart: chartOfDefinition({
      steps: Array.from({ length: 300 }, (_, index) => ({
        id: `s${index}`,
        kind: 'task',
        next: [`s${index + 1}`, `s${index + 3}`],
      })),
    }),
  },
];

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const contains = (outer: Box, inner: Box): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const opened = (chart: ReturnType<typeof chartOf>): ReadonlySet<string> =>
  new Set(chart.states.filter(({ kind }) => kind === 'compound').map(({ id }) => id));
const allOpen = (chart: ReturnType<typeof chartOf>): ChartLayout => layoutChart(chart, opened(chart));

describe('the layout of a chart', () => {
  it.each(charts)('of $name places each state once, inside its parent, beside its neighbours', ({ chart }) => {
    const { nodes, width, height } = allOpen(chart);
    expect(nodes.map(({ state }) => state.id).toSorted()).toEqual(chart.states.map(({ id }) => id).toSorted());
    const byId = new Map(nodes.map((node) => [node.state.id, node]));
    for (const node of nodes) {
      const outer = node.state.parent === undefined ? { x: 0, y: 0, width, height } : byId.get(node.state.parent);
      expect(outer !== undefined && contains(outer, node), node.state.id).toBe(true);
    }
    const neighbours = nodes.slice(0, 60);
    for (const [index, a] of neighbours.entries())
      for (const b of neighbours.slice(index + 1))
        if (a.state.parent === b.state.parent) expect(overlap(a, b), `${a.state.id} ${b.state.id}`).toBe(false);
  });

  it.each(charts)(
    'of $name shows each transition: as a line, or as text of the state that it does not leave',
    ({ chart }) => {
      const { nodes, edges } = allOpen(chart);
      const asLines = new Set(edges.flatMap(({ transitions }) => transitions.map(({ id }) => id)));
      expect(asLines.size).toBeGreaterThan(0);
      for (const { id, from, event } of chart.transitions)
        if (from !== '' && !asLines.has(id)) {
          const loops = nodes.find(({ state }) => state.id === from)?.loops ?? [];
          expect(
            loops.some((text) => text.includes(event) || /and \d+ more/.test(text)),
            `${from} ${event}`,
          ).toBe(true);
        }
    },
  );

  it('draws a closed state as one, and lets its transitions begin there', () => {
    const chart = chartOf(nested);
    const { nodes, edges } = layoutChart(chart, new Set());
    expect(nodes.map(({ state }) => state.id)).toEqual(['off', 'on']);
    const back = edges.find(({ from, to }) => from === 'on' && to === 'off');
    expect(back?.label).toEqual(['stop', 'go']);
    expect(nodes.find(({ state }) => state.id === 'on')?.loops).toEqual(['↺ beat']);
  });

  it('leaves out a guard that names nothing but the target', () => {
    const { edges } = allOpen(chartOf(nested));
    expect(edges.find(({ from }) => from === 'on.slow')?.label).toEqual(['faster']);
  });

  it('turns to the right where that shrinks it less', () => {
    const chain = chartOfDefinition({
      steps: Array.from({ length: 8 }, (_, index) => ({ id: `s${index}`, kind: 'task', next: `s${index + 1}` })),
    });
    const tall = layoutInRoom(chain, new Set(), { width: 300, height: 900 });
    const wide = layoutInRoom(chain, new Set(), { width: 1600, height: 300 });
    expect(tall.height).toBeGreaterThan(tall.width);
    expect(wide.width).toBeGreaterThan(wide.height);
  });

  it('of nothing is nothing', () => {
    expect(layoutChart(chartOf({}), new Set()).nodes).toEqual([]);
    expect(linePath([])).toBe('');
  });
});

describe('how a picture is first seen', () => {
  const layout = allOpen(chartOf(nested));

  it('is at its own size, in the middle, where there is room', () => {
    const { zoom, x } = viewportOf(layout, { width: layout.width + 200, height: layout.height + 200 });
    expect(zoom).toBe(1);
    expect(x).toBeCloseTo(100);
  });

  it('is all of it, in the middle, where there is less and the machine is in no state', () => {
    const room = { width: layout.width / 4, height: layout.height / 2 };
    const { x, y, zoom } = viewportOf(layout, room);
    expect(zoom).toBeLessThan(0.25);
    for (const [start, length, all] of [
      [x, layout.width * zoom, room.width],
      [y, layout.height * zoom, room.height],
    ] as const) {
      expect(start).toBeGreaterThan(0);
      expect(start + length).toBeLessThan(all);
      expect(start).toBeCloseTo(all - start - length);
    }
  });

  it('shrinks no further than its shape can be seen', () => {
    const least = (width: number): number => viewportOf({ ...layout, width }, { width: 324, height: 9000 }).zoom;
    expect(least(3000)).toBeCloseTo(0.1);
    expect(least(3100)).toBe(0.1);
    expect(least(2900)).toBeGreaterThan(0.1);
  });

  it('is readable, around the active state, where there is none', () => {
    const { zoom, y } = viewportOf(layout, { width: 100, height: 100 }, new Set(['on', 'on.fast']));
    const fast = layout.nodes.find(({ state }) => state.id === 'on.fast');
    expect(zoom).toBeGreaterThan(0.5);
    const shown = (fast?.y ?? 0) * zoom + y;
    expect(shown).toBeGreaterThan(0);
    expect(shown).toBeLessThan(100);
  });
});

describe('the picture as a file', () => {
  it.each(charts.slice(0, -1))('of $name has each state by its name', ({ name, chart }) => {
    const svg = svgOf(name, allOpen(chart));
    for (const { id, key } of chart.states) {
      expect(svg).toContain(`data-state="${id}"`);
      expect(svg).toContain(`>${key}</text>`);
    }
  });

  it('holds text of a client as text', () => {
    const chart = chartOfDefinition({ steps: [{ id: '<script>alert("1")</script>\u0000\uD800', kind: '<b>&' }] });
    const svg = svgOf('<i>', layoutChart(chart, openedAtFirst(chart)));
    expect(svg).not.toMatch(/<script|<b>|<i>|\u0000|\uD800/u);
    expect(svg).toContain('&#60;script&#62;');
  });
});
