import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** The floors of the house, lowest first. A file may import from its own floor and from those below. */
const floors = ['model', 'machines', 'store', 'ingest', 'actors', 'watch', 'scoring', 'http', 'cli'] as const;

/** Engines are picked by the composition root alone; everyone else sees the interfaces. */
const engines = ['store/sqlite', 'store/postgres', 'store/clickhouse'];

/** What the pure floors may have of Node: digests and ids, comparison, and the sandbox that cuts off a wild expression. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  model: ['node:crypto', 'node:util', 'node:vm'],
  machines: ['node:util'],
};
/** Time and chance are handed in. `model` has the one file that reads the clock, and calls it by its name. */
const IMPURE = /\b(?:Date\.now|performance\.now|Math\.random|nowUnixNano|process\.\w+|setTimeout|setInterval)\b/;
const CLOCK = 'model/time.ts';

const NODE_IMPORT = /from '(node:[^']+)'/g;
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** What a file of a pure floor reaches for that a decision may not have. */
const findImpurities = (file: string, floor: string, text: string): string[] => {
  const allowed = harmless[floor];
  if (allowed === undefined) return [];
  const faults = [...text.matchAll(NODE_IMPORT)]
    .map(([, name = '']) => name)
    .filter((name) => !allowed.includes(name))
    .map((name) => `${file} imports ${name}: ${floor} does no I/O`);
  const found = file === CLOCK ? undefined : IMPURE.exec(text)?.[0];
  if (found !== undefined) faults.push(`${file} uses ${found}: time and chance are handed to ${floor}`);
  return faults;
};

/**
 * Finds every import that climbs the floors of ARCHITECTURE.md, and what the two lowest may not do.
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
    const text = readFileSync(file, 'utf8');
    faults.push(...findImpurities(from, from.split('/')[0] ?? '', text));
    for (const [, specifier] of text.matchAll(IMPORT)) {
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
