import { Refusal } from '../model/failure.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { LogRecord, MetricPoint } from '../model/signal.ts';
import type { Correlation, Span } from '../model/span.ts';
import type { DecodedBatch } from './decoded.ts';
import { type JsonBounds, jsonBounds } from './json-reader.ts';

/**
 * What a request takes from its last received byte to its commit, estimated from what it means: nanoseconds of all threads together, as
 * measured with `bench/hostile-bodies.ts`. Each bound of its own (signals, attributes, bytes) allows what honest senders bring; a body
 * that reached several of them at once would cost many times as much as any of theirs.
 */
export const WORK = {
  /** A byte that is decoded, whatever it says. */
  byte: 3.5,
  span: 36_000,
  log: 9_000,
  metricPoint: 9_000,
  judgement: 30_000,
  judgementCharacter: 12,
  /** A character of an id or a name that stands in an index. */
  indexedIdCharacter: 40,
  /** A batch, or a line of one. */
  batch: 7_000,
  /** One with a key, which is written by itself. */
  keyedBatch: 7_000,
  event: 4_500,
  link: 3_000,
  /** Attributes of a signal, however many. */
  attributes: 4_000,
  /** What a resource and its scope say is decoded once and is text at each of their spans: which share of its work that is, beside the text. */
  shared: 0.2,
  /** An attribute, or a member of an object, with its value where that is one text, number or word. */
  member: 430,
  /** A name that no object before it in the payload had, and each that follows it: V8 has no shape yet for such an object. */
  newName: 5_000,
  /** A value by which a trace is found, at each trace that has it. */
  facet: 2_200,
  /** Such a value that no trace before it in the payload had, and a character of it: values stand in an index. */
  newFacetValue: 6_500,
  facetCharacter: 60,
  container: 750,
  /** A text, number or word in a list. */
  item: 250,
  /** A number that is no whole one, or larger than every whole one below it is exact: to read it and to write it takes longer. */
  decimal: 400,
  /** A tag of a span: also those of a trace are read and written with it. */
  tag: 600,
  /** A place of the array in which V8 keeps members whose names are numbers, in each thread. */
  indexPlace: 32,
  /** An hour, or a project, beside that of the spans before it in the request: its sums are made by themselves. */
  newHour: 50_000,
  newProject: 150_000,
  bucket: 300,
  /** A character of a text that nothing searches. */
  character: 6,
  /** An input or an output: words of them are indexed. */
  payload: 13_000,
  indexedCharacter: 15,
  /** A name within a text that holds JSON: redaction judges it. */
  nameInText: 600,
  /** A character that such a text has as `\u` and its number: redaction looks behind it. */
  escape: 300,
  /** A quote that is written so, behind which a name may stand. */
  escapedQuote: 1_500,
  /** A backslash that is written so (`u005c`, also without one before it): redaction looks again then. */
  escapedBackslash: 1_500,
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

const tooMuchWork = (): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message:
      `the request would take more processor time than one of its size may, by its signals, attributes and text (${FREE_WORK / 1e6} ms, ` +
      `${WORK_PER_SIGNAL / 1e3} us for each of --max-batch-signals, or ${WORK_PER_BYTE} ns for each byte received); send smaller batches`,
  });

/**
 * Bounds on a payload in JSON of which so much work may be made: that it is too much is found while it is read.
 * @param bytes its size
 */
export const jsonBoundsWithin = (bytes: number, maxWork = Number.POSITIVE_INFINITY): JsonBounds => {
  const values = Math.floor((maxWork - bytes * WORK.byte) / WORK.item);
  return values >= jsonBounds.values
    ? jsonBounds
    : { ...jsonBounds, values: Math.max(0, values), tooManyValues: tooMuchWork };
};

/** Characters of a name that cost nothing when it comes again. */
const LONG_NAME = 64;

/** In nanoseconds. */
const HOUR = 3_600_000_000_000n;

const countOf = (text: string, part: string): number => {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
};

/** A letter or digit before a colon: what stands there is no quoted name. The letters of `\n`, `\r` and `\t` may follow one. */
const NO_NAME_BEFORE = /[0-9A-Za-mo-qsu-z]/;
const isNoNameBefore = new Uint8Array(128).map((_, code) => (NO_NAME_BEFORE.test(String.fromCharCode(code)) ? 1 : 0));
const COLON = 0x3a;
/** At most so many quoted names before a colon does a text hold. */
const namesWithin = (text: string): number => {
  let names = 0;
  let before = COLON;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COLON && isNoNameBefore[before] !== 1) names += 1;
    before = code;
  }
  return names;
};

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
/** V8 keeps members whose names are numbers in a hash table when one is so far above the places that there are. */
const FARTHEST = 1_024;
/** How many places it has when a name comes beside those before: half as many again as it needs, and some. */
const placesWith = (places: number, name: string): number => {
  const first = name.charCodeAt(0);
  if (first < DIGIT_0 || first > DIGIT_9 || !INDEX.test(name)) return places;
  const index = Number(name);
  return index < places || index - places >= FARTHEST ? places : index + (index >> 1) + 16;
};

