import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { aLog, aSpan, aUnit, traceIdOf, traces } from '../signals/factories.ts';
import { breakFile } from './break-file.ts';
import { openTemporary } from './temporary-store.ts';

describe('I/O errors (P17)', () => {
  const leave: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });

  it('that write is unavailable, reading recovers, the connection is opened again, and the store goes on', async () => {
    const fatal: string[] = [];
    const { store, path, remove } = await openTemporary({ onFatal: (message) => fatal.push(message) });
    leave.push(remove);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'before' })] }));
    for (let round = 1; round <= 4; round++) {
      expect(breakFile(`${path}-wal`)).toBeGreaterThan(0);
      const failing = store.write(
        aUnit({ spans: [aSpan({ traceId: traceIdOf(100 + round), input: 'unknown' })] }, `k${round}`),
      );
      await expect(failing).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(failing).rejects.toThrow(/input\/output error/);
      // The reader's connection was broken as well: it meets the fault once, and is opened again.
      const reading = () => store.listTraces(traces({ q: 'before' }));
      expect((await reading().catch(reading)).items).toHaveLength(1);
      await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1 + round), input: 'after' })] }));
      expect((await store.listTraces(traces({ q: 'after' }))).items).toHaveLength(round);
      // The outcome was unknown, and sending it again is safe either way.
      await store.write(
        aUnit(
          { spans: [aSpan({ traceId: traceIdOf(100 + round), spanId: 'e'.repeat(16), input: 'resent' })] },
          `k${round}`,
        ),
      );
    }
    expect(fatal).toEqual([]);
  });

  it('in the full-text side file: that write is unavailable, and what was stored is found afterwards', async () => {
    const { store, path, remove } = await openTemporary();
    leave.push(remove);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'before' })] }));
    expect(breakFile(`${path}.fts-wal`)).toBeGreaterThan(0);
    await expect(store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'during' })] }))).rejects.toThrow(
      /svc\.db\.fts: an input\/output error/,
    );
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(3), input: 'after' })] }));
    for (const word of ['before', 'during', 'after'])
      expect((await store.listTraces(traces({ q: word }))).items).toHaveLength(1);
  });

  it('three in a row are reported once as fatal, in one line that names the file', async () => {
    const fatal: string[] = [];
    const { store, path, remove } = await openTemporary({ onFatal: (message) => fatal.push(message) });
    leave.push(remove);
    await store.write(aUnit({ logs: [aLog()] }));
    expect(breakFile(`${path}-wal`)).toBeGreaterThan(0);
    writeFileSync(path, 'no database any more'.repeat(2000));
    for (let round = 1; round <= 5; round++) {
      await expect(store.write(aUnit({ logs: [aLog()] }))).rejects.toBeInstanceOf(StoreUnavailable);
      expect(fatal.length).toBe(round < 3 ? 0 : 1);
    }
    expect(fatal[0]).toContain(path);
    expect(fatal[0]).not.toContain('\n');
  });
});
