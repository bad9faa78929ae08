import { createHmac } from 'node:crypto';
import type { Json, JsonObject } from '../model/json.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, Score, SignalBatch } from '../model/signal.ts';
import type { Correlation, Span } from '../model/span.ts';
import { type MutableJsonObject, newJsonObject } from './json-object.ts';
import { createTextRedactor } from './redact-text.ts';

const REDACTED = '[redacted]';

/** Correlation fields that may name a person or a device, by their wire names. */
export const hashableIdentifiers = ['user_id', 'session_id', 'thread_id', 'request_id', 'resource_id'] as const;
export type HashableIdentifier = (typeof hashableIdentifiers)[number];

export type RedactionSettings = {
  /** Key names to redact beside the built-in ones. */
  readonly keys?: readonly string[];
  readonly hashIdentifiers?: readonly HashableIdentifier[];
  /** Secret of the hashes; needed with `hashIdentifiers`, since a hash without a secret can be looked up. */
  readonly hashKey?: string;
};

/** What becomes of the value under a key. A hash is made of a scalar; an object under such a key is gone through. */
export type KeyVerdict = 'keep' | 'redact' | HashableIdentifier;

/**
 * Names under which credentials usually travel: headers, configuration, environment variables. Spelling does not matter:
 * `api_key` stands for `API-Key`, `api.key` and `apiKey` as well.
 */
