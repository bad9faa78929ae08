import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The daemon serves what was built: what is tested is what stands in the sources now. */
export const setup = (): void => {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../build.mjs', import.meta.url))], { stdio: 'inherit' });
};
