import { describe, expect, it } from 'vitest';
import { faultsByStep, parseDraft } from '../../src/model/draft.ts';
import { lineOf, placeInText } from '../../src/model/json-position.ts';
import { findInJson } from '../../src/model/find-in-json.ts';
import { jsonChanges, jsonRows, pathsAround } from '../../src/model/json-tree.ts';

const found = (value: unknown, path: string): string => {
  const text = JSON.stringify(value, null, 2);
  const { start, end } = placeInText(text, path);
  return text.slice(start, end).replaceAll(/\s/g, '');
};

describe('the place of a path in a text', () => {
  const value = { id: 'x', steps: [{ id: 'a' }, { id: 'b "}]', next: [{ when: '1', to: 'c' }] }], n: -1.5 };

  it.each([
    ['steps[1].next[0].to', '"c"'],
    ['steps[0]', '{"id":"a"}'],
    ['steps[1].id', '"b\\"}]"'],
    ['n', '-1.5'],
    ['id', '"x"'],
  ])('%s is %s', (path, text) => expect(found(value, path)).toBe(text));

  it('of what is missing is the place around it', () => {
    expect(found(value, 'steps[0].kind')).toBe('{"id":"a"}');
    expect(found(value, 'steps[7].kind')).toBe(JSON.stringify(value.steps).replaceAll(' ', ''));
    expect(found(value, '')).toBe(JSON.stringify(value).replaceAll(' ', ''));
  });

  it('is in a line, counted from 1', () => {
    const text = JSON.stringify(value, null, 2);
    expect(lineOf(text, placeInText(text, 'steps[0].id').start)).toBe(5);
    expect(lineOf(text, 0)).toBe(1);
  });

  it('of a text that is no JSON ends', () => {
    for (const text of ['', '{', '[1,', '{"a":', '"'])
      expect(placeInText(text, 'a.b[3]').start).toBeLessThanOrEqual(text.length);
  });
});

describe('a draft', () => {
  it('is empty, broken or a definition', () => {
    expect(parseDraft(' \n').kind).toBe('empty');
    expect(parseDraft('{"id":').kind).toBe('broken');
    expect(parseDraft('[1]')).toEqual({ kind: 'broken', message: 'a definition is a JSON object' });
    expect(parseDraft('{"id":"x"}').kind).toBe('json');
  });

  it('has its faults at its steps', () => {
    const definition = { steps: [{ id: 'a' }, { kind: 'task' }] };
    const faults = ['steps[0].next', 'steps[0]', 'steps[1].id', 'steps[9].id', 'id'].map((path) => ({
      path,
      message: '',
    }));
    expect([...faultsByStep({ definition }, faults)]).toEqual([
      ['a', 2],
      ['step 2', 1],
    ]);
  });
});

describe('the lines of a JSON value', () => {
  it('are those of its outermost level at first, and of what was opened', () => {
    const value = { a: [1, { b: null }], 'c/d': 'x' };
    expect(jsonRows(value, new Set()).map(({ path, text }) => `${path} ${text}`)).toEqual([
      ' {2}',
      '/a [2]',
      '/c~1d "x"',
    ]);
    expect(jsonRows(value, new Set(['/a', '/a/1'])).map(({ path }) => path)).toEqual([
      '',
      '/a',
      '/a/0',
      '/a/1',
      '/a/1/b',
      '/c~1d',
    ]);
    expect(jsonRows(value, new Set([''])).map(({ path }) => path)).toEqual(['']);
  });

  it('show the head of a long text, and how long it is', () => {
    const [row] = jsonRows('y'.repeat(5_000_000), new Set());
    expect(row?.text.length).toBeLessThan(300);
    expect(row?.text).toContain('5,000,000 characters');
    expect(jsonRows('y'.repeat(200), new Set())[0]?.text).toBe(`"${'y'.repeat(200)}"`);
  });

  it('go 10,000 levels deep and 10,000 members wide', () => {
    let deep: unknown = 1;
    const opened = new Set<string>();
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    for (let level = 1, path = '/0'; level < 50; level += 1, path += '/0') opened.add(path);
    expect(jsonRows(deep, opened)).toHaveLength(51);
    expect(jsonRows(Array.from({ length: 10_000 }), new Set())).toHaveLength(10_001);
  });

  it('keep what stands in them as text, whatever it is', () => {
    expect(jsonRows({ '<img>': '<script>\u0000' }, new Set())[1]).toMatchObject({
      key: '<img>',
      text: '"<script>\\u0000"',
    });
  });
});

describe('what differs between two moments', () => {
  it('is named path by path', () => {
    expect(jsonChanges({ a: 1, b: [1, 2], c: 'x' }, { a: 1, b: [1, 3, 4], d: {} }).changes).toEqual([
      { path: '/b/1', before: '2', after: '3' },
      { path: '/b/2', before: 'absent', after: '4' },
      { path: '/c', before: '"x"', after: 'absent' },
      { path: '/d', before: 'absent', after: '{}' },
    ]);
    expect(jsonChanges({ a: [1] }, { a: [1] }).changes).toEqual([]);
    expect(jsonChanges('queued', { active: 'a' }).changes).toEqual([
      { path: '', before: '"queued"', after: '{"active":"a"}' },
    ]);
  });

  it('is cut where there is too much, and says so', () => {
    const many = (offset: number) => Array.from({ length: 501 }, (_, index) => index + offset);
    expect(jsonChanges(many(0), many(1))).toMatchObject({ isCut: true });
    expect(jsonChanges(many(0).slice(1), many(1).slice(1)).isCut).toBe(false);
  });
});

describe('a search in a JSON value', () => {
  const value = { orders: [{ id: 'A-1', note: 'Refund due' }, { refund: 7 }], 'a/b': { deep: ['refund'] } };

  it('finds keys and plain values in any case, in the order of the lines', () => {
    expect(findInJson(value, 'refund').paths).toEqual(['/orders/0/note', '/orders/1/refund', '/a~1b/deep/0']);
    expect(findInJson(value, '7').paths).toEqual(['/orders/1/refund']);
    expect(findInJson(value, 'nowhere').paths).toEqual([]);
    expect(findInJson(value, ' ').paths).toEqual([]);
  });

  it('is of lines that are seen once all around them is open', () => {
    expect(pathsAround('/a~1b/deep/0')).toEqual(['/a~1b', '/a~1b/deep']);
    expect(pathsAround('/orders')).toEqual([]);
    for (const path of findInJson(value, 'refund').paths)
      expect(jsonRows(value, new Set(pathsAround(path))).map((row) => row.path)).toContain(path);
  });

  it('ends at a thousand, and says so', () => {
    const many = findInJson(
      Array.from({ length: 1001 }, () => 'x'),
      'x',
    );
    expect([many.paths.length, many.isCut]).toEqual([1000, true]);
  });

  it('goes as deep as a value does', () => {
    let deep: unknown = 'needle';
    for (let level = 0; level < 5000; level += 1) deep = [deep];
    expect(findInJson(deep, 'needle').paths).toHaveLength(1);
  });
});
