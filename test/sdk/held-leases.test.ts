import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createHeldLeases, heldLeasesIn } from '../../sdk/typescript/src/held-leases.ts';

const silentIn = (leases: ReturnType<typeof heldLeasesIn>, silentMs = -1000): string[] => {
  const found: string[] = [];
  leases.forEachSilent({ beatMs: silentMs, declareMs: silentMs }, (leaseId) => found.push(leaseId));
  return found.toSorted();
};

describe('the leases that a worker holds', () => {
  it('are those that were taken and not given back, as seen through the same memory', () => {
    const held = createHeldLeases(3);
    const other = heldLeasesIn(held.memory);
    const a = held.hold('a');
    held.hold('b'.repeat(64));
    expect(silentIn(other)).toEqual(['a', 'b'.repeat(64)]);
    a?.release();
    expect(silentIn(other)).toEqual(['b'.repeat(64)]);
    held.hold('c');
    expect(silentIn(other)).toEqual(['b'.repeat(64), 'c']);
  });

  it('has no place for one more than its places, nor for an id of 65 bytes', () => {
    const held = createHeldLeases(1);
    expect(held.hold('x'.repeat(65))).toBeUndefined();
    const only = held.hold('a');
    expect(held.hold('b')).toBeUndefined();
    only?.release();
    expect(held.hold('b')).toBeDefined();
  });

  it('a lease with a heartbeat is not silent; one without is, until somebody beats for it', () => {
    const held = createHeldLeases(2);
    const kept = held.hold('kept');
    held.hold('silent')?.beat();
    const waiter = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(waiter, 0, 0, 300);
    kept?.beat();
    const found: string[] = [];
    held.forEachSilent({ beatMs: 200, declareMs: 200 }, (leaseId, isDeclared, note) => {
      expect(isDeclared).toBe(true);
      found.push(leaseId);
      note(true);
    });
    expect(found).toContain('silent');
    expect(silentIn(held, 60_000)).toEqual([]);
  });

  it('a lease is not declared until its first beat, by whichever thread, and has a time of its own until then', () => {
    const held = createHeldLeases(2);
    const other = heldLeasesIn(held.memory);
    const own = held.hold('own');
    held.hold('blocked');
    const undeclared = (): string[] => {
      const found: string[] = [];
      other.forEachSilent({ beatMs: 60_000, declareMs: -1000 }, (leaseId, isDeclared, note) => {
        expect(isDeclared).toBe(false);
        found.push(leaseId);
        note(false);
        if (leaseId === 'blocked') note(true);
      });
      return found.toSorted();
    };
    expect(undeclared()).toEqual(['blocked', 'own']);
    expect(undeclared()).toEqual(['own']);
    own?.beat();
    expect(undeclared()).toEqual([]);
  });

  it('an id that changes hands while another thread reads is never read in half', async () => {
    const held = createHeldLeases(1);
    const code = `
      const { workerData, parentPort } = require('node:worker_threads');
      import(workerData.file).then(({ heldLeasesIn }) => {
        const leases = heldLeasesIn(workerData.memory);
        const odd = new Set();
        let seen = 0;
        while (seen < 2000) leases.forEachSilent({ beatMs: -1000, declareMs: -1000 }, (id) => { seen += 1; if (!/^(a{36}|b{36})$/.test(id)) odd.add(id); });
        parentPort.postMessage({ seen, odd: [...odd] });
      });`;
    const file = new URL('../../sdk/typescript/src/held-leases.ts', import.meta.url).href;
    const reader = new Worker(code, { eval: true, workerData: { memory: held.memory, file }, execArgv: [] });
    let result: { seen: number; odd: string[] } | undefined;
    reader.once('message', (message: { seen: number; odd: string[] }) => {
      result = message;
    });
    for (let turn = 0; result === undefined; turn += 1) {
      for (let round = 0; round < 1000; round += 1) {
        const lease = held.hold((round % 2 === 0 ? 'a' : 'b').repeat(36));
        lease?.release();
      }
      // oxlint-disable-next-line eslint/no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve));
    }
    await reader.terminate();
    expect(result.odd).toEqual([]);
    expect(result.seen).toBeGreaterThanOrEqual(2000);
  });
});
