import { describe, expect, it } from 'vitest';
import { filterOfBox, placeTraces, type Plane } from '../../src/model/scatter.ts';

const row = (id: string, durationMs?: number, cost?: number) => ({
  id,
  name: id,
  isError: false,
  ...(durationMs === undefined ? {} : { durationMs }),
  ...(cost === undefined ? {} : { cost }),
});
const plane = (): Plane => {
  const found = placeTraces([row('fast', 10, 0.001), row('middle', 100, 0.01), row('slow', 1000, 0.1)]);
  if (found === undefined) throw new Error('nothing was placed');
  return found;
};

describe('traces by duration and cost', () => {
  it('longer is further right, dearer is higher, and equal factors are equal distances', () => {
    const [fast, middle, slow] = plane().dots;
    expect((fast?.x ?? 0) < (middle?.x ?? 0) && (middle?.x ?? 0) < (slow?.x ?? 0)).toBe(true);
    expect((fast?.y ?? 0) > (middle?.y ?? 0) && (middle?.y ?? 0) > (slow?.y ?? 0)).toBe(true);
    expect(middle?.x).toBeCloseTo(0.5);
    expect(middle?.y).toBeCloseTo(0.5);
    for (const { x, y } of plane().dots) expect(x > 0 && x < 1 && y > 0 && y < 1).toBe(true);
  });

  it('a trace whose duration or cost is unknown or zero is left out and counted; two are needed', () => {
    const rows = [row('a', 1, 1), row('b', 2, 2), row('no cost', 1), row('no time', undefined, 1), row('free', 1, 0)];
    expect(placeTraces(rows)).toMatchObject({ leftOut: 3 });
    expect(placeTraces(rows.slice(1))).toBeUndefined();
    expect(placeTraces([])).toBeUndefined();
  });

  it('all in one point still have a plane', () => {
    expect(placeTraces([row('a', 5, 5), row('b', 5, 5)])?.dots.map(({ x }) => x)).toEqual([0.5, 0.5]);
  });

  it('a box is a filter that holds the dots in it and no others, whichever corner was first', () => {
    const found = plane();
    const box = { x1: 0.4, y1: 0.6, x2: 1.2, y2: -0.3 };
    const filter = filterOfBox(found, box);
    expect(filterOfBox(found, { x1: box.x2, y1: box.y2, x2: box.x1, y2: box.y1 })).toEqual(filter);
    const held = found.dots.filter(
      ({ durationMs, cost }) =>
        filter !== undefined &&
        durationMs >= filter.min_duration_ms &&
        durationMs <= filter.max_duration_ms &&
        cost >= filter.min_cost &&
        cost <= filter.max_cost,
    );
    expect(held.map(({ id }) => id)).toEqual(['middle', 'slow']);
  });

  it('what is too small to be meant is no box', () => {
    expect(filterOfBox(plane(), { x1: 0.5, y1: 0.2, x2: 0.505, y2: 0.9 })).toBeUndefined();
    expect(filterOfBox(plane(), { x1: 0.2, y1: 0.5, x2: 0.9, y2: 0.5 })).toBeUndefined();
  });
});
