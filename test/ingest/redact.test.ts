import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor, type RedactionSettings } from '../../src/ingest/redact.ts';
import { createKeyRule, defaultRedactedKeys, hashableIdentifiers } from '../../src/ingest/redact-keys.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import { emptyBatch } from '../../src/model/signal.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, Score, SignalBatch } from '../../src/model/signal.ts';
import type { Span } from '../../src/model/span.ts';

const CANARY = 'canary-7d1f';

const aSpan = (over: Partial<Span> = {}): Span => ({
  traceId: '1'.repeat(32),
  spanId: '2'.repeat(16),
  name: 'chat',
  kind: 'generic',
  status: 'ok',
  startTime: 1n,
  isEvent: false,
  receivedAt: 3n,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...over,
});
const aLog = (over: Partial<LogRecord> = {}): LogRecord => ({
  logId: 'l',
  timestamp: 1n,
  receivedAt: 1n,
  severity: 'info',
  message: 'm',
  attributes: {},
  correlation: { project: 'default' },
  ...over,
});
const aMetric = (over: Partial<MetricPoint> = {}): MetricPoint => ({
  name: 'm',
  type: 'gauge',
  timestamp: 1n,
  receivedAt: 1n,
  value: 1,
  attributes: {},
  correlation: { project: 'default' },
  exemplars: [],
  ...over,
});
const aScore = (over: Partial<Score> = {}): Score => ({
  scoreId: 's',
  traceId: '1'.repeat(32),
  scorerId: 'x',
  value: 1,
  min: 0,
  max: 1,
  source: 'live',
  timestamp: 1n,
  receivedAt: 1n,
  correlation: { project: 'default' },
  ...over,
});
const aFeedback = (over: Partial<Feedback> = {}): Feedback => ({
  feedbackId: 'f',
  traceId: '1'.repeat(32),
  kind: 'comment',
  value: 'v',
  timestamp: 1n,
  receivedAt: 1n,
  correlation: { project: 'default' },
  ...over,
});
const aNote = (over: Partial<AspectNote> = {}): AspectNote => ({
  noteId: 'n',
  traceId: '1'.repeat(32),
  aspect: 'tone',
  text: 't',
  timestamp: 1n,
  receivedAt: 1n,
  correlation: { project: 'default' },
  ...over,
});

