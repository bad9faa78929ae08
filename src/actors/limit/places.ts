import type { Result } from '../../model/failure.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { HeldReason, UnixMs } from '../../model/run.ts';
import type { HeldPlace, LimitPlace, LimitRecord, Rank, RunRecord } from '../../store/runs/run-store.ts';
import { byRank } from '../../store/runs/run-store.ts';
import { DeferredTurn } from '../kernel/turn.ts';
import type { RunMessage } from '../run/messages.ts';
import { Quarantined } from '../run/quarantined.ts';
import { readRun, runSlot } from '../run/run-state.ts';
import type { Programs } from '../run/program.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import { type Key, type KeyOwner, type Keys, lineIdOf } from './keys.ts';
import {
  changeLimit,
  dropPlace,
  forRun,
  hasRoom,
  isThere,
  type LimitActor,
  type LimitHost,
  lineSlot,
  readKeyOf,
  setPlace,
  unreadableKey,
  useLimit,
} from './limit-state.ts';

/** Who asks for keys: a run, or a step of one. */
export type Asker = {
  readonly runId: string;
  readonly stepId?: string;
  readonly record: Pick<
    RunRecord,
    'project' | 'definitionOwner' | 'definitionId' | 'definitionVersion' | 'priority' | 'parent'
  >;
};

/** What became of asking for keys. */
export type Asked =
  /** `place` is what to give back later; absent where nothing is held. */
  | { readonly kind: 'admitted'; readonly place?: HeldPlace }
  | { readonly kind: 'waits'; readonly place: HeldPlace; readonly on: LimitRecord }
  | { readonly kind: 'refused'; readonly error: StepError };

/** Why something is held back that waits for a place of this key. */
export const reasonOf = ({ kind }: Pick<LimitRecord, 'kind'>): HeldReason =>
  kind === 'rate' ? 'rate' : 'concurrency_key';

const OLDEST_CANCELLED = 'a newer run of its key took its place';
/** Most holders that one start cancels: more than one only after the limit was lowered. */
const CANCELLED_AT_ONCE = 32;

const ownerOf = ({ record: { project, definitionOwner, definitionId }, stepId }: Asker): KeyOwner => ({
  project,
  definitionOwner,
  definitionId,
  ...(stepId === undefined ? {} : { stepId }),
});
const idsOf = ({ concurrencyId, rateId }: Pick<HeldPlace, 'concurrencyId' | 'rateId'>): string[] =>
  [concurrencyId, rateId].filter((id) => id !== undefined);

const limitReached = (message: string): StepError => ({
  class: 'limit',
  limit: 'concurrency',
  code: 'limit_reached',
  message,
});

/** Who holds a key, as of the last commit, the longest first. */
const holdersSlot = storedSlot({
  name: 'limit_holders',
  lifetime: 'group',
  keyOf: ({ limitId }: { readonly limitId: string; readonly limit: number }) => limitId,
  lookup: ({ limitId, limit }) => ({ kind: 'limit_holders', limitId, limit }),
});

/** The runs above one, the nearest first. */
const ancestorsOf = (turn: Turn, { parent }: Asker['record']): ReadonlyMap<string, RunRecord> => {
  const ancestors = new Map<string, RunRecord>();
  for (let above = parent; above !== undefined; ) {
    const record = turn.read(runSlot, above.runId)?.record;
    if (record === undefined) break;
    ancestors.set(record.runId, record);
    above = record.parent;
  }
  return ancestors;
};

/** A run above this one that holds the key: it waits for this one, and would do so indefinitely. */
const holderAbove = (turn: Turn, asker: Asker, limitId: string): string | undefined => {
  for (const [runId, { places }] of ancestorsOf(turn, asker.record))
    if (places?.run?.lineId === undefined && places?.run?.concurrencyId === limitId) return runId;
  return undefined;
};

