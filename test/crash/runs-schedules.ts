/** Schedules that fire each second or two, and whether each of their times started one run or was skipped for its reason. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GRACE_MS } from '../../src/model/schedule/plan.ts';
import type { components } from '../../src/model/generated/openapi.ts';
import { type Ask, GIVE_UP_MS, insist } from './runs-asking.ts';
import { CLOCKS_DIFFER_MS } from './runs-pauses.ts';
import { mostAtOnce, spanOfRun, type Tree } from './runs-verify.ts';

type Schedule = components['schemas']['Schedule'];

/** The schedule that is paused and resumed. */
const RESTS = 'rests';
const LONGEST_REST_MS = 3000;

/** Each starts the definition of its name. All times fire that came while the service was away, or the schedule was paused, so only what overlaps is skipped. */
const SCHEDULES = [
  { id: 'every', every_ms: 1000, overlap: 'allow' },
  { id: 'cron', cron: '*/2 * * * * *', overlap: 'allow' },
  { id: 'slow', every_ms: 1000, overlap: 'skip' },
  { id: 'line', every_ms: 1000, overlap: 'queue' },
  { id: 'hasty', every_ms: 2000, overlap: 'cancel_running' },
  { id: RESTS, every_ms: 1000, overlap: 'allow' },
] as const;
type Given = (typeof SCHEDULES)[number];
export type ScheduleId = Given['id'];

const periodOf = (given: Given): number => ('every_ms' in given ? given.every_ms : 2000);

/** What the schedules did. */
export type Fired = {
  readonly startedRuns: readonly { readonly runId: string; readonly schedule: ScheduleId }[];
  readonly times: number;
  readonly skipped: number;
  /** Times that started their run later than a service that runs would have. */
  readonly late: number;
  /** So late that they were missed, and were caught up. */
  readonly caughtUp: number;
};
/** From the answer to a pause of the schedule until its resume was sent, by the clock of this process. */
export type Rest = { readonly from: number; readonly to: number };

/** Whole for each of them: their times are this one and every period from it. */
const GRID_MS = 2000;

/** Makes the schedules. */
const makeSchedules = async (ask: Ask): Promise<void> => {
  const starts_at = new Date(Math.ceil(Date.now() / GRID_MS) * GRID_MS).toISOString();
  for (const given of SCHEDULES) {
    const body = { ...given, definition_id: given.id, catch_up: 'all', starts_at };
    // 404: no worker has brought the definition yet.
    while ((await insist(ask, 'POST', '/schedules', body, [200, 201, 400, 404])).status >= 400) await sleep(100);
  }
};

/**
 * Makes the schedules, reads what they did last until it is over, and stops them: nothing is started any more. One of them is paused and
 * resumed again and again.
 * @returns the pauses
 * @throws Error on a time that was skipped for another reason than its own
 */
export const keepSchedules = async (ask: Ask, random: () => number, isOver: () => boolean): Promise<Rest[]> => {
  await makeSchedules(ask);
  const rests: Rest[] = [];
  const rest = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(random() * LONGEST_REST_MS);
      await insist(ask, 'POST', `/schedules/${RESTS}/pause`, {}, [200]);
      const from = Date.now();
      await sleep(random() * LONGEST_REST_MS);
      rests.push({ from, to: Date.now() });
      await insist(ask, 'POST', `/schedules/${RESTS}/resume`, {}, [200]);
    }
  };
  const read = async (): Promise<void> => {
    while (!isOver()) {
      for (const given of SCHEDULES) await readSchedule(ask, given);
      await sleep(500);
    }
  };
  await Promise.all([rest(), read()]);
  // Each has fired, however short the campaign was.
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (const given of SCHEDULES)
    while ((await readSchedule(ask, given)).firings.length === 0 && performance.now() < giveUpAt) await sleep(100);
  for (const { id } of SCHEDULES) await insist(ask, 'POST', `/schedules/${id}/pause`, {}, [200]);
  return rests;
};

/** Its first time: the one it starts at, or the next after it was made, as the making may have been late. */
const firstTimeOf = (given: Given, { starts_at, created_at }: Schedule): number => {
  const startsAt = Date.parse(starts_at ?? '');
  const periods = Math.floor((Date.parse(created_at) - startsAt) / periodOf(given)) + 1;
  return startsAt + Math.max(0, periods) * periodOf(given);
};

const readSchedule = async (ask: Ask, { id, overlap }: Given): Promise<Schedule> => {
  const { body } = await insist(ask, 'GET', `/schedules/${id}`, undefined, [200]);
  const schedule = body as unknown as Schedule;
  for (const { outcome, reason, nominal_at } of schedule.firings)
    if (outcome === 'skipped' && (overlap === 'allow' || reason !== 'overlap'))
      throw new Error(`schedule ${id} skipped ${nominal_at}: ${reason}`);
  return schedule;
};

