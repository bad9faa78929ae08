import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CursorBinding, readCursor, writeCursor } from '../../../src/http/lists/cursor.ts';
import { aTrace } from '../factories.ts';
import { NOW, type Service, startService } from '../service.ts';

const aBinding: CursorBinding = { operation: 'listTraces', projects: ['default'], query: { status: 'ok', limit: 5 } };

describe('a cursor', () => {
  it('brings back the position and the moment that were put in', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.integer(),
            fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
          ),
        ),
        (position) => {
          const cursor = writeCursor(aBinding, { position, now: NOW });
          expect(cursor).toMatch(/^[\w-]+$/);
          expect(readCursor(aBinding, cursor)).toEqual({ position, now: NOW });
        },
      ),
    );
  });

  it('is only valid with the filters it was made with', () => {
    const cursor = writeCursor(aBinding, { position: [1, 'a'], now: NOW });
    const others: CursorBinding[] = [
      { ...aBinding, operation: 'listSpans' },
      { ...aBinding, projects: ['other'] },
      { ...aBinding, projects: 'all' },
      { ...aBinding, query: { status: 'error' } },
      { ...aBinding, query: {} },
      { ...aBinding, query: { status: 'ok', order: 'asc' } },
    ];
    for (const other of others) expect(() => readCursor(other, cursor)).toThrow('`cursor` was not made');
  });

  it('does not mind another page size, nor the order of the parameters', () => {
    const cursor = writeCursor({ ...aBinding, query: { a: 1, b: 2 } }, { position: [1], now: NOW });
    expect(readCursor({ ...aBinding, query: { b: 2, a: 1, limit: 9, cursor: 'c' } }, cursor).position).toEqual([1]);
  });

  it('anything else is refused, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => Buffer.from(text).toString('base64url')),
        ),
        (text) => {
          expect(() => readCursor(aBinding, text)).toThrow('`cursor` was not made');
        },
      ),
    );
  });

  it('a changed one is refused', () => {
    const cursor = writeCursor(aBinding, { position: [1, 'a'], now: NOW });
    const parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [string, string, unknown[]];
    const changed = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const other of [
      [parsed[0], parsed[1], [2, 'a']],
      [parsed[0], `${NOW + 1n}`, parsed[2]],
      [parsed[0], parsed[1], [[1], 'a']],
      [parsed[0], parsed[1]],
    ])
      expect(() => readCursor(aBinding, changed(other))).toThrow('`cursor` was not made');
  });
});

describe('paging over HTTP', () => {
  let service: Service;
  let now = NOW;
  beforeAll(async () => {
    service = await startService({
      now: () => now,
      store: {
        listTraces: async ({ after }) =>
          after === undefined ? { items: [aTrace()], next: [5, 'x'] } : { items: [aTrace()] },
      },
    });
  });
  afterAll(() => service.close());

  it('`next_cursor` leads to the next page and is absent on the last', async () => {
    const first = await service.ask('/v1/api/traces?status=ok&limit=1');
    expect(first.body.next_cursor).toEqual(expect.any(String));
    const second = await service.ask(`/v1/api/traces?status=ok&limit=2&cursor=${first.body.next_cursor}`);
    expect(second.status).toBe(200);
    expect(second.body).not.toHaveProperty('next_cursor');
    expect(service.calls.findLast((call) => call.method === 'listTraces')?.arguments[0]).toMatchObject({
      after: [5, 'x'],
      limit: 2,
    });
  });

  it('with other filters it is 400 `invalid_parameter` on `cursor`', async () => {
    const { body } = await service.ask('/v1/api/traces?status=ok');
    for (const query of ['', 'status=error&', 'status=ok&project=other&', 'status=ok&sort=cost&']) {
      const answer = await service.ask(`/v1/api/traces?${query}cursor=${body.next_cursor}`);
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'invalid_parameter', 'cursor']);
    }
    expect((await service.ask(`/v1/api/spans?cursor=${body.next_cursor}`)).body.field).toBe('cursor');
  });

  it('a relative time keeps meaning the moment of the first page', async () => {
    const { body } = await service.ask('/v1/api/traces?from=-1h');
    now += 60_000_000_000n;
    await service.ask(`/v1/api/traces?from=-1h&cursor=${body.next_cursor}`);
    expect(service.calls.findLast((call) => call.method === 'listTraces')?.arguments[0]).toMatchObject({
      from: NOW - 3_600_000_000_000n,
    });
  });
});
