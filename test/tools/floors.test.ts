import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFloorFaults, interfaceHouse } from '../../tools/floors.ts';
import { plantedFiles } from './planted-files.ts';

const house = plantedFiles();

describe('the check of the floors', () => {
  it('finds a planted import that climbs, and names file, import and rule', () => {
    const root = house({ 'model/time.ts': "import { app } from '../http/app.ts';\n", 'http/app.ts': '' });
    expect(findFloorFaults(root)).toEqual(['model/time.ts imports http/app.ts: http is above model']);
  });

  it('finds I/O, clocks and chance in the pure floors, and leaves the others theirs', () => {
    const root = house({
      'model/a.ts': "import { readFileSync } from 'node:fs';",
      'model/time.ts': 'export const nowUnixNano = () => BigInt(Date.now());',
      'machines/b.ts': "import { nowUnixNano } from '../model/time.ts';\nexport const at = nowUnixNano();",
      'machines/c.ts': 'export const chance = () => Math.random();',
      'http/d.ts': "import { readFileSync } from 'node:fs';\nexport const at = Date.now();",
    });
    expect(findFloorFaults(root).toSorted()).toEqual([
      'machines/b.ts uses nowUnixNano: time and chance are handed to machines',
      'machines/c.ts uses Math.random: time and chance are handed to machines',
      'model/a.ts imports node:fs: model does no I/O',
    ]);
  });

  it('finds one in a type import, in an export and in a dynamic import', () => {
    const root = house({
      'machines/a.ts': "import type { A } from '../store/a.ts';",
      'store/b.ts': "export * from '../ingest/b.ts';",
      'ingest/c.ts': "const c = await import('../cli/c.ts');",
    });
    expect(findFloorFaults(root)).toHaveLength(3);
  });

  it('finds what draws, and what asks a browser, in the pure floor of the interface', () => {
    const root = house({
      'model/a.ts': "import { useMemo } from 'react';",
      'model/b.ts': 'export const width = () => window.innerWidth;',
      'model/c.ts': "import type { A } from '../widgets/a.tsx';",
      'widgets/a.tsx': "import { useMemo } from 'react';\nexport const width = () => window.innerWidth;",
      'widgets/b.tsx': "import { B } from '../pages/b.tsx';",
    });
    expect(findFloorFaults(root, interfaceHouse).toSorted()).toEqual([
      'model/a.ts imports react: model draws nothing',
      'model/b.ts uses window.: model knows no browser',
      'model/c.ts imports widgets/a.tsx: widgets is above model',
      'widgets/b.tsx imports pages/b.tsx: pages is above widgets',
    ]);
  });

  it('finds an engine that anyone but the composition root picks', () => {
    const root = house({
      'http/a.ts': "import { open } from '../store/sqlite/open.ts';",
      'cli/serve.ts': "import { open } from '../store/sqlite/open.ts';",
      'store/sqlite/open.ts': "import { row } from './row.ts';\nimport { memory } from '../runs/memory/store.ts';",
      'store/postgres/open.ts': "import { row } from '../sqlite/row.ts';",
      'store/runs/run-store.ts': "import { StoreUnavailable } from '../unavailable.ts';",
    });
    expect(findFloorFaults(root)).toEqual([
      'http/a.ts imports store/sqlite/open.ts: only the composition root (cli) picks an engine',
      'store/postgres/open.ts imports store/sqlite/row.ts: only the composition root (cli) picks an engine',
    ]);
  });

  it('finds nothing in a house whose imports point down', () => {
    const root = house({
      'cli/main.ts': "import { a } from '../http/a.ts';",
      'http/a.ts': "import { b } from '../model/b.ts';",
      'model/b.ts': "import { c } from './c.ts';",
    });
    expect(findFloorFaults(root)).toEqual([]);
  });

  it('finds nothing in this house', () => {
    expect(findFloorFaults(join(import.meta.dirname, '../../src'))).toEqual([]);
  });
});
