import { describe, expect, it } from 'vitest';
import { cardOf, linkOf } from '../../src/model/saved-view.ts';

describe('a saved view', () => {
  it('is opened as path and parameters', () => {
    expect(linkOf('/traces?status=error&q=a%20b')).toEqual({ to: '/traces', params: { status: 'error', q: 'a b' } });
    expect(linkOf('/')).toEqual({ to: '/', params: {} });
  });

  it.each([
    '//elsewhere.example',
    '/\\elsewhere.example',
    '/\t/elsewhere.example',
    '/a//b',
    'https://elsewhere.example',
    'javascript:alert(1)',
    'traces',
    '',
    '/traces?q=\u0000',
  ])('is no link where it could lead elsewhere: %j', (path) => {
    expect(linkOf(path)).toBeUndefined();
    expect(cardOf(path)).toEqual({ kind: 'link' });
  });

  it('is drawn where it is a list of traces or a cost, and is a link else', () => {
    expect(cardOf('/traces?model=m')).toEqual({ kind: 'traces', params: { model: 'm' } });
    expect(cardOf('/cost?group_by=model')).toEqual({ kind: 'cost', params: { group_by: 'model' } });
    expect(cardOf('/runs?status=failed')).toEqual({ kind: 'link' });
    expect(cardOf('/traces/abc')).toEqual({ kind: 'link' });
  });
});
