import { countSignals, emptyBatch, type SignalBatch } from '../../../model/signal.ts';
import type { Correlation } from '../../../model/span.ts';
import type { Row } from '../../signals/rows/columns.ts';
import {
  contextOf,
  feedbackRow,
  logRow,
  metricRow,
  noteRow,
  payloadRow,
  sameContext,
  scoreRow,
  spanRow,
} from '../../signals/rows/encode.ts';
import type { WriteUnit } from '../../signals/signal-store.ts';
import type { SearchRow, TraceEntry, UnitRows } from './wire.ts';

/** A piece of a unit: rows that the writer binds, and texts that the search thread indexes. */
export type EncodedPiece = { readonly rows: UnitRows; readonly search: SearchRow[] };

/** A unit of up to so many signals is encoded and handed over at once: a few milliseconds of work. */
export const WHOLE_SIGNALS = 1_024;
/** Signals of each piece of a larger one. */
const PIECE_SIGNALS = 256;

function* piecesOf(batch: SignalBatch): Generator<SignalBatch> {
  if (countSignals(batch) <= WHOLE_SIGNALS) {
    yield batch;
    return;
  }
  for (const list of ['spans', 'logs', 'metrics', 'scores', 'feedback', 'aspectNotes'] as const)
    for (let from = 0; from < batch[list].length; from += PIECE_SIGNALS)
      yield { ...emptyBatch, [list]: batch[list].slice(from, from + PIECE_SIGNALS) };
}

/**
 * Turns a unit into pieces that are written together. A small one is one piece, which may be without a signal. Spans are numbered
 * from 0; the number of the first in the file is added when the unit is written.
 * @param nowNs the time of an ingest key whose unit carries no signal
 */
export function* encodeUnit(unit: WriteUnit, nowNs: bigint): Generator<EncodedPiece> {
  let next = 0;
  let { ingestKey } = unit;
  for (const batch of piecesOf(unit.batch)) {
    yield encodePiece(batch, ingestKey, next, nowNs);
    next += batch.spans.length;
    ingestKey = undefined; // stands in the first piece
  }
}

const encodePiece = (
  batch: SignalBatch,
  ingestKey: string | undefined,
  firstSpan: number,
  nowNs: bigint,
): EncodedPiece => {
  const traces: TraceEntry[] = [];
  const placeOf = new Map<string, number>();
  const spans: Row[] = [];
  const payloads: Row[] = [];
  const search: SearchRow[] = [];
  let number = firstSpan;
  let lastCorrelation: Correlation | undefined;
  let lastPlace = -1;
  let lastContext = 0;

  for (const span of batch.spans) {
    const { correlation } = span;
    const key = span.traceId + correlation.project;
    let place = placeOf.get(key);
    if (place === undefined) {
      place = traces.length;
      placeOf.set(key, place);
      traces.push([span.traceId, correlation.project, []]);
    }
    if (place !== lastPlace || correlation !== lastCorrelation) {
      const context = contextOf(correlation);
      const contexts = (traces[place] as TraceEntry)[2];
      lastContext = contexts.findIndex((known) => sameContext(known, context));
      if (lastContext === -1) lastContext = contexts.push(context) - 1;
      lastPlace = place;
      lastCorrelation = correlation;
    }
    spans.push(spanRow(span, { number, trace: place, context: lastContext }));
    const payload = payloadRow(span, number);
    const [, forms, input, , output] = payload;
    payloads.push(payload);
    if (input !== null || output !== null) search.push([number, forms, input, output]);
    number++;
  }

  const received =
    batch.spans[0] ?? batch.logs[0] ?? batch.metrics[0] ?? batch.scores[0] ?? batch.feedback[0] ?? batch.aspectNotes[0];
  return {
    rows: [
      ingestKey ?? null,
      received?.receivedAt ?? nowNs,
      traces,
      spans,
      payloads,
      batch.logs.map(logRow),
      batch.metrics.map(metricRow),
      batch.scores.map(scoreRow),
      batch.feedback.map(feedbackRow),
      batch.aspectNotes.map(noteRow),
    ],
    search,
  };
};
