import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl, parseUrl, showAddress } from '../../../src/store/clickhouse/address.ts';

describe('the address of a ClickHouse database', () => {
  it.each([
    ['clickhouse+http://h:8123/svc', 'http://h:8123', 'svc', 'default', undefined],
    ['clickhouse+https://u:p%40ss@h/proxy/d%2Fb', 'https://h/proxy', 'd/b', 'u', 'p@ss'],
  ])('%s', (text, origin, database, user, password) => {
    const parsed = parseDatabaseUrl(text);
    if (!parsed.ok) throw new Error(parsed.problem);
    const { url, ...rest } = parsed.value;
    expect(url.href.replace(/\/$/, '')).toBe(origin);
    expect(rest).toEqual({ database, user, ...(password === undefined ? {} : { password }) });
    expect(showAddress(parsed.value)).not.toContain('p@ss');
  });

  it('may name the cluster that the server is a replica of, as may the address without a database', () => {
    const parsed = parseDatabaseUrl('clickhouse+http://h:8123/svc?cluster=main');
    expect(parsed).toMatchObject({ ok: true, value: { database: 'svc', cluster: 'main' } });
    expect(parsed.ok && [parsed.value.url.search, showAddress(parsed.value)]).toEqual([
      '',
      'http://h:8123 (database svc, user default, cluster main)',
    ]);
    const url = parseUrl('https://h/proxy?cluster=a-b.c_1');
    expect(url).toMatchObject({ ok: true, value: { cluster: 'a-b.c_1' } });
    expect(url.ok && url.value.url.href).toBe('https://h/proxy');
  });

  it.each(['?cluster=', '?cluster=a%60b', '?cluster=a&cluster=b', '?a=b', '#x'])('is refused with %s', (search) =>
    expect(parseUrl(`http://h:8123${search}`).ok).toBe(false),
  );

  it.each([
    'clickhouse+http://u:secret@h:8123',
    'clickhouse+http://u:secret@h:8123/',
    'clickhouse+http://u:secret@h/d?x=1',
    'clickhouse+http://u:secret@h/d?cluster=a&x=1',
    'clickhouse+http://u:secret%zz@h/d',
    'clickhouse+tcp://u:secret@h/d',
    'clickhouse+http://u:secret@:x/d',
  ])('%s is refused, and its secret is not repeated', (text) => {
    const parsed = parseDatabaseUrl(text);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});
