import PQueue from 'p-queue';
import type { ResidentActor } from '../machines/resident.ts';
import type { Counters } from '../model/counters.ts';
import { type Failure, Refusal } from '../model/failure.ts';
import { ownProject, type ProjectReach } from '../model/scope.ts';
import { countSignals, emptyBatch, type Feedback, type Score, type SignalBatch, signalNames } from '../model/signal.ts';
import type { Span } from '../model/span.ts';
import { millisFromUnixNano, nowUnixNano, type UnixNano } from '../model/time.ts';
import type { SignalStore, WriteOutcome } from '../store/signals/signal-store.ts';
import type { Admission, Reservation } from './admission.ts';
import { decodePayload, isLight, isShort, type Payload, SHORT_BYTES } from './decode.ts';
import { createDecodeThread, type DecodeThreadOptions } from './decode-thread.ts';
import type { DecodeContext, DecodedBatch, SignalRefusal } from './decoded.ts';
import {
  addDoubts,
  counterOfDoubt,
  countDoubtfulTimes,
  type DoubtfulTimes,
  noDoubts,
  timeDoubts,
} from './doubtful-times.ts';
import { createFinish, type FinishConfig, sliceBatch } from './finish.ts';
import { batchLists, type GateRules, gateElement } from './gate.ts';
import { mostKeys } from './keys.ts';
import { type IngestLimits, tooManyBatches, tooManySignals, withBothBounds } from './limits.ts';
import { BudgetExceeded } from './otlp/bounds.ts';
import { createPipelineActor, type RequestEnd } from './pipeline-actor.ts';
import { createPace } from './pace.ts';
import type { Quota } from './quota.ts';
import type { Sampled } from './sample.ts';
import { createTurns } from './turns.ts';
import { mostWork, WorkCount } from './work.ts';

export type PipelineOptions = {
  readonly store: Pick<SignalStore, 'write' | 'isWritten'>;
  readonly counters: Counters;
  readonly limits: IngestLimits;
  /** The bound on what is between arrival and answer; shared with everything else that reads bodies. */
  readonly admission: Admission;
  readonly defaultProject: string;
  readonly sample: (batch: SignalBatch) => Sampled;
  readonly quota: Quota;
  /** How signals are redacted and priced. Plain data: the decode thread builds the same stages from it. */
  readonly finish: FinishConfig;
  /** Is handed the spans that were written. It neither waits nor fails. */
  readonly forward?: (spans: readonly Span[]) => void;
  /** Whether somebody else wants the event loop now: then ingest leaves it all that can be done elsewhere, and rests in between. */
  readonly loopIsWanted?: () => boolean;
  readonly clock?: () => UnixNano;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonic?: () => number;
  readonly decodeThread?: Omit<DecodeThreadOptions, 'finish' | 'pace'>;
};

/** Who sends, and how much was announced. */
export type IngestRequest = {
  readonly reach: ProjectReach;
  /** The content length, where there is one. */
  readonly announcedBytes?: number;
};

/** One request on its way in: bytes are counted against the reservation, payloads are decoded as they are complete. */
export type Intake = {
  readonly reservation: Reservation;
  /** Takes payloads in the order of the request. @throws Refusal when one cannot be read, or the request now holds more signals than it may */
  readonly add: (payloads: readonly Payload[]) => Promise<void>;
  /** Counts blank lines of a stream, each as one signal. @throws Refusal when the request now holds more than it may */
  readonly addBlank: (lines: number) => void;
};

/** What became of one request. */
export type IngestResult = {
  /** Signals written. */
  readonly accepted: number;
  /** Batch elements recognised as resends, of which nothing was written. */
  readonly duplicate: number;
  /** Signals that the sampling policy dropped: neither written nor refused, and not to be sent again. */
  readonly sampledOut: number;
  /** Signals refused, each with its reason; beyond-ceiling ones included. */
  readonly refusals: readonly SignalRefusal[];
  /** Signals written whose times are doubtful: a warning for their sender. */
  readonly doubtfulTimes: DoubtfulTimes;
  /** Set when nothing was written and a ceiling is why: the same request may pass when the next minute begins. */
  readonly refusedByQuota?: Failure;
};

