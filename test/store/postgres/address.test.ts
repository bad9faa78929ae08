import { describe, expect, it } from 'vitest';
import { parseAddress, showAddress, sslModes } from '../../../src/store/postgres/address.ts';

const addressOf = (url: string) => {
  const parsed = parseAddress(url);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
};
const problemOf = (url: string): string => {
  const parsed = parseAddress(url);
  if (parsed.ok) throw new Error('the address was taken');
  return parsed.problem;
};

describe('the address of a PostgreSQL database', () => {
  it('names user, password, hosts and database; the port is 5432 where none stands', () => {
    expect(addressOf('postgresql://svc:p%40ss%2F%3A@db1:6432,db2,[::1]:1/signals')).toEqual({
      user: 'svc',
      password: 'p@ss/:',
      hosts: [
        { host: 'db1', port: 6432 },
        { host: 'db2', port: 5432 },
        { host: '::1', port: 1 },
      ],
      database: 'signals',
      sslmode: 'prefer',
    });
  });

  it('may name the folder of a socket', () => {
    expect(addressOf('postgres://svc@/signals?host=/run/postgresql')).toMatchObject({
      hosts: [{ host: '/run/postgresql', port: 5432 }],
    });
  });

  it.each(sslModes)('takes sslmode %s', (mode) => {
    expect(addressOf(`postgres://u@h/d?sslmode=${mode}`).sslmode).toBe(mode);
  });

  it('with roots to trust, require means that they are asked, as in the client of PostgreSQL', () => {
    expect(addressOf('postgres://u@h/d?sslmode=require&sslrootcert=/ca.pem')).toMatchObject({
      sslmode: 'verify-ca',
      sslrootcert: '/ca.pem',
    });
  });

  it.each([
    ['mysql://u@h/d', 'begins with postgres://'],
    ['postgres://u:p@ss@h/d', 'write @, /, ? and #'],
    ['postgres://h/d', 'names no user'],
    ['postgres://u@h', 'names no database'],
    ['postgres://u@h/', 'names no database'],
    ['postgres://u@/d', 'names no host'],
    ['postgres://u@h:0/d', 'names no host, or a port that is none'],
    ['postgres://u@h:65536/d', 'names no host, or a port that is none'],
    ['postgres://u@h,/d', 'names no host'],
    ['postgres://u:%zz@h/d', 'write % as %25'],
    ['postgres://u@h/d?sslmode=allow', 'not one of disable, prefer, require, verify-ca, verify-full'],
    ['postgres://u@h/d?sslmod=require', 'has the parameter "sslmod"; those that are read are host, sslmode'],
    ['postgres://u@h/d?sslcert=/c.pem', 'a certificate needs its key'],
    ['postgres://u@h/d?host=/run', 'stands alone'],
    ['postgres://u@/d?host=run', 'absolute path'],
  ])('%s is refused', (url, problem) => {
    expect(problemOf(url)).toContain(problem);
    expect(problemOf(url)).not.toContain('ss@');
  });

  it('the highest port is taken', () => {
    expect(addressOf('postgres://u@h:65535/d').hosts).toEqual([{ host: 'h', port: 65_535 }]);
  });

  it('is shown as it was understood, without its password, and reads as the same', () => {
    for (const url of [
      'postgres://svc:canary@db1,[::1]:6432/a%20b?sslmode=verify-full&sslrootcert=/a%20b.pem&sslcert=/c&sslkey=/k',
      'postgres://s%40c:canary@/d?host=/run/x',
    ]) {
      const shown = showAddress(addressOf(url));
      expect(shown).not.toContain('canary');
      const { password: _secret, ...rest } = addressOf(url);
      expect(addressOf(shown)).toEqual(rest);
    }
    expect(showAddress(addressOf('postgres://svc:canary@db1,db2:6432/d'))).toBe(
      'postgres://svc@db1:5432,db2:6432/d?sslmode=prefer',
    );
  });
});
