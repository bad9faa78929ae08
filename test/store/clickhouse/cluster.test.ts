import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { parseUrl } from '../../../src/store/clickhouse/address.ts';
import { connectDatabase } from '../../../src/store/clickhouse/connection.ts';
import { layoutOf } from '../../../src/store/clickhouse/layout.ts';
import { INGEST_KEYS } from '../../../src/store/clickhouse/signals/tables.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { createTables } from '../../../src/store/clickhouse/signals/tables.ts';

const undoing: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of undoing.splice(0).toReversed()) await undo();
});

/** A server that refuses the first requests because an insert before is not on most replicas yet. @returns what was asked */
const servingAfter = async (refusals: number, cluster: string) => {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, answer) => {
    asked.push(new URL(request.url ?? '', 'http://h').searchParams);
    request.resume().once('end', () => {
      if (asked.length > refusals) answer.end();
      else
        answer
          .writeHead(500, { 'x-clickhouse-exception-code': '286' })
          .end('Code: 286. DB::Exception: Quorum for previous write has not been satisfied yet. (UNSATISFIED_QUORUM)');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  undoing.push(() => server.close());
  const parsed = parseUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}${cluster}`);
  if (!parsed.ok) throw new Error(parsed.problem);
  const database = connectDatabase({
    address: { ...parsed.value, database: 'svc', user: 'default' },
    ...{ store: 'signal store', connections: 2, statementMs: 5_000, usesDatabase: true },
  });
  undoing.push(() => database.close());
  return { database, asked };
};

describe('ClickHouse: a cluster (?cluster=)', () => {
  it('every table is made on each replica, with an engine that copies what it holds', () => {
    for (const statement of createTables(layoutOf('main'))) {
      expect(statement).toMatch(/^CREATE TABLE IF NOT EXISTS \w+ ON CLUSTER `main` \(/);
      expect(statement).toMatch(/ENGINE = Replicated(?:Replacing)?MergeTree/);
      expect(statement).not.toContain('non_replicated');
    }
    for (const statement of createTables(layoutOf(undefined))) {
      expect(statement).not.toContain('CLUSTER');
      expect(statement).not.toContain('Replicated');
    }
  });

  it('an insert waits for most replicas, reads see it, and one behind another that is under way is tried again under its token', async () => {
    const { database, asked } = await servingAfter(2, '?cluster=main');
    await database.insert(INGEST_KEYS, [['key', 1n]]);
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map((one) => one.get('insert_deduplication_token'))).size).toBe(1);
    for (const one of asked)
      expect(one.toString()).toMatch(/insert_quorum=auto&insert_quorum_parallel=0&select_sequential_consistency=1/);
  });

  it('one server is asked for no quorum, and what it refuses is not tried again', async () => {
    const { database, asked } = await servingAfter(0, '');
    await database.insert(INGEST_KEYS, [['key', 1n]]);
    expect(asked[0]?.has('insert_quorum')).toBe(false);
    const always = await servingAfter(1_000, '?cluster=main');
    await expect(always.database.insert(INGEST_KEYS, [['key', 1n]])).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
