import { expect, it } from 'vitest';
import { sampleData } from '../../src/model/sample-data.ts';

it('2.6 sample data: whole traces, of which one failed; nothing lies in the future, and no id is there twice', () => {
  let drawn = 0;
  const nowMs = Date.UTC(2026, 10, 23);
  const { spans, scores, feedback } = sampleData({
    nowMs,
    id: (bytes) => (drawn += 1).toString(16).padStart(2 * bytes, '0'),
    project: 'shop',
  });
  const ids = spans.map(({ span_id }) => span_id);
  expect(new Set(ids).size).toBe(ids.length);
  const roots = spans.filter(({ parent_span_id }) => parent_span_id === undefined);
  expect(roots.map(({ status }) => status)).toEqual(['ok', 'error', 'ok', 'ok', 'ok', 'ok']);
  for (const { start_time, end_time, parent_span_id } of spans) {
    expect(Date.parse(String(end_time))).toBeLessThanOrEqual(nowMs);
    expect(Date.parse(String(start_time))).toBeLessThan(Date.parse(String(end_time)));
    if (parent_span_id !== undefined) expect(roots.some(({ span_id }) => span_id === parent_span_id)).toBe(true);
  }
  for (const { correlation } of [...spans, ...scores, ...feedback])
    expect(correlation).toMatchObject({ project: 'shop' });
});
