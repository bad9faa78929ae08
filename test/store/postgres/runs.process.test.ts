import { createServer, connect, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RUNS_SCHEMA } from '../../../src/store/postgres/runs/schema.ts';
import { openPostgresRuns, type PostgresRuns } from '../../../src/store/postgres/runs/open.ts';
import { originalText, storedText } from '../../../src/store/postgres/runs/stored-text.ts';
import { Fenced } from '../../../src/store/postgres/runs/store-errors.ts';
import { type EventMailbox, noChanges, type RunRecord, type RunStore } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { eventually } from '../../eventually.ts';
import { freePort, type PostgresServer, startPostgres } from '../../postgres.ts';
import { AT, aRun, moved, RUN, versionOf } from '../runs/factories.ts';
import { takeOver } from './temporary-runs.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());
const opened: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});
const openOn = async (url: string): Promise<PostgresRuns> => {
  const runs = await openPostgresRuns({ url });
  opened.push(runs);
  return runs;
};
const ownOn = async (runs: PostgresRuns, fenced?: () => void): Promise<RunStore> => {
  const store = await takeOver(runs, fenced);
  opened.push(store);
  return store;
};
const insert = (store: RunStore, ...runs: RunRecord[]): Promise<void> =>
  store.commit({ ...noChanges(), runsInserted: runs });

describe('texts that PostgreSQL cannot hold as they are', () => {
  const marks = [
    '\0',
    '\ud800',
    '\udc00',
    '\u001a',
    '\u001a0',
    '\u001a1',
    '\u001ad800',
    '😀',
    'a\ud83d',
    '\ude00a',
    'plain',
    '',
  ];

  it('are stored as others, each as one of its own, and come back as they were', () => {
    expect(marks.map(storedText).map(originalText)).toEqual(marks);
    expect(new Set(marks.map(storedText)).size).toBe(marks.length);
    for (const text of marks.map(storedText)) expect([text.includes('\0'), text.isWellFormed()]).toEqual([false, true]);
  });

  it('find what they name: runs, keys, events, state', async () => {
    const store = await ownOn(await openOn(server.create()));
    const long = '\0'.repeat(3_000);
    const names = [...marks.filter((mark) => mark !== ''), long, `${long}x`];
    await store.commit({
      ...noChanges(),
      runsInserted: names.map((name, n) =>
        aRun(`r${n}`, { idempotencyKey: name, userId: name, correlation: JSON.stringify({ session_id: name }) }),
      ),
      documents: names.flatMap((name, n) => [
        { runId: `r${n}`, name: 'input', body: JSON.stringify(name) } as const,
        { runId: `r${n}`, name: `state/${name}`, body: '1' } as const,
      ]),
      waitsOpened: names.map((name, n) => ({
        runId: `r${n}`,
        project: 'p',
        event: 'e',
        key: name,
        stepId: 's',
        since: AT,
        order: n + 1,
      })),
      eventsSeen: names.map((name, n) => ({ project: 'p', eventId: name, at: AT, runId: `r${n}` })),
    });
    for (const [n, name] of names.entries()) {
      const [run, seen, mailbox, documents] = await store.load([
        { kind: 'idempotency', project: 'p', key: name },
        { kind: 'event_id', project: 'p', eventId: name },
        { kind: 'event_mailbox', project: 'p', event: 'e', key: name, parkedAfter: 0, limit: 9 },
        { kind: 'documents', runId: `r${n}`, steps: [] },
      ]);
      expect(run).toBe(`r${n}`);
      expect(seen).toMatchObject({ runId: `r${n}`, eventId: name });
      expect((mailbox as EventMailbox).waits.map(({ runId, key }) => [runId, key])).toEqual([[`r${n}`, name]]);
      expect(documents).toMatchObject({ state: [[name, '1']] });
      const ofSession = await store.listRuns({ reach: 'all', limit: 9, correlation: [['session_id', name]] });
      expect(ofSession.map(({ runId }) => runId)).toEqual([`r${n}`]);
    }
  });

  it('a payload of 24 MiB comes back as it was', async () => {
    const store = await ownOn(await openOn(server.create()));
    const body = JSON.stringify('€'.repeat(8 * 1024 * 1024));
    await store.commit({ ...noChanges(), runsInserted: [aRun('a')], documents: [{ runId: 'a', name: 'input', body }] });
    const found = await store.findRun('a');
    expect(found?.documents.input === body).toBe(true);
  });
});

