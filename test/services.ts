import { join } from 'node:path';
import { Agent } from 'undici';
import { afterAll, afterEach } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from './daemon.ts';

/** Services of the tests of one file, which end with their test. To be called once, before a hook of the file that ends a server. */
export const servicesOfTests = () => {
  const folder = temporaryFolder();
  const agent = new Agent({ connections: 50 });
  afterAll(async () => {
    await agent.close();
    folder.remove();
  });
  const undoing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const undo of undoing.splice(0).toReversed()) await undo();
  });
  let homes = 0;
  return {
    agent,
    /** For files that tests share. */
    folder: folder.path,
    /** Undoes something after the test, the last first. */
    undo: (step: () => unknown): void => void undoing.push(step),
    /** Starts a daemon with a home of its own, where it keeps what the environment sends to no database. */
    start: async (env: NodeJS.ProcessEnv, flags: readonly string[] = []): Promise<Daemon> => {
      const daemon = await startDaemon(join(folder.path, `home-${(homes += 1)}`), flags, env);
      undoing.push(() => daemon.stop());
      return daemon;
    },
  };
};
