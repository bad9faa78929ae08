import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openPostgresSignalStore } from '../../../src/store/postgres/signals/open.ts';
import { SIGNALS_SCHEMA } from '../../../src/store/postgres/signals/schema.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { eventually } from '../../eventually.ts';
import { type PgBouncer, startPgBouncer } from '../../pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aSpan, aUnit, traceIdOf } from '../signals/factories.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
const connect = (url: string, given: Partial<Parameters<typeof connectDatabase>[0]> = {}): Database => {
  const database = connectDatabase({ url, store: 'signal store', connections: 4, ...given });
  cleanups.push(() => database.close());
  return database;
};
/** Does it again until it is done. */
const retried = (what: string, work: () => Promise<unknown>): Promise<boolean> =>
  eventually(what, async () => {
    try {
      await work();
      return true;
    } catch {
      return false;
    }
  });
const shows = async (database: Database, setting: string): Promise<string> =>
  (await database.transaction((ask) => ask<[string]>(`SHOW ${setting}`)))[0]?.[0] ?? '';

describe('TLS, as the address asks for it', () => {
  let folder: string;
  let server: PostgresServer;
  let plain: PostgresServer;
  let url: string;
  const ca = (): string => join(folder, 'ca.crt');
  const openssl = (...args: string[]): void => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`openssl: ${stderr}`);
  };
  const aKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
    openssl('req', '-x509', ...aKey, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=a root');
    openssl(
      'req',
      '-x509',
      ...aKey,
      '-keyout',
      'other.key',
      '-out',
      'other.crt',
      '-days',
      '2',
      '-subj',
      '/CN=another root',
    );
    openssl('req', ...aKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
    writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost');
    openssl(
      ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-out', 'server.crt', '-days', '2', '-extfile', 'names'],
    );
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    server = await startPostgres({ tls: { certificate: read('server.crt'), key: read('server.key') } });
    plain = await startPostgres();
    url = server.create();
  });
  afterAll(async () => {
    await server.remove();
    await plain.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const usesTls = async (address: string): Promise<boolean | undefined> =>
    (await connect(address).ask<[boolean]>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'))[0]?.[0];
  const named = (): string => url.replace('@127.0.0.1', '@localhost');

  it.each([
    ['?sslmode=disable', false],
    ['', true],
    ['?sslmode=prefer', true],
    ['?sslmode=require', true],
  ])('%s: encrypted is %s', async (query, isEncrypted) => {
    expect(await usesTls(url + query)).toBe(isEncrypted);
  });

  it('verify-ca asks who signed the certificate, verify-full also for whom', async () => {
    for (const mode of ['verify-ca', 'verify-full'] as const) {
      expect(await usesTls(`${named()}?sslmode=${mode}&sslrootcert=${ca()}`)).toBe(true);
      await expect(usesTls(`${named()}?sslmode=${mode}&sslrootcert=${join(folder, 'other.crt')}`)).rejects.toThrow(
        'signal store: the certificates do not fit what sslmode asks for',
      );
      await expect(usesTls(`${named()}?sslmode=${mode}`)).rejects.toThrow(StoreUnavailable);
    }
    expect(await usesTls(`${url}?sslmode=verify-ca&sslrootcert=${ca()}`)).toBe(true);
    await expect(usesTls(`${url}?sslmode=verify-full&sslrootcert=${ca()}`)).rejects.toThrow(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
  });

  it('a server without TLS is taken by prefer, and refused by require', async () => {
    const without = plain.create();
    expect(await usesTls(without)).toBe(false);
    await expect(usesTls(`${without}?sslmode=require`)).rejects.toThrow(
      'signal store: the server has no TLS, and sslmode asks for it',
    );
  });

  it('a file that cannot be read is named', () => {
    expect(() => connect(`${url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`)).toThrow(
      'signal store: /nowhere/ca.pem cannot be read (ENOENT)',
    );
  });
});

describe('a commit reaches the disk before it is acknowledged', () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  beforeAll(async () => {
    server = await startPostgres({ settings: ['synchronous_commit=off'] });
    bouncer = await startPgBouncer(server.port, 2);
  });
  afterAll(async () => {
    await bouncer.remove();
    await server.remove();
  });

  it('over a server whose own default is off, directly and behind PgBouncer', async () => {
    const url = server.create();
    expect(server.run('SHOW synchronous_commit', url)).toBe('off');
    for (const address of [url, bouncer.urlOf(url)]) {
      const database = connect(address, { statementMs: 12_345 });
      expect(await shows(database, 'synchronous_commit')).toBe('on');
      expect(await shows(database, 'statement_timeout')).toBe('12345ms');
      expect(await shows(database, 'lock_timeout')).toBe('5s');
      expect(await shows(database, 'jit')).toBe('off');
    }
  });

  it('behind PgBouncer in transaction mode, nothing of a transaction is left to the next one', async () => {
    const database = connect(bouncer.urlOf(server.create()), { statementMs: 12_345 });
    await shows(database, 'statement_timeout');
    const settings = await Promise.all(
      Array.from({ length: 8 }, () => database.ask<[string]>('SHOW synchronous_commit')),
    );
    expect(settings).toEqual(Array(8).fill([['off']]));
  });

  it('behind PgBouncer with fewer connections than callers, starts, writes, reads and deletes do what they do without it', async () => {
    const url = bouncer.urlOf(server.create());
    const stores = await Promise.all([1, 2, 3].map(() => openPostgresSignalStore({ url })));
    cleanups.push(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });
    const [one, other] = stores as [(typeof stores)[0], (typeof stores)[0]];
    const ids = Array.from({ length: 40 }, (_, n) => traceIdOf(n + 1));
    const outcomes = await Promise.all(
      ids.flatMap((traceId, n) =>
        stores.map((store) => store.write(aUnit({ spans: [aSpan({ traceId })] }, `key ${n}`))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(40);
    const found = await Promise.all(ids.map((traceId) => other.findTrace(traceId, 'all', true)));
    expect(found.map((trace) => trace?.spans.length)).toEqual(Array(40).fill(1));
    expect(await one.deleteTraces(ids, 'all')).toEqual({ deleted: 40, pending: false });
    expect(await other.findTrace(traceIdOf(1), 'all', true)).toBeUndefined();
  });
});

describe('a database that goes away', () => {
  it('of several hosts the first that takes writes is used, and after a failover the promoted one, without a new start', async () => {
    const primary = await startPostgres();
    cleanups.push(() => primary.remove());
    const url = primary.create();
    const standby = await startPostgres({ standbyOf: primary });
    cleanups.push(() => standby.remove());
    const name = new URL(url).pathname;
    const database = connect(`postgres://svc@127.0.0.1:${standby.port},127.0.0.1:${primary.port}${name}`);
    await migrate(database, SIGNALS_SCHEMA);
    await database.transaction((ask) => ask(`INSERT INTO projects (name) VALUES ('before')`));
    await retried('the standby to follow', async () => {
      expect(standby.run('SELECT name FROM projects', url.replace(`:${primary.port}`, `:${standby.port}`))).toBe(
        'before',
      );
    });

    await primary.kill('SIGKILL');
    await expect(database.transaction((ask) => ask('SELECT 1'))).rejects.toThrow(StoreUnavailable);
    standby.run('SELECT pg_promote()');
    await retried('the promoted server', () =>
      database.transaction((ask) => ask(`INSERT INTO projects (name) VALUES ('after')`)),
    );
    expect(await database.ask('SELECT name FROM projects ORDER BY project')).toEqual([['before'], ['after']]);
  });

  it('that is demoted under a service is left for the host that takes writes', async () => {
    const server = await startPostgres();
    cleanups.push(() => server.remove());
    const other = await startPostgres();
    cleanups.push(() => other.remove());
    for (const { run } of [server, other]) run('CREATE DATABASE d');
    const database = connect(`postgres://svc@127.0.0.1:${server.port},127.0.0.1:${other.port}/d`);
    const portOf = () => database.transaction((ask) => ask('SELECT inet_server_port()'));
    expect(await portOf()).toEqual([[server.port]]);
    server.run('ALTER SYSTEM SET default_transaction_read_only = on');
    server.run('SELECT pg_reload_conf()');
    // A session learns of it with its next transaction; the first write there is refused, and unknown to nobody.
    await retried('the other host', async () => {
      await database.transaction((ask) => ask('CREATE TABLE IF NOT EXISTS t (n integer)'));
      expect(await portOf()).toEqual([[other.port]]);
    });
  });

  it('that is frozen is unavailable in a bounded time, and used again when it goes on', async () => {
    const server = await startPostgres();
    cleanups.push(() => server.remove());
    const database = connect(server.create(), { statementMs: 200 });
    await database.transaction((ask) => ask('CREATE TABLE numbers (n integer)'));
    server.freeze();
    const add = () => database.transaction((ask) => ask('INSERT INTO numbers VALUES (1)'));
    const outcomes = await Promise.allSettled([add(), database.ask('SELECT 1'), add()]);
    server.thaw();
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    await retried('the database to be back', add);
    expect(Number((await database.ask<[bigint]>('SELECT count(*) FROM numbers'))[0]?.[0])).toBeGreaterThan(0);
  });

  it('that is frozen holds up no stop: a close ends without its goodbye', async () => {
    const server = await startPostgres();
    cleanups.push(() => server.remove());
    const database = connect(server.create());
    await database.ask('SELECT 1');
    server.freeze();
    // Would wait for the thaw.
    await database.close();
    server.thaw();
    await expect(database.ask('SELECT 1')).rejects.toThrow(StoreUnavailable);
  });

  it('no error shows a value that the database does not take', async () => {
    const server = await startPostgres();
    cleanups.push(() => server.remove());
    const database = connect(server.create());
    const error = await database
      .ask('SELECT $1::text::integer', ['a payload'])
      .catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: '22P02' });
    expect(`${String(error)} ${JSON.stringify(error)} ${String((error as Error).cause)}`).not.toContain('payload');
  });

  it('no error shows the password', async () => {
    const database = connect('postgres://svc:canary@127.0.0.1:1/d');
    const error = await database.ask('SELECT 1').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(`${String(error)} ${JSON.stringify(error)} ${String((error as Error).cause)}`).not.toContain('canary');
  });
});
