import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  byteaArray,
  float8Array,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from '../../../src/store/postgres/arrays.ts';
import { connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { judgeError } from '../../../src/store/postgres/driver-error.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { SCHEMA_VERSION, SIGNALS_SCHEMA } from '../../../src/store/postgres/signals/schema.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const opened: Database[] = [];
const connect = (url: string, connections = 4): Database => {
  const database = connectDatabase({ url, store: 'signal store', connections });
  opened.push(database);
  return database;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

const versions = (url: string): string => server.run('SELECT store, version FROM schema_version ORDER BY version', url);
/** What `versions` says of a database that this build has opened. */
const OWN_VERSIONS = SIGNALS_SCHEMA.steps.map(({ version }) => `signals|${version}`).join('\n');

describe('tables of a database', () => {
  it('replicas that start at once make them once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const url = server.create();
      const started = await Promise.all(Array.from({ length: 6 }, () => migrate(connect(url, 1), SIGNALS_SCHEMA)));
      expect(started).toEqual(Array(6).fill(SCHEMA_VERSION));
      expect(versions(url)).toBe(OWN_VERSIONS);
    }
  });

  it('a start that ends half way leaves nothing, and the next one makes them', async () => {
    const url = server.create();
    const broken = {
      ...SIGNALS_SCHEMA,
      steps: [...SIGNALS_SCHEMA.steps, { version: SCHEMA_VERSION + 1, sql: 'CREATE TABLE traces (x integer)' }],
    };
    await expect(migrate(connect(url), broken)).rejects.toMatchObject({ code: '42P07' });
    expect(server.run(`SELECT count(*) FROM pg_class WHERE relname IN ('traces', 'schema_version')`, url)).toBe('0');
    expect(await migrate(connect(url), SIGNALS_SCHEMA)).toBe(SCHEMA_VERSION);
  });

  it('of an earlier release get what it lacked, and keep what they hold', async () => {
    const url = server.create();
    const first = { ...SIGNALS_SCHEMA, steps: SIGNALS_SCHEMA.steps.slice(0, 1) };
    await migrate(connect(url), first);
    server.run(`INSERT INTO projects (name) VALUES ('kept')`, url);
    expect(await migrate(connect(url), SIGNALS_SCHEMA)).toBe(SCHEMA_VERSION);
    expect(versions(url)).toBe(OWN_VERSIONS);
    expect(server.run('SELECT name FROM projects', url)).toBe('kept');
    expect(server.run('SELECT count(*) FROM late_totals', url)).toBe('0');
  });

  it('who has the version of this build waits for no lock; who has not waits for the start that changes them', async () => {
    const url = server.create();
    const empty = server.create();
    await migrate(connect(url), SIGNALS_SCHEMA);
    for (const [one, waits] of [
      [url, false],
      [empty, true],
    ] as const) {
      let isOver = false;
      let starting: Promise<unknown> = Promise.resolve();
      await connect(one).transaction(async (ask) => {
        await ask('SELECT pg_advisory_xact_lock($1)', [0x73766373]);
        starting = migrate(connect(one), SIGNALS_SCHEMA).finally(() => {
          isOver = true;
        });
        if (!waits) await starting;
        else while (server.run('SELECT count(*) FROM pg_locks WHERE NOT granted', one) === '0') await sleep(20);
        expect(isOver).toBe(!waits);
      });
      await starting;
      expect(versions(one)).toBe(OWN_VERSIONS);
    }
  });

  it('of a newer release are refused, and stay as they are', async () => {
    const url = server.create();
    const newer = SCHEMA_VERSION + 1;
    await migrate(connect(url), SIGNALS_SCHEMA);
    server.run(`INSERT INTO schema_version (store, version) VALUES ('signals', ${newer})`, url);
    const refused = migrate(connect(url), SIGNALS_SCHEMA);
    await expect(refused).rejects.toThrow(StoreUnavailable);
    await expect(refused).rejects.toThrow(`schema version ${newer}, and this release knows ${SCHEMA_VERSION}`);
    expect(versions(url)).toContain(`signals|${newer}`);
  });

  it('of another program with a table of that name are left alone', async () => {
    const url = server.create();
    server.run('CREATE TABLE schema_version (installed_rank integer)', url);
    await expect(migrate(connect(url), SIGNALS_SCHEMA)).rejects.toThrow('of another program');
    expect(server.run(`SELECT count(*) FROM pg_class WHERE relname = 'traces'`, url)).toBe('0');
  });

  it('a role that may not create tables gets the code of the refusal', async () => {
    const url = server.create();
    server.run('CREATE ROLE reader LOGIN', url);
    const refused = migrate(connect(url.replace('//svc@', '//reader@')), SIGNALS_SCHEMA);
    await expect(refused).rejects.toThrow('signal store: the database refuses (42501)');
  });
});

