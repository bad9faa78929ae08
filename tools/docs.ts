/** Writes what the documents take from the code: tables of the README and of pages in docs/, and the schema of the config file. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { configSchema } from '../src/cli/config-schema.ts';
import { type Flag, flagNames, flags } from '../src/cli/flags.ts';
import { instrumentationTables } from './instrumentation-tables.ts';
import { withTables } from './tables.ts';
import { workflowTables } from './workflow-tables.ts';

const BEGIN = '<!-- flags: written by npm run docs -->';
const END = '<!-- end of flags -->';

const defaultOf = ({ default: held, defaultText }: Flag<unknown>): string => {
  if (defaultText !== undefined) return defaultText;
  return held === undefined ? '' : `\`${held as string | number}\``;
};

/** The table of flags in Markdown, one row a flag. */
export const flagTable = (): string =>
  [
    '| Flag | Takes | Default | Meaning |',
    '|---|---|---|---|',
    ...flagNames.map((name) => {
      const flag: Flag<unknown> = flags[name];
      return `| \`--${name}\` | ${flag.bound} | ${defaultOf(flag)} | ${flag.meaning} |`.replaceAll(/\s+\|/g, ' |');
    }),
  ].join('\n');

/** The README with its table of flags brought up to date. @throws Error when the README has no place for it */
export const withFlagTable = (readme: string): string => {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`README.md has no "${BEGIN}" before "${END}"`);
  return `${readme.slice(0, begin + BEGIN.length)}\n\n${flagTable()}\n\n${readme.slice(end)}`;
};

/** Pages with tables, and what writes them. */
export const pagesWithTables = {
  'docs/workflows.md': workflowTables,
  'docs/instrumentations.md': instrumentationTables,
} as const;

export const schemaText = (): string => `${JSON.stringify(configSchema, null, 2)}\n`;

if (import.meta.main) {
  writeFileSync('README.md', withFlagTable(readFileSync('README.md', 'utf8')));
  for (const [page, tables] of Object.entries(pagesWithTables))
    writeFileSync(page, withTables(readFileSync(page, 'utf8'), tables));
  writeFileSync('spec/config.schema.json', schemaText());
  process.exitCode =
    spawnSync('biome', ['format', '--write', 'spec/config.schema.json'], { stdio: 'inherit' }).status ?? 1;
}
