import { readFileSync } from 'node:fs';

/** The version of this build, as `package.json` states it. */
export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
