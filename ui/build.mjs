// `npm ci` and `npm run build`: makes ui/dist, each file also compressed, and holds it to the budget. Runs on the Node that
// installs, which may be 20. Where the build tools are not installed (`npm ci --omit=dev`) nothing is built, what stands in
// ui/dist stays, and the service says at / how to build it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { findBudgetFaults, measure } from './budget.mjs';

const folder = import.meta.dirname;
const dist = join(folder, 'dist');

const hasTools = () => {
  try {
    createRequire(import.meta.url).resolve('@vitejs/plugin-react');
    return true;
  } catch {
    return false;
  }
};

/** The scripts of a page beside those that `index.html` names. */
const scriptsOf = (output, page, html) => {
  const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  const found = new Set(
    [...chunks.values()].filter(({ facadeModuleId }) => facadeModuleId?.endsWith(page)).map(({ fileName }) => fileName),
  );
  for (const name of found) for (const imported of chunks.get(name)?.imports ?? []) found.add(imported);
  return [...found].map((name) => `/${name}`).filter((path) => !html.includes(path));
};

/** Builds `src/first-read.ts`, which names scripts that were built before it, and puts it at the front of the page. */
const addFirstRead = async (build, output) => {
  const page = join(dist, 'index.html');
  const html = readFileSync(page, 'utf8');
  const [script] = (
    await build({
      configFile: false,
      logLevel: 'warn',
      root: folder,
      define: { TRACE_SCRIPTS: JSON.stringify(scriptsOf(output, '/pages/trace/trace-page.tsx', html)) },
      build: {
        target: 'es2023',
        outDir: 'dist',
        emptyOutDir: false,
        modulePreload: false,
        rolldownOptions: { input: join(folder, 'src', 'first-read.ts') },
      },
    })
  ).output;
  const tag = `<script type="module" async crossorigin src="/${script.fileName}"></script>`;
  writeFileSync(page, html.replace('<script type="module"', `${tag}\n    <script type="module"`));
};

if (!hasTools()) {
  console.log('The interface was not built: its tools are not installed. `npm ci`, without --omit=dev, builds it.');
} else {
  // Whatever the caller set: React's form for development is twice as large.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const { output } = await build({ configFile: join(folder, 'vite.config.mjs'), logLevel: 'warn' });
  await addFirstRead(build, output);
  for (const file of [
    join(dist, 'index.html'),
    ...readdirSync(join(dist, 'assets')).map((n) => join(dist, 'assets', n)),
  ]) {
    const bytes = readFileSync(file);
    const size = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, size));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
  const faults = findBudgetFaults(measure(dist));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