const listRuns = async (ask: Ask, definition: string): Promise<string[]> => {
  const ids: string[] = [];
  let cursor = '';
  do {
    const path = `/runs?definition_id=${definition}&limit=1000${cursor}`;
    const { body } = await insist(ask, 'GET', path, undefined, [200]);
    const page = body as unknown as { runs: { run_id: string }[]; next_cursor?: string };
    ids.push(...page.runs.map(({ run_id }) => run_id));
    cursor = page.next_cursor === undefined ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor !== '');
  return ids;
};

/**
 * Compares what the stopped schedules started and skipped with their times, which are counted here.
 * @throws Error on the first time that was lost, came twice, or was skipped without its reason
 */
export const checkSchedules = async (ask: Ask, rests: readonly Rest[]): Promise<Fired> => {
  const startedRuns: { runId: string; schedule: ScheduleId }[] = [];
  const all = { times: 0, skipped: 0, late: 0, caughtUp: 0 };
  for (const given of SCHEDULES) {
    const { id, overlap } = given;
    const schedule = await readSchedule(ask, given);
    const { firings, started, skipped, waiting } = schedule;
    if (firings.length === 0) throw new Error(`schedule ${id} never fired`);
    // One that waits is older than those that were skipped behind it.
    const newest = Math.max(
      ...[...firings, ...(waiting === undefined ? [] : [waiting])].map(({ nominal_at }) => Date.parse(nominal_at)),
    );
    const times: number[] = [];
    for (let at = firstTimeOf(given, schedule); at <= newest; at += periodOf(given)) times.push(at);
    if (times.at(-1) !== newest) throw new Error(`schedule ${id} fired at ${nameOf(newest)}`);
    const runs = await listRuns(ask, id);
    const waits = waiting === undefined ? 0 : 1;
    if (started + skipped + waits !== times.length || started !== runs.length)
      throw new Error(
        `schedule ${id} counts ${started} started, ${skipped} skipped and ${waits} waiting of ${times.length} times, and ${runs.length} runs are there; it was made at ${schedule.created_at}`,
      );
    if (overlap === 'allow') {
      const named = new Set<string>();
      for (const at of times) {
        // The key of a time that started a run answers with this run. A new run would be the one that is missing.
        const start = { definition_id: id, input: {}, idempotency_key: `schedule/${id}/${nameOf(at)}` };
        const { status, body } = await insist(ask, 'POST', '/runs', start, [200, 201]);
        if (status === 201) throw new Error(`schedule ${id} never started ${nameOf(at)}`);
        named.add(body['run_id'] as string);
        const createdAt = Date.parse(body['created_at'] as string);
        const isAtRest = ({ from, to }: Rest): boolean =>
          createdAt > from + CLOCKS_DIFFER_MS && createdAt < to - CLOCKS_DIFFER_MS;
        if (id === RESTS && rests.some(isAtRest))
          throw new Error(`schedule ${id} started ${nameOf(at)} at ${nameOf(createdAt)}, while it was paused`);
        const lateMs = createdAt - at;
        if (lateMs > LATE_MS) all.late += 1;
        if (lateMs > GRACE_MS) all.caughtUp += 1;
      }
      if (named.size !== runs.length || runs.some((run) => !named.has(run)))
        throw new Error(
          `schedule ${id} has ${times.length} times, ${named.size} runs by their keys, and ${runs.length} runs`,
        );
    }
    startedRuns.push(...runs.map((runId) => ({ runId, schedule: id })));
    all.times += times.length;
    all.skipped += skipped;
  }
  return { startedRuns, ...all };
};

/** A service that runs looks at what is due each second. */
const LATE_MS = 2000;
const nameOf = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

/** Which ends a run of a schedule may have. */
export const endsOf = (schedule: ScheduleId): readonly ('succeeded' | 'cancelled')[] =>
  schedule === 'hasty' ? ['succeeded', 'cancelled'] : ['succeeded'];

/**
 * Says which runs of a schedule that allows no overlap overlapped, or which one was cancelled without a successor, or nothing.
 * @param runs all that it started
 */
export const overlapFault = (schedule: ScheduleId, runs: readonly Tree[]): string | undefined => {
  if (SCHEDULES.some(({ id, overlap }) => id === schedule && overlap === 'allow')) return undefined;
  const most = mostAtOnce(runs.flatMap(spanOfRun));
  if (most > 1) return `schedule ${schedule} had ${most} open runs at once`;
  const begins = new Set(runs.flatMap(spanOfRun).map(([from]) => from));
  const lost = runs.find(({ run, journal }) => {
    const end = journal.at(-1);
    return run.status === 'cancelled' && (end === undefined || !begins.has(Date.parse(end.at)));
  });
  return lost === undefined
    ? undefined
    : `run ${lost.run.run_id} of schedule ${schedule} was cancelled, and no run began then`;
};
