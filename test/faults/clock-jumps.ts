/**
 * Sets the clock of a real daemon forth and back, by a second to ten years, under a load of durable runs and over restarts, and holds it
 * to what section 12 of the interface decisions says of clocks: no sleep ends early, what somebody named by date ends when the clock has stood
 * there and no sooner, no lease is lost, no journal has a gap, everything ends. The daemon runs under `libfaketime` (a Debian package), which
 * fakes its wall clock alone; this process sees the true time.
 * Run as a command: `node test/faults/clock-jumps.ts --jumps 200 --seed 7`.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from '../crash/ledger.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

/** The library that fakes the wall clock of a process, where it is installed. */
export const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));
const JUMP_EACH_MS = 250;
const YEAR_S = 365 * 24 * 3600;
/** Farther ahead than any jump goes. */
const NEVER_YEARS = 25;
const PAST_ALL_YEARS = 30;
const OFFER_TTL_MS = 2000;
/** The service counts in milliseconds, and the clock of the machine is not quite as fast as this process counts. */
const ROUNDING_MS = 5;

const work = { id: 'work', kind: 'task', retry: { max_attempts: 1 } };
/** What sleeps for so long, in two ways, and for three times as long; and what sleeps until a date. */
const definitionsOf = (napMs: number) => {
  const naps = [
    { id: 'nap', ms: napMs, step: { id: 'nap', kind: 'sleep', sleep_ms: napMs } },
    {
      id: 'ask',
      ms: napMs,
      step: { id: 'ask', kind: 'wait_event', event: 'never', timeout_ms: napMs, on_timeout: 'continue' },
    },
    { id: 'long-nap', ms: 3 * napMs, step: { id: 'nap', kind: 'sleep', sleep_ms: 3 * napMs } },
  ];
  const until = { id: 'until', version: 1, steps: [{ id: 'nap', kind: 'sleep', sleep_until: '${input.at}' }, work] };
  return { naps, definitions: [...naps.map(({ id, step }) => ({ id, version: 1, steps: [step, work] })), until] };
};

type Answer = Record<string, unknown>;
/** Two bounds in milliseconds, in the time of this process. */
type Window = { readonly from: number; readonly to: number };
/** One process ended and the next one began, at a clock that is so much ahead of this process. */
type Restart = {
  readonly endedAt: number;
  readonly bornAt: number;
  readonly servesAt: number;
  readonly aheadMs: number;
};

/**
 * When a sleep may end. It lasts as long as it says. Over a restart it is due by the wall clock; where that now stands before the moment at which the
 * sleep was set, the whole duration runs again, and that moment is now.
 * @param setAt what the wall clock showed as the sleep was set
 * @param due when it would end without a restart
 * @param restarts those while it slept, oldest first
 * @see Interface decisions, section 12, "Clock"
 */
const dueOver = (setAt: Window, due: Window, ms: number, restarts: readonly Restart[]): Window & { over: string } => {
  let [set, bounds, over] = [setAt, due, 'no restart'];
  for (const { endedAt, bornAt, servesAt, aheadMs } of restarts) {
    const again = servesAt + aheadMs < set.from;
    set = { from: Math.min(set.from, bornAt + aheadMs), to: Math.min(set.to, servesAt + aheadMs) };
    const next = { from: set.from + ms - aheadMs, to: set.to + ms - aheadMs };
    over = again ? 'again' : next.to < bornAt ? 'at once' : 'by the clock';
    // The nap may have been over before the kill, and only its event came after the restart.
    bounds =
      bounds.from <= endedAt
        ? { from: Math.min(bounds.from, next.from), to: Math.max(bounds.to, next.to, servesAt) }
        : { from: next.from, to: Math.max(next.to, servesAt) };
  }
  return { ...bounds, over };
};

