/** A disk that a test commands: what is written to it is journalled outside the process, and it fails on command. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The places of `disk-shim.c`, in its order. */
const CELLS = [
  'syncsSeen',
  'eioFirst',
  'eioCount',
  'diskIsFull',
  'writesSeen',
  'enospcFirst',
  'enospcCount',
  'slowSyncMs',
  'journalBytes',
] as const;
export type Cell = (typeof CELLS)[number];
const CELL_BYTES = 8;

export type Disk = {
  /** The folder whose files are watched. */
  readonly folder: string;
  /** What puts the shim under a process. */
  readonly env: NodeJS.ProcessEnv;
  readonly journal: string;
  readonly get: (cell: Cell) => number;
  readonly set: (cell: Cell, value: number) => void;
  readonly close: () => void;
};

/**
 * Compiles the shim.
 * @returns its path, or why there is none: a test is then skipped with these words
 */
export const buildShim = (folder: string): { readonly path: string } | { readonly missing: string } => {
  if (process.platform !== 'linux') return { missing: 'the disk shim is for Linux' };
  const path = join(folder, 'disk-shim.so');
  const source = join(import.meta.dirname, 'disk-shim.c');
  const built = spawnSync('gcc', ['-std=gnu11', '-O2', '-shared', '-fPIC', '-o', path, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  });
  if (built.error !== undefined) return { missing: 'the disk shim is compiled with gcc, which is not there' };
  if (built.status !== 0) throw new Error(`gcc could not compile ${source}: ${built.stderr}`);
  return { path };
};

/**
 * Makes a watched folder inside `home`, and the files of the shim beside it.
 * @param keepsJournal whether changes are journalled; with a journal, syncs do not wait for the real disk
 */
export const openDisk = (shim: string, home: string, { keepsJournal }: { readonly keepsJournal: boolean }): Disk => {
  const folder = join(home, 'data');
  mkdirSync(folder, { recursive: true });
  const controlPath = join(home, 'control');
  const journal = join(home, 'journal');
  writeFileSync(controlPath, Buffer.alloc(CELLS.length * CELL_BYTES));
  writeFileSync(journal, '');
  const control = openSync(controlPath, 'r+');
  const placeOf = (cell: Cell): number => CELLS.indexOf(cell) * CELL_BYTES;
  return {
    folder,
    journal,
    env: {
      LD_PRELOAD: shim,
      DISK_SHIM_FOLDER: folder,
      DISK_SHIM_CONTROL: controlPath,
      ...(keepsJournal ? { DISK_SHIM_JOURNAL: journal } : {}),
    },
    get: (cell) => {
      const value = Buffer.alloc(CELL_BYTES);
      readSync(control, value, 0, CELL_BYTES, placeOf(cell));
      return Number(value.readBigInt64LE());
    },
    set: (cell, value) => {
      const bytes = Buffer.alloc(CELL_BYTES);
      bytes.writeBigInt64LE(BigInt(value));
      writeSync(control, bytes, 0, CELL_BYTES, placeOf(cell));
    },
    close: () => closeSync(control),
  };
};