/** Takes a place of each key. All of them have room, or will have in this turn. */
const take = (turn: Turn, host: LimitHost, asker: Asker, limits: readonly LimitActor[]): HeldPlace | undefined => {
  const now = turn.steadyAt;
  let place: { order: number; concurrencyId?: string; rateId?: string; startedAt?: UnixMs } | undefined;
  for (const limit of limits) {
    const { limitId, kind, used, starts } = limit.record;
    if (kind === 'concurrency') {
      place = { ...place, order: host.nextOrder(), concurrencyId: limitId };
      changeLimit(turn, host, limit, { type: 'place.taken', used: used + 1 });
    } else {
      const taken = [...starts, now];
      changeLimit(turn, host, limit, { type: 'place.taken', used: taken.length }, { starts: taken });
      // A step takes its start anew when a worker comes. A run has begun.
      if (asker.stepId !== undefined) place = { order: host.nextOrder(), ...place, rateId: limitId, startedAt: now };
    }
  }
  if (place?.concurrencyId !== undefined)
    setPlace(turn, {
      order: place.order,
      priority: asker.record.priority,
      runId: asker.runId,
      ...(asker.stepId === undefined ? {} : { stepId: asker.stepId }),
      concurrencyId: place.concurrencyId,
      since: turn.at,
    });
  return place;
};

/** Joins the line of those who need the same keys. @param order its age, where it has waited before */
const join = (
  turn: Turn,
  host: LimitHost,
  asker: Asker,
  limits: readonly LimitActor[],
  order: number,
): Asked & { readonly kind: 'waits' } => {
  const lineId = lineIdOf(limits.map(({ record }) => record.limitId));
  const rank: Rank = { priority: asker.record.priority, order };
  const line = turn.read(lineSlot, lineId);
  const short = limits.find((limit) => !hasRoom(limit) || limit.record.lines > 0) ?? limits[0];
  const waitsOn = line?.waitsOn ?? short?.record.limitId;
  if (waitsOn === undefined) throw new Error(`run ${asker.runId} waits for no key`);
  let on: LimitRecord | undefined;
  for (const limit of limits) {
    const isOn = limit.record.limitId === waitsOn;
    const { record } = changeLimit(turn, host, limit, {
      type: 'run.joined',
      opens: line === undefined && isOn,
    });
    if (isOn) on = record;
  }
  if (on === undefined) throw new Error(`the line of run ${asker.runId} waits for a key that is none of its own`);
  const lead = line === undefined || byRank(rank, line.lead) < 0 ? rank : line.lead;
  turn.write(lineSlot, lineId, { lineId, waitsOn, waiting: (line?.waiting ?? 0) + 1, lead });
  const ids: { concurrencyId?: string; rateId?: string } = {};
  for (const { record } of limits) ids[record.kind === 'rate' ? 'rateId' : 'concurrencyId'] = record.limitId;
  const place: HeldPlace = { order, ...ids, lineId };
  const row: LimitPlace = {
    ...rank,
    runId: asker.runId,
    ...(asker.stepId === undefined ? {} : { stepId: asker.stepId }),
    ...ids,
    lineId,
    since: turn.at,
  };
  setPlace(turn, row);
  return { kind: 'waits', place, on };
};

/** Leaves the line, admitted or not. @throws Damaged where its line or a key of it cannot be loaded */
export const leaveLine = (
  turn: Turn,
  host: LimitHost,
  runId: string,
  place: HeldPlace & { readonly lineId: string },
): void => {
  const line = turn.read(lineSlot, place.lineId);
  if (line === undefined) throw unreadableKey(runId);
  const waiting = line.waiting - 1;
  for (const limitId of idsOf(place)) {
    const limit = readKeyOf(turn, host, runId, limitId);
    changeLimit(turn, host, limit, { type: 'run.left', closes: waiting === 0 && limitId === line.waitsOn });
  }
  turn.write(lineSlot, line.lineId, waiting === 0 ? undefined : { ...line, waiting });
  dropPlace(turn, place.order);
};

/** Gives back what a run or a step holds, or leaves the line in which it waits. @throws Damaged where a key of it cannot be loaded */
export const release = (turn: Turn, host: LimitHost, runId: string, place: HeldPlace): void => {
  const { lineId, concurrencyId, order } = place;
  if (lineId !== undefined) return leaveLine(turn, host, runId, { ...place, lineId });
  if (concurrencyId === undefined) return;
  const limit = readKeyOf(turn, host, runId, concurrencyId);
  changeLimit(turn, host, limit, { type: 'place.freed', used: limit.record.used - 1 });
  dropPlace(turn, order);
};

/**
 * Cancels those who have held a key longest, until there is room for one more. Runs above the asker are left alone: they would take it
 * along.
 * @returns whether there will be room when the turn is over
 */
