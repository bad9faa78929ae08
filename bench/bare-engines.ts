/**
 * What engines for several services write, against the same statements in a bare loop: what the writer of an engine sends is recorded, and sent
 * once more, in the same order and groups, to an empty database. Run: `node bench/bare-engines.ts [pairs] [seconds] [engine]`.
 */
import { nowUnixNano } from '../src/model/time.ts';
import { joinWrites, type JoinedWrites } from '../src/store/signals/joined-writes.ts';
import {
  connectDatabase as connectClickHouse,
  type Database as ClickHouse,
} from '../src/store/clickhouse/connection.ts';
import { openClickHouseSignalStore } from '../src/store/clickhouse/signals/open.ts';
import { encodeRows } from '../src/store/clickhouse/row-binary.ts';
import { createVersions } from '../src/store/clickhouse/signals/versions.ts';
import { prepareSpan, writeGroup } from '../src/store/clickhouse/signals/write-group.ts';
import { type Ask, type Bound, connectDatabase, type Database } from '../src/store/postgres/connection.ts';
import { openPostgresSignalStore } from '../src/store/postgres/signals/open.ts';
import { createSignalWriter } from '../src/store/postgres/signals/writer.ts';
import { startClickHouse } from '../test/clickhouse.ts';
import { startPostgres } from '../test/postgres.ts';
import { percent, spread } from './pairs.ts';
import { measureStore, realisticBatches } from './store-limit.ts';
import { withoutLateTotals as clickhouseWithoutLateTotals } from '../src/store/clickhouse/signals/totals.ts';
import { withoutLateTotals } from '../test/store/postgres/temporary-stores.ts';

const pairs = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 5);
const only = process.argv[4];

const loads = [
  ['512 spans a unit, 8 at once', 512, 8],
  ['8 spans a unit, 32 at once', 8, 32],
] as const;

/** An empty database: what a writer sends to it, and how that is sent again to another one. */
type Recorded = {
  readonly writer: JoinedWrites;
  readonly replay: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const STATEMENT_MS = 30_000;

const recordPostgres = (create: () => string) => async (): Promise<Recorded> => {
  const open = async (): Promise<Database> => {
    const url = create();
    await (await openPostgresSignalStore({ url })).close();
    return connectDatabase({ url, store: 'bench', connections: 4, statementMs: STATEMENT_MS });
  };
  const [first, second] = [await open(), await open()];
  const transactions: (readonly [sql: string, values: readonly Bound[]])[][] = [];
  const recording: Database = {
    ...first,
    transaction: (work, opening) =>
      first.transaction((ask, opened) => {
        const statements: (readonly [string, readonly Bound[]])[] = [];
        transactions.push(statements);
        const recorded: Ask = (sql, values = []) => {
          statements.push([sql, values]);
          return ask(sql, values);
        };
        return work(recorded, opened);
      }, opening),
  };
  return {
    writer: createSignalWriter(recording, nowUnixNano, withoutLateTotals),
    replay: async () => {
      for (const statements of transactions)
        await second.transaction(async (ask) => {
          for (const [sql, values] of statements) await ask(sql, values);
        });
    },
    close: async () => {
      await first.close();
      await second.close();
    },
  };
};

const recordClickHouse = (server: Awaited<ReturnType<typeof startClickHouse>>) => async (): Promise<Recorded> => {
  const open = async (): Promise<ClickHouse> => {
    const address = server.create();
    await (await openClickHouseSignalStore({ address })).close();
    return connectClickHouse({
      address,
      store: 'bench',
      connections: 16,
      statementMs: STATEMENT_MS,
      usesDatabase: true,
    });
  };
  const [first, second] = [await open(), await open()];
  /** Statements that were under way together go together again. */
  const rounds: (() => Promise<unknown>)[][] = [];
  let underWay = 0;
  const record = async <T>(again: () => Promise<unknown>, work: () => Promise<T>): Promise<T> => {
    if (underWay === 0) rounds.push([]);
    rounds.at(-1)?.push(again);
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
    }
  };
  const send = async (table: string, names: string, bytes: Buffer): Promise<void> => {
    const sql = `INSERT INTO ${second.name}.${table} (${names}) FORMAT RowBinary`;
    const url = new URL(`/?async_insert=0&wait_end_of_query=1&query=${encodeURIComponent(sql)}`, server.url);
    const answer = await fetch(url, { method: 'POST', body: new Uint8Array(bytes) });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.text();
  };
  const recording: ClickHouse = {
    ...first,
    ask: (sql, params) =>
      record(
        () => second.ask(sql, params),
        () => first.ask(sql, params),
      ),
    insert: (into, rows) => {
      if (rows.length === 0) return Promise.resolve();
      let bytes: Buffer | undefined;
      encoding.push(() => (bytes ??= Buffer.from(encodeRows(into.columns, rows))));
      return record(
        () => send(into.table, into.columns.map(([name]) => name).join(', '), bytes as Buffer),
        () => first.insert(into, rows),
      );
    },
  };
  const encoding: (() => Buffer)[] = [];
  const versions = createVersions(nowUnixNano);
  return {
    writer: joinWrites({
      store: 'bench',
      prepare: prepareSpan,
      write: (group) => writeGroup(recording, group, versions, nowUnixNano(), clickhouseWithoutLateTotals),
    }),
    replay: async () => {
      for (const round of rounds) await Promise.all(round.map((again) => again()));
    },
    close: async () => {
      await first.close();
      await second.close();
    },
    ...{ encode: () => encoding.forEach((make) => make()) },
  };
};

const { batches } = realisticBatches();
const cut = (size: number) =>
  batches.flatMap((batch) =>
    Array.from({ length: Math.floor(batch.spans.length / size) }, (_, n) => ({
      ...batch,
      spans: batch.spans.slice(n * size, (n + 1) * size),
    })),
  );

const measure = async (
  engine: string,
  record: () => Promise<Recorded & { readonly encode?: () => void }>,
): Promise<void> => {
  for (const [name, size, concurrency] of loads) {
    const rates: number[] = [];
    const bare: number[] = [];
    const latencies: number[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      const recorded = await record();
      const started = performance.now();
      const { spans, p99Ms } = await measureStore(recorded.writer, cut(size), seconds, concurrency);
      const took = performance.now() - started;
      recorded.encode?.();
      const from = performance.now();
      await recorded.replay();
      bare.push((spans * 1000) / (performance.now() - from));
      rates.push((spans * 1000) / took);
      latencies.push(p99Ms);
      await recorded.close();
    }
    const ratios = rates.map((rate, pair) => rate / (bare[pair] ?? Number.NaN));
    console.log(
      `${engine}, ${name}: ${spread(rates)} spans/s, bare ${spread(bare)}: ${ratios.map(percent).join(', ')} (bar 80 %); p99 ${spread(latencies)} ms`,
    );
  }
};

if (only !== 'clickhouse') {
  const postgres = await startPostgres({ isDurable: true });
  try {
    await measure('PostgreSQL', recordPostgres(postgres.create));
  } finally {
    await postgres.remove();
  }
}
if (only !== 'postgres') {
  const clickhouse = await startClickHouse();
  try {
    await measure('ClickHouse', recordClickHouse(clickhouse));
  } finally {
    await clickhouse.remove();
  }
}
