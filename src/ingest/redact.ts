import { createHmac } from 'node:crypto';
import type { Json, JsonObject } from '../model/json.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, Score, SignalBatch } from '../model/signal.ts';
import type { Correlation, Span } from '../model/span.ts';
import { type MutableJsonObject, newJsonObject } from './json-object.ts';
import { detached } from './detached.ts';
import { createKeyRule, type HashableIdentifier } from './redact-keys.ts';
import { findRepeated, liftedMembers, REDACTED, removedFrom } from './redact-lifted.ts';
import { createTextRedactor } from './redact-text.ts';

export { REDACTED };

export type RedactionSettings = {
  /** Key names to redact beside the built-in ones. */
  readonly keys?: readonly string[];
  readonly hashIdentifiers?: readonly HashableIdentifier[];
  /** Secret of the hashes; needed with `hashIdentifiers`, since a hash without a secret can be looked up. */
  readonly hashKey?: string;
};

const HASH_LENGTH = 32;
const MAX_REMEMBERED_HASHES = 16_384;
const MAX_REMEMBERED_ID_LENGTH = 256;

/**
 * HMAC-SHA-256 of an identifier as 32 hex characters: the same id gives the same hash, so signals of one person stay
 * together, and nobody without the key learns who it is.
 * @see Interface decisions, "5. Ingest policy"
 */
const createIdentifierHash = (hashKey: string): ((identifier: string) => string) => {
  let remembered = new Map<string, string>();
  return (identifier) => {
    const known = remembered.get(identifier);
    if (known !== undefined) return known;
    const hash = createHmac('sha256', hashKey).update(identifier).digest('hex').slice(0, HASH_LENGTH);
    if (remembered.size >= MAX_REMEMBERED_HASHES) remembered = new Map();
    if (identifier.length <= MAX_REMEMBERED_ID_LENGTH) remembered.set(detached(identifier), hash);
    return hash;
  };
};

/** Decoders admit 128 levels. Anything deeper did not come through them, and is not stored unseen. */
const MAX_DEPTH = 256;

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Builds the stage that takes secrets and, where asked, identities out of a batch before anything else sees it.
 *
 * Every place that can hold what a sender wrote is gone through: payloads, attributes, events, links, exemplars, metadata
 * and free text. A string that contains JSON, alone, inside other JSON, cut off or between other words, is searched for
 * keys like the object it spells; what else is in it stays as it was, character for character.
 *
 * Where an attribute is redacted or hashed, so is each field that was lifted from it. Prose is not searched for secrets: a
 * password that no key names is not recognised.
 *
 * The same objects are handed back wherever nothing matched.
 * @throws RangeError when identifiers are to be hashed and no key is given
 * @see Interface decisions, "5. Ingest policy"
 */
