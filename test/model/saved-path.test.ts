import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSavedPath } from '../../src/model/saved-path.ts';

const pages = ['traces', 'users', 'cost'];
const parse = (path: string) => parseSavedPath(path, pages);

describe('a saved path is a path of the interface', () => {
  it.each([
    ['/', '/'],
    ['/?project=shop', '/?project=shop'],
    ['/traces', '/traces'],
    ['/traces?status=error&q=a%20b', '/traces?status=error&q=a%20b'],
    ['/traces/0af7651916cd43dd8448eb211c80319c?view=tree', '/traces/0af7651916cd43dd8448eb211c80319c?view=tree'],
    ['/traces?q=https://elsewhere.example/', '/traces?q=https://elsewhere.example/'],
    ['/traces#fragment', '/traces'],
    ['/cost/../traces', '/traces'],
  ])('%s', (path, stored) => expect(parse(path)?.path).toBe(stored));

  it.each([
    '',
    'traces',
    'https://elsewhere.example/traces',
    '//elsewhere.example/traces',
    '/\\elsewhere.example/traces',
    '/\t/elsewhere.example',
    '/traces/..//elsewhere.example',
    '/.//elsewhere.example',
    '/%2e//elsewhere.example',
    'javascript:alert(1)',
    '/v1/api/traces',
    '/metrics',
    '/openapi.json',
    '/assets/index.js',
    '/tracesx',
    '/traces?q=a b',
    '/traces?q=\u202Eevil',
    '/traces\u0000',
  ])('not %j', (path) => expect(parse(path)).toBeUndefined());

  it('of at most 2,000 characters, also when it is spelled out', () => {
    const path = (length: number) => `/traces?q=${'x'.repeat(length - 10)}`;
    expect(parse(path(2000))?.path).toHaveLength(2000);
    expect(parse(path(2001))).toBeUndefined();
    expect(parse(`/traces?q=${'ü'.repeat(400)}`)).toBeUndefined();
  });

  it('names a person by filter and by page', () => {
    expect(parse('/traces?user_id=ann%2F1')?.userId).toBe('ann/1');
    expect(parse('/users/ann%2F1')?.userId).toBe('ann/1');
    expect(parse('/users/%')?.userId).toBe('%');
    for (const path of ['/users', '/users/', '/traces?user_id=', '/traces/ann'])
      expect(parse(path)?.userId).toBeUndefined();
  });

  it('whatever is given, what is kept opens a page of ours and is read again as the same', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webPath(),
          fc.webUrl(),
          fc.string().map((text) => `/${text}`),
        ),
        (text) => {
          const kept = parse(text);
          if (kept === undefined) return;
          const opened = new URL(kept.path, 'http://us.example');
          expect(opened.origin).toBe('http://us.example');
          expect(['', ...pages]).toContain(opened.pathname.split('/')[1]);
          expect(parse(kept.path)).toEqual(kept);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
