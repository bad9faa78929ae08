/** What a power cut can have left of a folder, out of the journal of everything that was done to it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export type JournalRecord = {
  readonly kind: 'write' | 'truncate' | 'sync' | 'synced' | 'unlink' | 'rename';
  /** Name in the watched folder; empty for the folder itself. */
  readonly name: string;
  readonly isFolder: boolean;
  /** Of a write; the length of a truncate; the number of a sync. */
  readonly offset: number;
  /** Of a write; the new name of a rename. */
  readonly data: Buffer;
  /** Where the record ends in the journal. */
  readonly end: number;
};

const HEAD_BYTES = 16;
const kinds = new Map<string, JournalRecord['kind']>([
  ['W', 'write'],
  ['T', 'truncate'],
  ['S', 'sync'],
  ['E', 'synced'],
  ['U', 'unlink'],
  ['R', 'rename'],
]);

/** Reads a journal up to its last whole record. */
export const readJournal = (journal: Buffer): JournalRecord[] => {
  const records: JournalRecord[] = [];
  let at = 0;
  while (at + HEAD_BYTES <= journal.length) {
    const kind = kinds.get(String.fromCharCode(journal.readUInt8(at)));
    if (kind === undefined) throw new Error(`the journal has no record at ${at}`);
    const isFolder = journal.readUInt8(at + 1) === 1;
    const pathBytes = journal.readUInt16LE(at + 2);
    const dataBytes = journal.readUInt32LE(at + 4);
    const offset = Number(journal.readBigInt64LE(at + 8));
    const dataAt = at + HEAD_BYTES + pathBytes;
    const end = dataAt + dataBytes;
    if (end > journal.length) break;
    const path = journal.toString('utf8', at + HEAD_BYTES, dataAt);
    records.push({
      kind,
      name: isFolder ? '' : basename(path),
      isFolder,
      offset,
      data: journal.subarray(dataAt, end),
      end,
    });
    at = end;
  }
  return records;
};

/** The files of a folder, by name. */
export type Image = ReadonlyMap<string, Buffer>;

/** What a folder holds that outlives a power cut. */
export const filesOf = (folder: string): Image =>
  new Map(
    readdirSync(folder)
      .filter((name) => !name.endsWith('-shm') && statSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name))]),
  );

/** Makes a folder hold an image, and nothing else. */
export const layDown = (image: Image, folder: string): void => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of image) writeFileSync(join(folder, name), content, { mode: 0o600 });
};

/** How much of what was not synced has reached the disk. */
export type Luck = {
  /** Chance of each write and truncate that no sync covers. */
  readonly kept: number;
  /** Of the writes that are kept, the share of which only the beginning is. */
  readonly torn: number;
};

/** A disk is sometimes as unlucky, and sometimes as lucky, as can be. */
export const drawLuck = (random: () => number): Luck => {
  const drawn = random();
  if (drawn < 0.15) return { kept: 0, torn: 0 };
  if (drawn < 0.25) return { kept: 1, torn: 0 };
  return { kept: random(), torn: 0.1 };
};

/**
 * A moment at which the power goes: behind any record, one as likely as another. By bytes, a file that a start fills with zeros
 * would draw most of the cuts. Most of them fall after `from`, an eighth anywhere.
 */
export const drawCut = (records: readonly JournalRecord[], random: () => number, from: number): number => {
  const later = records.findIndex(({ end }) => end > from);
  const first = random() < 1 / 8 || later < 0 ? 0 : later;
  return records[first + Math.floor(random() * (records.length - first))]?.end ?? 0;
};

/** Smallest piece that a disk writes whole. */
const SECTOR_BYTES = 512;

type Change = { readonly record: JournalRecord; readonly place: number };
type FileHistory = { readonly base: Buffer; readonly changes: Change[]; syncedUpTo: number };
type NameChange = { readonly place: number; readonly from?: string; readonly to?: string; readonly file: FileHistory };

const contentOf = ({ base, changes, syncedUpTo }: FileHistory, luck: Luck, random: () => number): Buffer => {
  let content = Buffer.from(base);
  let length = base.length;
  const reach = (needed: number): void => {
    if (needed <= content.length) return;
    const longer = Buffer.alloc(Math.max(needed, content.length * 2));
    content.copy(longer, 0, 0, length);
    content = longer;
  };
  for (const { record, place } of changes) {
    const isSafe = place < syncedUpTo;
    if (!isSafe && random() >= luck.kept) continue;
    if (record.kind === 'truncate') {
      reach(record.offset);
      if (record.offset < length) content.fill(0, record.offset, length);
      length = record.offset;
      continue;
    }
    const sectors = Math.ceil(record.data.length / SECTOR_BYTES);
    const isTorn = !isSafe && random() < luck.torn;
    const data = isTorn ? record.data.subarray(0, Math.floor(random() * sectors) * SECTOR_BYTES) : record.data;
    if (data.length === 0) continue;
    reach(record.offset + data.length);
    data.copy(content, record.offset);
    length = Math.max(length, record.offset + data.length);
  }
  return content.subarray(0, length);
};

/**
 * Rebuilds what can lie on the disk when the power went at one moment: of each file all that was written before its last
 * finished sync began, and of the rest whatever luck kept, some of it torn. A file's name is safe once the folder was
 * synced; of later names a beginning is kept, as a file system that journals its names would keep it.
 * @param base the folder before the first record
 * @param cut records that end beyond this place of the journal have not happened
 */
export const imageAt = (
  records: readonly JournalRecord[],
  base: Image,
  cut: number,
  luck: Luck,
  random: () => number,
): Image => {
  const files = new Map<string, FileHistory>();
  const atStart = new Map<string, FileHistory>();
  for (const [name, content] of base) {
    const file = { base: content, changes: [], syncedUpTo: 0 };
    files.set(name, file);
    atStart.set(name, file);
  }
  const names: NameChange[] = [];
  let namesSyncedUpTo = 0;
  const syncs = new Map<number, number>();
  for (const [place, record] of records.entries()) {
    if (record.end > cut) break;
    const { kind, name, isFolder, offset } = record;
    const file = files.get(name);
    if (kind === 'sync') syncs.set(offset, place);
    else if (kind === 'synced') {
      const began = syncs.get(offset) ?? 0;
      if (isFolder) namesSyncedUpTo = Math.max(namesSyncedUpTo, began);
      else if (file !== undefined) file.syncedUpTo = Math.max(file.syncedUpTo, began);
    } else if (kind === 'unlink') {
      if (file !== undefined) names.push({ place, from: name, file });
      files.delete(name);
    } else if (kind === 'rename') {
      if (file === undefined) continue;
      const to = basename(record.data.toString('utf8'));
      names.push({ place, from: name, to, file });
      files.delete(name);
      files.set(to, file);
    } else {
      const known = file ?? { base: Buffer.alloc(0), changes: [], syncedUpTo: 0 };
      if (file === undefined) {
        files.set(name, known);
        names.push({ place, to: name, file: known });
      }
      known.changes.push({ record, place });
    }
  }
  const loose = names.filter(({ place }) => place >= namesSyncedUpTo).length;
  const keptNames =
    names.length - loose + Math.round(loose * (luck.kept === 0 || luck.kept === 1 ? luck.kept : random()));
  const named = new Map(atStart);
  for (const { from, to, file } of names.slice(0, keptNames)) {
    if (from !== undefined) named.delete(from);
    if (to !== undefined) named.set(to, file);
  }
  return new Map([...named].map(([name, file]) => [name, contentOf(file, luck, random)]));
};
