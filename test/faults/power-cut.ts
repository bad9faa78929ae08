/**
 * Cuts the power of the daemon, over and over, at moments of a journal of everything it did to its files, and holds what is
 * left to what it had acknowledged by then. Run as a command: `node test/faults/power-cut.ts --images 1000 --seed 7`,
 * with `--minutes 10` to end sooner.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type Entry, nativeEntry, otlpEntry, seededRandom } from '../crash/ledger.ts';
import { checkFiles, find, post } from '../crash/verify.ts';
import { startDaemon } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { runCampaign } from './campaign.ts';
import { type Disk, openDisk } from './disk.ts';
import { drawCut, drawLuck, filesOf, type Image, imageAt, type JournalRecord, layDown, readJournal } from './image.ts';

const WRITERS = 6;
const MAX_SPANS_PER_BATCH = 30;
/** A run ends with SIGKILL or, every third, with a stop that folds its logs into the files. */
const RUNS_PER_STOP = 3;
/** In every fourth run outputs are so long that the write-ahead log is copied into the file while batches come in. */
const RUNS_PER_HEAVY = 4;
const HEAVY_FILLER = 'the log is folded into the file while more comes in '.repeat(500);
const RUN_MS = { light: 250, heavy: 1_500 };

/** Batches that are acknowledged before a run ends, at the least. */
const LEAST_ACKNOWLEDGED = 20;

/** A batch, with the length of the journal at each moment of its life. */
type Sent = {
  readonly entry: Entry;
  readonly sentAt: number;
  acknowledgedAt?: number;
  deleteSentAt?: number;
  deletedAt?: number;
};

export type PowerCutFigures = {
  readonly images: number;
  readonly runs: number;
  /** Batches that were acknowledged before a cut and found whole after it, over all images. */
  readonly acknowledgedKept: number;
  /** Erased traces that stayed erased. */
  readonly erasedGone: number;
  readonly unknownKept: number;
  readonly unknownLost: number;
  readonly journalMebibytes: number;
};

export type PowerCutOptions = {
  readonly images: number;
  readonly seed: number;
  readonly home: string;
  readonly shim: string;
  /** Moments of one run at which the power is cut. */
  readonly imagesPerRun?: number;
  /** True for a disk that does not keep what it said it had synced: a proof that losses are found. */
  readonly liesAboutSyncs?: boolean;
  readonly onImage?: (image: number) => void;
  /** Ends sooner when this is over, in milliseconds. */
  readonly withinMs?: number;
};

const isWorthACut = (sent: readonly Sent[]): boolean =>
  sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length >= LEAST_ACKNOWLEDGED;

/** Sends, repeats and erases until the time is over, and then ends the daemon. */
const load = async (
  disk: Disk,
  random: () => number,
  { ms, filler, signal }: { ms: number; filler: string; signal: NodeJS.Signals },
): Promise<Sent[]> => {
  const sent: Sent[] = [];
  const daemon = await startDaemon(disk.folder, [], disk.env);
  const dispatcher = new Agent({ connections: WRITERS });
  let isOver = false;
  const now = (): number => disk.get('journalBytes');
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!isOver) throw error;
    }
  };
  const erase = async (one: Sent): Promise<void> => {
    one.deleteSentAt = now();
    const { statusCode, body } = await request(`${daemon.url}/v1/api/traces/${one.entry.traceId}`, {
      method: 'DELETE',
      dispatcher,
    });
    await body.dump();
    if (statusCode === 200) one.deletedAt = now();
    else if (statusCode !== 503) throw new Error(`a delete answered ${statusCode}`);
  };
  const writer = async (): Promise<void> => {
    while (!isOver) {
      const spans = 1 + Math.floor(random() * MAX_SPANS_PER_BATCH);
      const at = BigInt(Date.now()) * 1_000_000n;
      const one: Sent = {
        entry: random() < 0.5 ? otlpEntry(spans, at, filler) : nativeEntry(spans, at, filler),
        sentAt: now(),
      };
      sent.push(one);
      const fate = random();
      await attempt(async () => {
        const { status } = await post(daemon.url, one.entry, dispatcher);
        if (status === 200) one.acknowledgedAt = now();
        else if (status !== 429 && status !== 503) throw new Error(`an ingest call answered ${status}`);
        if (status !== 200 || isOver) return;
        if (fate < 0.1) await post(daemon.url, one.entry, dispatcher);
        else if (fate < 0.2) await erase(one);
      });
    }
  };
  const writers = Array.from({ length: WRITERS }, writer);
  await sleep(ms);
  // A run on a machine with busy cores lasts until there is something to lose.
  await Promise.race([Promise.all(writers), eventually('acknowledged batches', () => isWorthACut(sent))]);
  isOver = true;
  await daemon.stop(signal);
  await Promise.all(writers);
  await dispatcher.destroy();
  return sent;
};

