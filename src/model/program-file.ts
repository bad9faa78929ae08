/** The folder of this file; in the bundle, of all of its files. */
const home = new URL('.', import.meta.url);
const isBundled = import.meta.url.endsWith('.js');

/**
 * The file by which a thread or a process of its own is started.
 * @param source the program's source
 * @returns the source; in the bundle, what was made of it
 * @see tools/bundle.mjs
 */
export const programFile = (source: URL): URL => {
  if (!isBundled) return source;
  const [, path = ''] = source.href.split(new URL('../src/', home).href);
  return new URL(path.replaceAll('/', '-').replace(/\.ts$/, '.js'), home);
};