/** How signals made inside the service are treated. */
export type InternalWrite = {
  /** Whether they count against their project's ceiling. */
  readonly quota: boolean;
  /** Whether the sampling policy applies. */
  readonly sample: boolean;
};

/**
 * The way of every signal: decode, sample, quota, redact, price, store, forward. Nothing is answered before its commit;
 * what was refused is not stored, not even in part.
 */
export type Pipeline = {
  /**
   * Takes in one request. It is written after `read` has ended well, so a request that fails half way stores nothing.
   * Elements with an ingest key are written each by itself; those without together and last, so that a request sent again
   * after a failure repeats nothing that has no key.
   * @throws Refusal `overloaded`, `store_unavailable`, and whatever `read` throws
   */
  readonly ingest: (request: IngestRequest, read: (intake: Intake) => Promise<void>) => Promise<IngestResult>;
  /** Writes signals that the service made, as one unit. @throws Refusal `overloaded`, `store_unavailable` */
  readonly write: (batch: SignalBatch, how: InternalWrite) => Promise<IngestResult>;
  /**
   * Writes one judgement sent by itself. @returns it as stored
   * @throws Refusal `forbidden` (project out of reach), `over_quota`, `store_unavailable`
   */
  readonly ingestScore: (score: Score, reach: ProjectReach) => Promise<Score>;
  readonly ingestFeedback: (feedback: Feedback, reach: ProjectReach) => Promise<Feedback>;
  readonly limits: IngestLimits;
  /** Itself, as an actor that can be looked at. */
  readonly actor: ResidentActor;
  /** Resolves when everything that was let in is committed and answered. */
  readonly drain: () => Promise<void>;
  /** Drains, then ends the decode thread. */
  readonly close: () => Promise<void>;
};

/** A request of up to so many signals is short: it is done within a turn or two. */
const SHORT_SIGNALS = 1_024;
/** Units with a key that long requests have in the store at one time, together. What comes meanwhile waits for these, and not for all. */
const UNITS_OF_LONG_REQUESTS = 512;
/** Signals redacted and priced between two looks at the clock. */
const SIGNALS_PER_STEP = 32;
/** Attributes, values, events and links of one protobuf body that are read on the main thread: about ten milliseconds. */
const MAIN_THREAD_NODES = 60_000;
const STORE_RETRY_AFTER_SECONDS = 1;
/** Bytes of a body that take as much memory as one attribute or member does beside its text. */
const ROOM_PER_KEY = 16;

/** The elements of a request by their position in it; each decoded in one piece or several, and perhaps finished already. */
type Elements = Map<number, { readonly slices: DecodedBatch[]; readonly finished: boolean }>;

/** What is written in one transaction. */
type Unit = {
  readonly ingestKey?: string;
  readonly parts: SignalBatch[];
  readonly overQuota: SignalRefusal[];
  readonly admitted: Map<string, number>;
  unbounded: number;
  /** When its signals were taken from the ceilings; they go back to the same minute. */
  readonly takenAtMs: number;
};

/** A request as it stands before it is written. */
type Prepared = {
  readonly keyed: readonly Unit[];
  readonly unkeyed: Unit;
  readonly refusals: SignalRefusal[];
  readonly sampledOut: number;
  readonly beyondCeiling: Failure | undefined;
};

type Written =
  | { readonly outcome: 'written'; readonly signals: number; readonly doubtfulTimes: DoubtfulTimes }
  | { readonly outcome: 'duplicate' }
  | { readonly outcome: 'failed'; readonly refusal: Refusal };

const signalOrder = (refusal: SignalRefusal): number => signalNames.indexOf(refusal.signal);

const storeUnavailable = (cause: unknown): Refusal =>
  new Refusal(
    {
      code: 'store_unavailable',
      message: 'the store did not confirm the write, so its outcome is unknown; send the same request again',
      retryAfterSeconds: STORE_RETRY_AFTER_SECONDS,
    },
    { cause },
  );

const storedRecord = <T>(records: readonly T[]): T => {
  const [record] = records;
  if (record === undefined) throw new Error('a written record is missing from its own batch');
  return record;
};

/**
 * A batch key as it is stored: below the projects that its sender reaches, so that one tenant's keys cannot make the
 * batches of another look like resends. Project names hold no control character, so the line end keeps the parts apart.
 */