const cancelOldest = (
  turn: Turn,
  programs: Programs,
  asker: Asker,
  { record: { limitId, used, limit } }: LimitActor,
): boolean => {
  const surplus = used + 1 - limit;
  const wanted = Math.min(surplus, CANCELLED_AT_ONCE);
  const above = ancestorsOf(turn, asker.record);
  const asked = wanted + above.size + CANCELLED_AT_ONCE;
  const oldest: string[] = [];
  let held = 0;
  for (const { runId, order } of turn.read(holdersSlot, { limitId, limit: asked })) {
    if (oldest.length >= wanted) break;
    try {
      if (readRun(turn, programs, runId)?.record.places?.run?.order !== order) continue;
      if (!above.has(runId)) oldest.push(runId);
    } catch (error) {
      if (!(error instanceof Quarantined)) throw error; // nothing can move it
    }
    held += 1;
  }
  // Those that took their place in this group are found once it is committed.
  if (oldest.length < wanted && held < Math.min(used, asked)) throw new DeferredTurn();
  for (const runId of oldest) {
    const cancel: RunMessage = { kind: 'cancel', reason: OLDEST_CANCELLED };
    turn.tell({ type: 'run', id: runId }, cancel);
  }
  return oldest.length >= surplus;
};

type AskHost = LimitHost & { readonly programs: Programs };
type StepHost = LimitHost & {
  /** An order that was given away earlier stands in a row again. */
  readonly orderIsBack: (order: number) => void;
};

const useKey = (turn: Turn, host: LimitHost, asker: Asker, key: Key): LimitActor =>
  forRun(asker.runId, () => useLimit(turn, host, ownerOf(asker), key, asker.record.definitionVersion));

const limitsOf = (turn: Turn, host: LimitHost, asker: Asker, { concurrency, rate }: Keys): LimitActor[] =>
  [concurrency, rate].filter((key) => key !== undefined).map((key) => useKey(turn, host, asker, key));

/** Whether somebody stands in line before one who comes now. */
const isAwaited = (turn: Turn, limits: readonly LimitActor[]): boolean =>
  limits.some(({ record }) => record.lines > 0) ||
  (limits.some(({ record }) => record.waiting > 0) &&
    turn.read(lineSlot, lineIdOf(limits.map(({ record }) => record.limitId))) !== undefined);

/** Why one who comes now is not let in, where it may not wait; `undefined` where it is let in, or waits. */
const refusalOf = (
  turn: Turn,
  asker: Asker,
  { concurrency }: Keys,
  limits: readonly LimitActor[],
): StepError | undefined => {
  const limit = limits.find(({ record }) => record.kind === 'concurrency');
  if (concurrency === undefined || limit === undefined) return undefined;
  const { record } = limit;
  if (hasRoom(limit) && record.lines === 0) return undefined;
  const key = `the concurrency key ${JSON.stringify(record.key)}`;
  if (concurrency.onLimit === 'reject') {
    const who = record.stepId === undefined ? 'runs' : 'steps';
    return limitReached(`${key} is held by ${record.used} ${who}, its limit is ${record.limit}`);
  }
  const above = holderAbove(turn, asker, record.limitId);
  return above === undefined
    ? undefined
    : limitReached(`${key} is held by run ${above}, which waits for this one: it would wait for itself`);
};

/** Asks for the keys of a run or of a step: it takes a place of each, joins their line, or is refused. */
export const askForKeys = (turn: Turn, host: AskHost, asker: Asker, keys: Keys): Asked => {
  const limits = limitsOf(turn, host, asker, keys);
  const awaited = isAwaited(turn, limits);
  const admitted = (): Asked => {
    const place = take(turn, host, asker, limits);
    return { kind: 'admitted', ...(place === undefined ? {} : { place }) };
  };
  if (!awaited && limits.every(hasRoom)) return admitted();
  const error = refusalOf(turn, asker, keys, limits);
  if (error !== undefined) return { kind: 'refused', error };
  const short = limits.filter((limit) => !hasRoom(limit));
  const [only] = short;
  const mayCancel = keys.concurrency?.onLimit === 'cancel_oldest' && short.length === 1 && !awaited;
  if (mayCancel && only?.record.kind === 'concurrency' && cancelOldest(turn, host.programs, asker, only))
    return admitted();
  return join(turn, host, asker, limits, host.nextOrder());
};

