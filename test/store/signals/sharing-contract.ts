import { describe, expect, it } from 'vitest';
import type { Sharing } from '../../../src/store/signals/sharing.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { eventually } from '../../eventually.ts';
import type { OpenStore } from './opening.ts';

const LONG_MS = 3_600_000;
const sharingOf = ({ sharing }: SignalStore): Sharing => {
  if (sharing === undefined) throw new Error('the store is shared with nobody');
  return sharing;
};
/** What every engine promises that services may share. */
export const sharingContract = (engine: string, open: OpenStore): void => {
  describe(`services on one ${engine} database`, () => {
    const pair = async () => {
      const { store, replica, remove } = await open();
      return { one: sharingOf(store), other: sharingOf(await replica()), remove };
    };

    it('of many that ask for a duty at once, one holds it; it is renewed by its holder alone, and free when given back', async () => {
      const { one, other, remove } = await pair();
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      const held = await Promise.all(
        names.map((name, n) => (n % 2 === 0 ? one : other).holdDuty('retention', name, LONG_MS)),
      );
      expect(held.filter(Boolean)).toHaveLength(1);
      const holder = names[held.indexOf(true)] ?? '';
      const another = names.find((name) => name !== holder) ?? '';
      expect(await other.holdDuty('retention', holder, LONG_MS)).toBe(true);
      await other.endDuty('retention', another);
      expect(await one.holdDuty('retention', another, LONG_MS)).toBe(false);
      expect(await one.holdDuty('another duty', another, LONG_MS)).toBe(true);
      await one.endDuty('retention', holder);
      expect(await one.holdDuty('retention', another, LONG_MS)).toBe(true);
      await remove();
    });

    it('a duty whose holder does not renew it is taken over by one', async () => {
      const { one, other, remove } = await pair();
      expect(await one.holdDuty('d', 'dead', 1)).toBe(true);
      await eventually('the time to be over', () => one.holdDuty('d', 'a', LONG_MS));
      expect(await other.holdDuty('d', 'b', LONG_MS)).toBe(false);
      expect(await other.holdDuty('d', 'dead', LONG_MS)).toBe(false);
      await remove();
    });

    it('what was reported through one is known to the other, the last of each', async () => {
      const { one, other, remove } = await pair();
      expect(await one.reported()).toEqual(new Map());
      await one.noteReported('monitor/a', 'tripped');
      await other.noteReported('slo/b\0', 'tripped');
      await other.noteReported('monitor/a', 'nominal');
      expect(await one.reported()).toEqual(
        new Map([
          ['monitor/a', 'nominal'],
          ['slo/b\ufffd', 'tripped'],
        ]),
      );
      await remove();
    });

    it('take from a ceiling at once what it has, and not one more; each minute and project has its own', async () => {
      const { one, other, remove } = await pair();
      const taken = await Promise.all(
        Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? one : other).reserveSignals('p', 100, 7, 100)),
      );
      expect(taken.reduce((sum, more) => sum + more, 0)).toBe(100);
      expect(await one.reserveSignals('p', 100, 1, 100)).toBe(0);
      expect(await one.reserveSignals('p', 100, 1, 101)).toBe(1);
      expect(await one.reserveSignals('p', 101, 200, 100)).toBe(100);
      expect(await other.reserveSignals('q'.repeat(5_000), 100, 5, 100)).toBe(5);
      await remove();
    });
  });
};
