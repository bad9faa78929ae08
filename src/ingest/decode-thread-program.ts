import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../model/failure.ts';
import { countSignals, type SignalBatch } from '../model/signal.ts';
import { NICENESS, standBack } from '../store/thread-priority.ts';
import { decodePayload } from './decode.ts';
import type { DecodedSlice, FromDecodeThread, ToDecodeThread } from './decode-thread.ts';
import type { DecodedBatch } from './decoded.ts';
import { createFinish, type FinishConfig, sliceBatch } from './finish.ts';
import { giveBack } from './give-back.ts';

/** About this many bytes of body go into one slice, and no more than so many signals: a millisecond to take over. */
const SLICE_BYTES = 128 * 1024;
const SLICE_SIGNALS = 64;

if (parentPort === null) throw new Error('this is the program of the decode thread');
const port = parentPort;
standBack(NICENESS.readsHeavyBodies);
const finish = createFinish(workerData as FinishConfig);
const send = (message: FromDecodeThread): void => port.postMessage(message);

function* slicesOf(elements: readonly DecodedBatch[], signalsPerSlice: number): Generator<DecodedSlice> {
  for (const [element, { ingestKey, batch, refusals, keys, work, sharedBytes }] of elements.entries()) {
    const key = ingestKey === undefined ? {} : { ingestKey };
    const counted = {
      ...(keys === undefined ? {} : { keys }),
      ...(work === undefined ? {} : { work }),
      ...(sharedBytes === undefined ? {} : { sharedBytes }),
    };
    // One that holds nothing is counted when it is alone: a line of a stream, which counts all the same.
    if (countSignals(batch) === 0 && (refusals.length > 0 || elements.length === 1))
      yield { element, decoded: { ...key, ...counted, batch, refusals } };
    let first = true;
    for (const part of sliceBatch(batch, signalsPerSlice)) {
      yield {
        element,
        decoded: { ...key, ...(first ? counted : {}), batch: finish(part), refusals: first ? refusals : [] },
      };
      first = false;
    }
  }
}

const signalsPerSlice = (bodyBytes: number, batches: readonly SignalBatch[]): number => {
  const signals = batches.reduce((sum, batch) => sum + countSignals(batch), 0);
  return Math.max(1, Math.min(SLICE_SIGNALS, Math.floor((SLICE_BYTES * signals) / Math.max(1, bodyBytes))));
};

let slices: Iterator<DecodedSlice> | undefined;

const sendNext = (): void => {
  const next = slices?.next();
  if (next === undefined || next.done === true) {
    slices = undefined;
    send({ kind: 'done' });
  } else send({ kind: 'slice', slice: next.value });
};

port.on('message', (message: ToDecodeThread) => {
  try {
    if (message.kind === 'decode') {
      const { payload, context } = message;
      const bytes = payload.body.length;
      const elements = decodePayload(payload, context);
      giveBack(payload.body.buffer); // what was decoded is copied out of it
      const batches = elements.map(({ batch }) => batch);
      slices = slicesOf(elements, signalsPerSlice(bytes, batches));
    }
    sendNext();
  } catch (error) {
    slices = undefined;
    if (error instanceof Refusal) send({ kind: 'refused', failure: error.failure });
    else send({ kind: 'failed', errorName: error instanceof Error ? error.name : 'an error' });
  }
});
