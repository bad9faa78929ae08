import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { searchPath } from '../../../src/store/sqlite/signals/search-file.ts';
import { aLog, aSpan, aUnit, spanIdOf, traceIdOf, traces } from '../signals/factories.ts';
import { temporaryFolder } from './temporary-store.ts';

const found = async (store: SignalStore, q: string): Promise<number> =>
  (await store.listTraces(traces({ q, limit: 1000 }))).items.length;

const leave: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of leave.splice(0).toReversed()) await step();
});
/** Names of this process's threads, as the system shows them: at most fifteen characters each. */
const threadNames = (): string[] =>
  readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim());

describe('a writer that is never without work', () => {
  it('answers a delete before many more batches than waited when it came', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'an old word' })] }));
    const SENDERS = 16;
    const MOST = 40 * SENDERS;
    let written = 0;
    let isOver = false;
    const senders = Array.from({ length: SENDERS }, async (_, sender) => {
      while (!isOver && written < MOST) {
        const traceId = traceIdOf(100 + written * SENDERS + sender);
        const spans = Array.from({ length: 200 }, (__, n) =>
          aSpan({ traceId, spanId: spanIdOf(n), input: 'new words' }),
        );
        await store.write(aUnit({ spans }));
        written += 1;
      }
    });
    while (written < 2 * SENDERS) await sleep(1);
    const before = written;
    expect(await store.deleteTraces([traceIdOf(1)], 'all')).toMatchObject({ deleted: 1 });
    const meanwhile = written - before;
    isOver = true;
    await Promise.all(senders);
    expect(meanwhile).toBeLessThan(6 * SENDERS);
  });
});

// In a process of its own: the threads of other tests have the same names.
describe.runIf(process.platform === 'linux')('the thread of the full-text index', () => {
  it('starts with the first text, and at once when the index lacks any or has some to erase', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const isAwake = (): boolean => threadNames().includes('signal search');
    const open = async (): Promise<SignalStore> => {
      const store = await openSqliteSignalStore({ path });
      leave.push(() => store.close());
      return store;
    };

    const first = await open();
    expect(threadNames()).toContain('signal writer');
    await first.write(aUnit({ logs: [aLog()], spans: [aSpan({ traceId: traceIdOf(9) })] }));
    expect(await found(first, 'word')).toBe(0);
    await first.deleteTraces([traceIdOf(9)], 'all');
    expect(isAwake()).toBe(false);
    await first.write(aUnit({ spans: [aSpan({ input: 'a word' })] }));
    expect(isAwake()).toBe(true);
    expect(await found(first, 'word')).toBe(1);
    await first.close();

    const second = await open();
    expect(await found(second, 'word')).toBe(1);
    expect(isAwake()).toBe(false);
    expect(await second.deleteTraces([traceIdOf(1)], 'all')).toEqual({ deleted: 1, pending: false });
    expect(isAwake()).toBe(true);
    await second.write(aUnit({ spans: [aSpan({ input: 'another' })] }));
    await second.close();

    rmSync(searchPath(path));
    const third = await open();
    expect(isAwake()).toBe(true);
    expect(await found(third, 'another')).toBe(1);
  });

  it('is woken by a text that is replaced: nobody finds the old one', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const spanId = spanIdOf(7);
    const store = await openSqliteSignalStore({ path });
    await store.write(aUnit({ spans: [aSpan({ spanId, input: 'before' })] }));
    await store.close();
    const again = await openSqliteSignalStore({ path });
    leave.push(() => again.close());
    await again.write(aUnit({ spans: [aSpan({ spanId })] }));
    expect(await found(again, 'before')).toBe(0);
    await eventually('the thread', () => threadNames().includes('signal search'));
  });
});

describe.runIf(process.platform === 'linux')('the threads that read', () => {
  const readers = (): number => threadNames().filter((name) => name === 'signal reader').length;

  it('are as many as ask at once, and end when they have nothing to do, but for one', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const store = await openSqliteSignalStore({ path, readers: 3, readerIdleMs: 200 });
    leave.push(() => store.close());
    await store.write(aUnit({ spans: [aSpan({ input: 'a word' })] }));
    const askAll = (): Promise<number[]> => Promise.all([1, 2, 3, 4].map(() => found(store, 'word')));
    expect(await askAll()).toEqual([1, 1, 1, 1]);
    await eventually('the last reader', () => readers() === 1);
    expect(await askAll()).toEqual([1, 1, 1, 1]);
    // Closed while some of them end, it leaves no log behind: all connections are closed before the last.
    await sleep(200);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
