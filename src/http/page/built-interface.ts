import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** A file of the interface, as it is and as it was compressed when it was built. */
export type BuiltFile = {
  readonly type: string;
  readonly plain: Buffer;
  readonly codings: Readonly<Partial<Record<'br' | 'gzip', Buffer>>>;
};

/** What `ui/build.mjs` made: one page, and the scripts and styles that it names after their content. */
export type BuiltInterface = { readonly page: BuiltFile; readonly assets: ReadonlyMap<string, BuiltFile> };

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

const readOptional = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const readBuilt = (path: string): BuiltFile | undefined => {
  const type = TYPES.get(extname(path));
  const plain = type === undefined ? undefined : readOptional(path);
  if (type === undefined || plain === undefined) return undefined;
  const br = readOptional(`${path}.br`);
  const gzip = readOptional(`${path}.gz`);
  return { type, plain, codings: { ...(br && { br }), ...(gzip && { gzip }) } };
};

/**
 * Reads the interface into memory: about a megabyte, once, at the start.
 * @param folder where it was built
 * @returns nothing where it was not built
 */
export const readBuiltInterface = (folder: string): BuiltInterface | undefined => {
  const page = readBuilt(join(folder, 'index.html'));
  if (page === undefined) return undefined;
  const names = readdirSync(join(folder, 'assets'));
  const assets = names.flatMap((name) => {
    const file = readBuilt(join(folder, 'assets', name));
    return file === undefined ? [] : [[name, file] as const];
  });
  return { page, assets: new Map(assets) };
};