/** The clock of the daemon: how far it is ahead of the true one, now and earlier. */
const createFakeClock = (file: string) => {
  const history: { readonly since: number; readonly seconds: number }[] = [];
  const set = (seconds: number): void => {
    history.push({ since: performance.now(), seconds });
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${file}.new`, file);
  };
  /** How far it was ahead at any moment between these two. */
  const within = (from: number, to: number): number[] =>
    history.flatMap(({ since, seconds }, at) =>
      // A jump takes a moment until the daemon sees it.
      since <= to && (history[at + 1]?.since ?? Number.POSITIVE_INFINITY) + 50 >= from ? [seconds] : [],
    );
  return { file, set, within, seconds: (): number => history.at(-1)?.seconds ?? 0 };
};

export type JumpFigures = {
  readonly seed: number;
  readonly jumps: number;
  readonly restarts: number;
  readonly naps: number;
  /** Naps that slept over a restart, each held to the rule; and what the rule said, by the last restart. */
  readonly napsOverARestart: number;
  readonly overARestart: Record<string, number>;
  /** Sleeps until a date a year ahead: begun, and ended as the clock had stood there. */
  readonly aYearAhead: { readonly begun: number; readonly ended: number };
  /** Looks at a sleep until a date whose time had not come. */
  readonly looksAtDates: number;
  readonly bodies: number;
  readonly bodiesOverARestart: number;
  /** Leases whose worker itself was silent for a ttl, as the machine was busy: they prove nothing. */
  readonly silentLeases: number;
  readonly runs: number;
  readonly jumpsToldByTheLastProcess: number;
};

/**
 * @param sleepers runs that sleep, of each of three kinds, at one time
 * @param napMs how long a nap is; some are three times as long
 * @param patienceMs how late a nap may end: what a busy machine takes
 * @throws Error that names the seed on the first promise that does not hold
 */
export const jumpClock = async (options: {
  readonly library: string;
  readonly jumps: number;
  readonly restartEachJumps: number;
  readonly sleepers: number;
  readonly napMs: number;
  readonly leaseTtlMs: number;
  readonly patienceMs: number;
  readonly seed: number;
  readonly folder: string;
}): Promise<JumpFigures> => {
  const { library, jumps, restartEachJumps, sleepers, napMs, leaseTtlMs, patienceMs, seed, folder } = options;
  const random = seededRandom(seed);
  const either = (): number => (random() < 0.5 ? 1 : -1);
  const clock = createFakeClock(join(folder, 'offset'));
  clock.set(0);
  const port = String(await aLastingPort());
  const open = (): Promise<Daemon> =>
    startDaemon(folder, [...flags, '--port', port], {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: clock.file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    });
  const flags = ['--lease-ttl-ms', String(leaseTtlMs), '--offer-ttl-ms', String(OFFER_TTL_MS)];
  let bornAt = performance.now();
  let daemon = await open();
  const url = `http://127.0.0.1:${port}/v1/api`;
  const fail = (what: string): Error => new Error(`seed ${seed}: ${what}`);
  const restarts: Restart[] = [];
  let restarting = false;
  /** @returns nothing while the daemon is away, or on its way out */
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<(Answer & { code: number }) | undefined> => {
    const [wasAway, life] = [restarting, restarts.length];
    try {
      const answer = await fetch(url + path, {
        method,
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
      const json = (await answer.json()) as Answer;
      return answer.status === 503 ? undefined : { ...json, code: answer.status };
    } catch (error) {
      // On a busy machine the daemon may be back before this process hears that it was away.
      if (wasAway || restarting || restarts.length !== life) return undefined;
      throw new Error(`seed ${seed}: ${method} ${path} has no answer:\n${daemon.lines.slice(-5).join('\n')}`, {
        cause: error,
      });
    }
  };
  const { naps, definitions } = definitionsOf(napMs);
  const register = () => ask('POST', '/workers/register', { worker_id: 'w', definitions });
  const registered = await register();
  if (registered?.code !== 200) throw fail(`a worker could not register: ${JSON.stringify(registered)}`);

  let sleeping = true;
  let serving = true;
  const counted = { naps: 0, looksAtDates: 0, bodies: 0, bodiesOverARestart: 0 };
  const overARestart = { again: 0, 'at once': 0, 'by the clock': 0 } as Record<string, number>;
  const aYearAhead = { begun: 0, ended: 0 };
  /** What did not hold. All that runs ends at the first of these. */
  const broken: Error[] = [];
  const strand = (live: () => Promise<void>): Promise<void> =>
    live().catch((error: unknown) => {
      broken.push(error instanceof Error ? error : fail(String(error)));
    });

  /** Leases whose worker was silent for as long as a lease lives. */
  const silent = new Set<string>();
  /**
   * Beats for three seconds, over many jumps: no call of its may be refused. Over a restart it sends again what was not answered, and has the lease
   * still, as each lives for one ttl from the start on.
   * @param claimedAt when the claim was sent: the lease was not offered before
   */
  const body = async (id: string, claimedAt: number): Promise<void> => {
    const life = restarts.length;
    let lastSentAt = claimedAt;
    for (const verb of ['started', 'heartbeat', 'heartbeat', 'heartbeat', 'complete']) {
      for (;;) {
        if (broken.length > 0) return;
        const sentAt = performance.now();
        const answer = await ask('POST', `/steps/${id}/${verb}`, { worker_id: 'w' });
        if (answer === undefined) {
          await sleep(25);
          continue;
        }
        const silentMs = performance.now() - Math.max(lastSentAt, bornAt);
        if (silentMs >= (verb === 'started' ? OFFER_TTL_MS : leaseTtlMs)) silent.add(id);
        // Before a body has begun there is no lease to be lost.
        if (verb === 'started' && answer.code === 200) silent.delete(id);
        lastSentAt = sentAt;
        // The first of two completes may have been taken, and its answer lost.
        const isTaken = answer.code === 200 || (verb === 'complete' && answer['reason'] === 'already_applied');
        if (isTaken) break;
        if (!silent.has(id)) throw fail(`${verb} of ${id} answered ${JSON.stringify(answer)} after ${silentMs} ms`);
        return;
      }
      if (verb !== 'complete') await sleep(700);
    }
    counted.bodies += 1;
    if (restarts.length > life) counted.bodiesOverARestart += 1;
  };
  const serve = async (): Promise<void> => {
    const bodies: Promise<void>[] = [];
    while (serving && broken.length === 0) {
      const claimedAt = performance.now();
      const claimed = await ask('POST', '/steps/claim', { worker_id: 'w', max: 10, wait_ms: 500 });
      if (claimed?.code === 200)
        for (const { lease_id: id } of claimed['leases'] as { lease_id: string }[])
          bodies.push(strand(() => body(id, claimedAt)));
      else {
        if (claimed?.code === 404) await register();
        await sleep(50);
      }
    }
    await Promise.all(bodies);
  };

  const runIds: string[] = [];
  /** @returns what the wall clock showed as it was set, too; nothing where no answer came: such a run may be there, and nobody looks at it */
  const begin = async (
    definitionId: string,
    input: object,
  ): Promise<(Window & { runId: string; setAt: Window }) | undefined> => {
    const from = performance.now();
    const begun = await ask('POST', '/runs', { definition_id: definitionId, input });
    const to = performance.now();
    if (begun === undefined) {
      await sleep(50);
      return undefined;
    }
    if (begun.code !== 201) throw fail(`a start answered ${JSON.stringify(begun)}`);
    const createdAt = Date.parse(String(begun['created_at'])) - Date.now() + performance.now();
    // While the clock jumps it may have shown one time or the other; the stamp tells which.
    const ahead = clock
      .within(from, to)
      .map((seconds) => seconds * 1000)
      .filter((ms) => createdAt - ms >= from - ROUNDING_MS && createdAt - ms <= to + ROUNDING_MS);
    if (ahead.length === 0) throw fail(`a start has a stamp that no clock showed: ${JSON.stringify(begun)}`);
    const setAt = { from: from + Math.min(...ahead), to: to + Math.max(...ahead) };
    return { runId: String(begun['run_id']), from, to, setAt };
  };
  /** @returns whether it waits, and until when that is known; nothing while the daemon is away */
  const look = async (runId: string): Promise<{ readonly waits: boolean; readonly at: number } | undefined> => {
    const seen = await ask('GET', `/runs/${runId}`);
    if (seen === undefined) return undefined;
    if (seen.code !== 200) throw fail(`run ${runId} answered ${JSON.stringify(seen)}`);
    return { waits: seen['status'] === 'waiting', at: performance.now() };
  };

  const nap = async ({ id, ms }: { readonly id: string; readonly ms: number }): Promise<void> => {
    while (sleeping && broken.length === 0) {
      const begun = await begin(id, {});
      if (begun === undefined) continue;
      runIds.push(begun.runId);
      const due = (now: number) =>
        dueOver(
          begun.setAt,
          { from: begun.from + ms, to: begun.to + ms },
          ms,
          restarts.filter(({ bornAt: at }) => at > begun.from && at < now),
        );
      while (broken.length === 0) {
        await sleep(25);
        const seen = await look(begun.runId);
        if (seen === undefined) continue;
        const { from, to, over } = due(seen.at);
        const slept = `run ${begun.runId} (${id}, ${over}) slept ${seen.at - begun.from} ms`;
        if (seen.at > to + patienceMs) throw fail(`${slept}, ${seen.at - to} ms more than it may`);
        if (seen.waits) continue;
        if (seen.at < from - ROUNDING_MS) throw fail(`${slept}, ${from - seen.at} ms less than it has to`);
        counted.naps += 1;
        if (over in overARestart) overARestart[over] = (overARestart[over] ?? 0) + 1;
        break;
      }
    }
  };

  /** Sleeps until dates that still wait as the jumps are over. */
  const dated: { readonly runId: string; readonly mayEnd: (now: number) => boolean }[] = [];
  /** Sleeps until a date so many years ahead, again as soon as that is over. */
  const sleepUntil = async (years: number): Promise<void> => {
    while (sleeping && broken.length === 0) {
      await sleep(100);
      // The date is named by the true clock, so that it is ahead for the other one too.
      if (clock.seconds() > 0) continue;
      const at = Date.now() + years * YEAR_S * 1000;
      const begun = await begin('until', { at: new Date(at).toISOString() });
      if (begun === undefined) continue;
      const { runId, from } = begun;
      runIds.push(runId);
      if (years === 1) aYearAhead.begun += 1;
      /** What fell due while the clock stood wrong has fallen due. */
      const mayEnd = (now: number): boolean =>
        Date.now() + Math.max(...clock.within(from, now)) * 1000 >= at - ROUNDING_MS;
      let waits = true;
      while (sleeping && waits && broken.length === 0) {
        const seen = await look(runId);
        if (seen !== undefined && !mayEnd(seen.at)) {
          counted.looksAtDates += 1;
          if (!seen.waits) throw fail(`run ${runId} did not sleep until ${new Date(at).toISOString()}`);
        }
        waits = seen?.waits ?? true;
        if (waits) await sleep(100);
      }
      if (waits) dated.push({ runId, mayEnd });
      else if (years === 1) aYearAhead.ended += 1;
    }
  };

  /** A jump is one: the clock never stays. Most go to a time that is drawn, some back to the true one. */
  const drawJump = (): number => {
    for (;;) {
      const furthest = [1, 60, 86_400, 10 * YEAR_S][Math.floor(random() * 4)] ?? 1;
      const seconds = random() < 0.3 ? 0 : Math.ceil(random() * furthest) * either();
      if (seconds !== clock.seconds()) return seconds;
    }
  };
  /** Over restarts in turn: back, so that naps run again; by a second or two, so that they are due by the clock, or just not; as drawn. */
  const drawJumpOverRestart = (): number => {
    const turn = restarts.length % 3;
    if (turn === 0) return clock.seconds() - Math.ceil(random() * 86_400);
    return turn === 1 ? clock.seconds() + Math.ceil(random() * 2) * either() : drawJump();
  };

  const finish = async (runId: string): Promise<void> => {
    const run = await eventually(`the end of run ${runId}`, async () => {
      if (broken[0] !== undefined) throw broken[0];
      const seen = await ask('GET', `/runs/${runId}`);
      return ['succeeded', 'failed', 'cancelled'].includes(String(seen?.['status'])) && seen;
    });
    if (run['status'] !== 'succeeded') throw fail(`run ${runId} ended so: ${JSON.stringify(run)}`);
    const events = (await ask('GET', `/runs/${runId}/events?limit=1000`))?.['events'] as
      | { seq: number; kind: string; lease_id?: string }[]
      | undefined;
    if (events?.some(({ seq }, at) => seq !== at) !== false) throw fail(`the journal of run ${runId} has a gap`);
    const lost = events.find(({ kind, lease_id: id }) => kind === 'step.orphaned' && !silent.has(id ?? ''));
    if (lost !== undefined) throw fail(`run ${runId} lost a lease: ${JSON.stringify(lost)}`);
  };

  const worker = strand(serve);
  const strands = [
    ...naps.flatMap((kind) => Array.from({ length: sleepers }, () => strand(() => nap(kind)))),
    strand(() => sleepUntil(1)),
    strand(() => sleepUntil(NEVER_YEARS)),
  ];
  let told = 0;
  await strand(async () => {
    for (let jump = 1; jump <= jumps && broken.length === 0; jump += 1) {
      await sleep(JUMP_EACH_MS);
      if (jump % restartEachJumps !== 0) {
        clock.set(drawJump());
        continue;
      }
      restarting = true;
      await daemon.stop(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
      const endedAt = performance.now();
      clock.set(drawJumpOverRestart());
      bornAt = performance.now();
      const begins = { endedAt, bornAt, aheadMs: clock.seconds() * 1000 };
      // It may answer before this process has heard that it serves.
      const place = restarts.push({ ...begins, servesAt: Number.POSITIVE_INFINITY }) - 1;
      daemon = await open();
      restarts[place] = { ...begins, servesAt: performance.now() };
      restarting = false;
    }
    clock.set(0);
    sleeping = false;
    await Promise.all(strands);
    const datedIds = new Set(dated.map(({ runId }) => runId));
    for (const runId of runIds) if (!datedIds.has(runId)) await finish(runId);
    for (const { runId, mayEnd } of dated) {
      const seen = await look(runId);
      if (seen?.waits !== true && !mayEnd(performance.now())) throw fail(`run ${runId} slept less than until its date`);
    }
    told = daemon.lines.filter((line) => line.includes('the clock of this machine was set')).length;
    // Their time comes, and they end.
    clock.set(PAST_ALL_YEARS * YEAR_S);
    for (const { runId } of dated) await finish(runId);
  });
  sleeping = false;
  serving = false;
  await Promise.all([worker, ...strands]);
  await daemon.stop(broken.length > 0 ? 'SIGKILL' : 'SIGTERM');
  if (broken[0] !== undefined) throw broken[0];
  return {
    seed,
    jumps,
    restarts: restarts.length,
    naps: counted.naps,
    napsOverARestart: Object.values(overARestart).reduce((sum, count) => sum + count, 0),
    overARestart,
    aYearAhead,
    looksAtDates: counted.looksAtDates,
    bodies: counted.bodies,
    bodiesOverARestart: counted.bodiesOverARestart,
    silentLeases: silent.size,
    runs: runIds.length,
    jumpsToldByTheLastProcess: told,
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { jumps: { type: 'string', default: '200' }, seed: { type: 'string', default: '20261122' } },
  });
  if (LIBRARY === undefined) console.log('skipped: libfaketime is not installed (apt-get install libfaketime)');
  else {
    const folder = temporaryFolder();
    try {
      const figures = await jumpClock({
        library: LIBRARY,
        jumps: Number(values.jumps),
        restartEachJumps: 19,
        sleepers: 3,
        napMs: 3000,
        leaseTtlMs: 5000,
        patienceMs: 5000,
        seed: Number(values.seed),
        folder: folder.path,
      });
      console.log(JSON.stringify(figures));
    } finally {
      folder.remove();
    }
  }
}