export const createRedactor = (settings: RedactionSettings = {}): ((batch: SignalBatch) => SignalBatch) => {
  const identifiers = settings.hashIdentifiers ?? [];
  const hashKey = settings.hashKey ?? '';
  if (identifiers.length > 0 && hashKey === '')
    throw new RangeError('redaction.hash_identifiers needs redaction.hash_key, a secret that the hashes are made with');
  const verdictOf = createKeyRule(settings.keys ?? [], identifiers);
  const redactedMembers = liftedMembers.filter((name) => verdictOf(name) === 'redact');
  const removedBetween = (before: JsonObject, after: JsonObject): readonly Json[] =>
    removedFrom(before, after, redactedMembers);
  const hashOf = createIdentifierHash(hashKey);
  const text = createTextRedactor(verdictOf, hashOf);

  /** A value under a key that names an identifier. */
  const hashed = (value: Json, depth: number): Json => {
    if (typeof value === 'string' && value !== '') return hashOf(value);
    if (typeof value === 'number') return hashOf(String(value));
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => hashed(item, depth + 1));
    return inside(value, depth);
  };

  const judged = (key: string, value: Json, depth: number): Json => {
    const verdict = verdictOf(key);
    if (verdict === 'keep') return inside(value, depth);
    return verdict === 'redact' ? REDACTED : hashed(value, depth);
  };

  const inside = (value: Json, depth: number): Json => {
    if (typeof value === 'string') return text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return REDACTED;
    if (isObject(value)) return members(value, depth + 1);
    return items(value, (item) => inside(item, depth + 1));
  };

  const members = (object: JsonObject, depth: number): JsonObject => {
    let changed: MutableJsonObject | undefined;
    for (const key in object) {
      const before = object[key] as Json;
      const after = judged(key, before, depth);
      if (after === before) continue;
      changed ??= Object.assign(newJsonObject(), object);
      changed[key] = after;
    }
    return changed ?? object;
  };

  const attributes = (map: JsonObject): JsonObject => members(map, 0);
  /** What becomes of maps that many spans share: one object for all of them, too. */
  const afterShared = new WeakMap<JsonObject, JsonObject>();
  const sharedAttributes = (before: JsonObject): JsonObject => {
    let after = afterShared.get(before);
    if (after === undefined) {
      after = attributes(before);
      afterShared.set(before, after);
    }
    return after;
  };
  const payload = (value: Json, key: string | undefined): Json =>
    key === undefined ? inside(value, 0) : judged(key, value, 0);

  const correlation = (before: Correlation): Correlation => {
    if (identifiers.length === 0) return before;
    let after: { -readonly [field in keyof Correlation]: Correlation[field] } | undefined;
    for (const identifier of identifiers) {
      const field = correlationFields[identifier];
      const value = before[field];
      if (value === undefined || value === '') continue;
      after ??= { ...before };
      after[field] = hashOf(value);
    }
    return after ?? before;
  };

  /** What maps that many spans share have lost, by the map as it is now. */
  const removedFromShared = new WeakMap<JsonObject, readonly Json[]>();
  const removedFromSharedMap = (before: JsonObject, after: JsonObject): readonly Json[] => {
    let removed = removedFromShared.get(after);
    if (removed === undefined) {
      removed = removedBetween(before, after);
      removedFromShared.set(after, removed);
    }
    return removed;
  };

  const span = (before: Span): Span => {
    const after: Pick<
      Span,
      'name' | 'correlation' | 'attributes' | 'sharedAttributes' | 'events' | 'links' | 'input' | 'output' | 'error'
    > = {
      name: text(before.name),
      correlation: correlation(before.correlation),
      attributes: attributes(before.attributes),
      ...(before.sharedAttributes !== undefined && { sharedAttributes: sharedAttributes(before.sharedAttributes) }),
      events: items(before.events, (event) =>
        changedIn(event, { name: text(event.name), attributes: attributes(event.attributes) }),
      ),
      links: items(before.links, (link) => changedIn(link, { attributes: attributes(link.attributes) })),
      ...(before.input !== undefined && { input: payload(before.input, before.inputAttribute) }),
      ...(before.output !== undefined && { output: payload(before.output, before.outputAttribute) }),
      ...(before.error !== undefined && { error: error(before.error) }),
    };
    const changed = changedIn(before, after);
    // Almost every span: nothing was redacted, so no field was lifted from what was.
    if (changed === before) return before;
    const payloads = (of: Pick<Span, 'input' | 'output'>): JsonObject => ({
      ...(of.input !== undefined && { input: of.input }),
      ...(of.output !== undefined && { output: of.output }),
    });
    return withoutLifted(changed, [
      ...removedBetween(before.attributes, after.attributes),
      ...(after.sharedAttributes === undefined
        ? []
        : removedFromSharedMap(before.sharedAttributes ?? {}, after.sharedAttributes)),
      ...removedBetween(payloads(before), payloads(after)),
      // An error's message may come from an exception event.
      ...before.events.flatMap((event, index) =>
        removedBetween(event.attributes, after.events[index]?.attributes ?? {}),
      ),
    ]);
  };

  const error = (before: NonNullable<Span['error']>): NonNullable<Span['error']> =>
    changedIn(before, {
      message: text(before.message),
      ...(before.stack !== undefined && { stack: text(before.stack) }),
    });

  const log = (before: LogRecord): LogRecord => {
    const after = {
      message: text(before.message),
      attributes: attributes(before.attributes),
      correlation: correlation(before.correlation),
    };
    return withoutLifted(changedIn(before, after), removedBetween(before.attributes, after.attributes));
  };

  const metric = (before: MetricPoint): MetricPoint => {
    const after = {
      attributes: attributes(before.attributes),
      correlation: correlation(before.correlation),
      exemplars: items(before.exemplars, (exemplar) =>
        changedIn(exemplar, { attributes: attributes(exemplar.attributes) }),
      ),
    };
    return withoutLifted(changedIn(before, after), removedBetween(before.attributes, after.attributes));
  };

  const score = (before: Score): Score =>
    changedIn(before, {
      correlation: correlation(before.correlation),
      ...(before.label !== undefined && { label: text(before.label) }),
      ...(before.reason !== undefined && { reason: text(before.reason) }),
      ...(before.metadata !== undefined && { metadata: attributes(before.metadata) }),
    });

  const feedback = (before: Feedback): Feedback =>
    changedIn(before, {
      correlation: correlation(before.correlation),
      ...(typeof before.value === 'string' && { value: text(before.value) }),
      ...(before.comment !== undefined && { comment: text(before.comment) }),
      ...(before.metadata !== undefined && { metadata: attributes(before.metadata) }),
    });

  const aspectNote = (before: AspectNote): AspectNote =>
    changedIn(before, { correlation: correlation(before.correlation), text: text(before.text) });

  return (batch) =>
    changedIn(batch, {
      spans: items(batch.spans, span),
      logs: items(batch.logs, log),
      metrics: items(batch.metrics, metric),
      scores: items(batch.scores, score),
      feedback: items(batch.feedback, feedback),
      aspectNotes: items(batch.aspectNotes, aspectNote),
    });
};

