import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl, showAddress } from '../../../src/store/clickhouse/address.ts';

describe('the address of a ClickHouse database as one URL', () => {
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

  it.each([
    'clickhouse+http://u:secret@h:8123',
    'clickhouse+http://u:secret@h:8123/',
    'clickhouse+http://u:secret@h/d?x=1',
    'clickhouse+http://u:secret%zz@h/d',
    'clickhouse+tcp://u:secret@h/d',
    'clickhouse+http://u:secret@:x/d',
  ])('%s is refused, and its secret is not repeated', (text) => {
    const parsed = parseDatabaseUrl(text);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});
