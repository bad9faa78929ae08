import { parseArgs } from 'node:util';
import { temporaryFolder } from '../daemon.ts';
import { buildShim } from './disk.ts';

export type CampaignOptions = {
  /** Disks to be looked at. */
  readonly images: number;
  readonly seed: number;
  /** An empty folder. */
  readonly home: string;
  /** The library that writes the journal of a disk. */
  readonly shim: string;
  readonly withinMs: number;
};

/**
 * Runs a campaign of power cuts as a command: `--images 1000 --seed 7`, with `--minutes 10` to end sooner. Prints its figures. After a failure
 * its folder stays, as the image is in it.
 */
export const runCampaign = async (name: string, run: (options: CampaignOptions) => Promise<object>): Promise<void> => {
  const { values } = parseArgs({
    options: {
      images: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      minutes: { type: 'string', default: 'Infinity' },
    },
  });
  const folder = temporaryFolder();
  const shim = buildShim(folder.path);
  if ('missing' in shim) throw new Error(shim.missing);
  console.log(`${name}: ${values.images} images, seed ${values.seed}, in ${folder.path}`);
  const figures = await run({
    images: Number(values.images),
    seed: Number(values.seed),
    home: folder.path,
    shim: shim.path,
    withinMs: Number(values.minutes) * 60_000,
  });
  console.log(JSON.stringify(figures));
  folder.remove();
};
