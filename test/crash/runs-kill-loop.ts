/**
 * Kills daemon and workers with SIGKILL under a load of durable runs, again and again, and holds the service to what it had
 * acknowledged. Every third time workers are not killed but stopped, until their leases have expired, and continued. Meanwhile schedules fire
 * and are paused, runs and a definition are paused and resumed, failed runs restarted, groups of runs cancelled, paused and restarted with one
 * call, and some runs begin later. The ledgers lie outside the victims: the answers to clients are kept in this process, what bodies did in files
 * that are on the disk before a body goes on. Run as a command: `node test/crash/runs-kill-loop.ts --cycles 1000 --seed 7`;
 * `--cycle-ms` says how long a cycle lets the service work at the most. With `--signals` writers send batches of signals meanwhile, as those of
 * `kill-loop.ts` do, and each cycle kills the daemon under both loads. With `--minutes 3` the kills end sooner; the check at the end follows.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { seededRandom } from './ledger.ts';
import type { Ask } from './runs-asking.ts';
import { actOnGroups, cancelFault, endOf, restartsFault } from './runs-bulk.ts';
import { keepShop, shopFault } from './runs-paused-definition.ts';
import { type Hold, pauseAtRandom, pausesFault } from './runs-pauses.ts';
import { mendRuns, restartFault } from './runs-restarts.ts';
import { checkSchedules, endsOf, type Fired, keepSchedules, overlapFault, type ScheduleId } from './runs-schedules.ts';
import {
  awaitTrace,
  call,
  countOpenRuns,
  describeOpenRuns,
  createKeyUse,
  readApi,
  readTree,
  type Run,
  runFault,
  type Trace,
  type Tree,
  treesIn,
} from './runs-verify.ts';
import { createSignalsLoad, type SignalFigures } from './signals-load.ts';
import { checkFiles } from './verify.ts';

const WORKERS = 2;
const STARTERS = 4;
/** Runs that are open at one time; a starter that would pass it waits. */
const MAX_OPEN = 100;
const FLAGS = ['--lease-ttl-ms', '600', '--reclaim-window-ms', '100', '--offer-ttl-ms', '300'];
/** All that is open when the killing ends has ended after so long, and a trace of an ended run is whole. */
const SETTLE_MS = 300_000;
/** Of faults of workers, one in so many is a stop: longer than a lease and its reclaim window, and the second after each in which it is seen. */
const STOP_EVERY = 3;
const STOP_MS = 3000;
/** A stop waits for a body to be under way, so often. */
const STOP_TRIES = 100;
/** Each so many cycles the daemon stays away for longer than the ten seconds from which a time of a schedule counts as missed. */
const OUTAGE_EVERY = 25;
const OUTAGE_MS = 12_000;
const PAUSERS = 3;
/** Which runs may be paused: the last that were started. */
const PAUSED_OF = 30;
const LATEST_START_MS = 1500;
/** How long a cycle lets the service work. */
const SHORTEST_CYCLE_MS = 200;
const LONGEST_CYCLE_MS = 1600;
/** Ended runs that are looked at at once. */
const CHECKS_AT_ONCE = 8;

/** A run as its starter knows it: `runId` is there once the start was acknowledged, `sent` says how many of its events were. */
type Started = {
  readonly n: string;
  readonly naps: boolean;
  /** Any of them ends its wait. */
  readonly events: readonly string[];
  readonly startAt?: number;
  runId?: string;
  sent: number;
};
const isBrought = ({ events, sent }: Started): boolean => sent === events.length;

const aRun = (seed: number, index: number, random: () => number): Started => {
  const naps = index % 4 === 0;
  const event = naps ? 'skip' : 'go';
  return {
    n: `${seed}-${index}`,
    naps,
    events: index % 5 === 0 ? ['go', 'skip'] : [event],
    ...(index % 7 === 3 ? { startAt: Date.now() + Math.floor(random() * LATEST_START_MS) } : {}),
    sent: 0,
  };
};

