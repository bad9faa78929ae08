import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { flagNames } from '../../src/cli/flags.ts';
import { flagTable, schemaText, withFlagTable } from '../../tools/docs.ts';

const root = new URL('../..', import.meta.url);
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

it('refuses a README without a place for the table', () => {
  expect(() => withFlagTable('# svc')).toThrow('README.md has no');
});