/**
 * @throws Error that names the seed, the image and the batch on the first promise that does not hold
 * @see Interface specification, "Storage"; Interface decisions, "5. Ingest policy": an acknowledged signal is committed
 */
export const powerCut = async (options: PowerCutOptions): Promise<PowerCutFigures> => {
  const random = seededRandom(options.seed);
  const counts = { acknowledgedKept: 0, erasedGone: 0, unknownKept: 0, unknownLost: 0 };
  let journalBytes = 0;
  let images = 0;
  let runs = 0;

  const check = async (image: Image, sent: readonly Sent[], cut: number): Promise<void> => {
    const folder = join(options.home, 'image');
    layDown(image, folder);
    const daemon = await startDaemon(folder);
    const dispatcher = new Agent({ connections: 12 });
    const checkOne = async (one: Sent): Promise<void> => {
      const fail = (what: string) =>
        new Error(`seed ${options.seed}, image ${images}, cut at ${cut}, batch ${one.entry.traceId}: ${what}`);
      const found = await find(daemon.url, one.entry, dispatcher);
      if (typeof found === 'object') throw fail(found.fault);
      const isAcknowledged = one.acknowledgedAt !== undefined && one.acknowledgedAt <= cut;
      const mayBeErased = one.deleteSentAt !== undefined && one.deleteSentAt < cut;
      if (one.deletedAt !== undefined && one.deletedAt <= cut) {
        if (found === 'whole') throw fail('it was erased, and is there');
        counts.erasedGone += 1;
      } else if (one.sentAt >= cut) {
        if (found === 'whole') throw fail('it was not sent yet, and is there');
      } else if (isAcknowledged && !mayBeErased) {
        if (found === 'absent') throw fail('it was acknowledged, and is not there');
        counts.acknowledgedKept += 1;
      } else if (found === 'whole') counts.unknownKept += 1;
      else counts.unknownLost += 1;
    };
    let code: number | null;
    try {
      for (let at = 0; at < sent.length; at += 4) await Promise.all(sent.slice(at, at + 4).map(checkOne));
    } finally {
      await dispatcher.close();
      code = await daemon.stop('SIGTERM');
    }
    if (code !== 0) throw new Error(`seed ${options.seed}, image ${images}: the stop ended with ${code}`);
    checkFiles(join(folder, 'svc.db'));
  };

  const until = performance.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  while (images < options.images && performance.now() < until) {
    const home = join(options.home, `run-${runs}`);
    const disk = openDisk(options.shim, home, { keepsJournal: true });
    // Half of the runs go on from the files of an image of the run before.
    if (runs % 2 === 1) layDown(filesOf(join(options.home, 'image')), disk.folder);
    const base = filesOf(disk.folder);
    const isHeavy = runs % RUNS_PER_HEAVY === RUNS_PER_HEAVY - 1;
    const sent = await load(disk, random, {
      ms: isHeavy ? RUN_MS.heavy : RUN_MS.light,
      filler: isHeavy ? HEAVY_FILLER : '',
      signal: runs % RUNS_PER_STOP === 0 ? 'SIGTERM' : 'SIGKILL',
    });
    disk.close();
    const journal = readFileSync(disk.journal);
    journalBytes += journal.length;
    const records: readonly JournalRecord[] = readJournal(journal).filter(
      ({ kind }) => options.liesAboutSyncs !== true || kind !== 'synced',
    );
    for (let n = 0; n < (options.imagesPerRun ?? 10) && images < options.images; n += 1) {
      const cut = drawCut(records, random, sent[0]?.sentAt ?? 0);
      await check(imageAt(records, base, cut, drawLuck(random), random), sent, cut);
      images += 1;
      options.onImage?.(images);
    }
    rmSync(home, { recursive: true, force: true });
    runs += 1;
  }
  return { images, runs, ...counts, journalMebibytes: Math.round(journalBytes / 1024 / 1024) };
};

if (import.meta.main)
  await runCampaign('power cuts', (options) =>
    powerCut({
      ...options,
      onImage: (image) => {
        if (image % 50 === 0) console.log(`${image} images`);
      },
    }),
  );
