import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type Entry, nativeEntry, otlpEntry, seededRandom } from '../crash/ledger.ts';
import { find, post } from '../crash/verify.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

const folder = temporaryFolder();
const agent = new Agent({ connections: 50 });
const daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
});
afterAll(async () => {
  await agent.close();
  folder.remove();
});

let homes = 0;
const newHome = (): string => join(folder.path, `home-${++homes}`);
const start = async (home: string): Promise<Daemon> => {
  const daemon = await startDaemon(home);
  daemons.push(daemon);
  return daemon;
};
const nowNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;
const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
const drawSeed = (): number => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  return seed;
};

const getJson = async <T>(url: string): Promise<T> => {
  const { statusCode, body } = await request(url, { dispatcher: agent });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`);
  return JSON.parse(text) as T;
};
const ingest = async (url: string, body: object): Promise<{ accepted: number; duplicate: number }> => {
  const answer = await request(`${url}/v1/ingest`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    dispatcher: agent,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`ingest answered ${answer.statusCode}: ${text}`);
  return JSON.parse(text) as { accepted: number; duplicate: number };
};

describe('one key at once from fifty clients (P4)', () => {
  it('is written once and counted duplicate 49 times, in every round, and also when the daemon was killed in the middle', async () => {
    const home = newHome();
    let daemon = await start(home);
    const spans = 3;
    for (let round = 0; round < 10; round += 1) {
      const entry = nativeEntry(spans, nowNanos());
      const isKilled = round % 5 === 4;
      const sent = Array.from({ length: 50 }, () => post(daemon.url, entry, agent));
      if (isKilled) {
        await Promise.race(sent);
        const before = daemon;
        await before.stop('SIGKILL');
        const ended = await Promise.allSettled(sent);
        daemon = await start(home);
        const first = ended.filter(
          (one) => one.status === 'fulfilled' && one.value.status === 200 && one.value.duplicate === 0,
        );
        expect(first.length).toBeLessThanOrEqual(1);
        expect(await find(daemon.url, entry, agent)).toBe('whole'); // at least one answer was 200
        expect((await post(daemon.url, entry, agent)).duplicate).toBe(1);
      } else {
        const answers = await Promise.all(sent);
        expect(answers.every(({ status }) => status === 200)).toBe(true);
        expect(answers.reduce((sum, { duplicate }) => sum + duplicate, 0)).toBe(49);
        expect(await find(daemon.url, entry, agent)).toBe('whole');
      }
    }
  });
});

describe('totals of a trace (P5)', () => {
  it('do not depend on the order of its spans, on repeats, or on how they were batched', async () => {
    const random = seededRandom(drawSeed());
    const daemon = await start(newHome());
    const shuffled = <T>(items: readonly T[]): T[] =>
      items
        .map((item) => [random(), item] as const)
        .toSorted((a, b) => a[0] - b[0])
        .map(([, item]) => item);
    const start0 = Date.now() - 60_000;
    const at = (ms: number): string => new Date(start0 + ms).toISOString();
    const models = ['gpt-4o-mini', 'claude-sonnet-4-5', 'a-model-without-a-price'];
    const tracesAsSent = Array.from({ length: 40 }, () => {
      const trace_id = hex(16);
      const root = hex(8);
      const count = 1 + Math.floor(random() * 12);
      return Array.from({ length: count }, (_, n) => ({
        trace_id,
        span_id: n === 0 ? root : hex(8),
        ...(n === 0 ? {} : { parent_span_id: root }),
        name: `span ${n}`,
        kind: 'model_generation',
        status: random() < 0.1 ? 'error' : 'ok',
        start_time: at(Math.floor(random() * 1000)),
        ...(random() < 0.9 ? { end_time: at(1000 + Math.floor(random() * 1000)) } : {}),
        model: models[Math.floor(random() * models.length)],
        usage: { input_tokens: Math.floor(random() * 1000), output_tokens: Math.floor(random() * 1000) },
        correlation: { user_id: `user ${Math.floor(random() * 2)}`, tags: [`tag ${Math.floor(random() * 3)}`] },
      }));
    });
    const spans = tracesAsSent.flat();
    const SHUFFLES = 5;
    for (let n = 0; n < SHUFFLES; n += 1) {
      const repeated = [...spans, ...shuffled(spans).slice(0, Math.floor(spans.length / 3))];
      const order = n === 0 ? spans : shuffled(repeated);
      const batches: (typeof spans)[] = [];
      for (let from = 0; from < order.length; ) {
        const size = n === 0 ? order.length : 1 + Math.floor(random() * 40);
        batches.push(order.slice(from, from + size));
        from += size;
      }
      const inProject = (batch: typeof spans) => ({
        spans: batch.map((span) => ({ ...span, correlation: { ...span.correlation, project: `p${n}` } })),
      });
      await Promise.all(batches.map((batch) => ingest(daemon.url, inProject(batch))));
    }
    const summariesOf = async (project: string): Promise<unknown[]> => {
      const { traces } = await getJson<{ traces: { trace_id: string }[] }>(
        `${daemon.url}/v1/api/traces?project=${project}&limit=1000`,
      );
      const sorted = traces.toSorted((a, b) => (a.trace_id < b.trace_id ? -1 : 1));
      return JSON.parse(JSON.stringify(sorted).replaceAll(`"${project}"`, '"the project"')) as unknown[];
    };
    const wanted = await summariesOf('p0');
    expect(wanted).toHaveLength(tracesAsSent.length);
    for (let n = 1; n < SHUFFLES; n += 1) expect(await summariesOf(`p${n}`)).toEqual(wanted);
    const costOf = async (project: string): Promise<object> => {
      const { groups, total_cost } = await getJson<{ groups: { key: string }[]; total_cost: number }>(
        `${daemon.url}/v1/api/analytics/cost?project=${project}&from=-1h&group_by=user_id`,
      );
      return { groups, total_cost: total_cost.toFixed(9) };
    };
    for (let n = 1; n < SHUFFLES; n += 1) expect(await costOf(`p${n}`)).toEqual(await costOf('p0'));
  });
});

describe('erasure (P25)', () => {
  it('takes every byte of a trace out of every file when it says that nothing is pending, while the same person sends on', async () => {
    const home = newHome();
    const daemon = await start(home);
    const SUBJECTS = 20;
    const wordOf = (n: number, part: string): string => `${hex(9)}${part}${n}`;
    const subjects = Array.from({ length: SUBJECTS }, (_, n) => {
      const words = ['in', 'out', 'attr', 'log', 'note', 'reason', 'comment', 'meta', 'event'].map((part) =>
        wordOf(n, part),
      );
      const [input, output, attribute, log, note, reason, comment, metadata, event] = words;
      const trace_id = hex(16);
      const at = new Date().toISOString();
      const batch = {
        spans: [
          {
            trace_id,
            span_id: hex(8),
            name: 'a span',
            start_time: at,
            end_time: at,
            input: { question: `the word ${input}` },
            output: `the word ${output}`,
            attributes: { key: attribute },
            events: [{ name: 'e', time: at, attributes: { key: event } }],
            correlation: { user_id: 'one person' },
          },
        ],
        logs: [{ timestamp: at, severity: 'info', message: log, trace_id }],
        scores: [{ score_id: '', trace_id, scorer_id: 'q', value: 1, reason, timestamp: at }],
        feedback: [
          { feedback_id: '', trace_id, kind: 'comment', value: comment, metadata: { key: metadata }, timestamp: at },
        ],
        aspect_notes: [{ trace_id, aspect: 'a', text: note, timestamp: at }],
      };
      return { trace_id, words, batch };
    });
    for (const { batch } of subjects) expect((await ingest(daemon.url, batch)).accepted).toBe(5);
    const contents = (): string[] => readdirSync(home).map((name) => readFileSync(join(home, name), 'latin1'));
    const held = contents().join('');
    for (const { words } of subjects) for (const word of words) expect(held, word).toContain(word);

    const erased = subjects.slice(0, SUBJECTS / 2);
    const kept = subjects.slice(SUBJECTS / 2);
    let isOver = false;
    const sendOn = async (): Promise<void> => {
      for (let n = 0; !isOver; n += 1)
        expect((await post(daemon.url, otlpEntry(5, nowNanos(), `sent meanwhile ${n}`), agent)).status).toBe(200);
    };
    const others = sendOn();
    let afterwards: string[];
    try {
      for (const { trace_id } of erased) {
        const answer = await request(`${daemon.url}/v1/api/traces/${trace_id}`, {
          method: 'DELETE',
          dispatcher: agent,
        });
        expect(await answer.body.json()).toEqual({ deleted: true, deletes_pending: false });
      }
      afterwards = contents();
    } finally {
      isOver = true;
      await others;
    }
    for (const { words, trace_id } of erased) {
      for (const word of words) {
        // The last twelve characters stand in an index whatever its compression of common beginnings.
        expect(
          afterwards.filter((content) => content.includes(word.slice(6))),
          word,
        ).toEqual([]);
        expect((await getJson<{ traces: unknown[] }>(`${daemon.url}/v1/api/traces?q=${word}`)).traces).toEqual([]);
      }
      expect((await request(`${daemon.url}/v1/api/traces/${trace_id}`, { dispatcher: agent })).statusCode).toBe(404);
    }
    const after = contents().join('');
    for (const { words, trace_id } of kept) {
      for (const word of words) expect(after, word).toContain(word);
      const { traces } = await getJson<{ traces: { trace_id: string }[] }>(`${daemon.url}/v1/api/traces?q=${words[0]}`);
      expect(traces.map((trace) => trace.trace_id)).toEqual([trace_id]);
    }
  });
});

describe('paging while more comes in (P27)', () => {
  it.each([
    '/v1/api/traces?sort=start_time',
    '/v1/api/traces?sort=start_time&order=asc',
    '/v1/api/spans?',
    '/v1/api/traces?q=question',
  ])(
    '%s neither skips nor repeats a row that was there at the start, and the log stays within its bound',
    async (path) => {
      const home = newHome();
      const daemon = await start(home);
      const before: Entry[] = [];
      for (let n = 0; n < 40; n += 1) {
        const entry = otlpEntry(1 + (n % 3), nowNanos());
        before.push(entry);
        expect((await post(daemon.url, entry, agent)).status).toBe(200);
      }
      let isOver = false;
      let written = 0;
      let largestLog = 0;
      const writer = async (): Promise<void> => {
        while (!isOver) {
          expect((await post(daemon.url, otlpEntry(20, nowNanos(), 'more '.repeat(200)), agent)).status).toBe(200);
          written += 1;
          for (const name of readdirSync(home).filter((file) => file.endsWith('-wal')))
            largestLog = Math.max(largestLog, statSync(join(home, name)).size);
        }
      };
      const writers = [writer(), writer()];
      type Listed = {
        traces?: { trace_id: string }[];
        spans?: { trace_id: string; span_id: string }[];
        next_cursor?: string;
      };
      const readers = Array.from({ length: 4 }, async (_, n) => {
        const seen: string[] = [];
        const wanted = before.reduce((sum, { spans }) => sum + (path.includes('spans') ? spans : 1), 0);
        const ids = new Set(before.map(({ traceId }) => traceId));
        let cursor: string | undefined;
        // Newer rows come first or last by the order; the walk ends when the rows of the start are behind it.
        for (let page = 0; page < 2_000; page += 1) {
          const listed = await getJson<Listed>(
            `${daemon.url}${path}&limit=${3 + n}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
          );
          for (const row of listed.traces ?? listed.spans ?? [])
            if (ids.has(row.trace_id))
              seen.push('span_id' in row ? `${row.trace_id}/${String(row.span_id)}` : row.trace_id);
          cursor = listed.next_cursor;
          if (cursor === undefined || seen.length >= wanted) break;
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.length).toBe(wanted);
      });
      try {
        await Promise.all(readers);
      } finally {
        isOver = true;
        await Promise.all(writers);
      }
      expect(written).toBeGreaterThan(0);
      expect(largestLog).toBeLessThan(96 * 1024 * 1024);
    },
  );
});

