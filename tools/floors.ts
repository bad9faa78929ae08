import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** The floors of the house, lowest first. A file may import from its own floor and from those below. */
const floors = ['model', 'machines', 'store', 'ingest', 'actors', 'scoring', 'http', 'cli'] as const;

/** Engines are picked by the composition root alone; everyone else sees the interfaces. */
const engines = ['store/sqlite', 'store/postgres', 'store/clickhouse'];

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/**
 * Finds every import that climbs the floors of `design.md`.
 * @param root the folder that holds the floors
 * @returns one line a fault, naming file, import and rule; empty when the house stands
 */
export const findFloorFaults = (root: string): string[] => {
  const faults: string[] = [];
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const from = relative(root, file).split(sep).join('/');
    const fromFloor = floors.indexOf(from.split('/')[0] as (typeof floors)[number]);
    if (fromFloor === -1) continue; // src/main.ts stands above all floors
    for (const [, specifier] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const to = relative(root, resolve(dirname(file), specifier ?? ''))
        .split(sep)
        .join('/');
      const toFloor = floors.indexOf(to.split('/')[0] as (typeof floors)[number]);
      if (toFloor > fromFloor) faults.push(`${from} imports ${to}: ${floors[toFloor]} is above ${floors[fromFloor]}`);
      const engine = engines.find((folder) => to.startsWith(`${folder}/`));
      if (engine !== undefined && !from.startsWith('cli/') && !from.startsWith(`${engine}/`))
        faults.push(`${from} imports ${to}: only the composition root (cli) picks an engine`);
    }
  }
  return faults;
};
