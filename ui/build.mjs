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

if (!hasTools()) {
  console.log('The interface was not built: its tools are not installed. `npm ci`, without --omit=dev, builds it.');
} else {
  // Whatever the caller set: React's form for development is twice as large.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  await build({ configFile: join(folder, 'vite.config.mjs'), logLevel: 'warn' });
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