describe('a second daemon on the same file (P28)', () => {
  it('is refused each time while the first serves, and is let in each time after a SIGKILL', async () => {
    const home = newHome();
    for (let round = 0; round < 4; round += 1) {
      const first = await start(home);
      await expect(startDaemon(home)).rejects.toThrow(/ended with 1:[\s\S]*in use by another process/);
      expect((await post(first.url, otlpEntry(1, nowNanos()), agent)).status).toBe(200);
      await first.stop('SIGKILL');
    }
  });

  it('two that start at the same moment: one serves, the other is refused', async () => {
    for (let round = 0; round < 3; round += 1) {
      const home = newHome();
      const [a, b] = await Promise.allSettled([startDaemon(home), startDaemon(home)]);
      const serving = [a, b].filter((one) => one.status === 'fulfilled').map((one) => one.value);
      daemons.push(...serving);
      expect(serving).toHaveLength(1);
    }
  });
});

describe('a stop under load (P14)', () => {
  it('cuts no request, exits 0, leaves no log, and loses nothing that was acknowledged', async () => {
    const home = newHome();
    const random = seededRandom(drawSeed());
    let daemon = await start(home);
    for (let round = 0; round < 4; round += 1) {
      const { url } = daemon;
      const acknowledged: Entry[] = [];
      const faults: string[] = [];
      const dispatcher = new Agent({ connections: 8 });
      let isStopping = false;
      const writer = async (): Promise<void> => {
        for (;;) {
          const spans = 1 + Math.floor(random() * 40);
          const entry = random() < 0.5 ? otlpEntry(spans, nowNanos()) : nativeEntry(spans, nowNanos());
          try {
            const { status, text } = await post(url, entry, dispatcher);
            if (status === 200) acknowledged.push(entry);
            else if (status !== 503) faults.push(`${status} ${text}`);
            if (status !== 200) return;
          } catch (error) {
            // Refused connections and idle ones that were closed under the client are how a stop looks from outside.
            const code = (error as { code?: string }).code ?? String(error);
            if (!isStopping || !['ECONNREFUSED', 'UND_ERR_SOCKET', 'ECONNRESET'].includes(code)) faults.push(code);
            return;
          }
        }
      };
      const writers = Array.from({ length: 8 }, writer);
      await sleep(200 + Math.floor(random() * 200));
      await eventually('batches that were acknowledged', () => acknowledged.length >= 8 || faults.length > 0);
      isStopping = true;
      expect(await daemon.stop(round % 2 === 0 ? 'SIGTERM' : 'SIGINT')).toBe(0);
      await Promise.all(writers);
      await dispatcher.destroy();
      expect(faults).toEqual([]);
      for (const name of readdirSync(home).filter((file) => file.endsWith('-wal')))
        expect(statSync(join(home, name)).size).toBe(0);
      // The next round stops this one.
      daemon = await start(home);
      for (const entry of acknowledged) expect(await find(daemon.url, entry, agent)).toBe('whole');
    }
  });
});

