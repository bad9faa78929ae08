import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  cpSync,
  openSync,
  readdirSync,
  readSync,
  truncateSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../src/cli/doctor/finding.ts';
import { examineDamage } from '../../src/cli/doctor/damage.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { settingsOf } from './deployments.ts';
import { aSpan, aUnit, spanIdOf, traceIdOf } from '../store/signals/factories.ts';

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs');
const PAGE = 16_384;
const folder = temporaryFolder();
const sound = join(folder.path, 'sound');
afterAll(() => folder.remove());

beforeAll(async () => {
  const signals = await openSqliteSignalStore({ path: join(sound, 'svc.db') });
  for (let n = 0; n < 40; n += 1)
    await signals.write(
      aUnit({
        spans: Array.from({ length: 10 }, (_, i) =>
          aSpan({
            traceId: traceIdOf(n),
            spanId: spanIdOf(n * 10 + i),
            // Text that does not get smaller when it is compressed, so that its deletion leaves pages free.
            output: `a sentence with some words in it ${randomBytes(5_000).toString('base64')}`,
          }),
        ),
      }),
    );
  // Deleted pages are kept in a list of their own.
  await signals.deleteTraces(
    Array.from({ length: 20 }, (_, n) => traceIdOf(n)),
    'all',
  );
  await signals.close();
  const runs = await openSqliteRunStore({ path: join(sound, 'svc-runs.db') });
  await runs.close();
});

let copies = 0;
const aCopy = (): string => {
  copies += 1;
  const copy = join(folder.path, `copy-${copies}`);
  cpSync(sound, copy, { recursive: true });
  return copy;
};

const flip = (path: string, at: number, bytes: number): void => {
  const file = openSync(path, 'r+');
  const held = Buffer.alloc(bytes);
  readSync(file, held, 0, bytes, at);
  writeSync(
    file,
    held.map((byte) => byte ^ 0xff),
    0,
    bytes,
    at,
  );
  closeSync(file);
};
/** Where the first page of a table or index lies. */
const pageOf = (path: string, name: string): number => {
  const db = new Database(path);
  try {
    return db.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name) ?? 0;
  } finally {
    db.close();
  }
};
const startOf = (page: number): number => (page - 1) * PAGE;
const read = (path: string, at: number, bytes: number): Buffer => {
  const file = openSync(path, 'r');
  const held = Buffer.alloc(bytes);
  readSync(file, held, 0, bytes, at);
  closeSync(file);
  return held;
};
/** @see SQLite database file format: the header, and the page header of a leaf of an index */
const freelistOf = (path: string): number => read(path, 32, 4).readUInt32BE();
const firstEntryOf = (path: string, page: number): number =>
  startOf(page) + read(path, startOf(page) + 8, 2).readUInt16BE();

