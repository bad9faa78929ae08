/**
 * Cuts the power under durable runs, over and over, at moments of one journal of everything the daemon did to both of its files,
 * starts the daemon on what is left, holds it to what it had acknowledged by then, and lets every run go on to its end.
 * Run as a command: `node test/faults/runs-power-cut.ts --images 1000 --minutes 30 --seed 7`.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Agent } from 'undici';
import type { components } from '../../src/model/generated/openapi.ts';
import { seededRandom } from '../crash/ledger.ts';
import {
  type Answer,
  awaitTrace,
  call,
  countOpenRuns,
  type Entry,
  readApi,
  readTree,
  runFault,
  type Tree,
  treesIn,
} from '../crash/runs-verify.ts';
import { checkFiles } from '../crash/verify.ts';
import { startDaemon } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { runCampaign } from './campaign.ts';
import { type Disk, openDisk } from './disk.ts';
import { drawCut, drawLuck, filesOf, type Image, imageAt, layDown, readJournal } from './image.ts';
import {
  emptyLedger,
  type Ledger,
  type LeaseCall,
  loadRuns,
  noMishaps,
  resultOf,
  type Service,
  sendEvent,
  sendStart,
  serveSteps,
  wasAnswered,
} from './runs-load.ts';

type Summary = components['schemas']['RunSummary'];
type ParkedEvent = components['schemas']['ParkedEvent'];

const FLAGS = ['--lease-ttl-ms', '1000', '--reclaim-window-ms', '100', '--offer-ttl-ms', '1000'];
/** A load ends with SIGKILL or, every third, with a stop that folds its logs into the files. */
const LOADS_PER_STOP = 3;
/** In every fourth load inputs are so long that a write-ahead log is copied into its file meanwhile. */
const LOADS_PER_HEAVY = 4;
const HEAVY_FILLER = 'the log is folded into the file while runs go on '.repeat(1_000);
const LOAD = { light: { ms: 700, runs: 24 }, heavy: { ms: 1_800, runs: 60 } };
const MISHAPS = { fails: 0.2, goesSilent: 0.03 };
/** Completes that are acknowledged before a load ends, at the least. */
const LEAST_ACKNOWLEDGED = 20;
/** Images that are checked side by side: most of a check is waiting for leases and timers. */
const AT_ONCE = 6;
/** All that is open after the cut has ended after so long, and each trace is complete. */
const SETTLE_MS = 240_000;

/** What an image held when it was checked to its end: a later load that goes on from it may lose nothing of it. */
type Held = { readonly runs: ReadonlyMap<string, string>; readonly parked: ReadonlySet<string> };
const nothingHeld: Held = { runs: new Map(), parked: new Set() };

const zeros = {
  /** Of the following, what was acknowledged before a cut and found after it, over all images. */
  starts: 0,
  completes: 0,
  fails: 0,
  events: 0,
  cancels: 0,
  /** Entries of journals that somebody had been shown. */
  shownEntries: 0,
  /** Starts without an answer, of which nobody knows: there after the cut, and not there. */
  unknownKept: 0,
  unknownLost: 0,
  /** Reports without an answer that their workers sent again after the cut. */
  reportsRepeated: 0,
  /** Runs that were open after a cut; all of them ended. */
  openAfterCut: 0,
  /** Bodies that were declared before a cut or after it, each once in its journal. */
  declared: 0,
  atMostOnceBodies: 0,
  orphans: 0,
  spans: 0,
};
type Counts = typeof zeros;

export type RunsPowerCutFigures = Counts & {
  readonly images: number;
  readonly loads: number;
  readonly journalMebibytes: number;
};

export type RunsPowerCutOptions = {
  readonly images: number;
  readonly seed: number;
  readonly home: string;
  readonly shim: string;
  /** Moments of one load at which the power is cut. */
  readonly imagesPerLoad?: number;
  /** A file of which the disk does not keep what it said it had synced: a proof that losses are found. */
  readonly liesAboutSyncsOf?: string;
  /** How long a trace of an ended run may take until it is complete. */
  readonly traceMs?: number;
  readonly onImages?: (images: number) => void;
  /** Ends sooner when this is over, in milliseconds. */
  readonly withinMs?: number;
};