export type RunsKillFigures = {
  readonly cycles: number;
  readonly daemonKills: number;
  readonly workerKills: number;
  /** Faults of workers that stopped them past their leases and continued them. */
  readonly workerStops: number;
  /** Reports of stopped workers that came too late, and were fenced. */
  readonly lateReports: number;
  readonly runs: number;
  readonly bodies: number;
  readonly acknowledgedCompletes: number;
  readonly orphans: number;
  /** Runs and steps that waited for a key. */
  readonly held: number;
  /** Pauses that were acknowledged, and held. */
  readonly pauses: number;
  readonly restarts: number;
  /** Groups of runs that were cancelled, paused and resumed, or restarted with one call. */
  readonly groups: number;
  /** Pauses of a definition, and of a schedule. */
  readonly definitionPauses: number;
  readonly schedulePauses: number;
  readonly laterStarts: number;
  /** Times of schedules that are proved to have started one run, or to be skipped for overlap. */
  readonly scheduledTimes: number;
  readonly skippedTimes: number;
  readonly lateTimes: number;
  /** Times that were missed while the service was away, and started their run all the same. */
  readonly caughtUpTimes: number;
  /** What was sent beside the runs, where it was. */
  readonly signals?: SignalFigures;
  /** Cycles in a minute, without the check at the end; and where their time went, in seconds. */
  readonly killsPerMinute: number;
  readonly seconds: Readonly<Record<Phase, number>>;
};
/** What a cycle does, one after the other. */
type Phase = 'load' | 'kill' | 'away' | 'look' | 'start' | 'signals' | 'stopped' | 'bring' | 'check';

/** Measures what takes how long: each call ends the phase before it. */
const createStopwatch = () => {
  const seconds: Record<Phase, number> = {
    load: 0,
    kill: 0,
    away: 0,
    look: 0,
    start: 0,
    signals: 0,
    stopped: 0,
    bring: 0,
    check: 0,
  };
  let from = performance.now();
  return {
    ended: (phase: Phase): void => {
      const now = performance.now();
      seconds[phase] += (now - from) / 1000;
      from = now;
    },
    seconds: (): Record<Phase, number> =>
      Object.fromEntries(Object.entries(seconds).map(([name, s]) => [name, Math.round(s)])) as Record<Phase, number>,
  };
};

/** Does something with each, some of them at once. */
const forEach = async <T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> => {
  const left = list.values();
  const next = async (): Promise<void> => {
    for (const one of left) await work(one);
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, next));
};

type Worker = { readonly child: ChildProcess; readonly ledger: string };

/** Every other worker reports many steps in one call. */
const spawnWorker = (url: string, folder: string, index: number): Worker => {
  const ledger = join(folder, `bodies-${index}.ledger`);
  const reports = index % 2 === 0 ? 'single' : 'batched';
  const program = join(import.meta.dirname, 'runs-worker.ts');
  const child = spawn(process.execPath, [program, url, ledger, reports], { stdio: ['ignore', 'ignore', 'inherit'] });
  return { child, ledger };
};

const kill = async ({ child }: Worker): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

/** Lines of a worker's ledger; a last line that was cut by a kill never was. */
const readLedger = (path: string): string[][] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' '));
const readLedgers = (folder: string): string[][] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.ledger'))
    .flatMap((name) => readLedger(join(folder, name)));

/** True where a body of the worker has begun, and its end was not noted. */
const isInBody = ({ ledger }: Worker): boolean => {
  const open = new Set<string | undefined>();
  for (const [what, lease] of existsSync(ledger) ? readLedger(ledger) : [])
    if (what === 'ran') open.add(lease);
    else open.delete(lease);
  return open.size > 0;
};

/** Stops workers with SIGSTOP in the middle of a body. */
const stopInBody = async (workers: readonly Worker[]): Promise<void> => {
  for (let tries = 0; ; tries += 1) {
    for (const { child } of workers) child.kill('SIGSTOP');
    if (tries === STOP_TRIES || workers.some(isInBody)) return;
    for (const { child } of workers) child.kill('SIGCONT');
    await sleep(20);
  }
};

type Campaign = {
  readonly cycles: number;
  readonly seed: number;
  readonly folder: string;
  /** How long a cycle lets the service work at the most. */
  readonly cycleMs?: number;
  /** Sends signals as well, and kills the daemon in each cycle. */
  readonly withSignals?: boolean;
  /** Kills no more when this is over, in milliseconds. */
  readonly withinMs?: number;
  readonly onCycle?: (cycle: number, killsPerMinute: number) => void;
};

