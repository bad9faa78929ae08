import { describe, expect, it } from 'vitest';
import { type Span, wholeAttributes } from '../../../src/model/span.ts';
import { decodeBoth, mapped } from '../factories.ts';
import { aWireSpan } from '../otlp/request-codec.ts';

/** The rows of the interface specification, "OTLP attribute mapping", copied by hand: not read from the code. */
type Row = {
  field: string;
  keys: string[];
  read: (span: Span) => unknown;
  values: (index: number) => unknown;
  with?: object;
};

const text = (index: number) => `value-${index}`;
const tokens = (index: number) => 100 + index;
const someUsage = { 'gen_ai.usage.total_tokens': 1 };

const spanRows: Row[] = [
  {
    field: 'model',
    keys: ['gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name', 'svc.model'],
    read: (span) => span.model,
    values: text,
  },
  {
    field: 'provider',
    keys: ['gen_ai.system', 'llm.provider', 'svc.provider'],
    read: (span) => span.provider,
    values: text,
  },
  { field: 'input', keys: ['input.value', 'gen_ai.prompt', 'svc.input'], read: (span) => span.input, values: text },
  {
    field: 'output',
    keys: ['output.value', 'gen_ai.completion', 'svc.output'],
    read: (span) => span.output,
    values: text,
  },
  {
    field: 'entity_name',
    keys: ['gen_ai.agent.name', 'svc.entity.name'],
    read: (span) => span.entityName,
    values: text,
  },
  {
    field: 'usage.input_tokens',
    keys: [
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
      'svc.usage.input_tokens',
    ],
    read: (span) => span.usage?.inputTokens,
    values: tokens,
  },
  {
    field: 'usage.output_tokens',
    keys: [
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'svc.usage.output_tokens',
    ],
    read: (span) => span.usage?.outputTokens,
    values: tokens,
  },
  {
    field: 'usage.total_tokens',
    keys: ['llm.token_count.total', 'gen_ai.usage.total_tokens'],
    read: (span) => span.usage?.totalTokens,
    values: tokens,
  },
  {
    field: 'input_details.cache_read',
    keys: [
      'gen_ai.usage.cache_read_input_tokens',
      'llm.token_count.prompt_details.cache_read',
      'svc.usage.cache_read_tokens',
    ],
    read: (span) => span.usage?.inputDetails?.cacheRead,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'input_details.cache_write',
    keys: [
      'gen_ai.usage.cache_creation_input_tokens',
      'llm.token_count.prompt_details.cache_write',
      'svc.usage.cache_write_tokens',
    ],
    read: (span) => span.usage?.inputDetails?.cacheWrite,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'input_details.audio',
    keys: ['llm.token_count.prompt_details.audio'],
    read: (span) => span.usage?.inputDetails?.audio,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'output_details.reasoning',
    keys: ['llm.token_count.completion_details.reasoning', 'gen_ai.usage.reasoning_tokens'],
    read: (span) => span.usage?.outputDetails?.reasoning,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'output_details.audio',
    keys: ['llm.token_count.completion_details.audio'],
    read: (span) => span.usage?.outputDetails?.audio,
    values: tokens,
    with: someUsage,
  },
];

const correlationRows: Row[] = [
  { field: 'project', keys: ['svc.project'], read: (span) => span.correlation.project, values: text },
  { field: 'environment', keys: ['svc.environment'], read: (span) => span.correlation.environment, values: text },
  {
    field: 'session_id',
    keys: ['gen_ai.conversation.id', 'session.id', 'svc.session_id'],
    read: (span) => span.correlation.sessionId,
    values: text,
  },
  { field: 'thread_id', keys: ['svc.thread_id', 'thread.id'], read: (span) => span.correlation.threadId, values: text },
  {
    field: 'user_id',
    keys: ['user.id', 'enduser.id', 'svc.user_id'],
    read: (span) => span.correlation.userId,
    values: text,
  },
  {
    field: 'request_id',
    keys: ['svc.request_id', 'http.request.id'],
    read: (span) => span.correlation.requestId,
    values: text,
  },
  { field: 'release', keys: ['svc.release'], read: (span) => span.correlation.release, values: text },
  { field: 'run_id', keys: ['svc.run_id'], read: (span) => span.correlation.runId, values: text },
  { field: 'resource_id', keys: ['svc.resource_id'], read: (span) => span.correlation.resourceId, values: text },
  { field: 'experiment_id', keys: ['svc.experiment_id'], read: (span) => span.correlation.experimentId, values: text },
  { field: 'tags', keys: ['svc.tags'], read: (span) => span.correlation.tags, values: (index) => [`a-${index}`, 'b'] },
];