const RUNS_FILE = 'svc-runs.db';

/** Runs the daemon on the disk under a load, and ends it. */
const runLoad = async (
  disk: Disk,
  random: () => number,
  options: { readonly prefix: string; readonly isHeavy: boolean; readonly signal: NodeJS.Signals },
): Promise<Ledger> => {
  const ledger = emptyLedger();
  const { ms, runs } = options.isHeavy ? LOAD.heavy : LOAD.light;
  const daemon = await startDaemon(disk.folder, FLAGS, disk.env);
  const dispatcher = new Agent({ connections: 24 });
  let over = false;
  const service: Service = {
    url: daemon.url,
    dispatcher,
    now: () => disk.get('journalBytes'),
    isOver: () => over,
  };
  const worker = (name: string, batches: boolean) =>
    serveSteps(service, ledger, { id: `${options.prefix}-${name}`, batches, mishaps: MISHAPS, random });
  const work = Promise.all([
    worker('single', false),
    worker('batch', true),
    // Workers bring the definitions, which are there before the first start.
    eventually('the definitions', async () => {
      const { status } = await call(dispatcher, 'GET', `${daemon.url}/v1/api/definitions/load`);
      return status === 200;
    }).then(() =>
      loadRuns(service, ledger, {
        prefix: options.prefix,
        most: runs,
        filler: options.isHeavy ? HEAVY_FILLER : '',
        random,
      }),
    ),
  ]);
  const isWorthACut = (): boolean =>
    ledger.calls.filter(({ verb, answeredAt }) => verb === 'complete' && answeredAt !== undefined).length >=
    LEAST_ACKNOWLEDGED;
  try {
    await Promise.race([work, sleep(ms).then(() => eventually('acknowledged completes', isWorthACut))]);
  } finally {
    over = true;
    await daemon.stop(options.signal);
  }
  await work;
  await dispatcher.destroy();
  return ledger;
};