describe('the owner of the runs', () => {
  it('is one: a shard that is owned is not given to another, one that was given back is', async () => {
    const { ownership } = await openOn(server.create());
    const first = await ownership.take(0, 'a', 'http://a', 60_000);
    expect(first).toEqual({ epoch: 1, latestAt: 0 });
    expect(await ownership.take(0, 'b', 'http://b', 60_000)).toBeUndefined();
    expect(await ownership.renew(0, 1, 77, 60_000)).toBe(true);
    expect((await ownership.owners()).map(({ owner, address, leftMs }) => [owner, address, leftMs > 0])).toEqual([
      ['a', 'http://a', true],
    ]);
    await ownership.release(0, 1, 88);
    expect(await ownership.take(0, 'b', 'http://b', 60_000)).toEqual({ epoch: 2, latestAt: 88 });
    expect(await ownership.renew(0, 1, 0, 60_000)).toBe(false);
    await ownership.release(0, 1, 99);
    expect(await ownership.take(0, 'c', '', 60_000)).toBeUndefined();
    // The answer to its own take was lost.
    expect(await ownership.take(0, 'b', 'http://b', 60_000)).toEqual({ epoch: 3, latestAt: 88 });
  });

  it('renews while a commit takes its time, and a takeover waits for that commit', async () => {
    const url = server.create();
    const runs = await openOn(url);
    const store = await ownOn(runs);
    const { connectDatabase } = await import('../../../src/store/postgres/connection.ts');
    const other = connectDatabase({ url, store: 'runs store', connections: 1 });
    opened.push(other);
    const waiting = (): number =>
      Number(server.run(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`, url));
    const locked = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const held = other.transaction(async (ask) => {
      // What the commit would write: it waits there, with its shard locked.
      await ask('LOCK TABLE run IN EXCLUSIVE MODE');
      locked.resolve();
      await over.promise;
    });
    await locked.promise;
    const committing = insert(store, aRun('a'));
    await eventually('the commit waits', async () => waiting() === 1);
    expect(await runs.ownership.renew(0, 1, 5, 0)).toBe(true);
    const taking = runs.ownership.take(0, 'next', '', 60_000);
    await eventually('the takeover waits', async () => waiting() === 2);
    over.resolve();
    await Promise.all([held, committing]);
    expect(await taking).toEqual({ epoch: 2, latestAt: 5 });
    await expect(insert(store, aRun('b'))).rejects.toBeInstanceOf(Fenced);
    expect((await store.counts()).openRuns).toBe(1);
  });

  it('writes nothing any more once another took over, also what was under way: 0 of 12 takeovers', async () => {
    const url = server.create();
    const runs = await openOn(url);
    for (let round = 0; round < 12; round += 1) {
      const first = await takeOver(runs);
      const writing = (async () => {
        for (let n = 0; ; n += 1)
          try {
            await insert(first, aRun(`${round}-${n}`));
          } catch (error) {
            expect(error).toBeInstanceOf(Fenced);
            return;
          }
      })();
      await eventually('the owner writes', async () => (await first.findRun(`${round}-0`)) !== undefined);
      const next = await takeOver(runs);
      const atTakeover = (await next.counts()).openRuns;
      await writing;
      expect((await next.counts()).openRuns).toBe(atTakeover);
      await Promise.all([first.close(), next.close()]);
    }
  });

  it('that was shut out is told once, and neither moves runs nor resumes, but reads them as the next owner leaves them', async () => {
    const runs = await openOn(server.create());
    let told = 0;
    const first = await ownOn(runs, () => (told += 1));
    await insert(first, aRun('a'));
    const second = await ownOn(runs);
    await expect(first.resume(AT)).rejects.toBeInstanceOf(Fenced);
    await expect(insert(first, aRun('b'))).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(first.readOutbox(0, 10)).rejects.toBeInstanceOf(Fenced);
    await expect(first.dueTimers(AT, 10, AT)).rejects.toBeInstanceOf(Fenced);
    await insert(second, aRun('c'));
    expect(versionOf(await first.load([{ kind: 'run', runId: 'c' }]))).toBe(1);
    expect(told).toBe(1);
    expect(versionOf(await second.load(RUN))).toBe(1);
  });

  it('that hangs in the middle of a commit holds up a takeover for seconds at the most', async () => {
    const url = server.create();
    const runs = await openOn(url);
    await ownOn(runs);
    // A session that stands where a stopped process would: the fence is locked, and nothing follows.
    const { connectDatabase } = await import('../../../src/store/postgres/connection.ts');
    const hanging = connectDatabase({ url, store: 'runs store', connections: 1, idleInTransactionMs: 1_000 });
    opened.push(hanging);
    const [locked, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hung = hanging
      .transaction(async (ask) => {
        await ask('SELECT 1 FROM shard FOR KEY SHARE');
        locked.resolve();
        await taken.promise;
        await ask(`UPDATE shard SET owner = 'late'`);
      })
      .catch((error: unknown) => error);
    await locked.promise;
    expect(await runs.ownership.take(0, 'next', '', 60_000)).toMatchObject({ epoch: 2 });
    taken.resolve();
    expect(await hung).toBeInstanceOf(StoreUnavailable);
  });
});

describe('a commit whose answer is lost', () => {
  /** Between the store and the server; once it is armed, the answer to the next COMMIT ends both connections. */
  const between = async (
    port: number,
  ): Promise<{ readonly port: number; readonly arm: () => void; readonly close: () => Promise<void> }> => {
    let isArmed = false;
    const sockets = new Set<Socket>();
    const proxy: Server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      let loses = false;
      sockets.add(client).add(upstream);
      client.on('data', (bytes) => {
        if (isArmed && bytes.includes('COMMIT\0')) {
          loses = true;
          isArmed = false;
        }
        upstream.write(bytes);
      });
      upstream.on('data', (bytes) => {
        if (loses) {
          client.destroy();
          upstream.destroy();
        } else client.write(bytes);
      });
      for (const socket of [client, upstream]) {
        socket.on('error', () => {});
        socket.on('close', () => {
          client.destroy();
          upstream.destroy();
        });
      }
    });
    const own = await freePort();
    await new Promise<void>((resolve) => proxy.listen(own, '127.0.0.1', resolve));
    return {
      port: own,
      arm: () => {
        isArmed = true;
      },
      close: async () => {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => proxy.close(resolve));
      },
    };
  };

  it('is unavailable and happened; a resume and what follows start from it', async () => {
    const url = server.create();
    const proxy = await between(server.port);
    opened.push(proxy);
    const store = await ownOn(await openOn(url.replace(`:${server.port}/`, `:${proxy.port}/`)));
    await insert(store, aRun('a'));
    proxy.arm();
    await expect(store.commit({ ...noChanges(), runsUpdated: [moved(2)] })).rejects.toBeInstanceOf(StoreUnavailable);
    await store.resume(AT);
    expect(versionOf(await store.load(RUN))).toBe(2);
    await expect(store.commit({ ...noChanges(), runsUpdated: [moved(2)] })).rejects.toBeInstanceOf(StoreUnavailable);
    await store.commit({ ...noChanges(), runsUpdated: [moved(3)] });
    expect(versionOf(await store.load(RUN))).toBe(3);
  });
});

describe('the tables of the runs', () => {
  it('are made once by six services that start at once, and these know the same secret', async () => {
    const url = server.create();
    const runs = await Promise.all(Array.from({ length: 6 }, () => openOn(url)));
    const secrets = new Set(await Promise.all(runs.map(({ ownership }) => ownership.secret())));
    expect(secrets.size).toBe(1);
    expect([...secrets][0]).toMatch(/^[0-9a-f-]{72}$/);
    expect(server.run('SELECT store, version FROM schema_version', url)).toBe(
      RUNS_SCHEMA.steps.map(({ version }) => `runs|${version}`).join('\n'),
    );
    const taken = await Promise.all(runs.map(({ ownership }, n) => ownership.take(0, `s${n}`, '', 60_000)));
    expect(taken.filter((one) => one !== undefined)).toEqual([{ epoch: 1, latestAt: 0 }]);
  });

  it('of a newer release are refused, and stay as they are', async () => {
    const url = server.create();
    await openOn(url);
    const known = RUNS_SCHEMA.steps.length;
    server.run(`INSERT INTO schema_version (store, version) VALUES ('runs', ${known + 1})`, url);
    await expect(openPostgresRuns({ url })).rejects.toThrow(
      `runs store: the database has schema version ${known + 1}, and this release knows ${known}: run the release that wrote it`,
    );
  });

  it('stand beside those of the signals in one database', async () => {
    const { openPostgresSignalStore } = await import('../../../src/store/postgres/signals/open.ts');
    const url = server.create();
    opened.push(await openPostgresSignalStore({ url, connections: 2 }));
    const store = await ownOn(await openOn(url));
    await insert(store, aRun('a'));
    expect((await store.counts()).openRuns).toBe(1);
  });

  it('a row that the database refuses is no word in an error about what stands in it', async () => {
    const store = await ownOn(await openOn(server.create()));
    await insert(store, aRun('a', { idempotencyKey: 'canary' }));
    const refused = await insert(store, aRun('b', { idempotencyKey: 'canary' })).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect((refused as Error).message).toContain('constraint run_idempotency (23505)');
    expect(JSON.stringify(refused, Object.getOwnPropertyNames(refused))).not.toContain('canary');
    expect((refused as Error).cause).toBeUndefined();
  });
});
