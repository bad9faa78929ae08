import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCircles } from '../../tools/circles.ts';
import { plantedFiles } from './planted-files.ts';

const plant = plantedFiles();

describe('the check of circles', () => {
  it.each([
    ['values', "import { b } from './b.ts';"],
    ['types', "import type { B } from './b.ts';"],
    ['a type among values', "import { type B } from './b.ts';"],
    ['an export', "export * from './b.ts';"],
    ['an export of types', "export type { B } from './b.ts';"],
    ['a type in place', "export type A = import('./b.ts').B;"],
    ['a dynamic import', "export const load = () => import('./b.ts');"],
    ['an import for its effect', "import './b.ts';"],
    ['an import over several lines', "import {\n  b,\n  c,\n} from './b.ts';"],
  ])('finds two files of which one imports the other by %s', (_by, text) => {
    const root = plant({ 'src/a.ts': text, 'src/b.ts': "import type { A } from './a.ts';" });
    expect(findCircles(root)).toEqual(['files import each other: src/a.ts → src/b.ts → src/a.ts']);
  });

  it('finds a circle through other folders, and names every file of it once', () => {
    const root = plant({
      'src/run/actor.ts': "import { settle } from './settle.ts';",
      'src/run/settle.ts': "import { end } from '../lease/end.ts';",
      'src/lease/end.ts': "import type { Run } from '../run/actor.ts';",
    });
    expect(findCircles(root)).toEqual([
      'files import each other: src/lease/end.ts → src/run/actor.ts → src/run/settle.ts → src/lease/end.ts',
    ]);
  });

  it('finds each of two circles that share a file', () => {
    const root = plant({
      'a.ts': "import './b.ts';",
      'b.ts': "import './a.ts';\nimport './c.ts';",
      'c.ts': "import './b.ts';",
    });
    expect(findCircles(root)).toEqual([
      'files import each other: a.ts → b.ts → a.ts',
      'files import each other: b.ts → c.ts → b.ts',
    ]);
  });

  it('finds a file that imports itself', () => {
    const root = plant({ 'a.ts': "import { a } from './a.ts';" });
    expect(findCircles(root)).toEqual(['files import each other: a.ts → a.ts']);
  });

  it('finds nothing where ways part and meet again', () => {
    const root = plant({
      'top.ts': "import './left.ts';\nimport './right.ts';",
      'left.ts': "import './bottom.ts';",
      'right.ts': "import './bottom.ts';",
      'bottom.ts': "import { join } from 'node:path';",
    });
    expect(findCircles(root)).toEqual([]);
  });

  it('looks into the folders that it is given, and not into what is installed or generated there', () => {
    const circle = { 'a.ts': "import './b.ts';", 'b.ts': "import './a.ts';" };
    const under = (folder: string) =>
      Object.fromEntries(Object.entries(circle).map(([name, text]) => [`${folder}/${name}`, text]));
    const root = plant({
      ...under('src'),
      ...under('src/node_modules/library'),
      ...under('src/generated'),
      ...under('other'),
    });
    expect(findCircles(root, ['src'])).toEqual(['files import each other: src/a.ts → src/b.ts → src/a.ts']);
  });

  it('finds nothing in this house', () => {
    expect(findCircles(join(import.meta.dirname, '../..'), ['src', 'sdk', 'tools'])).toEqual([]);
  });
});