const doctor = async (at: string, args: readonly string[] = []) => {
  const files = ['--data', join(at, 'svc.db'), '--runs-data', join(at, 'svc-runs.db')];
  const child = spawn(process.execPath, [BIN, 'doctor', '--offline', '--json', ...files, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  const { groups } = JSON.parse(out) as DoctorReport;
  const said = (group: string): string[] =>
    (groups.find((one) => one.group === group)?.findings ?? []).map(
      ({ level, message, mend }) => `${level}: ${message}${mend === undefined ? '' : ` -> ${mend}`}`,
    );
  return { code, storage: said('storage'), runs: said('runs') };
};

describe('svc doctor reads each file for damage', () => {
  it('undamaged files pass, and the folder is left as it was', async () => {
    const at = aCopy();
    const before = readdirSync(at).toSorted();
    const { code, storage, runs } = await doctor(at);
    expect(code).toBe(0);
    expect(storage).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^ok: svc\.db was read completely in [\d.]+ s: no damage in its [\d.]+ MiB$/),
        expect.stringMatching(/^ok: svc\.db\.fts was read completely in /),
      ]),
    );
    expect(runs).toContainEqual(expect.stringMatching(/^ok: svc-runs\.db was read completely in /));
    expect(readdirSync(at).toSorted()).toEqual(before);
  });

  it('beside a service that runs', async () => {
    const at = aCopy();
    const daemon = await startDaemon(at);
    try {
      const { code, storage, runs } = await doctor(at);
      expect(code).toBe(0);
      expect([...storage, ...runs].filter((line) => line.includes('was read completely'))).toHaveLength(3);
      expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    } finally {
      expect(await daemon.stop()).toBe(0);
    }
  });

  const damages: readonly (readonly [
    name: string,
    file: string,
    damage: (path: string, at: string) => void,
    line: RegExp,
  ])[] = [
    ['bits of a table page', 'svc.db', (path) => flip(path, startOf(pageOf(path, 'spans')) + 2, 8), /svc\.db/],
    [
      'bits of an index page',
      'svc.db',
      (path) => flip(path, firstEntryOf(path, pageOf(path, 'traces_by_start')) + 12, 6),
      /svc\.db/,
    ],
    ['bits of the header', 'svc.db', (path) => flip(path, 16, 2), /svc\.db/],
    ['bits of the list of free pages', 'svc.db', (path) => flip(path, startOf(freelistOf(path)), 8), /svc\.db/],
    [
      'a file that is cut short',
      'svc.db',
      (path) => truncateSync(path, statSync(path).size - 3 * PAGE),
      /svc\.db.*cut short/,
    ],
    [
      'the write-ahead log of another file',
      'svc.db',
      (path) => {
        const other = join(path, '..', 'other.db');
        copyFileSync(path, other);
        const db = new Database(other);
        db.pragma('user_version = 77');
        copyFileSync(`${other}-wal`, `${path}-wal`);
        db.close();
      },
      /svc\.db.*write-ahead log svc\.db-wal belongs to another file/,
    ],
    [
      'bits of the full-text index',
      'svc.db.fts',
      (path) => flip(path, startOf(pageOf(path, 'span_search_data')) + 2, 8),
      /svc\.db\.fts is damaged.* -> stop the service, remove svc\.db\.fts\*/,
    ],
    [
      'bits of an index of the runs',
      'svc-runs.db',
      (path) => flip(path, startOf(pageOf(path, 'run_listing')) + 1, 6),
      /svc-runs\.db/,
    ],
  ];
  it.for(damages)('%s: named as a fault, and exit status 2', async ([, file, damage, line]) => {
    const at = aCopy();
    damage(join(at, file), at);
    const { code, storage, runs } = await doctor(at);
    expect(code).toBe(2);
    const faults = [...storage, ...runs].filter((one) => one.startsWith('fault: '));
    expect(faults).toEqual([expect.stringMatching(line)]);
    expect([...storage, ...runs].join('\n')).not.toMatch(
      new RegExp(`ok: ${file.replaceAll('.', '\\.')} was read completely`),
    );
  });

  it('a check that the time ended is skipped, never ok, and nothing is left of it', async () => {
    const at = aCopy();
    const before = readdirSync(at).toSorted();
    const settings = settingsOf({ data: [join(at, 'svc.db')], 'runs-data': [join(at, 'svc-runs.db')] });
    const { signals, index, runs } = await examineDamage(settings, 0.001);
    for (const findings of [signals, index, runs])
      expect(findings).toEqual([
        {
          level: 'skipped',
          message: expect.stringMatching(
            /^svc\S+ was not read completely: in [\d.]+ s of a file of [\d.]+ MiB nothing was found so far; .* --check-seconds$/,
          ),
        },
      ]);
    expect(readdirSync(at).toSorted()).toEqual(before);
    const { code, storage } = await doctor(at, ['--check-seconds', '0']);
    expect(code).toBe(0);
    expect(storage).toContainEqual(
      expect.stringMatching(/^skipped: \S+svc\.db was not read for damage \(--check-seconds 0\)$/),
    );
    expect(storage.join('\n')).not.toContain('read completely');
  });
});
