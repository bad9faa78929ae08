import { readSources } from './imports.ts';

/** The floors of a house, lowest first. A file may import from its own floor and from those below. */
export type House = {
  readonly floors: readonly string[];
  /** Floors that do no I/O, and what they may have of Node all the same. */
  readonly pure: Readonly<Record<string, readonly string[]>>;
  /** Packages that a pure floor may not have: those that draw. */
  readonly drawing?: readonly string[];
};

/** The service. `model` and `machines` may have digests and ids, comparison, and the sandbox that cuts off a wild expression. */
export const serviceHouse: House = {
  floors: ['model', 'machines', 'store', 'ingest', 'actors', 'watch', 'scoring', 'http', 'cli'],
  pure: { model: ['node:crypto', 'node:util', 'node:vm'], machines: ['node:util'] },
};

/** The interface, `ui/src`. */
export const interfaceHouse: House = {
  floors: ['api', 'model', 'widgets', 'pages'],
  pure: { model: [] },
  drawing: ['react', 'react-dom', '@tanstack/react-query', '@tanstack/react-router'],
};

/** In `store/` beside its interfaces stand engines. The composition root alone picks one; everyone else sees the interfaces. */
const interfaces = ['signals', 'runs'];
const engineOf = (path: string): string | undefined => {
  const [floor, folder = '', file] = path.split('/');
  return floor === 'store' && file !== undefined && !interfaces.includes(folder) ? folder : undefined;
};

/** Time and chance are handed in. `model` has the one file that reads the clock, and calls it by its name. */
const IMPURE = /\b(?:Date\.now|performance\.now|Math\.random|nowUnixNano|process\.\w+|setTimeout|setInterval)\b/;
const CLOCK = 'model/time.ts';

const NODE_IMPORT = /from '(node:[^']+)'/g;
const PACKAGE_IMPORT = /(?:from|import)\s*\(?\s*'([^.'][^']*)'/g;
/** The screen and the network of a browser. */
const BROWSER = /\b(?:document|window|localStorage|sessionStorage)\.|\bfetch\(/;

/** What a file of a pure floor reaches for that a decision may not have. */
const findImpurities = ({ pure, drawing = [] }: House, file: string, floor: string, text: string): string[] => {
  const allowed = pure[floor];
  if (allowed === undefined) return [];
  const faults = [...text.matchAll(NODE_IMPORT)]
    .map(([, name = '']) => name)
    .filter((name) => !allowed.includes(name))
    .map((name) => `${file} imports ${name}: ${floor} does no I/O`);
  for (const [, name = ''] of text.matchAll(PACKAGE_IMPORT))
    if (drawing.includes(name)) faults.push(`${file} imports ${name}: ${floor} draws nothing`);
  const browser = drawing.length === 0 ? undefined : BROWSER.exec(text)?.[0];
  if (browser !== undefined) faults.push(`${file} uses ${browser}: ${floor} knows no browser`);
  const found = file === CLOCK ? undefined : IMPURE.exec(text)?.[0];
  if (found !== undefined) faults.push(`${file} uses ${found}: time and chance are handed to ${floor}`);
  return faults;
};

/**
 * Finds every import that climbs the floors of ARCHITECTURE.md, and what the two lowest may not do.
 * @param root the folder that holds the floors
 * @param house which floors it has
 * @returns one line a fault, naming file, import and rule; empty when the house stands
 */
export const findFloorFaults = (root: string, house: House = serviceHouse): string[] => {
  const { floors } = house;
  /** Where a file stands; -1 outside of all floors. */
  const floorOf = (path: string): number => floors.indexOf(path.split('/')[0] ?? '');
  const faults: string[] = [];
  for (const { path: from, text, imports } of readSources(root)) {
    const [floor = ''] = from.split('/');
    const fromFloor = floorOf(from);
    if (fromFloor === -1) continue; // the main file stands above all floors
    faults.push(...findImpurities(house, from, floor, text));
    for (const to of imports) {
      const toFloor = floorOf(to);
      if (toFloor > fromFloor) faults.push(`${from} imports ${to}: ${floors[toFloor]} is above ${floors[fromFloor]}`);
      const engine = engineOf(to);
      if (engine !== undefined && floor !== 'cli' && engine !== engineOf(from))
        faults.push(`${from} imports ${to}: only the composition root (cli) picks an engine`);
    }
  }
  return faults;
};