/** Counts the work of a payload, or of payloads of a request one after the other: what is new in one is not in the next. */
export class WorkCount {
  /** So far, in nanoseconds. */
  work = 0;
  /** What it may be after the present payload. */
  private most = 0;
  private readonly names = new Set<string>();
  private lastShared: { readonly attributes: JsonObject; readonly work: number } | undefined;
  private readonly facetValues = new Set<string>();
  private readonly facetsOfTraces = new Map<string, Set<string>>();
  private readonly hours = new Set<bigint>();
  private readonly projects = new Set<string>();

  /**
   * Counts one payload.
   * @param bytes its size as it was decoded
   * @param most refuses more
   * @returns its work
   * @throws Refusal `payload_too_large`
   */
  add(bytes: number, elements: readonly Pick<DecodedBatch, 'ingestKey' | 'batch'>[], most: number): number {
    const before = this.work;
    this.most = before + most;
    this.work += bytes * WORK.byte;
    for (const element of elements) this.element(element);
    this.check();
    return this.work - before;
  }

  /**
   * Counts the body of a call that brings no signals, as the payload of one.
   * @throws Refusal `payload_too_large`
   */
  addPayload(bytes: number, value: Json, most: number): void {
    this.most = this.work + most;
    this.work += bytes * WORK.byte + WORK.span;
    this.payload(value);
    this.check();
  }

  private check(): void {
    if (this.work > this.most) throw tooMuchWork();
  }

  private element({ ingestKey, batch }: Pick<DecodedBatch, 'ingestKey' | 'batch'>): void {
    this.work += WORK.batch;
    if (ingestKey !== undefined) this.work += WORK.keyedBatch;
    for (const span of batch.spans) this.span(span);
    for (const log of batch.logs) this.log(log);
    for (const point of batch.metrics) this.metricPoint(point);
    this.check();
    for (const {
      reason,
      label,
      metadata,
      scoreId,
      scorerId,
      scorerVersion,
      experimentId,
      correlation,
    } of batch.scores) {
      this.judgement(correlation, metadata, reason, label);
      this.ids(scoreId, scorerId, scorerVersion, experimentId);
    }
    for (const { value, comment, metadata, feedbackId, authorId, correlation } of batch.feedback) {
      this.judgement(correlation, metadata, typeof value === 'string' ? value : undefined, comment);
      this.ids(feedbackId, authorId);
    }
    for (const { text, noteId, aspect, model, correlation } of batch.aspectNotes) {
      this.judgement(correlation, undefined, text);
      this.ids(noteId, aspect, model);
    }
  }

  private span(span: Span): void {
    this.work += WORK.span;
    this.namesIn(span.name);
    this.plain(span.scopeName);
    this.payload(span.input);
    this.payload(span.output);
    this.attributes(span.attributes, span.sharedAttributes);
    for (const event of span.events) {
      this.work += WORK.event;
      this.text(event.name);
      this.members(event.attributes);
    }
    for (const link of span.links) {
      this.work += WORK.link;
      this.members(link.attributes);
    }
    this.text(span.error?.message);
    this.text(span.error?.stack);
    this.text(span.correlation.requestId);
    this.text(span.correlation.resourceId);
    this.sums(span);
    this.facets(span);
    this.check();
  }

  private sums({ startTime, correlation: { project } }: Span): void {
    const hour = startTime / HOUR;
    if (!this.hours.has(hour)) {
      if (this.hours.size > 0) this.work += WORK.newHour;
      this.hours.add(hour);
    }
    if (this.projects.has(project)) return;
    if (this.projects.size > 0) this.work += WORK.newProject;
    this.projects.add(project);
  }

  private facets({ traceId, name, model, provider, entityName, correlation }: Span): void {
    let known = this.facetsOfTraces.get(traceId);
    if (known === undefined) {
      known = new Set();
      this.facetsOfTraces.set(traceId, known);
    }
    this.facet(known, name);
    this.facet(known, model);
    this.facet(known, provider);
    this.facet(known, entityName);
    this.facet(known, correlation.userId);
    this.facet(known, correlation.sessionId);
    this.facet(known, correlation.threadId);
    this.facet(known, correlation.environment);
    this.facet(known, correlation.serviceName);
    this.facet(known, correlation.serviceVersion);
    this.facet(known, correlation.release);
    this.facet(known, correlation.runId);
    this.facet(known, correlation.experimentId);
    for (const tag of correlation.tags ?? []) {
      this.facet(known, tag);
      this.work += WORK.tag + tag.length * WORK.character;
    }
  }

