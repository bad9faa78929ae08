import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rows } from '../../src/ingest/mapping/table.ts';
import { emitters } from '../../tools/instrumentation-tables.ts';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'instrumentations.md'), 'utf8');
/** The rows of the table below a heading, as cells. */
const rowsBelow = (title: string): string[][] => {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  return [...section.matchAll(/^\|(.*)\|$/gm)]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim()))
    .slice(2);
};
const arrives = rowsBelow('What arrives');

describe('the page of instrumentations', () => {
  it('tells of 25 at least, each once, each with all of its columns', () => {
    expect(arrives.length).toBeGreaterThanOrEqual(25);
    expect(new Set(arrives.map(([name]) => name)).size).toBe(arrives.length);
    for (const cells of arrives) expect([cells[0], cells.length]).toEqual([cells[0], 7]);
    for (const [name, known] of arrives) expect([name, known]).toEqual([name, expect.stringMatching(/^(?:run|read)$/)]);
  });

  it('names everybody whose attributes the mapping reads', () => {
    const named = arrives.map(([name = '']) => name).join('; ');
    expect(emitters().size).toBeGreaterThan(20);
    expect([...emitters()].filter((emitter) => !named.includes(emitter))).toEqual([]);
  });

  it('names every family of attributes that the mapping reads', () => {
    const families = new Set(rows.flatMap(({ keys, indexed }) => [...keys, ...(indexed ? [indexed.prefix] : [])]));
    expect(families.size).toBeGreaterThan(150);
    expect([...families].filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });

  it('says of as many that they are run as the suite runs', () => {
    const clients = join(root, 'test', 'clients');
    const folders = readdirSync(clients, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const python = readdirSync(join(clients, 'python'), { withFileTypes: true }).filter(({ name }) =>
      existsSync(join(clients, 'python', name, 'client.py')),
    );
    // The folder `python` holds those of Python; every other one is a client.
    expect(arrives.filter(([, known]) => known === 'run')).toHaveLength(folders.length - 1 + python.length);
  });
});