const withKeys = (row: Row, from: number): Record<string, unknown> =>
  // In reverse, so that the first row can not win by coming first on the wire.
  Object.fromEntries(
    row.keys
      .map((key, index) => [key, row.values(index)] as const)
      .slice(from)
      .reverse(),
  );

describe('OTLP attribute mapping: "Each row is read in order; first match wins"', () => {
  for (const row of [...spanRows, ...correlationRows])
    row.keys.forEach((key, index) => {
      it(`${row.field} is read from ${key}${index === 0 ? '' : `, when nothing of ${row.keys.slice(0, index).join(', ')} is there`}`, () => {
        expect(row.read(mapped({ ...row.with, ...withKeys(row, index) }))).toEqual(row.values(index));
      });
    });

  for (const row of correlationRows)
    row.keys.forEach((key, index) => {
      it(`${row.field} is read from ${key} of the resource, when no span attribute gives it`, () => {
        expect(row.read(mapped({}, withKeys(row, index)))).toEqual(row.values(index));
      });
      it(`${row.field} is read from the span before ${key} of the resource`, () => {
        const last = row.keys.length - 1;
        const onSpan = { [row.keys[last] as string]: row.values(77) };
        expect(row.read(mapped(onSpan, withKeys(row, index)))).toEqual(row.values(77));
      });
    });

  for (const row of spanRows)
    it(`${row.field} is not read from the resource`, () => {
      expect(
        row.read(mapped({ ...row.with, 'gen_ai.usage.total_tokens': undefined }, withKeys(row, 0))),
      ).toBeUndefined();
    });

  it("project: svc.project on the span, then on the resource, then the daemon's --project", () => {
    expect(mapped({ 'svc.project': 'a' }, { 'svc.project': 'b' }).correlation.project).toBe('a');
    expect(mapped({}, { 'svc.project': 'b' }).correlation.project).toBe('b');
    expect(mapped({}, {}).correlation.project).toBe('the-default');
    expect(mapped({ 'svc.project': '' }, {}).correlation.project).toBe('the-default');
  });

  it('environment: svc.environment, resource deployment.environment.name, resource deployment.environment', () => {
    const resource = { 'deployment.environment': 'c', 'deployment.environment.name': 'b' };
    expect(mapped({ 'svc.environment': 'a' }, resource).correlation.environment).toBe('a');
    expect(mapped({}, { ...resource, 'svc.environment': 'a' }).correlation.environment).toBe('a');
    expect(mapped({}, resource).correlation.environment).toBe('b');
    expect(mapped({}, { 'deployment.environment': 'c' }).correlation.environment).toBe('c');
    expect(mapped({ 'deployment.environment': 'x' }).correlation.environment).toBeUndefined();
  });

  it('service_name and service_version: resource service.name and service.version, and nothing else', () => {
    const { correlation } = mapped({ 'service.name': 'no' }, { 'service.name': 'shop', 'service.version': '2' });
    expect(correlation).toMatchObject({ serviceName: 'shop', serviceVersion: '2' });
    expect(mapped({ 'service.name': 'no', 'service.version': 'no' }).correlation).toEqual({ project: 'the-default' });
  });

  it('release: svc.release, resource service.version', () => {
    expect(mapped({ 'svc.release': 'r' }, { 'service.version': 'v' }).correlation.release).toBe('r');
    expect(mapped({}, { 'svc.release': 'r', 'service.version': 'v' }).correlation.release).toBe('r');
    expect(mapped({}, { 'service.version': 'v' }).correlation.release).toBe('v');
  });

  it('a resource row of the specification is read before an appended row of the span', () => {
    expect(mapped({ 'langfuse.environment': 'l' }, { 'deployment.environment': 'd' }).correlation.environment).toBe(
      'd',
    );
    expect(mapped({ 'langfuse.session.id': 'l' }, { 'session.id': 's' }).correlation.sessionId).toBe('s');
  });

  it('"Attributes with no row are still kept", those of scope and resource too, the span\'s own first', () => {
    const span = mapped({ 'my.attribute': 1, both: 'span' }, { both: 'resource', 'host.name': 'h' });
    expect(span.attributes).toEqual({ 'my.attribute': 1, both: 'span', 'host.name': 'h' });
    expect(span.sharedAttributes).toBeUndefined();
  });

  it('a tag that is said twice is one, and a text of more than 64 Ki characters is no list of tags', () => {
    expect(mapped({ 'svc.tags': 'a, b,a,,b' }).correlation.tags).toEqual(['a', 'b']);
    expect(mapped({ 'svc.tags': ['a', 'b', 'a'] }).correlation.tags).toEqual(['a', 'b']);
    const long = `a,${'b'.repeat(65_534)}`;
    expect(mapped({ 'svc.tags': long }).correlation.tags).toHaveLength(2);
    expect(mapped({ 'svc.tags': `${long}b` }).correlation).not.toHaveProperty('tags');
  });

  it('what resource and scope say is one object for all of their spans that say nothing else by those names', () => {
    const spans = [{ a: 1 }, { 'host.name': 'own', b: 2 }, { c: 3 }, {}].map((attributes) => aWireSpan(attributes));
    for (const { batch } of Object.values(
      decodeBoth(spans, { 'host.name': 'h', 'gen_ai.prompt': 'of the resource' }),
    )) {
      const [first, other, third, last] = batch.spans;
      expect(first).toMatchObject({ attributes: { a: 1 }, sharedAttributes: { 'host.name': 'h' } });
      expect(third?.sharedAttributes).toBe(first?.sharedAttributes);
      expect(last?.sharedAttributes).toBe(first?.sharedAttributes);
      expect(other?.sharedAttributes).toBeUndefined();
      expect(batch.spans.map((span) => JSON.stringify(wholeAttributes(span)))).toEqual([
        '{"host.name":"h","gen_ai.prompt":"of the resource","a":1}',
        '{"host.name":"own","gen_ai.prompt":"of the resource","b":2}',
        '{"host.name":"h","gen_ai.prompt":"of the resource","c":3}',
        '{"host.name":"h","gen_ai.prompt":"of the resource"}',
      ]);
    }
  });

  it('a value that cannot be read as its field is no match, and the next row is tried', () => {
    const usage = {
      'gen_ai.usage.input_tokens': 'many',
      'gen_ai.usage.prompt_tokens': -3,
      'llm.token_count.prompt': 7,
    };
    expect(mapped(usage).usage).toEqual({ inputTokens: 7 });
    expect(mapped({ 'gen_ai.request.model': '', 'llm.model_name': 'm' }).model).toBe('m');
  });

  it('token counts are read from doubles and digits too, when they are integers', () => {
    expect(mapped({ 'gen_ai.usage.input_tokens': '12', 'gen_ai.usage.output_tokens': 1.5 }).usage).toEqual({
      inputTokens: 12,
    });
  });

  it('"Zero and unknown differ: a span with none of the three main counts has no usage object"', () => {
    expect(mapped({ 'gen_ai.usage.cache_read_input_tokens': 5 }).usage).toBeUndefined();
    expect(mapped({ 'gen_ai.usage.input_tokens': 0 }).usage).toEqual({ inputTokens: 0 });
    expect(mapped({ 'gen_ai.usage.output_tokens': 0 }).usage).toEqual({ outputTokens: 0 });
    expect(mapped({ 'llm.token_count.total': 0 }).usage).toEqual({ totalTokens: 0 });
  });
});

describe('a payload lifted from one attribute', () => {
  it('is held once, and named', () => {
    const span = mapped({ 'input.value': 'hi', 'output.value': 'ho', other: 1 });
    expect(span).toMatchObject({ inputAttribute: 'input.value', outputAttribute: 'output.value' });
    expect(span.attributes).toEqual({ other: 1 });
  });

  it('leaves the payloads of later rows in the map, whichever comes first on the wire', () => {
    for (const attributes of [
      { 'input.value': 'first', 'gen_ai.prompt': 'second' },
      { 'gen_ai.prompt': 'second', 'input.value': 'first' },
    ]) {
      const span = mapped(attributes);
      expect(span.input).toBe('first');
      expect(span.attributes).toEqual({ 'gen_ai.prompt': 'second' });
    }
  });
});
