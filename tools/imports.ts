import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** A source file: its path from the root, with `/`, its text, and the paths of what it imports of the same house. */
export type SourceFile = { readonly path: string; readonly text: string; readonly imports: readonly string[] };

/** An import, an export, a dynamic import, and the type `import('./a.ts').A`; of types alone or not. */
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** Reads the TypeScript files of some folders, without those that are generated or installed. */
export const readSources = (root: string, folders: readonly string[] = ['.']): SourceFile[] => {
  const fromRoot = (file: string): string => relative(root, file).split(sep).join('/');
  return globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { cwd: root, exclude: ['**/node_modules', '**/.*', '**/generated', '**/dist'] },
  )
    .map((path) => resolve(root, path))
    .toSorted()
    .map((file) => {
      const text = readFileSync(file, 'utf8');
      const imports = [...text.matchAll(IMPORT)].map(([, specifier = '']) => fromRoot(join(dirname(file), specifier)));
      return { path: fromRoot(file), text, imports };
    });
};