describe('a database', () => {
  it('takes a work completely or not at all', async () => {
    const database = connect(server.create());
    await database.ask('CREATE TABLE numbers (n integer)');
    const work = database.transaction(async (ask) => {
      await ask('INSERT INTO numbers VALUES (1)');
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await database.ask('SELECT count(*) FROM numbers')).toEqual([[0n]]);
    await database.transaction((ask) => ask('INSERT INTO numbers VALUES (1)'));
    expect(await database.ask('SELECT n FROM numbers')).toEqual([[1]]);
  });

  it('runs a work again that clashed with another', async () => {
    const database = connect(server.create());
    await database.ask('CREATE TABLE numbers (id integer PRIMARY KEY, n integer)');
    await database.ask('INSERT INTO numbers VALUES (1, 0), (2, 0)');
    let attempts = 0;
    let met = 0;
    let meet = (): void => {};
    const both = new Promise<void>((resolve) => (meet = resolve));
    const add = (first: number, second: number) =>
      database.transaction(async (ask) => {
        attempts += 1;
        await ask('UPDATE numbers SET n = n + 1 WHERE id = $1', [first]);
        met += 1;
        if (met === 2) meet();
        await both;
        await ask('UPDATE numbers SET n = n + 1 WHERE id = $1', [second]);
      });
    await Promise.all([add(1, 2), add(2, 1)]);
    expect(await database.ask('SELECT n FROM numbers ORDER BY id')).toEqual([[2], [2]]);
    expect(attempts).toBe(3);
  });

  it('that is away is unavailable, and is used again when it is back, without a new start', async () => {
    const database = connect(server.create());
    await database.ask('CREATE TABLE numbers (n integer)');
    await database.transaction((ask) => ask('INSERT INTO numbers VALUES (1)'));
    let reach = (): void => {};
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const inTheMiddle = database.transaction(async (ask) => {
      await ask('INSERT INTO numbers VALUES (2)');
      reach();
      await ask('SELECT pg_sleep(100)');
    });
    const cut = inTheMiddle.catch((error: unknown) => error);
    await reached;
    await server.kill('SIGINT');
    expect(await cut).toBeInstanceOf(StoreUnavailable);
    await expect(database.ask('SELECT 1')).rejects.toThrow('signal store: the database does not answer (ECONNREFUSED)');
    await server.start();
    expect(await database.ask('SELECT n FROM numbers')).toEqual([[1]]);
  });

  it('a statement that takes too long is ended, and says so', async () => {
    const database = connectDatabase({ url: server.create(), store: 'signal store', connections: 1, statementMs: 50 });
    opened.push(database);
    await expect(database.ask('SELECT pg_sleep(100)')).rejects.toThrow('does not answer (57014)');
    expect(await database.ask('SELECT 1')).toEqual([[1]]);
  });

  it('a transaction that the server ended because it stood still is unavailable, and no bug', () => {
    const ended = Object.assign(new Error('terminating connection'), { code: '25P03' });
    expect(judgeError('signal store', ended)).toBeInstanceOf(StoreUnavailable);
  });

  it('transactions see what was committed since they began, also where the database has another default', async () => {
    const url = server.create();
    server.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`);
    const database = connect(url);
    expect(await database.transaction((ask) => ask('SHOW transaction_isolation'))).toEqual([['read committed']]);
  });

  it('that is closed asks nothing, and closes again', async () => {
    const database = connect(server.create());
    await database.close();
    await expect(database.ask('SELECT 1')).rejects.toThrow(StoreUnavailable);
    await database.close();
  });

  it('a bug of ours is no absence of the database', async () => {
    const database = connect(server.create());
    await expect(database.ask('SELECT nothing')).rejects.not.toBeInstanceOf(StoreUnavailable);
  });
});

describe('arrays in the binary format', () => {
  it('come back as they were bound', async () => {
    const database = connect(server.create());
    const orNull = <T>(value: fc.Arbitrary<T>) => fc.array(fc.option(value), { maxLength: 6 });
    const hex = (digits: number) =>
      fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef')), minLength: digits, maxLength: digits });
    const text = fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\0') && one.isWellFormed());
    await fc.assert(
      fc.asyncProperty(
        orNull(text),
        orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
        orNull(fc.integer()),
        orNull(fc.double({ noNaN: true })),
        orNull(hex(16)),
        orNull(hex(32)),
        async (texts, longs, integers, doubles, bytes, ids) => {
          const [row] = await database.ask<
            [string[], string[], number[], number[], (Buffer | null)[], (string | null)[]]
          >('SELECT $1::text[], $2::int8[]::text[], $3::int4[], $4::float8[], $5::bytea[], $6::uuid[]::text[]', [
            textArray(texts),
            int8Array(longs),
            int4Array(integers),
            float8Array(doubles),
            byteaArray(bytes),
            uuidArray(ids),
          ]);
          expect(row?.[0]).toEqual(texts);
          expect(row?.[1]).toEqual(longs.map((long) => long?.toString() ?? null));
          expect(row?.[2]).toEqual(integers);
          expect(row?.[3]).toEqual(doubles);
          expect(row?.[4].map((one) => one?.toString('hex') ?? null)).toEqual(bytes);
          expect(row?.[5].map((one) => one?.replaceAll('-', '') ?? null)).toEqual(ids);
        },
      ),
      { numRuns: 60 },
    );
  });
});