  private facet(known: Set<string>, value: string | undefined): void {
    if (value === undefined || known.has(value)) return;
    known.add(value);
    this.work += WORK.facet;
    this.check(); // a resource may give thousands of them to each of thousands of spans
    if (this.facetValues.has(value)) return;
    this.facetValues.add(value);
    this.work += WORK.newFacetValue + value.length * WORK.facetCharacter;
  }

  private judgement(
    correlation: Correlation,
    metadata: JsonObject | undefined,
    ...texts: (string | undefined)[]
  ): void {
    this.check();
    this.work += WORK.judgement;
    this.correlation(correlation);
    for (const text of texts) this.text(text, WORK.judgementCharacter);
    if (metadata !== undefined) this.attributes(metadata);
  }

  private text(text: string | undefined, character: number = WORK.character): void {
    if (text === undefined) return;
    this.work += text.length * character;
    this.namesIn(text);
  }

  private ids(...ids: (string | undefined)[]): void {
    for (const id of ids) if (id !== undefined) this.work += id.length * WORK.indexedIdCharacter;
  }

  /** What a signal that is no span belongs to: columns of its row, two of them indexed. */
  private correlation(correlation: Correlation): void {
    for (const field in correlation) {
      if (field === 'project') continue;
      const value = correlation[field as keyof Correlation];
      if (typeof value === 'string') this.ids(value);
      else if (value !== undefined) this.tags(value);
    }
  }

  private tags(tags: readonly string[]): void {
    for (const tag of tags) this.work += WORK.item + tag.length * WORK.character;
  }

  /** A text that redaction does not look at. */
  private plain(text: string | undefined): void {
    if (text !== undefined) this.work += text.length * WORK.character;
  }

  private namesIn(text: string): void {
    if (text.includes('\\u')) {
      this.work += countOf(text, '\\u') * WORK.escape;
      this.work += countOf(text, 'u0022') * WORK.escapedQuote;
      this.work += countOf(text, 'u005') * WORK.escapedBackslash;
    }
    if (text.includes('"')) this.work += namesWithin(text) * WORK.nameInText;
  }

  private log(log: LogRecord): void {
    this.work += WORK.log;
    this.text(log.message, WORK.indexedCharacter);
    this.plain(log.logger);
    this.correlation(log.correlation);
    this.attributes(log.attributes);
    this.check(); // what counts costs something, too
  }

  private metricPoint(point: MetricPoint): void {
    this.work += WORK.metricPoint + ((point.bounds?.length ?? 0) + (point.bucketCounts?.length ?? 0)) * WORK.bucket;
    this.ids(point.name);
    this.correlation(point.correlation);
    this.plain(point.unit);
    this.plain(point.description);
    this.attributes(point.attributes);
    this.check();
    for (const exemplar of point.exemplars) {
      this.work += WORK.event;
      this.members(exemplar.attributes);
    }
  }

  private payload(value: Json | undefined): void {
    if (value === undefined) return;
    this.work += WORK.payload;
    this.inside(value, WORK.indexedCharacter);
  }

  private attributes(attributes: JsonObject, shared?: JsonObject): void {
    const before = this.work;
    this.members(attributes);
    if (shared !== undefined) this.shared(shared);
    if (this.work > before) this.work += WORK.attributes;
  }

  private shared(attributes: JsonObject): void {
    if (this.lastShared?.attributes !== attributes) {
      this.members(attributes); // its names may be new
      const counted = this.work;
      this.members(attributes, 0);
      const withoutText = this.work - counted;
      this.work = counted;
      const text = JSON.stringify(attributes).length * WORK.character;
      this.lastShared = { attributes, work: withoutText * WORK.shared + text };
    }
    this.work += this.lastShared.work;
  }

  private members(object: JsonObject, character: number = WORK.character): void {
    let isNew = false;
    let places = 0;
    for (const name in object) {
      this.work += WORK.member;
      places = placesWith(places, name);
      if (!this.names.has(name)) {
        this.names.add(name);
        this.work += name.length * WORK.character;
        isNew = true;
      } else if (name.length > LONG_NAME) this.work += name.length * WORK.character;
      if (isNew) this.work += WORK.newName;
      this.inside(object[name] as Json, character);
    }
    this.work += places * WORK.indexPlace;
  }

  /** What a value holds, itself aside. */
  private inside(value: Json, character: number): void {
    if (typeof value === 'string') this.text(value, character);
    else if (typeof value === 'number') {
      if (!Number.isSafeInteger(value)) this.work += WORK.decimal;
    } else if (typeof value === 'object' && value !== null) {
      this.work += WORK.container;
      if (!Array.isArray(value)) this.members(value as JsonObject, character);
      else {
        this.work += value.length * WORK.item;
        for (const item of value as readonly Json[]) this.inside(item, character);
      }
    }
  }
}
