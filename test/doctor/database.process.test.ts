import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeServer, openDatabase } from '../../src/cli/doctor/database.ts';
import type { DatabaseFacts } from '../../src/store/postgres/signals/inspect.ts';
import { openPostgresSignalStore } from '../../src/store/postgres/signals/open.ts';
import { eventually } from '../eventually.ts';
import { type PostgresServer, startPostgres } from '../postgres.ts';
import { aSpan, aUnit } from '../store/signals/factories.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/signals/schema.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ isDurable: true, settings: ['autovacuum=on'] });
});
afterAll(() => server.remove());

const examine = async (url: string, readOnly = false): Promise<string[]> => {
  const { findings, close } = await openDatabase(url, readOnly);
  await close();
  return findings.map(({ level, message }) => `${level}: ${message}`);
};
const aStore = async (): Promise<string> => {
  const url = server.create();
  const store = await openPostgresSignalStore({ url });
  await store.write(aUnit({ spans: [aSpan({})] }));
  await store.close();
  return url;
};

describe('storage of the deployment check, on PostgreSQL', () => {
  it('a healthy one answers, the probe span survives and leaves nothing, and it can be asked', async () => {
    const url = await aStore();
    const opened = await openDatabase(url.replace('svc@', 'svc:canary@'), false);
    expect(opened.findings.map(({ level }) => level)).toEqual(['ok', 'ok']);
    expect(opened.findings[0]?.message).toMatch(
      new RegExp(
        `^postgres://svc@127.*sslmode=prefer answers: PostgreSQL \\d+\\.\\d+, schema version ${SCHEMA_VERSION}$`,
      ),
    );
    expect(opened.findings[1]?.message).toBe('a probe span survived write, read and delete');
    expect(JSON.stringify(opened.findings)).not.toContain('canary');
    if (!('reads' in opened)) throw new Error('it cannot be asked');
    expect((await opened.reads.listProjects({ projects: 'all', limit: 10 })).items).toHaveLength(1);
    await opened.close();
    for (const table of ['spans', 'span_payloads']) expect(server.run(`SELECT count(*) FROM ${table}`, url)).toBe('1');
  });

  it('with --read-only it writes nothing, and says what that proves', async () => {
    expect((await examine(await aStore(), true))[1]).toMatch(/^skipped: no probe span was written/);
  });

  it('an empty database is left empty', async () => {
    const url = server.create();
    expect((await examine(url)).at(-1)).toBe('skipped: the tables are not there yet; the first start makes them');
    expect(server.run(`SELECT count(*) FROM pg_class WHERE relname = 'schema_version'`, url)).toBe('0');
  });

  it('a role without the right to insert is a fault', async () => {
    const url = await aStore();
    server.run('CREATE ROLE reader LOGIN');
    server.run('GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader', url);
    expect(await examine(url.replace('svc@', 'reader@'))).toContain('fault: the write of a probe span failed (42501)');
  });

  it('a server that takes no writes is a fault, and a standby is one too', async () => {
    const url = await aStore();
    const standby = await startPostgres({ isDurable: true, standbyOf: server, settings: ['autovacuum=on'] });
    try {
      const lines = await examine(url.replace(`:${server.port}`, `:${standby.port}`));
      expect(lines).toContain('fault: the write of a probe span failed (25006)');
      expect(lines).toContain('fault: the server takes no writes: it is a standby, or set read-only (25006)');
      const warning =
        'warning: the server has 1 standby and synchronous_standby_names is empty: a failover loses what was acknowledged last';
      // The standby answers before it follows.
      expect(
        await eventually('the standby follows', async () => (await examine(url)).find((one) => one === warning)),
      ).toBe(warning);
    } finally {
      await standby.remove();
    }
  });

  it('one that is away, or not there, is a fault that says why', async () => {
    expect(await examine('postgres://svc:canary@127.0.0.1:1/d')).toEqual([
      'fault: signal store: the database does not answer (ECONNREFUSED)',
    ]);
    expect((await examine(server.create().replace(/svc_\d+$/, 'none')))[0]).toMatch(/^fault: .*refuses \(3D000\)/);
  });

  it('a newer schema is a fault, and is not asked', async () => {
    const url = await aStore();
    server.run(`INSERT INTO schema_version (store, version) VALUES ('signals', ${SCHEMA_VERSION + 1})`, url);
    const opened = await openDatabase(url, false);
    await opened.close();
    expect(opened.findings.map(({ level }) => level)).toEqual(['ok', 'fault']);
    expect('unread' in opened).toBe(true);
  });
});

describe('what is said of a server', () => {
  const facts: DatabaseFacts = {
    serverVersion: 150_018,
    serverVersionText: '15.18',
    schemaVersion: 2,
    isReadOnly: false,
    settings: {
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      synchronous_standby_names: '',
      autovacuum: 'on',
    },
    standbys: 0,
    services: 0,
  };
  const linesOf = (given: Partial<DatabaseFacts>): string[] =>
    judgeServer({ ...facts, ...given }).map(({ level, message }) => `${level}: ${message}`);

  it.each([
    [139_999, ['fault: the server is PostgreSQL 13']],
    [140_000, []],
    [189_999, []],
    [190_000, ['warning: the server is PostgreSQL 19, with which this release was not tried']],
  ])('of version %i: %j', (serverVersion, expected) => {
    expect(linesOf({ serverVersion })).toEqual(expected);
  });

  it.each([
    ['fsync', 'off', /^warning: fsync is off/],
    ['full_page_writes', 'off', /^warning: full_page_writes is off/],
    ['synchronous_commit', 'off', /^warning: synchronous_commit is off/],
    ['autovacuum', 'off', /^warning: autovacuum is off/],
  ])('%s %s is a warning', (name, value, expected) => {
    expect(linesOf({ settings: { ...facts.settings, [name]: value } })).toEqual([expect.stringMatching(expected)]);
  });

  it('standbys that commits wait for are none to warn of', () => {
    expect(linesOf({ standbys: 1, settings: { ...facts.settings, synchronous_standby_names: 'a' } })).toEqual([]);
    expect(linesOf({ standbys: 2 })).toEqual([expect.stringMatching(/^warning: the server has 2 standbys/)]);
  });
});