export const defaultRedactedKeys: readonly string[] = [
  ...['authorization', 'proxy_authorization', 'x_authorization', 'bearer', 'cookie', 'cookies', 'set_cookie'],
  ...['password', 'passwd', 'pwd', 'passphrase', 'passcode', 'user_password', 'db_password', 'database_password'],
  ...['old_password', 'new_password', 'current_password', 'password_confirmation', 'pgpassword', 'mysql_pwd'],
  ...['secret', 'secrets', 'client_secret', 'app_secret', 'api_secret', 'shared_secret', 'webhook_secret'],
  ...['secret_key', 'secret_token', 'signing_secret', 'signing_key', 'encryption_key', 'master_key', 'jwt_secret'],
  ...['api_key', 'api_keys', 'x_api_key', 'api_token', 'x_goog_api_key', 'x_svc_key', 'subscription_key'],
  ...['ocp_apim_subscription_key', 'access_key', 'access_key_id', 'secret_access_key', 'account_key'],
  ...['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'x_amz_security_token', 'sas_token'],
  ...['token', 'access_token', 'auth_token', 'refresh_token', 'id_token', 'session_token', 'bearer_token', 'jwt'],
  ...['oauth_token', 'oauth_token_secret', 'x_auth_token', 'x_access_token', 'x_vault_token', 'csrf_token'],
  ...['x_csrf_token', 'xsrf_token', 'x_xsrf_token', 'personal_access_token', 'private_token', 'deploy_token'],
  ...['private_key', 'ssh_key', 'ssh_private_key', 'rsa_private_key', 'pem', 'credential', 'credentials'],
  ...['connection_string', 'database_url', 'redis_url', 'service_account_key', 'github_token', 'gitlab_token'],
  ...['slack_token', 'npm_token', 'hf_token', 'openai_api_key', 'anthropic_api_key', 'azure_openai_api_key'],
  ...['google_api_key', 'gemini_api_key', 'mistral_api_key', 'cohere_api_key', 'groq_api_key', 'xai_api_key'],
  ...['deepseek_api_key', 'stripe_api_key', 'stripe_secret_key', 'sendgrid_api_key', 'twilio_auth_token'],
];

/** Attribute names of the conventions that contain a listed word and hold no secret. */
const knownHarmless: ReadonlySet<string> = new Set(['gen_ai.token.type', 'aws.secretsmanager.secret.arn']);

/** Ends of attribute names that hold an identifier. @see Interface specification, "OTLP attribute mapping" */
const identifierNames: Record<HashableIdentifier, readonly string[]> = {
  user_id: ['user_id', 'enduser.id', 'llm.user', 'gen_ai.user', 'gen_ai.request.user'],
  session_id: ['session_id', 'conversation_id'],
  thread_id: ['thread_id'],
  request_id: ['request_id'],
  resource_id: ['resource_id'],
};

const foldSegment = (segment: string): string => segment.toLowerCase().replaceAll(/[-_]/g, '');
const foldKey = (key: string): string => key.split('.').map(foldSegment).join('');

/** Of a longer key the end is judged: the name of the value is there, and no path is that long. */
const MAX_JUDGED_KEY_LENGTH = 4096;
const MAX_REMEMBERED_KEYS = 16_384;
const MAX_REMEMBERED_KEY_LENGTH = 256;

/** A copy of its own: a string cut out of a text keeps the whole text in memory for as long as it is remembered. */
const detached = (part: string): string => Buffer.from(part, 'utf16le').toString('utf16le');

/**
 * Builds the rule that names are judged by. Letters match in either case; `-`, `_` and `.` count for nothing, so that
 * `client_secret`, `Client-Secret` and `clientSecret` are one name. A name matches whole: `token` is not `token_count`.
 *
 * A dotted key is read as the path it was flattened from. It is redacted when any run of its segments is a listed name
 * (`http.request.header.authorization`, `credentials.primary.user`, `headers.set-cookie.0`), as the whole subtree under
 * that name would be; it is an identifier when it ends in one (`langfuse.user.id`).
 */
export const createKeyRule = (
  redactedKeys: readonly string[],
  identifiers: readonly HashableIdentifier[],
): ((key: string) => KeyVerdict) => {
  const redacted = new Set([...defaultRedactedKeys, ...redactedKeys].map(foldKey).filter((name) => name !== ''));
  const asked = new Set(redactedKeys.map(foldKey));
  const hashed = new Map(identifiers.flatMap((field) => identifierNames[field].map((name) => [foldKey(name), field])));
  const longest = Math.max(...[...redacted, ...hashed.keys()].map((name) => name.length));

  const judge = (key: string): KeyVerdict => {
    if (knownHarmless.has(key) && !asked.has(foldKey(key))) return 'keep';
    const segments = key
      .slice(-MAX_JUDGED_KEY_LENGTH)
      .split('.')
      .map(foldSegment)
      .filter((segment) => segment !== '');
    let identifier: HashableIdentifier | undefined;
    for (let start = 0; start < segments.length; start += 1) {
      let run = '';
      for (let end = start; end < segments.length; end += 1) {
        run += segments[end] ?? '';
        if (run.length > longest) break;
        if (redacted.has(run)) return 'redact';
        if (end === segments.length - 1) identifier ??= hashed.get(run);
      }
    }
    return identifier ?? 'keep';
  };

  // Senders repeat the same few keys. The memory is bounded because they need not.
  let remembered = new Map<string, KeyVerdict>();
  return (key) => {
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const verdict = judge(key);
    if (key.length > MAX_REMEMBERED_KEY_LENGTH) return verdict;
    if (remembered.size >= MAX_REMEMBERED_KEYS) remembered = new Map();
    remembered.set(detached(key), verdict);
    return verdict;
  };
};

const HASH_LENGTH = 32;
const MAX_REMEMBERED_HASHES = 16_384;

/**
 * HMAC-SHA-256 of an identifier as 32 hex characters: the same id gives the same hash, so what belongs together stays
 * together, and nobody without the key can tell whose it is.
 * @see Interface decisions, "5. Ingest policy"
 */
const createIdentifierHash = (hashKey: string): ((identifier: string) => string) => {
  let remembered = new Map<string, string>();
  return (identifier) => {
    const known = remembered.get(identifier);
    if (known !== undefined) return known;
    const hash = createHmac('sha256', hashKey).update(identifier).digest('hex').slice(0, HASH_LENGTH);
    if (remembered.size >= MAX_REMEMBERED_HASHES) remembered = new Map();
    if (identifier.length <= MAX_REMEMBERED_KEY_LENGTH) remembered.set(detached(identifier), hash);
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

  /**
   * Redacts the fields that repeat the value of an attribute which was redacted: they were lifted from it.
   * @param maps the attribute maps of the signal, before and after
   */
  const withoutLifted = <S extends Partial<Span> & { correlation: Correlation }>(
    signal: S,
    ...maps: readonly (readonly [before: JsonObject, after: JsonObject])[]
  ): S => {
    if (maps.every(([before, after]) => before === after)) return signal;
    const removed = new Set<string>();
    for (const [before, after] of maps)
      for (const key in after) if (after[key] === REDACTED) addTexts(before[key] as Json, removed);
    removed.delete(REDACTED);
    if (removed.size === 0) return signal;
    const scrub = (value: string): string => (removed.has(value) ? REDACTED : value);
    const { project, tags, ...named } = signal.correlation;
    const scrubbed = Object.fromEntries(Object.entries(named).map(([field, value]) => [field, scrub(value)]));
    return {
      ...signal,
      correlation: { ...scrubbed, project, ...(tags !== undefined && { tags: tags.map(scrub) }) },
      ...(signal.model !== undefined && { model: scrub(signal.model) }),
      ...(signal.provider !== undefined && { provider: scrub(signal.provider) }),
      ...(signal.entityName !== undefined && { entityName: scrub(signal.entityName) }),
      ...(signal.error !== undefined && {
        error: {
          message: scrub(signal.error.message),
          ...(signal.error.type !== undefined && { type: scrub(signal.error.type) }),
          ...(signal.error.stack !== undefined && { stack: scrub(signal.error.stack) }),
        },
      }),
    };
  };

  const span = (before: Span): Span => {
    const after: Pick<Span, 'name' | 'correlation' | 'attributes' | 'events' | 'links' | 'input' | 'output' | 'error'> =
      {
        name: text(before.name),
        correlation: correlation(before.correlation),
        attributes: attributes(before.attributes),
        events: items(before.events, (event) =>
          changedIn(event, { name: text(event.name), attributes: attributes(event.attributes) }),
        ),
        links: items(before.links, (link) => changedIn(link, { attributes: attributes(link.attributes) })),
        ...(before.input !== undefined && { input: payload(before.input, before.inputAttribute) }),
        ...(before.output !== undefined && { output: payload(before.output, before.outputAttribute) }),
        ...(before.error !== undefined && { error: error(before.error) }),
      };
    // An error's message may come from an exception event.
    const events = before.events.map(
      (event, index) => [event.attributes, after.events[index]?.attributes ?? {}] as const,
    );
    return withoutLifted(changedIn(before, after), [before.attributes, after.attributes], ...events);
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
    return withoutLifted(changedIn(before, after), [before.attributes, after.attributes]);
  };

  const metric = (before: MetricPoint): MetricPoint => {
    const after = {
      attributes: attributes(before.attributes),
      correlation: correlation(before.correlation),
      exemplars: items(before.exemplars, (exemplar) =>
        changedIn(exemplar, { attributes: attributes(exemplar.attributes) }),
      ),
    };
    return withoutLifted(changedIn(before, after), [before.attributes, after.attributes]);
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

/** What a field lifted from the value would hold: the text of a scalar, or of each item of a list. */
const addTexts = (value: Json, texts: Set<string>): void => {
  if (Array.isArray(value)) for (const item of value as readonly Json[]) addTexts(item, texts);
  else if (typeof value === 'string' || typeof value === 'number') texts.add(String(value));
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
