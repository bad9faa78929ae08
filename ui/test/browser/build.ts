import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { startDaemon, temporaryFolder } from '../../../test/daemon.ts';
import { browserFlags, findBrowser } from './find-browser.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** What the files of the project share; nothing where no browser is installed. */
    readonly shared: { readonly service: string; readonly browser: string } | undefined;
  }
}

/**
 * Builds the interface (the daemon serves what was built: what is tested is what stands in the sources now), and starts
 * one browser for all files, and one service for those that need none of their own.
 */
export const setup = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../build.mjs', import.meta.url))], { stdio: 'inherit' });
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    project.provide('shared', undefined);
    return undefined;
  }
  const folder = temporaryFolder();
  const [daemon, browser] = await Promise.all([
    startDaemon(folder.path),
    chromium.launchServer({ executablePath, args: browserFlags }),
  ]);
  project.provide('shared', { service: daemon.url, browser: browser.wsEndpoint() });
  return async () => {
    await browser.close();
    await daemon.stop();
    folder.remove();
  };
};