const readAll = async <T>(service: Service, path: string, list: string): Promise<T[]> => {
  const found: T[] = [];
  for (let cursor = ''; ; ) {
    const page = await readApi<Record<string, unknown>>(
      service.dispatcher,
      service.url,
      `${path}?limit=1000${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    found.push(...(page[list] as T[]));
    if (typeof page['next_cursor'] !== 'string') return found;
    cursor = page['next_cursor'];
  }
};

/** The world after a cut: one image, and what the ledger says of the moment. */
type Cut = {
  readonly ledger: Ledger;
  readonly at: number;
  readonly before: Held;
  readonly random: () => number;
  readonly traceMs: number;
};

/** Asks for everything that was acknowledged, before any worker is there. @returns the runs by the names of their starts */
const checkAcknowledged = async (service: Service, cut: Cut, counts: Counts): Promise<Map<string, string>> => {
  const { ledger, at, before } = cut;
  const { dispatcher, url } = service;
  const post = (path: string, body: object): Promise<Answer> => call(dispatcher, 'POST', `${url}/v1/api${path}`, body);

  const runs = await readAll<Summary>(service, '/runs', 'runs');
  const statuses = new Map(runs.map(({ run_id, status }) => [run_id, status]));
  const sent = new Set(ledger.starts.filter(({ sentAt }) => sentAt < at).map(({ n }) => n));
  for (const { run_id, parent_run_id, idempotency_key } of runs)
    if (parent_run_id === undefined && !before.runs.has(run_id) && !sent.has(idempotency_key ?? ''))
      throw new Error(`run ${run_id} is there, and its start ${idempotency_key} was not sent yet`);
  for (const [runId, status] of before.runs)
    if (statuses.get(runId) !== status)
      throw new Error(`run ${runId} was ${status} before this load, and is ${statuses.get(runId) ?? 'not there'}`);
  for (const { status } of runs)
    if (status === 'queued' || status === 'running' || status === 'waiting') counts.openAfterCut += 1;

  // Read before anything is sent again, which would hide a loss.
  for (const one of ledger.cancels.filter((sentCancel) => wasAnswered(sentCancel, at))) {
    if (statuses.get(one.runId) !== one.status)
      throw new Error(`run ${one.runId} was ${one.status} after its cancel, and is ${statuses.get(one.runId)}`);
    counts.cancels += 1;
  }
  for (const { runId, entries = [] } of ledger.shown.filter((read) => wasAnswered(read, at))) {
    const { events } = await readApi<{ events: Entry[] }>(dispatcher, url, `/runs/${runId}/events?limit=1000`);
    if (!isDeepStrictEqual(events.slice(0, entries.length), entries))
      throw new Error(
        `run ${runId}: its journal was ${JSON.stringify(entries)} and begins ${JSON.stringify(events.slice(0, entries.length))}`,
      );
    counts.shownEntries += entries.length;
  }

  const runIds = new Map<string, string>();
  for (const one of ledger.starts) {
    if (one.sentAt >= at) continue;
    const { status, body } = await sendStart(service, one);
    const runId = body['run_id'] as string;
    runIds.set(one.n, runId);
    if (wasAnswered(one, at)) {
      if (status !== 200 || runId !== one.runId)
        throw new Error(`the start ${one.n} was acknowledged as run ${one.runId}, and is now ${status} ${runId}`);
      counts.starts += 1;
    } else if (status === 200) counts.unknownKept += 1;
    else counts.unknownLost += 1;
  }

  const reports = ledger.calls.filter((one) => one.verb !== 'started' && wasAnswered(one, at));
  const listOf = (verb: LeaseCall['verb']) =>
    reports
      .filter((one) => one.verb === verb)
      .map(({ workerId, lease }) => ({
        worker_id: workerId,
        lease_id: lease.lease_id,
        ...(verb === 'fail' ? { error: { class: 'retryable', message: 'again' } } : {}),
      }));
  const again = await post('/steps/batch', {
    worker_id: 'returns',
    completes: listOf('complete'),
    fails: listOf('fail'),
  });
  if (again.status !== 200) throw new Error(`the reports sent again: ${again.status} ${JSON.stringify(again.body)}`);
  for (const list of ['completes', 'fails'] as const)
    for (const { lease_id, status, body } of again.body[list] as (Answer & { lease_id: string })[]) {
      if (status !== 409 || body['code'] !== 'already_applied')
        throw new Error(`a report of ${list} for ${lease_id} was acknowledged; again it is ${JSON.stringify(body)}`);
      counts[list] += 1;
    }

  for (const one of ledger.events) {
    if (one.sentAt >= at) continue;
    const { body } = await sendEvent(service, one);
    if (!wasAnswered(one, at)) continue;
    if (body['outcome'] !== 'duplicate' || (one.runId !== undefined && body['run_id'] !== one.runId))
      throw new Error(
        `the event ${one.eventId} was ${one.outcome} to ${one.runId}, and again it is ${JSON.stringify(body)}`,
      );
    counts.events += 1;
  }

  // Workers that were in the middle of a body come back with what it gave.
  const reported = new Set(reports.map(({ lease }) => lease.lease_id));
  for (const { verb, lease, workerId } of ledger.calls.filter((one) => wasAnswered(one, at))) {
    if (verb !== 'started' || reported.has(lease.lease_id) || cut.random() < 0.5) continue;
    const answer = await post(`/steps/${lease.lease_id}/complete`, { worker_id: workerId, ...resultOf(lease) });
    const code = answer.body['code'];
    if (answer.status !== 200 && (answer.status !== 409 || code === 'not_started'))
      throw new Error(`the lease ${lease.lease_id} was declared; its complete is ${JSON.stringify(answer.body)}`);
    counts.reportsRepeated += 1;
  }
  return runIds;
};

/** Holds every run, which has ended by now, to its ledgers. */
const checkEnded = async (
  service: Service,
  cut: Cut,
  after: Pick<Ledger, 'calls'>,
  runIds: ReadonlyMap<string, string>,
  counts: Counts,
): Promise<Held> => {
  const { ledger, at, before } = cut;
  const { dispatcher, url } = service;
  const trees = new Map<string, Tree>();
  for (const [n, runId] of runIds) {
    const tree = await readTree(dispatcher, url, runId);
    const mayBeCancelled = ledger.cancels.some((one) => one.runId === runId && one.sentAt < at);
    for (const one of treesIn(tree)) {
      const { run } = one;
      const fault =
        run.status === 'succeeded' || (run.status === 'cancelled' && mayBeCancelled)
          ? runFault(one)
          : `it is ${run.status}: ${JSON.stringify(run.error)}`;
      if (fault !== undefined) throw new Error(`run ${run.run_id} (${run.definition_id} of ${n}): ${fault}`);
      trees.set(run.run_id, one);
      counts.orphans += run.attempts.filter(({ status }) => status === 'orphaned').length;
    }
    counts.spans += (await awaitTrace(dispatcher, url, tree, cut.traceMs)).spans.length;
  }

  const entriesOf = (kind: Entry['kind'], { lease }: Pick<LeaseCall, 'lease'>): number =>
    (trees.get(lease.run_id)?.journal ?? []).filter((one) => one.kind === kind && one.lease_id === lease.lease_id)
      .length;
  const kinds = { started: 'step.started', complete: 'step.finished', fail: 'step.failed' } as const;
  const bodies = new Map<string, number>();
  for (const one of [...ledger.calls.filter((noted) => wasAnswered(noted, at)), ...after.calls]) {
    if (one.answeredAt === undefined) continue;
    const { verb, lease } = one;
    const entries = entriesOf(kinds[verb], one);
    if (entries !== 1)
      throw new Error(
        `the ${verb} of ${lease.lease_id} (run ${lease.run_id}) was acknowledged, and is ${entries} entries`,
      );
    if (verb !== 'started') continue;
    counts.declared += 1;
    if (lease.delivery !== 'at_most_once') continue;
    counts.atMostOnceBodies += 1;
    const place = `${lease.run_id} ${lease.step_id} ${lease.visit}`;
    if (bodies.has(place)) throw new Error(`the at_most_once body ${place} ran twice`);
    bodies.set(place, 1);
  }

  const parked = new Set(
    (await readAll<ParkedEvent>(service, '/events', 'events')).flatMap(({ event_id }) => event_id ?? []),
  );
  for (const { eventId, key, sentAt } of ledger.events) {
    if (sentAt >= at) continue;
    const taken =
      trees.get(runIds.get(key) ?? '')?.journal.filter(({ kind }) => kind === 'event.delivered').length ?? 0;
    if (taken + Number(parked.has(eventId)) !== 1)
      throw new Error(
        `the event ${eventId} was taken ${taken} times, and is ${parked.has(eventId) ? '' : 'not '}parked`,
      );
  }
  for (const eventId of before.parked)
    if (!parked.has(eventId)) throw new Error(`the event ${eventId} was parked before this load, and is not`);

  const runs = new Map<string, string>();
  for (const { run_id, status } of await readAll<Summary>(service, '/runs', 'runs')) {
    if (!trees.has(run_id) && !before.runs.has(run_id)) throw new Error(`nobody started run ${run_id}`);
    runs.set(run_id, status);
  }
  return { runs, parked };
};

const awaitEnds = async (service: Service): Promise<void> => {
  const giveUpAt = performance.now() + SETTLE_MS;
  for (;;) {
    const open = await countOpenRuns(service.dispatcher, service.url);
    if (open === 0) return;
    if (performance.now() > giveUpAt) throw new Error(`${open} runs did not end within ${SETTLE_MS} ms`);
    await sleep(100);
  }
};

/** @throws Error with the first promise that does not hold of an image */
const checkImage = async (folder: string, cut: Cut, counts: Counts): Promise<Held> => {
  const daemon = await startDaemon(folder, FLAGS);
  const dispatcher = new Agent({ connections: 24 });
  let over = false;
  const service: Service = { url: daemon.url, dispatcher, now: () => 0, isOver: () => over };
  const after = emptyLedger();
  let held: Held;
  let code: number | null;
  try {
    const runIds = await checkAcknowledged(service, cut, counts);
    const workers = ['single', 'batch'].map((kind) =>
      serveSteps(service, after, {
        id: `after-${kind}`,
        batches: kind === 'batch',
        mishaps: noMishaps,
        random: cut.random,
      }),
    );
    // What is over says what broke while a worker still served.
    const work = Promise.all(workers);
    try {
      for (const [n] of runIds)
        if (!cut.ledger.events.some(({ eventId, sentAt }) => eventId === n && sentAt < cut.at))
          await sendEvent(service, { eventId: n, key: n });
      await Promise.race([work, awaitEnds(service)]);
    } finally {
      over = true;
    }
    await work;
    held = await checkEnded(service, cut, after, runIds, counts);
  } finally {
    code = await daemon.stop('SIGTERM');
    await dispatcher.destroy();
  }
  if (code !== 0) throw new Error(`the stop ended with ${code}:\n${daemon.lines.join('\n')}`);
  checkFiles(join(folder, 'svc.db'), join(folder, RUNS_FILE));
  return held;
};

/**
 * @throws Error that names the seed, the image and its place on the first promise that does not hold; the image, as the cut left it,
 *   is then in `failed-<image>` of the home folder
 * @see Interface specification, "Durable runs"; Interface decisions, "Worker protocol"
 */
export const runsPowerCut = async (options: RunsPowerCutOptions): Promise<RunsPowerCutFigures> => {
  const { seed, home, liesAboutSyncsOf: lies } = options;
  const random = seededRandom(seed);
  const counts: Counts = { ...zeros };
  let journalBytes = 0;
  let images = 0;
  let loads = 0;
  let last: { readonly folder: string; readonly held: Held } | undefined;

  const until = performance.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  while (images < options.images && performance.now() < until) {
    const disk = openDisk(options.shim, join(home, `load-${loads}`), { keepsJournal: true });
    // Half of the loads go on from the files of an image of the load before.
    const goesOn = loads % 2 === 1 ? last : undefined;
    if (goesOn !== undefined) layDown(filesOf(goesOn.folder), disk.folder);
    const before = goesOn?.held ?? nothingHeld;
    const base = filesOf(disk.folder);
    const ledger = await runLoad(disk, random, {
      prefix: `${seed}-${loads}`,
      isHeavy: loads % LOADS_PER_HEAVY === LOADS_PER_HEAVY - 1,
      signal: loads % LOADS_PER_STOP === 0 ? 'SIGTERM' : 'SIGKILL',
    }).catch((cause: unknown) => {
      throw new Error(`seed ${seed}, load ${loads}, before any cut: ${String(cause)}`, { cause });
    });
    disk.close();
    const journal = readFileSync(disk.journal);
    journalBytes += journal.length;
    const records = readJournal(journal).filter(({ kind, name }) => kind !== 'synced' || name !== lies);

    const checkOne = async (image: Image, number: number, at: number): Promise<void> => {
      const folder = join(home, `image-${number}`);
      layDown(image, folder);
      const cut: Cut = {
        ledger,
        at,
        before,
        random: seededRandom(seed + number),
        traceMs: options.traceMs ?? SETTLE_MS,
      };
      try {
        const held = await checkImage(folder, cut, counts);
        if (last !== undefined) rmSync(last.folder, { recursive: true, force: true });
        last = { folder, held };
      } catch (cause) {
        layDown(image, join(home, `failed-${number}`));
        const what = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`seed ${seed}, load ${loads}, image ${number}, cut at ${at} of ${journal.length}: ${what}`, {
          cause,
        });
      }
    };
    const most = Math.min(options.imagesPerLoad ?? 12, options.images - images);
    for (let first = 0; first < most && performance.now() < until; first += AT_ONCE) {
      const checks: Promise<void>[] = [];
      for (let n = first; n < Math.min(most, first + AT_ONCE); n += 1) {
        const at = drawCut(records, random, ledger.starts[0]?.sentAt ?? 0);
        checks.push(checkOne(imageAt(records, base, at, drawLuck(random), random), images, at));
        images += 1;
      }
      // Each ends its daemon before the first failure goes on.
      for (const settled of await Promise.allSettled(checks)) if (settled.status === 'rejected') throw settled.reason;
      options.onImages?.(images);
    }
    rmSync(join(home, `load-${loads}`), { recursive: true, force: true });
    loads += 1;
  }
  return { images, loads, ...counts, journalMebibytes: Math.round(journalBytes / 1024 / 1024) };
};

if (import.meta.main)
  await runCampaign('power cuts under runs', (options) =>
    runsPowerCut({ ...options, onImages: (images) => console.log(`${images} images`) }),
  );
