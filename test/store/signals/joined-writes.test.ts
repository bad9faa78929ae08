import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinWrites, type PreparedUnit } from '../../../src/store/signals/joined-writes.ts';
import type { WriteUnit } from '../../../src/store/signals/signal-store.ts';
import { aFeedback, aNote, aScore, aSpan, aUnit, spanIdOf, traceIdOf } from './factories.ts';

type Group = readonly PreparedUnit<null>[];
/** A store whose groups end when the test says so. */
const heldStore = (atOnce: number) => {
  const groups: { readonly units: readonly WriteUnit[]; readonly end: (error?: Error) => void }[] = [];
  const writer = joinWrites<null>({
    store: 'store',
    prepare: () => null,
    atOnce,
    write: (group: Group) =>
      new Promise((resolve, reject) => {
        groups.push({
          units: group.map(({ unit }) => unit),
          end: (error) => (error === undefined ? resolve(group.map(() => 'written')) : reject(error)),
        });
      }),
  });
  return { writer, groups };
};
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};
const ofTrace = (trace: number, name = ''): WriteUnit =>
  aUnit({ spans: [aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(1), name })] });

describe('joinWrites', () => {
  it('writes one group at a time where no more are allowed, and joins what came meanwhile', async () => {
    const { writer, groups } = heldStore(1);
    const first = writer.write(ofTrace(1));
    await settled();
    const more = [2, 3, 4].map((trace) => writer.write(ofTrace(trace)));
    await settled();
    expect(groups.map(({ units }) => units.length)).toEqual([1]);
    groups[0]?.end();
    await first;
    await settled();
    expect(groups.map(({ units }) => units.length)).toEqual([1, 3]);
    groups[1]?.end();
    expect(await Promise.all(more)).toEqual(['written', 'written', 'written']);
  });

  it('divides what came together among the groups that may be under way, and no unit in two', async () => {
    const { writer, groups } = heldStore(2);
    const all = [1, 2, 3, 4].map((trace) => writer.write(ofTrace(trace)));
    await settled();
    expect(groups.map(({ units }) => units.length)).toEqual([2, 2]);
    for (const { end } of groups) end();
    await Promise.all(all);
  });

  it.each([
    ['a span of one trace', ofTrace(1, 'old'), ofTrace(1, 'new')],
    ['an ingest key', aUnit({}, 'key'), aUnit({}, 'key')],
    ['a score', aUnit({ scores: [aScore({ scoreId: 's' })] }), aUnit({ scores: [aScore({ scoreId: 's' })] })],
    [
      'feedback',
      aUnit({ feedback: [aFeedback({ feedbackId: 'f' })] }),
      aUnit({ feedback: [aFeedback({ feedbackId: 'f' })] }),
    ],
    ['a note', aUnit({ aspectNotes: [aNote({ noteId: 'n' })] }), aUnit({ aspectNotes: [aNote({ noteId: 'n' })] })],
  ])('what writes %s waits for the group that writes it before, and others pass it', async (_, before, after) => {
    const { writer, groups } = heldStore(2);
    const first = writer.write(before);
    await settled();
    const second = writer.write(after);
    const other = writer.write(ofTrace(9));
    await settled();
    expect(groups.map(({ units }) => units)).toEqual([[before], [ofTrace(9)]]);
    groups[0]?.end();
    await first;
    await settled();
    expect(groups[2]?.units).toEqual([after]);
    for (const { end } of groups) end();
    await Promise.all([second, other]);
  });

  it('does not go on with a unit before one that waits and writes the same', async () => {
    const { writer, groups } = heldStore(2);
    const both = aUnit({ spans: [aSpan({ traceId: traceIdOf(1) }), aSpan({ traceId: traceIdOf(2) })] });
    const all = [writer.write(ofTrace(1))];
    await settled();
    all.push(writer.write(both), writer.write(ofTrace(2, 'last')));
    await settled();
    for (const [place, units] of [[ofTrace(1)], [both], [ofTrace(2, 'last')]].entries()) {
      expect(groups).toHaveLength(place + 1);
      expect(groups[place]?.units).toEqual(units);
      groups[place]?.end();
      await settled();
    }
    await Promise.all(all);
  });

  it('a group that fails lets those that waited for it go on, and the close waits for all of them', async () => {
    const { writer, groups } = heldStore(2);
    const first = writer.write(ofTrace(1));
    await settled();
    const second = writer.write(ofTrace(1, 'again'));
    await settled();
    let isClosed = false;
    const closed = (async () => {
      await writer.close();
      isClosed = true;
    })();
    groups[0]?.end(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await settled();
    expect(isClosed).toBe(false);
    groups[1]?.end();
    expect(await second).toBe('written');
    await closed;
    await expect(writer.write(ofTrace(1))).rejects.toThrow('the store is closed');
  });

  it('the last of any writes to one thing is what stands, whatever groups end first', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 3 }),
        fc.infiniteStream(fc.nat()),
        async (traces, atOnce, picks) => {
          const { writer, groups } = heldStore(atOnce);
          const stands = new Map<string, string>();
          const expected = new Map<string, string>();
          const units = traces.map((of, n) =>
            aUnit({ spans: of.map((trace) => aSpan({ traceId: traceIdOf(trace), name: `${n}` })) }),
          );
          const left: Promise<unknown>[] = [];
          let ended = 0;
          const open = new Set<number>();
          const endOne = (): void => {
            for (; ended < groups.length; ended += 1) open.add(ended);
            const all = [...open];
            const place = all[(picks.next().value as number) % all.length];
            if (place === undefined) return;
            open.delete(place);
            for (const { batch } of groups[place]?.units ?? [])
              for (const { traceId, name } of batch.spans) stands.set(traceId, name);
            groups[place]?.end();
          };
          for (const unit of units) {
            for (const { traceId, name } of unit.batch.spans) expected.set(traceId, name);
            left.push(writer.write(unit));
            if ((picks.next().value as number) % 2 === 0) await settled();
            if ((picks.next().value as number) % 3 === 0) endOne();
          }
          const done = Promise.all(left);
          let isDone = false;
          void done.then(() => (isDone = true));
          for (await settled(); !isDone; await settled()) endOne();
          expect(await done).toHaveLength(units.length);
          expect(stands).toEqual(expected);
          expect(groups.flatMap((group) => group.units)).toHaveLength(units.length);
        },
      ),
    ));
});