/** @throws Error that names the seed and the run on the first promise that does not hold */
export const runsKillLoop = async (options: Campaign): Promise<RunsKillFigures> => {
  const ends: (() => void)[] = [];
  try {
    return await killAndCheck(options, (end) => ends.push(end));
  } finally {
    for (const end of ends) end();
  }
};

/** @param atEnd keeps what ends the processes and the loops of a campaign, however it ends */
const killAndCheck = async (options: Campaign, atEnd: (end: () => void) => void): Promise<RunsKillFigures> => {
  const { folder, seed } = options;
  const random = seededRandom(seed);
  const started: Started[] = [];
  let daemonKills = 0;
  let workerKills = 0;
  let workerStops = 0;
  const flags = [...FLAGS, '--port', String(await aLastingPort())];
  let daemon: Daemon = await startDaemon(folder, flags);
  const { url } = daemon;
  let dispatcher = new Agent({ connections: 32 });
  const workers = Array.from({ length: WORKERS }, (_, index) => spawnWorker(url, folder, index));
  let spawned = WORKERS;
  const fail = (what: string): Error => new Error(`seed ${seed}: ${what}`);

  const ask: Ask = (method, path, body) => call(dispatcher, method, `${url}/v1/api${path}`, body);
  let isOver = false;
  const taken = new Set<string>();
  const pauser = (index: number): Promise<Hold[]> =>
    pauseAtRandom({
      ask,
      random: seededRandom(seed + 1 + index),
      candidates: () => started.slice(-PAUSED_OF).flatMap(({ runId }) => runId ?? []),
      taken,
      isOver: () => isOver,
    });
  const meanwhile = Promise.all([
    Promise.all(Array.from({ length: PAUSERS }, (_, index) => pauser(index))),
    mendRuns({ ask, seed, random: seededRandom(seed + 1 + PAUSERS), isOver: () => isOver }),
    actOnGroups({ ask, seed, random: seededRandom(seed + 2 + PAUSERS), isOver: () => isOver }),
    keepShop({ ask, seed, random: seededRandom(seed + 3 + PAUSERS), isOver: () => isOver }),
    keepSchedules(ask, seededRandom(seed + 4 + PAUSERS), () => isOver),
  ]);
  atEnd(() => {
    isOver = true;
    for (const { child } of workers) child.kill('SIGKILL');
    void daemon.stop('SIGKILL');
  });
  let isBroken = false;
  meanwhile.catch(() => (isBroken = true));

  /** Starts one run and tells it to go on, and goes on asking after a kill until all was acknowledged. */
  const bring = async (one: Started, mayGiveUp: () => boolean): Promise<void> => {
    for (;;) {
      try {
        if (one.runId === undefined) {
          const { status, body } = await call(dispatcher, 'POST', `${url}/v1/api/runs`, {
            definition_id: 'load',
            input: { n: one.n, naps: one.naps },
            idempotency_key: one.n,
            ...(one.startAt === undefined ? {} : { start_at: new Date(one.startAt).toISOString() }),
          });
          if (status === 200 || status === 201) one.runId = body['run_id'] as string;
          else if (status !== 503 && status !== 404) throw fail(`a start answered ${status} ${JSON.stringify(body)}`);
        }
        const event = one.events[one.sent];
        if (one.runId !== undefined && event !== undefined) {
          const { status, body } = await call(dispatcher, 'POST', `${url}/v1/api/events`, {
            event,
            key: one.n,
            payload: {},
            event_id: `${one.n}-${event}`,
          });
          if (status === 200) {
            one.sent += 1;
            if (!isBrought(one)) continue;
          } else if (status !== 503) throw fail(`an event answered ${status} ${JSON.stringify(body)}`);
        }
        if (isBrought(one)) return;
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('seed ')) throw error;
      }
      if (mayGiveUp()) return;
      await sleep(20);
    }
  };

  const openRuns = (definition?: string): Promise<number> => countOpenRuns(dispatcher, url, definition);
  const signals =
    options.withSignals === true ? createSignalsLoad({ seed, random: seededRandom(seed + 5 + PAUSERS) }) : undefined;
  const longestMs = Math.max(SHORTEST_CYCLE_MS, options.cycleMs ?? LONGEST_CYCLE_MS);
  const watch = createStopwatch();
  const beganAt = performance.now();
  let killsPerMinute = 0;

  const until = beganAt + (options.withinMs ?? Number.POSITIVE_INFINITY);
  let cycle = 0;
  for (; cycle < options.cycles && !isBroken && performance.now() < until; cycle += 1) {
    let stopped = false;
    let room = MAX_OPEN - (await openRuns('load'));
    const starter = async (): Promise<void> => {
      while (!stopped && room > 0) {
        room -= 1;
        const one = aRun(seed, started.length, random);
        started.push(one);
        await bring(one, () => stopped);
      }
    };
    const starters = Array.from({ length: STARTERS }, starter);
    const writing = signals?.write(url);
    await sleep(SHORTEST_CYCLE_MS + Math.floor(random() * (longestMs - SHORTEST_CYCLE_MS)));
    stopped = true;
    watch.ended('load');
    const victims = random();
    const isOutage = cycle % OUTAGE_EVERY === OUTAGE_EVERY - 1;
    const hitsDaemon = victims < 0.75 || isOutage || signals !== undefined;
    const hitsWorkers = victims >= 0.5;
    const stopsWorkers = hitsWorkers && (workerKills + workerStops) % STOP_EVERY === STOP_EVERY - 1;
    if (stopsWorkers) {
      workerStops += 1;
      await stopInBody(workers);
    }
    if (hitsDaemon) {
      daemonKills += 1;
      writing?.stop();
      await daemon.stop('SIGKILL');
    }
    if (hitsWorkers && !stopsWorkers) {
      workerKills += 1;
      await Promise.all(workers.map(kill));
    }
    await Promise.all(starters);
    const sent = await writing?.ended();
    watch.ended('kill');
    if (isOutage) await sleep(OUTAGE_MS);
    watch.ended('away');
    if (hitsDaemon) {
      await dispatcher.destroy();
      // Nobody writes now: whatever the kill left, each open run has something that will move it.
      const store = await openSqliteRunStore({ path: join(folder, 'svc-runs.db') });
      const stuck = await store.stuckRuns(10);
      await store.close();
      if (stuck.length > 0) throw fail(`cycle ${cycle}: stuck runs ${JSON.stringify(stuck)}`);
      watch.ended('look');
      daemon = await startDaemon(folder, flags);
      dispatcher = new Agent({ connections: 32 });
      watch.ended('start');
      if (sent !== undefined) await signals?.check(daemon, sent, cycle);
      watch.ended('signals');
    }
    if (stopsWorkers) {
      await sleep(STOP_MS);
      for (const { child } of workers) child.kill('SIGCONT');
      watch.ended('stopped');
    } else if (hitsWorkers)
      for (const [index] of workers.entries()) workers[index] = spawnWorker(url, folder, (spawned += 1));
    await Promise.all(started.filter((one) => !isBrought(one)).map((one) => bring(one, () => false)));
    watch.ended('bring');
    killsPerMinute = ((cycle + 1) / (performance.now() - beganAt)) * 60_000;
    options.onCycle?.(cycle, killsPerMinute);
  }
  isOver = true;
  const [held, mended, groups, shop, rests] = await meanwhile.catch((error: unknown) => {
    throw fail(String(error));
  });
  const holds = held.flat();

  const settleBy = performance.now() + SETTLE_MS;
  while ((await openRuns()) > 0) {
    if (performance.now() > settleBy)
      throw fail(
        `${await openRuns()} runs did not end within ${SETTLE_MS} ms:\n${await describeOpenRuns(dispatcher, url)}`,
      );
    await sleep(100);
  }
  await Promise.all(workers.map(kill));

  const lines = readLedgers(folder);
  const bodies = lines.filter(([what]) => what === 'ran');
  const done = new Set(lines.filter(([what]) => what === 'done').map(([, lease]) => lease));
  const ranOnce = new Map<string, number>();
  for (const [, , runId, stepId, visit] of bodies) {
    const place = `${runId} ${stepId} ${visit}`;
    ranOnce.set(place, (ranOnce.get(place) ?? 0) + 1);
  }

  let orphans = 0;
  const times = (runId: string, step: string): number => ranOnce.get(`${runId} ${step} 1`) ?? 0;
  const checkWaits = async ({ trace_id, span_id }: Trace['spans'][number]): Promise<void> => {
    type Detail = { span: { events?: { name: string }[] } };
    const { span } = await readApi<Detail>(dispatcher, url, `/traces/${trace_id}/spans/${span_id}`);
    const names = (span.events ?? []).map(({ name }) => name);
    // Children are waited for in any case; a wait ends before the next one opens.
    if (names.length < 2 || names.some((name, at) => name !== (at % 2 === 0 ? 'wait.opened' : 'wait.ended')))
      throw fail(`trace ${trace_id}: its root has the events ${names.join(', ')}`);
  };
  const keyUse = createKeyUse();
  const check = async (rootId: string, ...rootEnds: readonly Run['status'][]): Promise<Tree> => {
    const tree = await readTree(dispatcher, url, rootId);
    keyUse.add(tree);
    for (const one of treesIn(tree)) {
      const { run_id: runId, definition_id: definition, status, error, attempts } = one.run;
      const about = (what: string | undefined): void => {
        if (what !== undefined) throw fail(`run ${runId} (${definition}): ${what}`);
      };
      const ends: readonly Run['status'][] = one === tree && rootEnds.length > 0 ? rootEnds : ['succeeded'];
      if (!ends.includes(status)) about(`it is ${status}: ${JSON.stringify(error)}`);
      about(runFault(one));
      for (const attempt of attempts) {
        if (attempt.status === 'orphaned') orphans += 1;
        if (done.delete(attempt.lease_id) && attempt.status !== 'succeeded')
          about(`the complete of ${attempt.lease_id} was acknowledged; it is ${attempt.status}`);
      }
      if (definition !== 'load') continue;
      if (times(runId, 'charge') > 1) about(`its at_most_once body ran ${times(runId, 'charge')} times`);
      if (times(runId, 'reserve') < 1 || times(runId, 'finish') < 1) about('a body that succeeded never ran');
    }
    // Its spans are sent behind its commits, and those of other runs before them.
    const trace = await awaitTrace(dispatcher, url, tree, SETTLE_MS).catch((error: unknown) => {
      throw fail(String(error));
    });
    if (tree.run.definition_id === 'load') for (const span of trace.spans) if (span.is_root) await checkWaits(span);
    return tree;
  };

  await forEach(started, async ({ runId, n, startAt }) => {
    if (runId === undefined) throw fail(`start ${n} was never acknowledged`);
    const tree = await check(runId);
    const first = tree.journal.find(({ kind }) => kind === 'cursor.moved');
    if (startAt !== undefined && Date.parse(first?.at ?? '') < startAt)
      throw fail(`run ${runId} began at ${first?.at}, before its ${new Date(startAt).toISOString()}`);
    const events = tree.journal.filter(({ kind }) => kind === 'event.delivered').length;
    if (events !== 1) throw fail(`run ${runId} took ${events} events, and waits for any one`);
    const broken = pausesFault(tree, holds);
    if (broken !== undefined) throw fail(broken);
  });
  const restartsOf = async (runId: string): Promise<string[]> => {
    type List = { runs: { run_id: string }[] };
    const { runs } = await readApi<List>(dispatcher, url, `/runs?restarted_from=${runId}`);
    return runs.map(({ run_id }) => run_id);
  };
  await forEach(mended, async ({ failed, again }) => {
    const fault = restartFault(await check(failed, 'failed'), await check(again));
    if (fault !== undefined) throw fail(`run ${again}, restarted from ${failed}: ${fault}`);
    if (times(again, 'prepare') > 0) throw fail(`run ${again} did again what ${failed} had done`);
    const restarts = await restartsOf(failed);
    if (restarts.length !== 1) throw fail(`run ${failed} was restarted ${restarts.length} times, under one key`);
  });
  const inGroups = groups.flatMap((group) => group.runIds.map((runId) => ({ runId, group })));
  await forEach(inGroups, async ({ runId, group }) => {
    const about = (id: string, what: string | undefined): void => {
      if (what !== undefined) throw fail(`run ${id} of a group (${group.action}): ${what}`);
    };
    const tree = await check(runId, endOf(group));
    about(runId, pausesFault(tree, group.holds));
    if (group.action === 'cancel') about(runId, cancelFault(tree, group));
    if (group.action !== 'restart') return;
    const restarts = await restartsOf(runId);
    about(runId, restartsFault(restarts.length));
    for (const again of restarts) {
      about(again, restartFault(tree, await check(again, 'failed'), 'failed'));
      if (times(again, 'prepare') > 0) about(again, `it did again what ${runId} had done`);
    }
  });
  await forEach(shop.runIds, async (runId) => {
    const fault = shopFault(await check(runId), shop.pauses);
    if (fault !== undefined) throw fail(`run ${runId}: ${fault}`);
  });
  const fired: Fired = await checkSchedules(ask, rests).catch((error: unknown) => {
    throw fail(String(error));
  });
  const scheduled = new Map<ScheduleId, Tree[]>();
  await forEach(fired.startedRuns, async ({ runId, schedule }) => {
    const tree = await check(runId, ...endsOf(schedule));
    scheduled.set(schedule, [...(scheduled.get(schedule) ?? []), tree]);
  });
  for (const [schedule, runs] of scheduled) {
    const fault = overlapFault(schedule, runs);
    if (fault !== undefined) throw fail(fault);
  }
  const keys = keyUse.fault();
  if (keys !== undefined) throw fail(keys);
  const { actors: keysLeft } = await readApi<{ actors: { id: string }[] }>(dispatcher, url, '/actors?type=limit');
  for (const { id } of keysLeft) {
    const { context } = await readApi<{ context: { kind: string } }>(dispatcher, url, `/actors/limit/${id}`);
    if (context.kind === 'concurrency')
      throw fail(`nobody holds key ${id}, and it is there: ${JSON.stringify(context)}`);
  }
  // Each start once: what was sent again was recognised.
  if (new Set(started.map(({ runId }) => runId)).size !== started.length) throw fail('two starts share a run');
  if (done.size > 0) throw fail(`completes of ${done.size} leases were acknowledged, and no attempt is theirs`);
  const refused = lines.flatMap(([what]) => (what?.startsWith('refused-') === true ? [what] : []));
  const strange = refused.find((what) => what !== 'refused-fenced' && what !== 'refused-run_terminal');
  if (strange !== undefined) throw fail(`a late complete was ${strange}`);
  await signals?.checkTotals(url);
  watch.ended('check');
  const code = await daemon.stop('SIGTERM');
  await signals?.close();
  if (code !== 0) throw fail(`the last stop ended with ${code}`);
  if (signals !== undefined) checkFiles(join(folder, 'svc.db'), join(folder, 'svc-runs.db'));
  return {
    cycles: cycle,
    daemonKills,
    workerKills,
    workerStops,
    lateReports: refused.filter((what) => what === 'refused-fenced').length,
    runs: started.length + mended.length * 2 + inGroups.length + shop.runIds.length + fired.startedRuns.length,
    bodies: bodies.length,
    acknowledgedCompletes: lines.filter(([what]) => what === 'done').length,
    orphans,
    held: keyUse.held(),
    pauses: holds.length,
    restarts: mended.length,
    groups: groups.length,
    definitionPauses: shop.pauses.length,
    schedulePauses: rests.length,
    laterStarts: started.filter(({ startAt }) => startAt !== undefined).length,
    scheduledTimes: fired.times,
    skippedTimes: fired.skipped,
    lateTimes: fired.late,
    caughtUpTimes: fired.caughtUp,
    ...(signals === undefined ? {} : { signals: signals.figures() }),
    killsPerMinute: Math.round(killsPerMinute * 10) / 10,
    seconds: watch.seconds(),
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      'cycle-ms': { type: 'string', default: String(LONGEST_CYCLE_MS) },
      signals: { type: 'boolean', default: false },
      minutes: { type: 'string', default: 'Infinity' },
    },
  });
  const folder = temporaryFolder();
  console.log(`runs kill loop: ${values.cycles} cycles, seed ${values.seed}`);
  try {
    const figures = await runsKillLoop({
      cycles: Number(values.cycles),
      seed: Number(values.seed),
      folder: folder.path,
      cycleMs: Number(values['cycle-ms']),
      withSignals: values.signals,
      withinMs: Number(values.minutes) * 60_000,
      onCycle: (cycle, killsPerMinute) => {
        if (cycle % 50 === 49) console.log(`${cycle + 1} cycles, ${killsPerMinute.toFixed(1)} a minute`);
      },
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
