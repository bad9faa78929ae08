import { Refusal } from '../model/failure.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { LogRecord, MetricPoint } from '../model/signal.ts';
import type { Span } from '../model/span.ts';
import type { DecodedBatch } from './decoded.ts';
import { type JsonBounds, jsonBounds } from './json-reader.ts';

/**
 * What a request takes from its last received byte to its commit, estimated from what it means: nanoseconds of all threads together, as
 * measured with `bench/hostile-bodies.ts`. Each bound of its own (signals, attributes, bytes) allows what honest senders bring; a body
 * that reached several of them at once would cost many times as much as any of theirs.
 */
export const WORK = {
  /** A byte that is decoded, whatever it says. */
  byte: 5,
  span: 32_000,
  log: 9_000,
  metricPoint: 9_000,
  judgement: 9_000,
  /** A batch with a key, which is written by itself. */
  keyedBatch: 10_000,
  event: 4_500,
  link: 3_000,
  /** Attributes of a signal, however many. */
  attributes: 6_000,
  /** An attribute, or a member of an object, with its value where that is one text, number or word. */
  member: 420,
  /** A name that no object before it in the payload had, and each that follows it: V8 has no shape yet for such an object. */
  newName: 5_000,
  container: 750,
  /** A text, number or word in a list. */
  item: 250,
  bucket: 300,
  /** A character of a text that nothing searches. */
  character: 6,
  /** An input or an output: words of them are indexed. */
  payload: 12_500,
  indexedCharacter: 15,
} as const;

/** Any request may be this much work, and more where it may have more signals: as many nanoseconds. */
const FREE_WORK = 500_000_000;
const WORK_PER_SIGNAL = 50_000;
/** A larger request may be so much for each byte that was received of it. */
const WORK_PER_BYTE = 450;

/**
 * How much work a request may be, in nanoseconds.
 * @param receivedBytes bytes received of it
 * @param maxSignals `--max-batch-signals`
 */
export const mostWork = (receivedBytes: number, maxSignals: number): number =>
  Math.max(FREE_WORK, WORK_PER_SIGNAL * maxSignals, WORK_PER_BYTE * receivedBytes);

const inMilliseconds = (work: number): number => Math.ceil(work / 1e6);

/** @param over by how much it is too much, in nanoseconds, where all of it was counted */
const tooMuchWork = (over?: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message:
      `the request would take ${over === undefined ? '' : `${inMilliseconds(over)} ms `}more processor time than one of its size may, by ` +
      `its signals, attributes and text (${inMilliseconds(FREE_WORK)} ms, ${WORK_PER_SIGNAL / 1e3} us for each of --max-batch-signals, or ` +
      `${WORK_PER_BYTE} ns for each byte received); send smaller batches`,
  });

/**
 * Bounds on a payload in JSON of which so much work may be made: that it is too much is found while it is read.
 * @param bytes its size
 */
export const jsonBoundsWithin = (bytes: number, maxWork = Number.POSITIVE_INFINITY): JsonBounds => {
  const values = Math.floor((maxWork - bytes * WORK.byte) / WORK.item);
  return values >= jsonBounds.values
    ? jsonBounds
    : { ...jsonBounds, values: Math.max(0, values), tooManyValues: () => tooMuchWork() };
};

/** Counts the work of one payload. */
export class WorkCount {
  /** So far, in nanoseconds. */
  work: number;
  private readonly names = new Set<string>();

  private readonly most: number;

  /**
   * @param bytes the size of the payload as it is decoded
   * @param most refuses the request above it; `mostWork` of what was received
   */
  constructor(bytes: number, most: number) {
    this.work = bytes * WORK.byte;
    this.most = most;
  }

  /** @throws Refusal `payload_too_large` */
  add({ ingestKey, batch }: Pick<DecodedBatch, 'ingestKey' | 'batch'>): void {
    if (ingestKey !== undefined) this.work += WORK.keyedBatch;
    for (const span of batch.spans) this.span(span);
    for (const log of batch.logs) this.log(log);
    for (const point of batch.metrics) this.metricPoint(point);
    this.work += (batch.scores.length + batch.feedback.length + batch.aspectNotes.length) * WORK.judgement;
    if (this.work > this.most) throw tooMuchWork(this.work - this.most);
  }

  private span(span: Span): void {
    this.work += WORK.span;
    this.payload(span.input);
    this.payload(span.output);
    this.attributes(span.attributes);
    for (const event of span.events) {
      this.work += WORK.event + event.name.length * WORK.character;
      this.members(event.attributes);
    }
    for (const link of span.links) {
      this.work += WORK.link;
      this.members(link.attributes);
    }
    this.work += ((span.error?.message.length ?? 0) + (span.error?.stack?.length ?? 0)) * WORK.character;
  }

  private log(log: LogRecord): void {
    this.work += WORK.log + log.message.length * WORK.indexedCharacter;
    this.attributes(log.attributes);
  }

  private metricPoint(point: MetricPoint): void {
    this.work += WORK.metricPoint + ((point.bounds?.length ?? 0) + (point.bucketCounts?.length ?? 0)) * WORK.bucket;
    this.attributes(point.attributes);
    for (const exemplar of point.exemplars) {
      this.work += WORK.event;
      this.members(exemplar.attributes);
    }
  }

  private payload(value: Json | undefined): void {
    if (value === undefined) return;
    this.work += WORK.payload;
    if (typeof value === 'string') this.work += value.length * WORK.indexedCharacter;
    else this.inside(value);
  }

  private attributes(attributes: JsonObject): void {
    const before = this.work;
    this.members(attributes);
    if (this.work > before) this.work += WORK.attributes;
  }

  private members(object: JsonObject): void {
    let isNew = false;
    for (const name in object) {
      this.work += WORK.member;
      if (!this.names.has(name)) {
        this.names.add(name);
        this.work += name.length * WORK.character;
        isNew = true;
      }
      if (isNew) this.work += WORK.newName;
      this.inside(object[name] as Json);
    }
  }

  /** What a value holds, itself aside. */
  private inside(value: Json): void {
    if (typeof value === 'string') this.work += value.length * WORK.character;
    else if (typeof value === 'object' && value !== null) {
      this.work += WORK.container;
      if (!Array.isArray(value)) this.members(value as JsonObject);
      else {
        this.work += value.length * WORK.item;
        for (const item of value as readonly Json[]) this.inside(item);
      }
    }
  }
}