/** How many of these runs hold a key. */
const holdersAmong = (turn: Turn, runIds: readonly string[], limitId: string): number =>
  runIds.filter((runId) => {
    const place = turn.read(runSlot, runId)?.record.places?.run;
    return place?.lineId === undefined && place?.concurrencyId === limitId;
  }).length;

/**
 * Whether a start would be refused for its keys: asked before the run is there. It changes nothing.
 * @param leaving runs that end in this turn, before the start is taken
 */
export const refusedByKeys = (
  turn: Turn,
  host: AskHost,
  asker: Asker,
  keys: Keys,
  leaving: readonly string[] = [],
): Result<undefined> => {
  if (keys.concurrency?.onLimit !== 'reject') return { ok: true, value: undefined };
  const limits = limitsOf(turn, host, asker, { concurrency: keys.concurrency });
  if (leaving.length > 0)
    for (const { record } of limits)
      if (record.lines === 0 && record.used - holdersAmong(turn, leaving, record.limitId) < record.limit)
        return { ok: true, value: undefined };
  const error = refusalOf(turn, asker, keys, limits);
  if (error === undefined) return { ok: true, value: undefined };
  return { ok: false, failure: { code: 'limit_reached', message: error.message } };
};

/** Parks a line at the key for a place of which it waits now. @returns that key */
const park = (turn: Turn, host: LimitHost, runId: string, lineId: string, short: LimitActor): LimitRecord => {
  const line = turn.read(lineSlot, lineId);
  if (line === undefined) throw unreadableKey(runId);
  const { limitId } = short.record;
  if (line.waitsOn === limitId) return short.record;
  changeLimit(turn, host, readKeyOf(turn, host, runId, line.waitsOn), { type: 'line.moved' });
  turn.write(lineSlot, lineId, { ...line, waitsOn: limitId });
  return changeLimit(turn, host, short, { type: 'line.parked' }).record;
};

/** One that waits is first in its line, and a key of it has room: it takes all of its keys, or goes on waiting. */
export const askAgain = (
  turn: Turn,
  host: LimitHost,
  asker: Asker,
  place: HeldPlace & { readonly lineId: string },
): Asked => {
  const limits = idsOf(place).map((limitId) => readKeyOf(turn, host, asker.runId, limitId));
  const short = limits.find((limit) => !hasRoom(limit));
  if (short !== undefined) return { kind: 'waits', place, on: park(turn, host, asker.runId, place.lineId, short) };
  const taken = take(turn, host, asker, limits);
  leaveLine(turn, host, asker.runId, place);
  return { kind: 'admitted', ...(taken === undefined ? {} : { place: taken }) };
};

/** The age of a step that waits again. Where the clock was set back meanwhile, another may have got the same order: it keeps it. */
const orderAgain = (turn: Turn, host: StepHost, { order }: HeldPlace): number => {
  if (isThere(turn, order)) return host.nextOrder();
  host.orderIsBack(order);
  return order;
};

/**
 * A worker comes for a step that was admitted under a rate: its attempt starts now, and not when it joined the queue. Where the start
 * that it took no longer counts, it takes another, or waits for one with the age that it has.
 */
export const startNow = (turn: Turn, host: StepHost, asker: Asker, keys: Keys, place: HeldPlace): Asked => {
  const { startedAt } = place;
  const now = turn.steadyAt;
  if (keys.rate === undefined || startedAt === undefined || startedAt === now) return { kind: 'admitted', place };
  const limit = useKey(turn, host, asker, keys.rate);
  const { starts } = limit.record;
  const at = starts.lastIndexOf(startedAt);
  if (at < 0 && !hasRoom(limit)) {
    release(turn, host, asker.runId, place);
    return join(turn, host, asker, limitsOf(turn, host, asker, keys), orderAgain(turn, host, place));
  }
  const started = { kind: 'admitted', place: { ...place, startedAt: now } } as const;
  const moved = [...(at < 0 ? starts : starts.toSpliced(at, 1)), now];
  changeLimit(turn, host, limit, { type: 'place.taken', used: moved.length }, { starts: moved });
  return started;
};