const keyWithin = (reach: ProjectReach, ingestKey: string): string =>
  reach === 'all' ? ingestKey : `${reach.toSorted().join('\n')}\n\n${ingestKey}`;

const joinBatches = (parts: readonly SignalBatch[]): SignalBatch => {
  const only = parts[0];
  if (only !== undefined && parts.length === 1) return only;
  const joined: Record<string, unknown> = { ...emptyBatch };
  for (const [list] of batchLists) {
    const lists = parts.map((part): readonly unknown[] => part[list]).filter((items) => items.length > 0);
    if (lists.length > 0) joined[list] = lists.flat();
  }
  return joined as SignalBatch;
};

/** How many signals of each project a request brings: the most that it takes from ceilings. */
const demandOf = (elements: Elements): Map<string, number> => {
  const demand = new Map<string, number>();
  for (const { slices } of elements.values())
    for (const { batch } of slices)
      for (const [list] of batchLists)
        for (const { correlation } of batch[list])
          demand.set(correlation.project, (demand.get(correlation.project) ?? 0) + 1);
  return demand;
};

const signalsOf = (elements: Elements): number => {
  let signals = 0;
  for (const { slices } of elements.values()) for (const { batch } of slices) signals += countSignals(batch);
  return signals;
};

export const createPipeline = (options: PipelineOptions): Pipeline => {
  const { store, counters, limits, admission, sample, quota, defaultProject } = options;
  const clock = options.clock ?? nowUnixNano;
  const loopIsWanted = options.loopIsWanted ?? (() => false);
  const pace = createPace({ isWanted: loopIsWanted });
  const monotonic = options.monotonic ?? (() => performance.now());
  const turns = createTurns(monotonic);
  const unitsOfLong = new PQueue({ concurrency: UNITS_OF_LONG_REQUESTS });
  const finish = createFinish(options.finish);
  const thread = createDecodeThread({ ...options.decodeThread, finish: options.finish, pace });

  /** Units that the store has and has not confirmed. */
  let pendingWrites = 0;
  /** Bodies in the decode thread, or waiting for it, that may keep it for long. */
  let heavyBodies = 0;
  const nowMs = (): number => millisFromUnixNano(clock());
  const actor = createPipelineActor({
    admission,
    now: nowMs,
    monotonic,
    turns: () => ({
      waiting: turns.waiting(),
      details: {
        workingTurns: turns.working(),
        heavyBodies,
        pendingWrites,
      },
    }),
  });
  const countHeavy = async (isHeavy: boolean, decode: () => Promise<void>): Promise<void> => {
    if (isHeavy) heavyBodies += 1;
    try {
      await decode();
    } finally {
      if (isHeavy) heavyBodies -= 1;
    }
  };
  /**
   * Bodies that would hold up the event loop go to the thread; smaller ones too, while others want the loop and the thread is
   * soon free.
   */
  const belongsOnThread = (payload: Payload): boolean =>
    !isLight(payload) || (heavyBodies === 0 && !isShort(payload) && loopIsWanted());

  const decodeContext = (reach: ProjectReach): Omit<DecodeContext, 'maxKeys' | 'maxWork'> => ({
    receivedAt: clock(),
    defaultProject: ownProject(reach, defaultProject),
    maxSignals: limits.maxSignals,
  });

  const openIntake = (reach: ProjectReach, reservation: Reservation): { intake: Intake; elements: Elements } => {
    const elements: Elements = new Map();
    const request = decodeContext(reach);
    /** What a payload may still bring: bytes of a stream arrive, and keys and work are used up, between one and the next. */
    const contextNow = (): DecodeContext => ({
      ...request,
      maxKeys: Math.max(0, mostKeys(reservation.received()) - keys),
      maxWork: mostWork(reservation.received(), limits.maxSignals) - work,
    });
    let bytes = 0;
    let keys = 0;
    let work = 0;
    const count = new WorkCount();
    let signals = 0;
    let empty = 0;
    /** What was given up on the main thread: small, but a great deal of work. */
    let overBudget: Payload | undefined;

    const check = (): void => {
      if (signals > limits.maxSignals) throw new Refusal(tooManySignals(limits));
      if (signals + empty > limits.maxSignals) throw new Refusal(tooManyBatches(limits));
    };
    const addEmpty = (elements: number): void => {
      empty += elements;
      check();
    };
    const keep = (index: number, decoded: DecodedBatch, finished: boolean): void => {
      const found = countSignals(decoded.batch) + decoded.refusals.length;
      keys += decoded.keys ?? 0;
      work += decoded.work ?? 0;
      // What was said once is kept with every signal, and a short name takes as much room as a long one.
      reservation.hold((decoded.sharedBytes ?? 0) + (decoded.keys ?? 0) * ROOM_PER_KEY);
      if (found === 0) {
        addEmpty(1); // nothing to write, but reading it was work
        return;
      }
      signals += found;
      check();
      const known = elements.get(index);
      if (known === undefined) elements.set(index, { slices: [decoded], finished });
      else known.slices.push(decoded);
    };
    const baseOf = (payload: Payload): number => (payload.kind === 'native_line' ? payload.element : 0);

    /** Decodes on the main thread, in turns, up to the first payload that is better decoded on the thread; gives its place. */
    const decodeHere = async (payloads: readonly Payload[], from: number): Promise<number> => {
      for (let at = from; at < payloads.length; at += 1) {
        const payload = payloads[at];
        if (payload === undefined || belongsOnThread(payload)) return at;
        if (pace.isDue()) await pace.nextTurn();
        try {
          for (const [index, decoded] of decodePayload(payload, contextNow(), MAIN_THREAD_NODES, count).entries())
            keep(baseOf(payload) + index, decoded, false);
        } catch (error) {
          if (!(error instanceof BudgetExceeded)) throw error;
          overBudget = payload;
          return at;
        }
      }
      return payloads.length;
    };

    const addAll = async (payloads: readonly Payload[]): Promise<void> => {
      for (const { body } of payloads) bytes += body.length;
      for (let at = 0; at < payloads.length; at += 1) {
        const from = at;
        const here = (): Promise<number> => decodeHere(payloads, from);
        const isLong = bytes > SHORT_BYTES;
        at = await (isLong ? turns.takeLong(here) : turns.takeShort(here));
        const next = payloads[at];
        if (next === undefined) continue;
        const there = (): Promise<void> =>
          countHeavy(next === overBudget || !isLight(next), () =>
            thread.decode(next, contextNow(), ({ element, decoded }) => keep(baseOf(next) + element, decoded, true)),
          );
        await (isLong ? turns.takeLong(there) : there());
      }
    };
    const add = async (payloads: readonly Payload[]): Promise<void> => {
      try {
        await addAll(payloads);
      } catch (error) {
        throw error instanceof Refusal
          ? new Refusal(withBothBounds(limits, error.failure), { cause: error.cause })
          : error;
      }
    };
    return { intake: { reservation, add, addBlank: addEmpty }, elements };
  };

  const refund = ({ admitted, takenAtMs }: Pick<Unit, 'admitted' | 'takenAtMs'>): void => {
    for (const [project, signals] of admitted) quota.refund(project, signals, takenAtMs);
  };

  /** Gate, redact and price: everything between decoding and writing, in slices. */
  const prepare = async (elements: Elements, reach: ProjectReach, how: InternalWrite): Promise<Prepared> => {
    const keyed: Unit[] = [];
    const refusals: SignalRefusal[] = [];
    const takenAtMs = nowMs();
    const newUnit = (): Unit => ({ parts: [], overQuota: [], admitted: new Map(), unbounded: 0, takenAtMs });
    const unkeyed = newUnit();
    let sampledOut = 0;
    let beyondCeiling: Failure | undefined;
    const reserved = how.quota ? await quota.reserve?.(demandOf(elements), takenAtMs) : undefined;
    const admit = reserved?.admit ?? ((project: string) => quota.admit(project, takenAtMs));
    const rules: GateRules = {
      reach,
      sample: how.sample ? sample : (batch) => ({ batch, droppedTraces: 0 }),
      admit: how.quota ? admit : () => 'unbounded',
      overQuota: (project) => {
        const failure = quota.refusal(project, takenAtMs);
        beyondCeiling ??= failure;
        return failure;
      },
    };
    try {
      for (const [index, { slices, finished }] of elements) {
        if (pace.isDue()) await pace.nextTurn();
        const gated = gateElement(slices, index, rules);
        elements.delete(index); // what was dropped or refused need not wait for the commit
        const { ingestKey } = gated;
        const unit = ingestKey === undefined ? unkeyed : { ...newUnit(), ingestKey: keyWithin(reach, ingestKey) };
        if (unit !== unkeyed) keyed.push(unit);
        for (const [project, signals] of gated.admitted)
          unit.admitted.set(project, (unit.admitted.get(project) ?? 0) + signals);
        if (how.quota) unit.unbounded += gated.unbounded;
        for (const refusal of gated.refusals) refusals.push(refusal);
        for (const refusal of gated.overQuota) unit.overQuota.push(refusal);
        sampledOut += gated.sampledOut;
        counters.tracesSampledOut += gated.droppedTraces;
        if (finished) unit.parts.push(gated.batch);
        else
          for (const step of sliceBatch(gated.batch, SIGNALS_PER_STEP)) {
            if (pace.isDue()) await pace.nextTurn();
            unit.parts.push(finish(step));
          }
      }
    } catch (error) {
      for (const unit of [...keyed, unkeyed]) refund(unit);
      throw error;
    } finally {
      reserved?.release();
    }
    return { keyed, unkeyed, refusals, sampledOut, beyondCeiling };
  };

  /**
   * Gives a unit to the store and drops its signals: until the commit the store has them as rows, and what lived here as long
   * would be copied by every collection of the young generation.
   */
  const handOver = (
    unit: Unit,
  ): {
    signals: number;
    doubtfulTimes: DoubtfulTimes;
    spans: readonly Span[];
    outcome: Promise<WriteOutcome>;
  } => {
    const batch = joinBatches(unit.parts.splice(0));
    const signals = countSignals(batch);
    const { ingestKey } = unit;
    return {
      signals,
      doubtfulTimes: countDoubtfulTimes(batch),
      spans: options.forward === undefined ? [] : batch.spans,
      outcome:
        signals === 0
          ? Promise.resolve('written')
          : store.write(ingestKey === undefined ? { batch } : { ingestKey, batch }),
    };
  };

  const countDoubts = (doubts: DoubtfulTimes): void => {
    for (const doubt of timeDoubts) counters[counterOfDoubt[doubt]] += doubts[doubt];
  };

  /** Never rejects, so that units may be written side by side. */
  const writeUnit = async (unit: Unit): Promise<Written> => {
    // Turning the signals into rows is work of the event loop too.
    if (pace.isDue()) await pace.nextTurn();
    const { ingestKey } = unit;
    const { signals, doubtfulTimes, spans, outcome } = handOver(unit);
    let known: WriteOutcome;
    pendingWrites += 1;
    try {
      known = await outcome;
      // Nothing of a resend was let through: it still is one, and its sender must not send it once more.
      if (signals === 0 && ingestKey !== undefined && unit.overQuota.length > 0 && (await store.isWritten(ingestKey)))
        known = 'duplicate';
    } catch (error) {
      refund(unit);
      return { outcome: 'failed', refusal: storeUnavailable(error) };
    } finally {
      pendingWrites -= 1;
    }
    if (known === 'duplicate') {
      refund(unit);
      counters.batchesDuplicate += 1;
      return { outcome: known };
    }
    counters.signalsAccepted += signals;
    counters.signalsUnbounded += unit.unbounded;
    countDoubts(doubtfulTimes);
    if (spans.length > 0) options.forward?.(spans);
    return { outcome: known, signals, doubtfulTimes };
  };

  const write = async (
    { keyed, unkeyed, refusals, sampledOut, beyondCeiling }: Prepared,
    isLong: boolean,
  ): Promise<IngestResult> => {
    let accepted = 0;
    let duplicate = 0;
    let overQuota = 0;
    let doubtfulTimes = noDoubts;
    const settle = (unit: Unit, written: Written): void => {
      if (written.outcome === 'failed') throw written.refusal;
      if (written.outcome === 'duplicate') {
        // The complete element was written before, what the ceiling would refuse of it now included.
        duplicate += 1;
        return;
      }
      accepted += written.signals;
      doubtfulTimes = addDoubts(doubtfulTimes, written.doubtfulTimes);
      overQuota += unit.overQuota.length;
      for (const refusal of unit.overQuota) refusals.push(refusal);
    };
    const writes: Promise<{ unit: Unit; written: Written }>[] = [];
    for (const unit of keyed) {
      if (pace.isDue()) await pace.nextTurn();
      const written = isLong ? unitsOfLong.add(() => writeUnit(unit)) : writeUnit(unit);
      writes.push(written.then((written) => ({ unit, written })));
    }
    const ended = await Promise.all(writes);
    if (ended.some(({ written }) => written.outcome === 'failed')) refund(unkeyed);
    for (const { unit, written } of ended) settle(unit, written);
    settle(unkeyed, await writeUnit(unkeyed));
    counters.signalsRejected += refusals.length;
    counters.signalsOverQuota += overQuota;
    refusals.sort((a, b) => a.batch - b.batch || signalOrder(a) - signalOrder(b) || a.index - b.index);
    return {
      accepted,
      duplicate,
      sampledOut,
      refusals,
      doubtfulTimes,
      ...(accepted === 0 && duplicate === 0 && beyondCeiling !== undefined ? { refusedByQuota: beyondCeiling } : {}),
    };
  };

  const commit = async (elements: Elements, reach: ProjectReach, how: InternalWrite): Promise<IngestResult> => {
    const toPrepare = (): Promise<Prepared> => prepare(elements, reach, how);
    if (signalsOf(elements) > SHORT_SIGNALS) return turns.takeLong(async () => write(await toPrepare(), true));
    return write(await turns.takeShort(toPrepare), false);
  };

  const inside = async <T>(
    announcedBytes: number | undefined,
    endOf: (result: T) => RequestEnd,
    work: (reservation: Reservation) => Promise<T>,
  ): Promise<T> => {
    let end: RequestEnd | undefined;
    try {
      const reservation = admission.enter(announcedBytes);
      const leave = actor.entered();
      try {
        const result = await work(reservation);
        end = endOf(result);
        return result;
      } finally {
        leave(end);
        reservation.release();
      }
    } catch (error) {
      actor.failed(error);
      throw error;
    }
  };
  const endOfRequest = ({ accepted, refusals }: IngestResult): RequestEnd => ({ accepted, refused: refusals.length });
  const endOfOne = (): RequestEnd => ({ accepted: 1, refused: 0 });

  const ingestOne = async (batch: SignalBatch, reach: ProjectReach): Promise<SignalBatch> =>
    inside(undefined, endOfOne, async () => {
      const elements: Elements = new Map([[0, { slices: [{ batch, refusals: [] }], finished: false }]]);
      const { unkeyed, refusals, beyondCeiling } = await turns.takeShort(() =>
        prepare(elements, reach, { quota: true, sample: false }),
      );
      const refusal: Failure | undefined = refusals[0] ?? beyondCeiling;
      if (refusal !== undefined) {
        counters.signalsRejected += 1;
        if (refusal === beyondCeiling) counters.signalsOverQuota += 1;
        const { code, message, field, retryAfterSeconds } = refusal;
        throw new Refusal({
          code,
          message,
          ...(field === undefined ? {} : { field }),
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        });
      }
      const stored = joinBatches(unkeyed.parts);
      const written = await writeUnit(unkeyed);
      if (written.outcome === 'failed') throw written.refusal;
      return stored;
    });

  return {
    ingest: ({ reach, announcedBytes }, read) =>
      inside(announcedBytes, endOfRequest, async (reservation) => {
        const { intake, elements } = openIntake(reach, reservation);
        await read(intake);
        if (signalsOf(elements) <= SHORT_SIGNALS) turns.noteShort();
        return commit(elements, reach, { quota: true, sample: true });
      }),
    write: (batch, how) =>
      inside(undefined, endOfRequest, () =>
        commit(new Map([[0, { slices: [{ batch, refusals: [] }], finished: false }]]), 'all', how),
      ),
    ingestScore: async (score, reach) =>
      storedRecord((await ingestOne({ ...emptyBatch, scores: [score] }, reach)).scores),
    ingestFeedback: async (feedback, reach) =>
      storedRecord((await ingestOne({ ...emptyBatch, feedback: [feedback] }, reach)).feedback),
    limits,
    actor: actor.resident,
    drain: admission.empty,
    close: async () => {
      actor.draining();
      await admission.empty();
      actor.drained();
      await thread.close();
    },
  };
};
