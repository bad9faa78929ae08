import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { flagNames } from '../../src/cli/flags.ts';
import { flagTable, pagesWithTables, schemaText, withFlagTable } from '../../tools/docs.ts';
import { interfaceHouse, serviceHouse } from '../../tools/floors.ts';
import { withTables } from '../../tools/tables.ts';

const { floors } = serviceHouse;

const root = new URL('../..', import.meta.url);
const cwd = fileURLToPath(root);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

it("the README's table of flags is the one of the code (npm run docs writes it)", () => {
  const readme = read('README.md');
  expect(withFlagTable(readme)).toBe(readme);
});

it('spec/config.schema.json is the schema that the daemon validates with (npm run docs writes it)', () => {
  expect(JSON.parse(read('spec/config.schema.json'))).toEqual(JSON.parse(schemaText()));
});

it('the table has one row for each flag', () => {
  const rows = flagTable().split('\n').slice(2);
  expect(rows.map((row) => /^\| `--([a-z-]+)` \|/.exec(row)?.[1])).toEqual([...flagNames]);
});

it.each(Object.entries(pagesWithTables))(
  'the tables of %s are those of the code (npm run docs writes them)',
  (path, tables) => {
    const page = read(path);
    expect(withTables(page, tables)).toBe(page);
  },
);

it('refuses a page that marks an unknown table, or has no place for one', () => {
  const marked = '<!-- table: one, written by npm run docs -->\n\n<!-- end of table -->';
  expect(withTables(marked, { one: () => 'ONE' })).toContain('ONE');
  expect(() => withTables(marked, {})).toThrow('"one", which is not known');
  expect(() => withTables(marked, { one: () => '', two: () => '' })).toThrow('no place for: two');
});

it('refuses a README without a place for the table', () => {
  expect(() => withFlagTable('# svc')).toThrow('README.md has no');
});

/** What is kept up to date; the changelog names files as they were. */
const documents = [
  '*.md',
  'docs/*.md',
  'ui/*.md',
  'bench/*.md',
  'deploy/*.md',
  'examples/**/*.md',
  'sdk/*/*.md',
].flatMap((pattern) => globSync(pattern, { cwd, exclude: ['**/node_modules', 'CHANGELOG.md'] }));

/** Paths and patterns with at least one folder, as they stand in code spans. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) =>
    [...code.matchAll(/(?<![\w/.@<-])(?:[a-z][\w-]*\/)+[\w.*-]*/g)].map(([path]) => path),
  );

/** What `npm ci` makes: it is not there in a fresh checkout. */
const BUILT = /^(?:ui\/)?dist\//;

it.each(documents)('every path that %s names exists, from the root, from src/ or from its own folder', (document) => {
  const exists = (path: string): boolean =>
    ['.', 'src', dirname(document)].some((folder) => globSync(`${folder}/${path}`, { cwd }).length > 0);
  expect(pathsIn(read(document)).filter((path) => !BUILT.test(path) && !exists(path))).toEqual([]);
});

describe('the map of ARCHITECTURE.md', () => {
  const page = read('ARCHITECTURE.md');
  const [, map = ''] = /## The map\n\n```\n(.*?)\n```\n/s.exec(page) ?? [];

  /** Folders of the map by its indentation: two spaces a level; one line may name several of the same folder. */
  const shown: string[] = [];
  const open: string[] = [];
  for (const line of map.split('\n')) {
    const [, indent = '', names = ''] = /^( *)((?:[a-z][\w./-]*\/ ?)+)(?: |$)/.exec(line) ?? [];
    for (const name of names.split(' ').filter((part) => part !== '')) {
      open.splice(indent.length / 2, Number.POSITIVE_INFINITY, name);
      shown.push(open.join('').slice(0, -1));
    }
  }

  it('shows every folder of src that holds files, and no other', () => {
    const folders = new Set<string>();
    for (const entry of globSync('src/*/**', { cwd, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      for (let at = relative(cwd, entry.parentPath); at !== 'src'; at = dirname(at))
        folders.add(at.replaceAll(sep, '/'));
    }
    expect(shown.filter((folder) => folder.startsWith('src/')).toSorted()).toEqual([...folders].toSorted());
  });

  it('shows nothing that is not there', () =>
    expect(shown.filter((folder) => globSync(folder, { cwd }).length === 0)).toEqual([]));

  it('is followed by the floors as the check has them', () =>
    expect(page).toContain(`Imports go down the floors ${floors.map((floor) => `\`${floor}\``).join(', ')}, never up`));
});

it('ui/README.md names the floors of the interface as the check has them', () =>
  expect(read('ui/README.md')).toContain(interfaceHouse.floors.map((floor) => `\`${floor}\``).join(' < ')));

it('CONTRIBUTING.md names the floors as the check has them', () =>
  expect(read('CONTRIBUTING.md')).toContain(
    `**Imports point down**: ${floors.map((floor) => `\`${floor}\``).join(', ')}.`,
  ));

/** Phrases that readers who learnt English at school stop at, and what to write instead. */
const unclear: Readonly<Record<string, string>> = {
  'put off': 'deferred',
  'set aside': 'quarantined',
  'taken back': 'released',
  'heard of': 'last seen',
  'for ever': 'indefinitely',
  whoever: 'the caller, the client, the reader',
  told: 'notified, logged, reported, answered',
  'of its own accord': 'by itself',
  'who may not': 'without the right',
};

/** A phrase of several words may go over the end of a line, and begin the next one behind a comment's mark. */
const unclearIn = (text: string): string[] =>
  Object.entries(unclear).flatMap(([phrase, better]) =>
    [...text.matchAll(new RegExp(`\\b${phrase.replaceAll(' ', String.raw`\s+(?:(?:\*|//|#)\s+)?`)}\\b`, 'gi'))].map(
      ({ index }) => `line ${text.slice(0, index).split('\n').length}: "${phrase}", say: ${better}`,
    ),
  );

it('unclear phrases are found in any case and across lines, and not within other words', () => {
  expect(unclearIn('Told.\n// it waits for\n// ever, and a\n * tolder stays')).toEqual([
    'line 2: "for ever", say: indefinitely',
    'line 1: "told", say: notified, logged, reported, answered',
  ]);
  expect(unclearIn('for every folder')).toEqual([]);
});

/** `docs/campaigns.md` is a record of the past, and stays as it was written. */
const prose = [
  ...documents.filter((path) => path !== 'docs/campaigns.md'),
  ...['CHANGELOG.md', 'spec/*.{yaml,json}', 'bin/*', 'docs/*.svg', 'src/**/*.{ts,js,html,css}'].flatMap((pattern) =>
    globSync(pattern, { cwd }),
  ),
  ...['sdk/typescript/src/**/*.ts', 'examples/**/*.{ts,py}'].flatMap((pattern) =>
    globSync(pattern, { cwd, exclude: ['**/node_modules'] }),
  ),
];

it('code and documents use the words of the field', () => {
  expect(prose.length).toBeGreaterThan(300);
  expect(prose.flatMap((path) => unclearIn(read(path)).map((fault) => `${path}: ${fault}`))).toEqual([]);
});
