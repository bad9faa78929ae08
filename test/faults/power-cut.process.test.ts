import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { buildShim } from './disk.ts';
import { drawCut, imageAt, readJournal } from './image.ts';
import { powerCut } from './power-cut.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

describe('a power cut', () => {
  it('loses nothing that was acknowledged, keeps no batch in half, and brings nothing back that was erased', async ({
    skip,
  }) => {
    const built = buildShim(folder.path);
    const shim = 'path' in built ? built.path : skip(built.missing);
    const seed = Date.now() % 1_000_000;
    console.log(`power cut seed ${seed}`);
    const figures = await powerCut({ images: 12, imagesPerRun: 3, seed, home: `${folder.path}/cuts`, shim });
    console.log(`power cut figures ${JSON.stringify(figures)}`);
    expect(figures.images).toBe(12);
    expect(figures.acknowledgedKept).toBeGreaterThan(0);
  });

  it('is found out by this very check on a disk that lies about its syncs', async ({ skip }) => {
    const built = buildShim(folder.path);
    const shim = 'path' in built ? built.path : skip(built.missing);
    const cutsOnALyingDisk = powerCut({
      images: 20,
      seed: 3,
      home: `${folder.path}/lies`,
      shim,
      liesAboutSyncs: true,
    });
    await expect(cutsOnALyingDisk).rejects.toThrow(/is not there|ended with|integrity|spans|search/);
  });
});

/** A journal as the shim writes it. */
const journalOf = (
  ...records: [kind: string, name: string, offset: number, data?: string, isFolder?: boolean][]
): Buffer =>
  Buffer.concat(
    records.map(([kind, name, offset, data = '', isFolder = false]) => {
      const path = isFolder ? '/d' : `/d/${name}`;
      const head = Buffer.alloc(16);
      head.write(kind, 0, 'latin1');
      head.writeUInt8(isFolder ? 1 : 0, 1);
      head.writeUInt16LE(path.length, 2);
      head.writeUInt32LE(data.length, 4);
      head.writeBigInt64LE(BigInt(offset), 8);
      return Buffer.concat([head, Buffer.from(path + data)]);
    }),
  );
const nothing = { kept: 0, torn: 0 };
const everything = { kept: 1, torn: 0 };
const textsOf = (journal: Buffer, luck: typeof nothing, cut = journal.length, base: Record<string, string> = {}) =>
  Object.fromEntries(
    [
      ...imageAt(
        readJournal(journal),
        new Map(Object.entries(base).map(([name, text]) => [name, Buffer.from(text)])),
        cut,
        luck,
        () => 0.5,
      ),
    ].map(([name, content]) => [name, content.toString()]),
  );

describe('the image of a power cut', () => {
  it('holds what was written before a finished sync began, and loses the rest when luck is bad', () => {
    const journal = journalOf(
      ['W', 'a', 0, 'one'],
      ['S', 'a', 1],
      ['W', 'a', 3, 'two'],
      ['E', 'a', 1],
      ['W', 'a', 6, 'x'],
    );
    expect(textsOf(journal, nothing, undefined, { a: '' })).toEqual({ a: 'one' });
    expect(textsOf(journal, everything, undefined, { a: '' })).toEqual({ a: 'onetwox' });
  });

  it('knows nothing of a sync that had not ended, or of what came after the cut', () => {
    const journal = journalOf(['W', 'a', 0, 'one'], ['S', 'a', 1]);
    expect(textsOf(journal, nothing, undefined, { a: '' })).toEqual({ a: '' });
    const later = journalOf(['W', 'a', 0, 'one'], ['S', 'a', 1], ['E', 'a', 1]);
    expect(textsOf(later, everything, 10, { a: 'old' })).toEqual({ a: 'old' });
    expect(textsOf(later, nothing, undefined, { a: 'old' })).toEqual({ a: 'one' });
  });

  it('has a new file only when its folder was synced, and the old name until a rename was', () => {
    const made = journalOf(['W', 'a.new', 0, 'one'], ['S', 'a.new', 1], ['E', 'a.new', 1], ['R', 'a.new', 0, '/d/a']);
    expect(textsOf(made, nothing)).toEqual({});
    const synced = Buffer.concat([made, journalOf(['S', '', 2, '', true], ['E', '', 2, '', true])]);
    expect(textsOf(synced, nothing)).toEqual({ a: 'one' });
  });

  it('tears at sectors, cuts where a truncate says, and fills a gap with zeros', () => {
    const journal = journalOf(['W', 'a', 0, 'x'.repeat(2048)]);
    expect(textsOf(journal, { kept: 1, torn: 1 }, undefined, { a: '' })).toEqual({ a: 'x'.repeat(1024) });
    const cut = journalOf(['T', 'a', 2], ['W', 'a', 3, 'd']);
    expect(textsOf(cut, everything, undefined, { a: 'abcdef' })).toEqual({ a: 'ab\0d' });
  });

  it('is cut behind any record, one as likely as another however long they are, and mostly after the load began', () => {
    const records = readJournal(
      journalOf(['W', 'a', 0, 'x'.repeat(10_000)], ['S', 'a', 1], ['E', 'a', 1], ['W', 'a', 0, 'y']),
    );
    const ends = records.map(({ end }) => end);
    const drawn = (from: number, ...numbers: number[]): number => drawCut(records, () => numbers.shift() ?? 0, from);
    expect([0, 0.26, 0.51, 0.99].map((place) => drawn(0, 0.5, place))).toEqual(ends);
    // From the moment at which the second record was there, an eighth of the cuts aside.
    expect([0, 0.99].map((place) => drawn(ends[1] ?? 0, 0.125, place))).toEqual([ends[2], ends[3]]);
    expect(drawn(ends[1] ?? 0, 0.124, 0)).toBe(ends[0]);
    // A load that wrote nothing.
    expect(drawn(ends[3] ?? 0, 0.5, 0.99)).toBe(ends[3]);
    expect(drawCut([], () => 0.5, 0)).toBe(0);
  });
});
