import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../sdk/typescript/${path}`, import.meta.url), 'utf8');

/** The names that a module exports: those of its braces, under their last name. */
const exportsOf = (module: string): string[] =>
  [...module.matchAll(/export (?:type )?\{([^}]*)\}/g)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim().replace(/^type (?=\w)/, ''))
    .filter((name) => name !== '')
    .map((name) => name.split(' as ').at(-1) ?? name);

/** What stands in the first column of the tables below the heading. */
const documentedIn = (readme: string): string[] =>
  (readme.split('## Everything it exports')[1] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));

describe('the README of the SDK', () => {
  const exported = exportsOf(read('src/index.ts'));
  const documented = documentedIn(read('README.md'));

  it('covers every export, and nothing that is not one', () => {
    expect(exported.length).toBeGreaterThan(60);
    expect(new Set(documented)).toEqual(new Set(exported));
  });

  it('index.ts exports by names alone, so that this list is complete', () => {
    const statements = read('src/index.ts')
      .split('\n')
      .filter((line) => line.startsWith('export'));
    for (const statement of statements) expect(statement).toMatch(/^export (?:type )?\{/);
  });

  it('a name that is missing on either side is found', () => {
    expect(exportsOf("export { type A, b, type C as D } from './x.ts';\nexport type { E } from './y.ts';")).toEqual([
      ...['A', 'b', 'D', 'E'],
    ]);
    expect(exportsOf("export { type, type Typed } from './x.ts';")).toEqual(['type', 'Typed']);
    expect(documentedIn('`x`\n## Everything it exports\n| `a`, `b` | `c` |\n')).toEqual(['a', 'b']);
  });
});