describe('a start after a kill under load (P15)', () => {
  it('is ready with a log of tens of MiB taken in, and has what was acknowledged', async () => {
    const home = newHome();
    const first = await start(home);
    const logBytes = (): number => statSync(join(home, 'svc.db-wal')).size;
    const bodies: Entry[] = [];
    // Together: a thread that rests between two bodies would begin its log anew. Text that gets no smaller when it is compressed.
    for (let round = 0; round < 5 && logBytes() < 16 * 1024 * 1024; round += 1) {
      const sent = Array.from({ length: 6 }, () =>
        otlpEntry(16, nowNanos(), randomBytes(192 * 1024).toString('base64')),
      );
      for (const { status } of await Promise.all(sent.map((body) => post(first.url, body, agent))))
        expect(status).toBe(200);
      bodies.push(...sent);
    }
    expect(logBytes()).toBeGreaterThan(16 * 1024 * 1024);
    await first.stop('SIGKILL');
    const begun = performance.now();
    const again = await start(home);
    expect((await request(`${again.url}/readyz`, { dispatcher: agent })).statusCode).toBe(200);
    console.log(`ready after ${Math.round(performance.now() - begun)} ms`);
    for (const body of bodies) expect(await find(again.url, body, agent)).toBe('whole');
  });
});
