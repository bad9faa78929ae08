import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { traces } from '../signals/factories.ts';
import { temporaryFolder } from './temporary-store.ts';

const CYCLES = 8;
/** Spans of each unit that the victim writes. */
const UNIT_SPANS = 4;

describe('kill -9 of a writing process', () => {
  const leave: (() => void)[] = [];
  afterEach(() => {
    for (const step of leave.splice(0)) step();
  });

  it(`loses nothing that was acknowledged, over ${CYCLES} kills: rows, totals, index, deletes`, async () => {
    const { folder, path, remove } = temporaryFolder();
    leave.push(remove);
    const written = new Map<string, string>();
    const deleted = new Set<string>();
    const unsure = new Set<string>();
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      const victim = spawn(process.execPath, [join(import.meta.dirname, 'signals-victim.ts'), path, String(cycle)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const deleting = new Set<string>();
      const closed = once(victim, 'close');
      const lines = createInterface({ input: victim.stdout });
      let answers = 0;
      // Each life is longer than the one before, so that the kill meets the store in another place each time.
      const enough = 40 + cycle * 61;
      for await (const line of lines) {
        const [what, traceId, word] = line.split(' ');
        if (what === 'written') written.set(traceId ?? '', word ?? '');
        if (what === 'deleting') deleting.add(traceId ?? '');
        if (what === 'deleted') {
          deleted.add(traceId ?? '');
          deleting.delete(traceId ?? '');
        }
        if (++answers === enough) victim.kill('SIGKILL');
      }
      await closed;
      for (const traceId of deleting) unsure.add(traceId);

      const store = await openSqliteSignalStore({ path });
      for (const [traceId, word] of written) {
        if (!word.startsWith(`word${cycle}x`) && Math.abs(Number.parseInt(traceId.slice(-4), 16)) % 7 !== 0) continue; // older ones by sample
        const found = await store.findTrace(traceId, 'all', true);
        const byWord = (await store.listTraces(traces({ q: `${word} common` }))).items;
        if (unsure.has(traceId)) {
          expect(byWord.length).toBe(found === undefined ? 0 : 1);
          continue;
        }
        if (deleted.has(traceId)) {
          expect(found).toBeUndefined();
          expect(byWord).toEqual([]);
          continue;
        }
        expect([traceId, found?.spans.length]).toEqual([traceId, UNIT_SPANS]);
        expect(found?.trace).toMatchObject({ spanCount: UNIT_SPANS, totalCost: UNIT_SPANS * 0.25 });
        expect(byWord.map((trace) => trace.traceId)).toEqual([traceId]);
      }
      // Nothing is stored in half, acknowledged or not.
      let after: readonly (string | number)[] | undefined;
      do {
        const page = await store.listTraces(traces({ limit: 1000, ...(after && { after }) }));
        for (const trace of page.items) expect(trace).toMatchObject({ spanCount: UNIT_SPANS, totalCost: 1 });
        after = page.next;
      } while (after !== undefined);
      await store.close();
      for (const name of readdirSync(folder)) {
        const bytes = readFileSync(join(folder, name));
        for (const traceId of deleted) expect([name, bytes.includes(traceId)]).toEqual([name, false]);
      }
    }
    expect(written.size).toBeGreaterThan(CYCLES * 20);
    expect(deleted.size).toBeGreaterThan(CYCLES);
  });

  it('releases the lock: the next process opens the file at once', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const victim = spawn(process.execPath, [join(import.meta.dirname, 'signals-victim.ts'), path, '1'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(victim, 'close');
    await once(victim.stdout, 'data');
    await expect(openSqliteSignalStore({ path })).rejects.toThrow(/in use by another process/);
    victim.kill('SIGKILL');
    await closed;
    const store = await openSqliteSignalStore({ path });
    await store.ping();
    await store.close();
  });
});