const correlationFields = {
  user_id: 'userId',
  session_id: 'sessionId',
  thread_id: 'threadId',
  request_id: 'requestId',
  resource_id: 'resourceId',
} as const satisfies Record<HashableIdentifier, keyof Correlation>;

/** The signal with each text replaced that may have been lifted from an attribute. */
const liftedReplaced = <S extends Partial<Span> & { correlation: Correlation }>(
  signal: S,
  replace: (text: string) => string,
): S => {
  const { project, tags, ...named } = signal.correlation;
  const replaced = Object.fromEntries(Object.entries(named).map(([field, value]) => [field, replace(value)]));
  return {
    ...signal,
    correlation: { ...replaced, project, ...(tags !== undefined && { tags: tags.map(replace) }) },
    ...(signal.model !== undefined && { model: replace(signal.model) }),
    ...(signal.provider !== undefined && { provider: replace(signal.provider) }),
    ...(signal.entityName !== undefined && { entityName: replace(signal.entityName) }),
    ...(signal.error !== undefined && {
      error: {
        message: replace(signal.error.message),
        ...(signal.error.type !== undefined && { type: replace(signal.error.type) }),
        ...(signal.error.stack !== undefined && { stack: replace(signal.error.stack) }),
      },
    }),
  };
};

/**
 * Redacts the fields that repeat the value of an attribute which was redacted: they were lifted from it.
 * @param removed what the attribute maps of the signal have lost
 */
const withoutLifted = <S extends Partial<Span> & { correlation: Correlation }>(
  signal: S,
  removed: readonly Json[],
): S => {
  if (removed.length === 0) return signal;
  const texts: string[] = [];
  liftedReplaced(signal, (text) => {
    texts.push(text);
    return text;
  });
  const isRepeated = findRepeated(texts, removed);
  return isRepeated === undefined ? signal : liftedReplaced(signal, (text) => (isRepeated(text) ? REDACTED : text));
};

/** The list with each item replaced, or the list itself when no item changed. */
const items = <T>(list: readonly T[], replace: (item: T) => T): readonly T[] => {
  let changed: T[] | undefined;
  for (let index = 0; index < list.length; index += 1) {
    const before = list[index] as T;
    const after = replace(before);
    if (after === before) continue;
    changed ??= [...list];
    changed[index] = after;
  }
  return changed ?? list;
};

/** The object with the parts replaced, or the object itself when each part is what it was. */
const changedIn = <T extends object>(whole: T, parts: Partial<T>): T => {
  for (const key in parts) if (parts[key] !== whole[key]) return { ...whole, ...parts };
  return whole;
};
