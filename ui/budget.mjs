// What the browser may be made to load, in bytes of gzip. The entry is the script of the page with all that it imports at
// once; a lazy route is a script that only some page loads.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const KB = 1000;
/** @type {Readonly<Record<string, number>>} */
export const BUDGET = { entry: 150 * KB, route: 90 * KB, scripts: 450 * KB, styles: 20 * KB, fonts: 0 };

/** @param {string} dist where the interface was built */
export const measure = (dist) => {
  const page = readFileSync(join(dist, 'index.html'), 'utf8');
  const names = readdirSync(join(dist, 'assets'));
  const sizeOf = (name) => statSync(join(dist, 'assets', `${name}.gz`)).size;
  const sum = (list) => list.reduce((total, name) => total + sizeOf(name), 0);
  const scripts = names.filter((name) => name.endsWith('.js'));
  const atOnce = scripts.filter((name) => page.includes(`/assets/${name}`));
  const lazy = scripts.filter((name) => !atOnce.includes(name));
  return {
    entry: sum(atOnce),
    route: Math.max(0, ...lazy.map(sizeOf)),
    scripts: sum(scripts),
    styles: sum(names.filter((name) => name.endsWith('.css'))),
    fonts: names.filter((name) => /\.(?:woff2?|ttf|otf)$/.test(name)).length,
  };
};

/** @returns one line for each part that is over its bound */
export const findBudgetFaults = (measured) =>
  Object.entries(BUDGET)
    .filter(([part, most]) => measured[part] > most)
    .map(([part, most]) => `ui/dist: ${part}: ${measured[part]} is over the budget of ${most}`);