/** Everything a store, an index or a log line could be made from. */
const written = (batch: SignalBatch): string =>
  JSON.stringify(batch, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

const redact = createRedactor();
const redactedInput = (input: Json, settings?: RedactionSettings): Json | undefined =>
  createRedactor(settings)({ ...emptyBatch, spans: [aSpan({ input })] }).spans[0]?.input;

describe('a key matches whole, case-insensitive, `-`, `_` and `.` alike', () => {
  const verdictOf = createKeyRule(['My-Own.key', 'café'], []);

  it.each([
    ...[
      'authorization',
      'Authorization',
      'AUTHORIZATION',
      'api_key',
      'api-key',
      'api.key',
      'API-KEY',
      'apiKey',
      'apikey',
    ],
    ...['X-Api-Key', 'client_secret', 'clientSecret', 'Set-Cookie', 'aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY'],
    ...['my_own_key', 'my.own.key', 'MY-OWN-KEY', 'CAFÉ', 'password', 'token', 'accessToken', 'OPENAI_API_KEY'],
  ])('%s is redacted', (key) => expect(verdictOf(key)).toBe('redact'));

  it.each([
    ...[
      'token_count',
      'max_tokens',
      'tokens',
      'input_tokens',
      'authorization_url',
      'password_hint',
      'secretary',
      'keys',
    ],
    ...['author', 'apikeys_count', 'my_own', 'own_key', 'key', 'cookie_banner', 'name', '', '.', '...', '__proto__'],
    ...['llm.token_count.prompt', 'gen_ai.usage.input_tokens', 'gen_ai.token.type', 'gen_ai.request.max_tokens'],
  ])('%j is kept', (key) => expect(verdictOf(key)).toBe('keep'));

  it.each([
    ...['http.request.header.authorization', 'http.request.header.x-api-key', 'http.response.header.set-cookie'],
    ...['headers.set-cookie.0', 'llm.messages.0.headers.set-cookie.12', 'llm.invocation_parameters.api_key'],
    ...['db.password', 'http.request.header.x.api.key'],
  ])('a dotted key matches by its last segments: %s is redacted', (key) => expect(verdictOf(key)).toBe('redact'));

  it.each([
    ...['config.credentials.primary.user', 'aws.secretsmanager.secret.arn', 'token.count.prompt', 'password.0.hint'],
    ...['authorization.0.5.kind', '0', '12.3'],
  ])('and by no others: %s is kept', (key) => expect(verdictOf(key)).toBe('keep'));

  it('a name of two words matches two segments, or one, and never the end of a word', () => {
    const verdict = createKeyRule(['card_number'], []);
    for (const key of ['card_number', 'order.card.number', 'order.cardNumber', 'order.card-number', 'card.number'])
      expect(verdict(key), key).toBe('redact');
    for (const key of ['mycardnumber', 'order.mycard.number', 'card.number.hash', 'order.number'])
      expect(verdict(key), key).toBe('keep');
  });

  it('in nested JSON each member is judged by its own name, never by its path', () => {
    const input = { order: { card: { number: '4111' }, card_number: '4111', 'card.number': '4111' } };
    const attributes = { order: input.order };
    const [span] = createRedactor({ keys: ['card_number'] })({
      ...emptyBatch,
      spans: [aSpan({ input, attributes })],
    }).spans;
    const kept = { card: { number: '4111' }, card_number: '[redacted]', 'card.number': '[redacted]' };
    expect(span).toMatchObject({ input: { order: kept }, attributes: { order: kept } });
  });

  it('knows each of its own default names', () => {
    for (const key of defaultRedactedKeys) expect(createKeyRule([], [])(key), key).toBe('redact');
  });

  it('judges a hostile key of a million segments in a moment', () => {
    // Work that grows with the square of the length would not end within the time of a test.
    expect(verdictOf('a.'.repeat(1_000_000))).toBe('keep');
    expect(verdictOf('.'.repeat(1_000_000))).toBe('keep');
  });
});

describe('a value that a rule matches is in no position of what is stored', () => {
  const secret: JsonObject = { password: CANARY };
  const json = JSON.stringify(secret);
  const twice = JSON.stringify({ body: json });
  const thrice = JSON.stringify([{ arguments: twice }]);
  const flat: JsonObject = { 'http.request.header.authorization': `Bearer ${CANARY}` };
  const exemplar = { value: 1, timestamp: 1n, attributes: {} };

  const positions: readonly [string, SignalBatch][] = [
    ['span input', { ...emptyBatch, spans: [aSpan({ input: secret })] }],
    ['span input, at depth, in lists', { ...emptyBatch, spans: [aSpan({ input: [{ a: [[{ b: secret }]] }] })] }],
    ['span input, a JSON string', { ...emptyBatch, spans: [aSpan({ input: json })] }],
    ['span input, JSON in a string in JSON', { ...emptyBatch, spans: [aSpan({ input: { messages: [twice] } })] }],
    ['span input, three strings deep', { ...emptyBatch, spans: [aSpan({ input: thrice })] }],
    [
      'span input whose own attribute matches',
      { ...emptyBatch, spans: [aSpan({ input: CANARY, inputAttribute: 'app.secret' })] },
    ],
    ['span output', { ...emptyBatch, spans: [aSpan({ output: { tool: secret } })] }],
    [
      'span output whose own attribute matches',
      { ...emptyBatch, spans: [aSpan({ output: [CANARY], outputAttribute: 'token' })] },
    ],
    ['span attribute', { ...emptyBatch, spans: [aSpan({ attributes: flat })] }],
    [
      'attribute that spans share',
      {
        ...emptyBatch,
        spans: [aSpan({ sharedAttributes: flat }), aSpan({ sharedAttributes: flat, attributes: { a: 1 } })],
      },
    ],
    ['span attribute, nested value', { ...emptyBatch, spans: [aSpan({ attributes: { cfg: { list: [secret] } } })] }],
    [
      'span attribute, a list under the key',
      { ...emptyBatch, spans: [aSpan({ attributes: { cookie: [CANARY, CANARY] } })] },
    ],
    [
      'span attribute, an object under the key',
      { ...emptyBatch, spans: [aSpan({ attributes: { credentials: { user: CANARY } } })] },
    ],
    [
      'span attribute, JSON string',
      { ...emptyBatch, spans: [aSpan({ attributes: { 'llm.invocation_parameters': json } })] },
    ],
    ['span event', { ...emptyBatch, spans: [aSpan({ events: [{ name: 'e', time: 1n, attributes: flat }] })] }],
    [
      'span event, JSON string',
      { ...emptyBatch, spans: [aSpan({ events: [{ name: 'e', time: 1n, attributes: { content: twice } }] })] },
    ],
    ['span event name', { ...emptyBatch, spans: [aSpan({ events: [{ name: json, time: 1n, attributes: {} }] })] }],
    [
      'span link',
      {
        ...emptyBatch,
        spans: [aSpan({ links: [{ traceId: '3'.repeat(32), spanId: '4'.repeat(16), attributes: flat }] })],
      },
    ],
    ['span name', { ...emptyBatch, spans: [aSpan({ name: `POST ${json}` })] }],
    ['span error', { ...emptyBatch, spans: [aSpan({ error: { message: `refused: ${json}`, stack: `at ${twice}` } })] }],
    ['log message', { ...emptyBatch, logs: [aLog({ message: json })] }],
    ['log message, JSON behind words', { ...emptyBatch, logs: [aLog({ message: `sent ${json} to host` })] }],
    ['log attribute', { ...emptyBatch, logs: [aLog({ attributes: { ...flat, body: thrice } })] }],
    ['metric attribute', { ...emptyBatch, metrics: [aMetric({ attributes: flat })] }],
    [
      'exemplar attribute',
      { ...emptyBatch, metrics: [aMetric({ exemplars: [{ ...exemplar, attributes: { ...flat, x: twice } }] })] },
    ],
    ['score metadata', { ...emptyBatch, scores: [aScore({ metadata: { deep: [secret] } })] }],
    ['score reason and label', { ...emptyBatch, scores: [aScore({ reason: `because ${json}`, label: json })] }],
    ['feedback metadata', { ...emptyBatch, feedback: [aFeedback({ metadata: { 'x-api-key': CANARY } })] }],
    ['feedback value and comment', { ...emptyBatch, feedback: [aFeedback({ value: json, comment: twice })] }],
    ['aspect note', { ...emptyBatch, aspectNotes: [aNote({ text: `said ${json}` })] }],
  ];

  it.each(positions)('%s', (_position, batch) => {
    expect(written(batch)).toContain(CANARY);
    const after = redact(batch);
    expect(written(after)).not.toContain(CANARY);
    expect(written(after)).toContain('[redacted]');
    expect(redact(after)).toBe(after);
  });

  it('leaves everything beside it as it was', () => {
    const span = aSpan({
      input: { a: 1, password: CANARY, b: [true, null, 'x'] },
      attributes: { keep: 'me', api_key: CANARY, n: 2.5 },
    });
    const [after] = redact({ ...emptyBatch, spans: [span] }).spans;
    expect({ ...after?.attributes }).toEqual({ keep: 'me', api_key: '[redacted]', n: 2.5 });
    expect({ ...(after?.input as JsonObject) }).toEqual({ a: 1, password: '[redacted]', b: [true, null, 'x'] });
  });

  it('hands back the same batch, and the same signals, where nothing matched', () => {
    const clean: SignalBatch = {
      spans: [
        aSpan({
          input: { q: 'what is a "token": a word?' },
          attributes: { a: '{"b": [1, 2]}' },
          error: { message: 'x' },
        }),
      ],
      logs: [aLog({ message: 'GET /a?b="c": 200' })],
      metrics: [aMetric({ exemplars: [exemplar] })],
      scores: [aScore({ metadata: { a: 1 } })],
      feedback: [aFeedback()],
      aspectNotes: [aNote()],
    };
    const spans = [aSpan({ input: 'no secret, "key": here' })];
    expect(redact({ ...clean, spans })).toMatchObject({ spans });
    expect(redact({ ...clean, spans }).spans).toBe(spans);
    const mixed = redact({ ...clean, logs: [...clean.logs, aLog({ message: json })] });
    expect(mixed.logs[0]).toBe(clean.logs[0]);
    expect(mixed.metrics).toBe(clean.metrics);
  });

  it('takes __proto__ and its kind for plain keys', () => {
    const input = JSON.parse(`{"__proto__": {"password": "${CANARY}"}, "constructor": {"token": "${CANARY}"}}`) as Json;
    const after = redactedInput(input);
    expect(JSON.stringify(after)).toBe('{"__proto__":{"password":"[redacted]"},"constructor":{"token":"[redacted]"}}');
    expect(({} as Record<string, unknown>)['password']).toBeUndefined();
  });

  it('does not store what is nested deeper than any decoder admits', () => {
    let deep: Json = { note: CANARY };
    for (let level = 0; level < 5000; level += 1) deep = [deep];
    expect(JSON.stringify(redactedInput(deep))).not.toContain(CANARY);
  });
});

describe('a field that was lifted from a redacted attribute', () => {
  it.each([
    ['an object', { user_id: 'alice@example.com', plan: 'gold' }],
    ['JSON text', '{"user_id":"alice@example.com","plan":"gold"}'],
  ])('is redacted with a member of an attribute that is %s', (_, metadata) => {
    const redact = createRedactor({ keys: ['user_id'] });
    const span = aSpan({
      attributes: { metadata },
      correlation: { project: 'p', userId: 'alice@example.com', tags: ['gold'] },
    });
    const [after] = redact({ ...emptyBatch, spans: [span] }).spans;
    expect(after?.correlation).toEqual({ project: 'p', userId: '[redacted]', tags: ['gold'] });
    expect(JSON.stringify([after?.attributes, after?.correlation])).not.toContain('alice');
  });

  it('is redacted with one that spans share, which stays one object', () => {
    const sharedAttributes = { 'user.id': 'alice', host: 'h' };
    const spans = [1, 2].map((a) =>
      aSpan({ attributes: { a }, sharedAttributes, correlation: { project: 'p', userId: 'alice' } }),
    );
    const after = createRedactor({ keys: ['user.id'] })({ ...emptyBatch, spans }).spans;
    for (const [at, span] of after.entries())
      expect(span).toMatchObject({
        attributes: { a: at + 1 },
        sharedAttributes: { 'user.id': '[redacted]', host: 'h' },
        correlation: { project: 'p', userId: '[redacted]' },
      });
    expect(after[1]?.sharedAttributes).toBe(after[0]?.sharedAttributes);
  });

  it('is redacted with it', () => {
    const keys = ['user.id', 'gen_ai.agent.name', 'svc.tags', 'exception.message'];
    const span = aSpan({
      attributes: { 'user.id': 42, 'gen_ai.agent.name': CANARY, 'svc.tags': [CANARY, 'b'], other: 'kept' },
      events: [{ name: 'exception', time: 1n, attributes: { 'exception.message': 'boom at home' } }],
      entityName: CANARY,
      error: { message: 'boom at home', type: 'Kept' },
      correlation: { project: 'default', userId: '42', environment: 'kept', tags: [CANARY, 'kept'] },
    });
    const [after] = createRedactor({ keys })({ ...emptyBatch, spans: [span] }).spans;
    expect(after).toMatchObject({
      entityName: '[redacted]',
      error: { message: '[redacted]', type: 'Kept' },
      correlation: { project: 'default', userId: '[redacted]', environment: 'kept', tags: ['[redacted]', 'kept'] },
    });
  });
});

describe('a tag is redacted with', () => {
  it('an attribute of any of its events, however many there are', () => {
    const events = Array.from({ length: 200_000 }, (_, n) => ({ name: 'e', time: 1n, attributes: { token: `t${n}` } }));
    const correlation = { project: 'p', tags: ['t0', 'kept', 't199999'] };
    const [after] = redact({ ...emptyBatch, spans: [aSpan({ correlation, events })] }).spans;
    expect(after?.correlation.tags).toEqual(['[redacted]', 'kept', '[redacted]']);
  });

  it('an item of a list among 200,000', () => {
    const token = Array.from({ length: 200_000 }, (_, n) => n);
    const correlation = { project: 'p', tags: ['199999', '200000'] };
    const [after] = redact({ ...emptyBatch, spans: [aSpan({ correlation, attributes: { token } })] }).spans;
    expect(after?.correlation.tags).toEqual(['[redacted]', '200000']);
  });
});

describe('JSON inside a string', () => {
  it.each([
    ['plain', '{"password":"x"}', '{"password":"[redacted]"}'],
    [
      'spaces, line breaks and all else stay',
      '{\n  "Password" :\t"x" ,\n  "n": 1.0}',
      '{\n  "Password" :\t"[redacted]" ,\n  "n": 1.0}',
    ],
    [
      'digits are not lost',
      '{"id":12345678901234567890,"token":1}',
      '{"id":12345678901234567890,"token":"[redacted]"}',
    ],
    ['a key that is there twice', '{"token":"a","token":"b"}', '{"token":"[redacted]","token":"[redacted]"}'],
    [
      'number, literal, list, object',
      '{"pwd":-1.5e3,"jwt":null,"secret":["a",{"b":"]"}],"pem":{"c":"}"},"z":0}',
      '{"pwd":"[redacted]","jwt":"[redacted]","secret":"[redacted]","pem":"[redacted]","z":0}',
    ],
    [
      'quotes and backslashes in the value',
      String.raw`{"token":"a\"b\\","z":"\\"}`,
      String.raw`{"token":"[redacted]","z":"\\"}`,
    ],
    [
      'inside a string',
      String.raw`{"b":"{\"token\":\"x\",\"n\":1}","z":2}`,
      String.raw`{"b":"{\"token\":\"[redacted]\",\"n\":1}","z":2}`,
    ],
    [
      'inside a string, object',
      String.raw`{"b":"{\"token\":{\"y\":[1]},\"n\":1}","z":2}`,
      String.raw`{"b":"{\"token\":\"[redacted]\",\"n\":1}","z":2}`,
    ],
    [
      'inside a string, pretty',
      String.raw`{"b":"{\n  \"token\" :\n \"x\"\n}"}`,
      String.raw`{"b":"{\n  \"token\" :\n \"[redacted]\"\n}"}`,
    ],
    [
      'inside a string, value with quotes',
      String.raw`{"b":"{\"token\":\"a\\\"b\\\\\",\"n\":1}"}`,
      String.raw`{"b":"{\"token\":\"[redacted]\",\"n\":1}"}`,
    ],
    ['a string that is JSON', String.raw`"{\"token\":\"x\"}"`, String.raw`"{\"token\":\"[redacted]\"}"`],
    ['an escaped key', String.raw`{"pass\u0077ord":"x"}`, '{"password":"[redacted]"}'],
    [
      'an escaped key inside a string',
      String.raw`{"b":"{\"pass\\u0077ord\":\"x\"}"}`,
      String.raw`{"b":"{\"password\":\"[redacted]\"}"}`,
    ],
    [
      'escaped quotes and colon',
      String.raw`{"b":"{\u0022token\u0022\u003a\u0022x\u0022}"}`,
      String.raw`{"b":"{\"token\":\"[redacted]\"}"}`,
    ],
    ['cut off in the value', '{"a":1,"token":"abcde', '{"a":1,"token":"[redacted]"'],
    ['cut off in an object', '{"token":{"a":"b', '{"token":"[redacted]"'],
    ['cut off inside a string', String.raw`{"b":"{\"token\":\"abc"}`, String.raw`{"b":"{\"token\":\"[redacted]\""}`],
    ['cut off before the value', '{"token":', '{"token":'],
    ['between words', 'got {"token": "x"} back', 'got {"token": "[redacted]"} back'],
    ['a line of JSON each', '{"token":"a"}\n{"token":"b"}', '{"token":"[redacted]"}\n{"token":"[redacted]"}'],
    [
      'nothing to redact',
      String.raw`{"a":"C:\\users\\u0041","tokens":3}`,
      String.raw`{"a":"C:\\users\\u0041","tokens":3}`,
    ],
    ['no JSON', 'token: abc', 'token: abc'],
  ])('%s', (_name, text, expected) => {
    expect(redactedInput(text)).toBe(expected);
    expect(redactedInput(expected)).toBe(expected);
  });

  it.each([
    ['colons', ':'.repeat(2_000_000)],
    ['quotes', '":'.repeat(1_000_000)],
    ['backslashes', `\\u${'\\'.repeat(2_000_000)}`],
    ['a nest of matching keys', '"password":{'.repeat(200_000)],
    ['a nest of identifiers', '"user_id":{'.repeat(200_000)],
    ['blanks before a colon', `"a"${' '.repeat(2_000_000)}:`],
    ['escapes', '\\u0061'.repeat(300_000)],
  ])('takes linear time on %s', (_name, text) => {
    // Work that grows with the square of the length would not end within the time of a test.
    expect(redactedInput(text, { hashIdentifiers: ['user_id'], hashKey: 'k' })).toEqual(expect.any(String));
  });
});

describe('hashed identifiers are HMAC-SHA-256, hex, 32 chars', () => {
  const hashKey = 'pepper';
  const hash = (id: string): string => createHmac('sha256', hashKey).update(id).digest('hex').slice(0, 32);
  const hashing = (...hashIdentifiers: RedactionSettings['hashIdentifiers'] & object) =>
    createRedactor({ hashIdentifiers, hashKey });

  it('in the correlation of every signal', () => {
    const correlation = { project: 'default', userId: 'alice', sessionId: 's1' };
    const batch: SignalBatch = {
      spans: [aSpan({ correlation })],
      logs: [aLog({ correlation })],
      metrics: [aMetric({ correlation })],
      scores: [aScore({ correlation })],
      feedback: [aFeedback({ correlation })],
      aspectNotes: [aNote({ correlation })],
    };
    const after = hashing('user_id')(batch);
    for (const list of Object.values(after))
      for (const signal of list)
        expect(signal.correlation).toEqual({ project: 'default', userId: hash('alice'), sessionId: 's1' });
    expect(hash('alice')).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    [
      'user_id',
      ['user.id', 'enduser.id', 'svc.user_id', 'langfuse.user.id', 'ai.telemetry.metadata.userId', 'llm.user'],
    ],
    ['user_id', ['traceloop.association.properties.user_id', 'lmnr.association.properties.user_id', 'user_id']],
    ['session_id', ['session.id', 'gen_ai.conversation.id', 'svc.session_id', 'langfuse.session.id', 'mcp.session.id']],
    ['thread_id', ['svc.thread_id', 'thread.id']],
    ['request_id', ['svc.request_id', 'http.request.id', 'request_id']],
    ['resource_id', ['svc.resource_id']],
  ] as const)('%s wherever it is kept: %j', (field, keys) => {
    for (const key of keys) {
      const attributes: JsonObject = { [key]: CANARY, other: 'kept' };
      const span = aSpan({ attributes, input: JSON.stringify({ [key]: CANARY }), output: { [key]: [CANARY] } });
      const after = hashing(field)({ ...emptyBatch, spans: [span], logs: [aLog({ attributes })] });
      expect(written(after), key).not.toContain(CANARY);
      expect({ ...after.spans[0]?.attributes }).toEqual({ [key]: hash(CANARY), other: 'kept' });
      expect(after.spans[0]?.input).toBe(JSON.stringify({ [key]: hash(CANARY) }));
      const unasked = hashableIdentifiers.filter((other) => other !== field);
      expect(hashing(...unasked)({ ...emptyBatch, logs: [aLog({ attributes })] }).logs[0]?.attributes).toBe(attributes);
    }
  });

  it('hashes a number as its digits, so that it still meets its correlation', () => {
    const span = aSpan({
      attributes: { 'user.id': 42 },
      correlation: { project: 'p', userId: '42' },
      input: '{"user_id": 42}',
    });
    const [after] = hashing('user_id')({ ...emptyBatch, spans: [span] }).spans;
    expect(after?.attributes['user.id']).toBe(hash('42'));
    expect(after?.correlation.userId).toBe(hash('42'));
    expect(after?.input).toBe(`{"user_id": "${hash('42')}"}`);
  });

  it('hashes in a string what the string means, escapes undone', () => {
    const text = String.raw`{"b":"{\"user_id\":\"a\\\"b\"}"}`;
    expect(redactedInput(text, { hashIdentifiers: ['user_id'], hashKey })).toBe(
      String.raw`{"b":"{\"user_id\":\"` + hash('a"b') + String.raw`\"}"}`,
    );
  });

  it('keeps author_id exactly as sent', () => {
    const feedback = aFeedback({ authorId: 'alice' });
    expect(hashing('user_id')({ ...emptyBatch, feedback: [feedback] }).feedback[0]).toBe(feedback);
  });

  it('refuses to hash without a key, naming both settings', () => {
    expect(() => createRedactor({ hashIdentifiers: ['user_id'] })).toThrow(/hash_identifiers.*hash_key/);
  });
});

describe('any payload', () => {
  // No name begins with a backslash: V8 14.6 then reads an escaped name of the next object wrongly, and the payload is
  // read back by it. @see https://github.com/nodejs/node/issues/63785
  const names = fc.constantFrom(
    'password',
    'API-Key',
    'clientSecret',
    'a',
    'b c',
    'x"y',
    'é',
    'a\\b',
    'token_count',
    ':',
  );
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<Json>('', 'plain', 'x: "y"', '\\"', 1, -0.5, true, null, `{"token":"${CANARY}"}`),
      fc.string(),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(names, tie('tree'), { maxKeys: 4 }),
      // JSON text of a tree: each of these is a further level of quoting.
      tie('tree').map((value) => JSON.stringify(value)),
      tie('tree').map((value) => JSON.stringify(value, null, 2)),
      tie('tree').map((value) => escapeAll(JSON.stringify(value))),
    ),
  }));
  /** The same JSON, every letter inside its strings written as an escape where that is allowed. */
  const escapeAll = (json: string): string =>
    json.replaceAll(
      /"((?:[^"\\]|\\.)*)"/g,
      (_whole, inner: string) =>
        `"${inner.replaceAll(/\\.|[a-z]/g, (part) => (part.length > 1 ? part : `\\u${part.charCodeAt(0).toString(16).padStart(4, '0')}`))}"`,
    );

  const withCanary = fc
    .tuple(tree, fc.constantFrom('password', 'X-Api-Key', 'accessToken'), fc.nat({ max: 3 }))
    .map(([around, key, levels]): Json => {
      let value: Json = { before: around, [key]: CANARY, after: around };
      for (let level = 0; level < levels; level += 1) value = { wrapped: JSON.stringify(value) };
      return value;
    });

  /** The value with every string that is JSON read, at every level. */
  const readWhole = (value: Json): unknown => {
    if (typeof value === 'string') {
      try {
        const parsed = JSON.parse(value) as Json;
        return typeof parsed === 'object' || typeof parsed === 'string' ? { json: readWhole(parsed) } : value;
      } catch {
        return value;
      }
    }
    if (Array.isArray(value)) return (value as readonly Json[]).map(readWhole);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          createKeyRule([], [])(key) === 'redact' ? '[redacted]' : readWhole(item),
        ]),
      );
    return value;
  };

  it('loses its canary at any position, and redacting again changes nothing', () => {
    fc.assert(
      fc.property(withCanary, (input) => {
        const after = redactedInput(input) as Json;
        expect(JSON.stringify(after)).not.toContain(CANARY);
        expect(redactedInput(after)).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it('reads after redaction like the same payload with each matching value replaced, whatever its quoting', () => {
    fc.assert(
      fc.property(tree, (input) => {
        expect(readWhole(redactedInput(input) as Json)).toEqual(readWhole(input));
      }),
      { numRuns: 500 },
    );
  });

  it('loses its canary also when its text is cut off anywhere', () => {
    fc.assert(
      fc.property(tree, fc.nat({ max: 2 }), fc.nat(), (around, levels, cut) => {
        let text = JSON.stringify({ before: around, password: `${CANARY}${'x'.repeat(20)}` });
        for (let level = 0; level < levels; level += 1) text = JSON.stringify({ wrapped: text });
        const at = text.indexOf(CANARY) + CANARY.length;
        expect(redactedInput(text.slice(0, at + (cut % (text.length - at + 1))))).not.toContain(CANARY);
      }),
    );
  });
});
