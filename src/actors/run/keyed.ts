import { placeOf, type RunEvent } from '../../machines/run.ts';
import type { Evaluated } from '../../model/definition/step-error.ts';
import type { HeldPlace, RunPlaces, RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import { isThere, type LimitHost } from '../limit/limit-state.ts';
import { type Keys, keysOf, type KeySource, limitedDefinition, limitedStep } from '../limit/keys.ts';
import { askAgain, type Asked, type Asker, askForKeys, reasonOf, release, startNow } from '../limit/places.ts';
import type { EffectHost } from './steps/step-host.ts';
import { readCorrelation } from './run-documents.ts';
import { compiledAt, documentsOf, failStep, type Work } from './work.ts';

// A run and its keys: what it asks for, what it remembers, and what it gives back.

const askerOf = ({ runId, record }: Work, stepId?: string): Asker => ({
  runId,
  record,
  ...(stepId === undefined ? {} : { stepId }),
});

const withPlaces = (record: RunRecord, run: HeldPlace | undefined, step: HeldPlace | undefined): RunRecord => {
  if (run !== undefined || step !== undefined)
    return { ...record, places: { ...(run === undefined ? {} : { run }), ...(step === undefined ? {} : { step }) } };
  const { places: _places, ...rest } = record;
  return rest;
};
const remember = (work: Work, of: keyof RunPlaces, place: HeldPlace | undefined): void => {
  const { run, step } = work.record.places ?? {};
  const before = of === 'run' ? run : step;
  if (before?.order === place?.order && before?.lineId === place?.lineId && before?.startedAt === place?.startedAt)
    return;
  work.record = of === 'run' ? withPlaces(work.record, place, step) : withPlaces(work.record, run, place);
};

/** Keeps what became of asking. @returns whether it goes on */
const note = (work: Work, of: keyof RunPlaces, asked: Exclude<Asked, { kind: 'refused' }>): boolean => {
  remember(work, of, asked.place);
  if (asked.kind === 'admitted') return true;
  work.heldBy = reasonOf(asked.on);
  work.heldOn = asked.on;
  return false;
};

const waitingPlace = (place: HeldPlace | undefined): (HeldPlace & { readonly lineId: string }) | undefined =>
  place?.lineId === undefined ? undefined : { ...place, lineId: place.lineId };

const sourceOf = (work: Work): KeySource => ({
  input: documentsOf(work).input,
  correlation: readCorrelation(work.record),
});
const keysOfRun = (work: Work): Evaluated<Keys | undefined> =>
  keysOf(limitedDefinition(work.program.compiled), work.record, () => sourceOf(work));
const keysOfStep = (work: Work): Evaluated<Keys | undefined> => {
  const compiled = compiledAt(work);
  return keysOf(limitedStep(compiled), { ...work.record, stepId: compiled.step.id }, () => sourceOf(work));
};

/**
 * Whether a run may begin, as far as its keys go. A run that is refused may, and fails at its first step: that says why.
 * @param inTurn it is first in its line, where it stands in one
 */
export const mayBegin = (work: Work, inTurn: boolean): boolean => {
  const { turn, host, record } = work;
  const waiting = waitingPlace(record.places?.run);
  if (waiting !== undefined) {
    if (!inTurn) {
      work.heldBy = record.held;
      return false;
    }
    const asked = askAgain(turn, host, askerOf(work), waiting);
    return asked.kind === 'refused' || note(work, 'run', asked);
  }
  const keys: Evaluated<Keys | undefined> = work.keys === undefined ? keysOfRun(work) : { ok: true, value: work.keys };
  if (!keys.ok) {
    work.refusal = keys.error;
    return true;
  }
  if (keys.value === undefined) return true;
  const asked = askForKeys(turn, host, askerOf(work), keys.value);
  if (asked.kind !== 'refused') return note(work, 'run', asked);
  work.refusal = asked.error;
  return true;
};

const eventOf = (work: Work, asked: Asked): RunEvent => {
  const { at } = work.turn;
  if (asked.kind === 'refused') return failStep(work, asked.error);
  return note(work, 'step', asked) ? { type: 'step.admitted', at } : { type: 'step.held', at };
};

/** The step at hand asks for its keys. */
export const askPlace: EffectHost = (work) => {
  // A paused run asks when it is resumed.
  if (work.snapshot.context.paused !== undefined) {
    work.queue.push({ type: 'step.held', at: work.turn.at });
    return;
  }
  const keys = keysOfStep(work);
  if (!keys.ok) {
    work.queue.push(failStep(work, keys.error));
    return;
  }
  if (keys.value === undefined) throw new Error(`run ${work.runId} asks for keys at a step that has none`);
  work.queue.push(eventOf(work, askForKeys(work.turn, work.host, askerOf(work, compiledAt(work).step.id), keys.value)));
};

/** The step at hand waits, and it is its turn. @returns nothing where it goes on waiting for the same key */
export const admitStep = (work: Work): RunEvent | undefined => {
  const { turn, host, record } = work;
  const asker = askerOf(work, compiledAt(work).step.id);
  const waiting = waitingPlace(record.places?.step);
  if (waiting !== undefined) {
    const asked = askAgain(turn, host, asker, waiting);
    if (asked.kind === 'refused' || !note(work, 'step', asked)) return undefined;
    return { type: 'step.admitted', at: turn.at };
  }
  // It stands in no line: it was paused, or quarantined.
  const keys = keysOfStep(work);
  if (!keys.ok) return failStep(work, keys.error);
  if (keys.value === undefined) return { type: 'step.admitted', at: turn.at };
  const asked = askForKeys(turn, host, asker, keys.value);
  if (asked.kind === 'refused') return failStep(work, asked.error);
  return note(work, 'step', asked) ? { type: 'step.admitted', at: turn.at } : undefined;
};

/**
 * A worker comes for the step at hand: an attempt under a rate starts now.
 * @returns the event that holds it back, where it must wait again
 */
export const startStep = (work: Work): RunEvent | undefined => {
  const place = work.record.places?.step;
  if (place?.startedAt === undefined) return undefined;
  const keys = keysOfStep(work);
  if (!keys.ok || keys.value === undefined) return undefined;
  const { turn, host } = work;
  const asked = startNow(turn, host, askerOf(work, compiledAt(work).step.id), keys.value, place);
  if (asked.kind === 'refused' || note(work, 'step', asked)) return undefined;
  return { type: 'step.held', at: turn.at };
};

/** Gives back what it holds, or leaves its line. */
export const giveUpPlace = (work: Work, of: keyof RunPlaces): void => {
  const place = work.record.places?.[of];
  if (place === undefined) return;
  release(work.turn, work.host, work.runId, place);
  remember(work, of, undefined);
};

/** The attempt of the step at hand has ended, or it waits no more. */
export const freePlace: EffectHost = (work) => {
  giveUpPlace(work, 'step');
};

/** The run has ended. */
export const releasePlaces = (work: Work): void => {
  if (work.record.places === undefined) return;
  giveUpPlace(work, 'step');
  giveUpPlace(work, 'run');
};

/**
 * Frees the keys that a run holds which cannot be loaded. It keeps the places in its row: they say that it must end.
 * @returns whether it held one
 */
export const freeHeld = (turn: Turn, host: LimitHost, { runId, places }: RunRecord): boolean => {
  let freed = false;
  for (const place of [places?.step, places?.run]) {
    if (place === undefined || !isHeld(place) || !isThere(turn, place.order)) continue;
    release(turn, host, runId, place);
    freed = true;
  }
  return freed;
};
const isHeld = ({ lineId, concurrencyId }: HeldPlace): boolean => lineId === undefined && concurrencyId !== undefined;

/** Whether a key that a run held was freed while it could not be loaded. */
export const wasFreed = (turn: Turn, { places }: RunRecord): boolean =>
  [places?.step, places?.run].some((place) => place !== undefined && isHeld(place) && !isThere(turn, place.order));

/** What is left of its places to a run that was quarantined: the line goes on without those who cannot be loaded. */
export const placesLeft = (turn: Turn, record: RunRecord): RunRecord => {
  const { run, step } = record.places ?? {};
  const left = (place: HeldPlace | undefined): HeldPlace | undefined =>
    place === undefined || (place.lineId === undefined && !isHeld(place)) || isThere(turn, place.order)
      ? place
      : undefined;
  return record.places === undefined ? record : withPlaces(record, left(run), left(step));
};

/** True where the step at hand waits for its keys. */
export const stepIsHeld = (work: Pick<Work, 'snapshot'>): boolean => {
  const place = placeOf(work.snapshot.value);
  return place.at === 'step' && place.phase === 'held';
};
