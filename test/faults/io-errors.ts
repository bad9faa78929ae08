/**
 * Lets one sync fail, over and over, at a place drawn from the syncs to come, and holds the daemon to what it acknowledged.
 * Run as a command: `node test/faults/io-errors.ts --faults 500 --seed 7`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { type Entry, nativeEntry, otlpEntry, seededRandom } from '../crash/ledger.ts';
import { checkFiles, find, post } from '../crash/verify.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { buildShim, openDisk } from './disk.ts';

/** Syncs among which the failing one is drawn: a batch takes two or more, a delete more than that. */
const AHEAD = 12;
const BATCHES_PER_FAULT = 10;
const FAULTS_PER_RESTART = 20;
const MAX_SPANS = 20;

export type IoErrorFigures = {
  readonly faults: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly refusedButStored: number;
  readonly erased: number;
  readonly restarts: number;
};

/** @throws Error that names the seed, the fault and the batch on the first promise that does not hold */
export const ioErrors = async (options: {
  readonly faults: number;
  readonly seed: number;
  readonly home: string;
  readonly shim: string;
  readonly onFault?: (fault: number) => void;
}): Promise<IoErrorFigures> => {
  const random = seededRandom(options.seed);
  mkdirSync(options.home, { recursive: true });
  const disk = openDisk(options.shim, options.home, { keepsJournal: false });
  // A connection for each request: a kept one may be ended by the service just when a check that was held up uses it again.
  const dispatcher = new Agent({ connections: 4, pipelining: 0 });
  const kept: Entry[] = [];
  const gone: Entry[] = [];
  let refused = 0;
  let refusedButStored = 0;
  let restarts = 0;
  let fault = 0;
  const fail = (entry: Entry | undefined, what: string) =>
    new Error(`seed ${options.seed}, fault ${fault}, batch ${entry?.traceId}: ${what}`);

  let daemon = await startDaemon(disk.folder, [], disk.env);
  const verify = async (entries: readonly Entry[], wanted: 'whole' | 'absent'): Promise<void> => {
    for (const entry of entries) {
      const found = await find(daemon.url, entry, dispatcher);
      if (found !== wanted) throw fail(entry, `${JSON.stringify(found)} instead of ${wanted}`);
    }
  };
  const restart = async (): Promise<void> => {
    await daemon.stop(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
    daemon = await startDaemon(disk.folder, [], disk.env);
    restarts += 1;
    await verify(kept, 'whole');
    await verify(gone, 'absent');
  };

  const endure = async (): Promise<void> => {
    disk.set('eioCount', 1);
    disk.set('eioFirst', disk.get('syncsSeen') + 1 + Math.floor(random() * AHEAD));
    for (let n = 0; n < BATCHES_PER_FAULT; n += 1) {
      const now = BigInt(Date.now()) * 1_000_000n;
      const spans = 1 + Math.floor(random() * MAX_SPANS);
      const entry = random() < 0.5 ? otlpEntry(spans, now) : nativeEntry(spans, now);
      const { status } = await post(daemon.url, entry, dispatcher);
      if (status === 200) kept.push(entry);
      else if (status !== 503) throw fail(entry, `an ingest call answered ${status}`);
      else {
        refused += 1;
        // It may be stored and not be found by its words yet; half of it must not be there, and its resend mends the rest.
        const found = await find(daemon.url, entry, dispatcher);
        if (typeof found === 'object' && !found.fault.startsWith('a search'))
          throw fail(entry, `answered 503, and is there in part: ${found.fault}`);
        const isStored = found !== 'absent';
        const again = await post(daemon.url, entry, dispatcher);
        if (again.status !== 200) throw fail(entry, `the resend answered ${again.status}`);
        if (entry.door === 'native' && again.duplicate !== (isStored ? 1 : 0))
          throw fail(entry, `${isStored ? '' : 'not '}stored, its resend counted ${again.duplicate} duplicates`);
        if (isStored) refusedButStored += 1;
        kept.push(entry);
      }
      if (random() < 0.15) {
        const [victim] = kept.splice(Math.floor(random() * kept.length), 1);
        if (victim === undefined) continue;
        const { statusCode, body } = await request(`${daemon.url}/v1/api/traces/${victim.traceId}`, {
          method: 'DELETE',
          dispatcher,
        });
        await body.dump();
        if (statusCode === 200) gone.push(victim);
        else if (statusCode !== 503) throw fail(victim, `a delete answered ${statusCode}`);
        else {
          const found = await find(daemon.url, victim, dispatcher);
          if (typeof found === 'object') throw fail(victim, `its delete failed, and left a part: ${found.fault}`);
          (found === 'whole' ? kept : gone).push(victim);
        }
      }
    }
    await verify(kept.slice(-BATCHES_PER_FAULT), 'whole');
    if (fault % FAULTS_PER_RESTART === FAULTS_PER_RESTART - 1 || fault === options.faults - 1) {
      disk.set('eioFirst', 0);
      await restart();
    }
    options.onFault?.(fault + 1);
  };
  for (; fault < options.faults; fault += 1)
    await endure().catch((error: Error) => {
      const { exitCode, signalCode } = daemon.process;
      const ended = exitCode ?? signalCode;
      const state = ended === null ? 'the service runs' : `the service ended with ${ended}`;
      throw new Error(
        `seed ${options.seed}, fault ${fault}: ${error.message}; ${state}: ${daemon.lines.slice(-3).join('\n')}`,
        {
          cause: error,
        },
      );
    });
  const code = await daemon.stop('SIGTERM');
  await dispatcher.close();
  disk.close();
  if (code !== 0) throw fail(undefined, `the last stop ended with ${code}`);
  checkFiles(join(disk.folder, 'svc.db'));
  return {
    faults: fault,
    acknowledged: kept.length + gone.length,
    refused,
    refusedButStored,
    erased: gone.length,
    restarts,
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      faults: { type: 'string', default: '500' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
    },
  });
  const folder = temporaryFolder();
  const shim = buildShim(folder.path);
  if ('missing' in shim) throw new Error(shim.missing);
  console.log(`I/O errors: ${values.faults} faults, seed ${values.seed}`);
  try {
    const figures = await ioErrors({
      faults: Number(values.faults),
      seed: Number(values.seed),
      home: folder.path,
      shim: shim.path,
      onFault: (fault) => {
        if (fault % 50 === 0) console.log(`${fault} faults`);
      },
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
