import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aRootSpan,
  type EvaluationOptions,
  type EvaluationService,
  startEvaluation,
  traceIdOf,
} from './evaluation-service.ts';

let service: EvaluationService;
const start = async (options: EvaluationOptions = {}): Promise<void> => {
  service = await startEvaluation(options);
};
afterEach(() => service.close());

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const AT = '2026-11-20T09:00:00Z';
const create = (body: object, key?: string) =>
  service.ask('/v1/api/datasets', { body, ...(key === undefined ? {} : { key }) });

describe('POST /v1/api/datasets', () => {
  beforeEach(() => start());

  it('answers 201 with the stored record', async () => {
    const { status, body } = await create({ name: 'refunds', description: 'runs that paid twice' });
    expect(status).toBe(201);
    expect(body).toEqual({
      dataset_id: expect.stringMatching(UUID_V7),
      name: 'refunds',
      project: 'default',
      description: 'runs that paid twice',
      created_at: AT,
      item_count: 0,
    });
    expect((await service.ask(`/v1/api/datasets/${body.dataset_id}`)).body).toEqual(body);
    expect((await service.ask('/v1/api/datasets/refunds')).body).toEqual(body);
  });

  it('an id sent again replaces the record, and its items stay', async () => {
    await create({ dataset_id: 'd-1', name: 'refunds' });
    await service.ask('/v1/api/datasets/d-1/items', { body: { input: 1 } });
    const { status, body } = await create({ dataset_id: 'd-1', name: 'returns' });
    expect([status, body.name, body.item_count]).toEqual([201, 'returns', 1]);
    expect((await service.ask('/v1/api/datasets/refunds')).status).toBe(404);
  });

  it('an empty id makes the service generate one', async () =>
    expect((await create({ dataset_id: '', name: 'n' })).body.dataset_id).toMatch(UUID_V7));

  it('a name that another dataset of the project has is 409', async () => {
    await create({ name: 'refunds' });
    const { status, body } = await create({ name: 'refunds' });
    expect([status, body.code, body.field]).toEqual([409, 'conflict', 'name']);
    expect((await create({ name: 'refunds', project: 'other' })).status).toBe(201);
  });

  it.each([
    ['{"name":', 400, 'the request body is not JSON'],
    ['', 400, 'the request body is not JSON'],
    ['{}', 422, 'the request body does not decode: missing field `name`'],
    ['{"name":7}', 422, '`name` must be a string'],
    ['{"name":""}', 422, '`name` must not be empty'],
    ['{"name":"n","colour":1}', 422, '`colour` is not known here'],
    ['[]', 422, 'the body must be an object'],
  ])('a body that does not decode (%s) is %i as text', async (raw, status, message) => {
    const answer = await service.ask('/v1/api/datasets', { method: 'POST', raw });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain(message);
  });
});

describe('GET /v1/api/datasets', () => {
  beforeEach(() => start());

  it('pages, newest first, and a cursor is valid only with the filters it was made with', async () => {
    for (let i = 0; i < 5; i++) await create({ name: `n-${i}` });
    await create({ name: 'theirs', project: 'other' });
    const names: string[] = [];
    let cursor = '';
    do {
      const { body } = await service.ask(`/v1/api/datasets?limit=2${cursor}`);
      names.push(...body.datasets.map(({ name }: { name: string }) => name));
      cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`;
      if (cursor !== '') {
        const wrong = await service.ask(`/v1/api/datasets?project=other${cursor}`);
        expect([wrong.status, wrong.body.field]).toEqual([400, 'cursor']);
      }
    } while (cursor !== '');
    expect(names).toEqual(['n-4', 'n-3', 'n-2', 'n-1', 'n-0']);
    expect((await service.ask('/v1/api/datasets?project=*')).body.datasets).toHaveLength(6);
  });

  it('an unknown query parameter is 400', async () => {
    const { status, body } = await service.ask('/v1/api/datasets?name=n');
    expect([status, body.code, body.field]).toEqual([400, 'invalid_parameter', 'name']);
  });
});

describe('the items of a dataset', () => {
  beforeEach(async () => {
    await start({ redaction: { keys: ['iban'] } });
    await create({ dataset_id: 'd-1', name: 'refunds' });
  });
  const items = async (query = '') => (await service.ask(`/v1/api/datasets/refunds/items${query}`)).body;

  it('are added with 201 and the stored record, under the id or the name of the dataset', async () => {
    const item = {
      input: { q: 'where?' },
      expected: ['Friday'],
      metadata: { lang: 'en' },
      source_trace_id: traceIdOf(1),
    };
    for (const reference of ['d-1', 'refunds']) {
      const { status, body } = await service.ask(`/v1/api/datasets/${reference}/items`, { body: item });
      expect(status).toBe(201);
      expect(body).toEqual({ ...item, item_id: expect.stringMatching(UUID_V7), dataset_id: 'd-1', created_at: AT });
    }
    expect((await service.ask('/v1/api/datasets/d-1')).body.item_count).toBe(2);
  });

  it('an id sent again replaces the record', async () => {
    await service.ask('/v1/api/datasets/d-1/items', { body: { item_id: 'i', input: 1, expected: 2 } });
    await service.ask('/v1/api/datasets/d-1/items', { body: { item_id: 'i', input: 3 } });
    expect((await items()).items).toEqual([{ item_id: 'i', dataset_id: 'd-1', input: 3, created_at: AT }]);
  });

  it('keep any JSON as input and as expected answer; an expected null is absent', async () => {
    for (const input of [null, false, 0, '', [], { deep: [{ er: null }] }])
      expect((await service.ask('/v1/api/datasets/d-1/items', { body: { input, expected: null } })).body).toEqual({
        item_id: expect.any(String),
        dataset_id: 'd-1',
        input,
        created_at: AT,
      });
  });

  it('are replaced by PUT, which keeps id and time, and drops what it leaves out', async () => {
    await service.ask('/v1/api/datasets/d-1/items', { body: { item_id: 'i', input: 1, expected: 2 } });
    const { status, body } = await service.ask('/v1/api/datasets/d-1/items/i', {
      method: 'PUT',
      body: { input: 'new' },
    });
    expect([status, body]).toEqual([200, { item_id: 'i', dataset_id: 'd-1', input: 'new', created_at: AT }]);
    const missing = await service.ask('/v1/api/datasets/d-1/items/none', { method: 'PUT', body: { input: 1 } });
    expect([missing.status, missing.body.code]).toEqual([404, 'not_found']);
    const misspelled = await service.ask('/v1/api/datasets/d-1/items/i', { method: 'PUT', body: { output: 1 } });
    expect([misspelled.status, misspelled.text]).toEqual([422, expect.stringContaining('missing field `input`')]);
  });

  it('are deleted, once', async () => {
    await service.ask('/v1/api/datasets/d-1/items', { body: { item_id: 'i', input: 1 } });
    const first = await service.ask('/v1/api/datasets/d-1/items/i', { method: 'DELETE' });
    expect([first.status, first.body]).toEqual([200, { deleted: true, deletes_pending: false }]);
    expect((await service.ask('/v1/api/datasets/d-1/items/i', { method: 'DELETE' })).status).toBe(404);
  });

  it('page in the order of their making', async () => {
    for (let i = 0; i < 5; i++)
      await service.ask('/v1/api/datasets/d-1/items', { body: { item_id: `i-${i}`, input: i } });
    const first = await items('?limit=3');
    const second = await items(`?limit=3&cursor=${first.next_cursor}`);
    expect([...first.items, ...second.items].map(({ input }: { input: number }) => input)).toEqual([0, 1, 2, 3, 4]);
    expect(second.next_cursor).toBeUndefined();
    await create({ name: 'empty' });
    const foreign = await service.ask(`/v1/api/datasets/empty/items?cursor=${first.next_cursor}`);
    expect([foreign.status, foreign.body.field]).toEqual([400, 'cursor']);
  });

  it('pass redaction before they are stored: a value that a rule matches never reaches storage', async () => {
    const secret = 'DE89-3704-0044';
    const { text } = await service.ask('/v1/api/datasets/d-1/items', {
      body: {
        input: { user: { iban: secret } },
        expected: JSON.stringify({ iban: secret }),
        metadata: { 'payment.iban': secret, lang: 'de' },
      },
    });
    expect(text).toContain('[redacted]');
    expect(text).toContain('"lang":"de"');
    expect(text + JSON.stringify(await items())).not.toContain(secret);
  });

  it.each([
    ['{}', 422, 'missing field `input`'],
    ['{"input":1,"metadata":[]}', 422, '`metadata` must be an object'],
    ['{"input":1,"answer":2}', 422, '`answer` is not known here'],
    ['{"input"', 400, 'the request body is not JSON'],
  ])('a body that does not decode (%s) is %i as text', async (raw, status, message) => {
    const answer = await service.ask('/v1/api/datasets/d-1/items', { method: 'POST', raw });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain(message);
  });

  it('a run that is no trace id is 400, and nothing is stored', async () => {
    const { status, body } = await service.ask('/v1/api/datasets/d-1/items', {
      body: { input: 1, source_trace_id: 'x' },
    });
    expect([status, body.code, body.field]).toEqual([400, 'invalid_id', 'source_trace_id']);
    expect((await items()).items).toEqual([]);
  });

  it('of a dataset that is not there are 404', async () => {
    for (const [method, path, body] of [
      ['GET', '/v1/api/datasets/none', undefined],
      ['DELETE', '/v1/api/datasets/none', undefined],
      ['GET', '/v1/api/datasets/none/items', undefined],
      ['POST', '/v1/api/datasets/none/items', { input: 1 }],
      ['PUT', '/v1/api/datasets/none/items/i', { input: 1 }],
      ['DELETE', '/v1/api/datasets/none/items/i', undefined],
      ['POST', '/v1/api/datasets/none/capture', { trace_ids: [] }],
    ] as const) {
      const answer = await service.ask(path, { method, ...(body === undefined ? {} : { body }) });
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found']);
    }
  });

  it('go with their dataset', async () => {
    await service.ask('/v1/api/datasets/d-1/items', { body: { input: 1 } });
    expect((await service.ask('/v1/api/datasets/d-1', { method: 'DELETE' })).body).toEqual({
      deleted: true,
      deletes_pending: false,
    });
    expect((await service.ask('/v1/api/datasets/d-1/items')).status).toBe(404);
  });
});

describe('POST /v1/api/datasets/{dataset}/capture', () => {
  beforeEach(async () => {
    await start();
    await create({ dataset_id: 'd-1', name: 'refunds' });
  });
  const capture = (body: unknown) => service.ask('/v1/api/datasets/refunds/capture', { body });
  const items = async () => (await service.ask('/v1/api/datasets/refunds/items')).body.items;

  it('captures runs as cases keeping `source_trace_id`, without the output by default', async () => {
    await service.send([aRootSpan(1), aRootSpan(2)]);
    const { status, body } = await capture({ trace_ids: [traceIdOf(2), traceIdOf(1), traceIdOf(2)] });
    expect(status).toBe(201);
    expect(body).toEqual({
      captured: 2,
      items: [2, 1].map((n) => ({ item_id: expect.stringMatching(UUID_V7), source_trace_id: traceIdOf(n) })),
      skipped: [],
    });
    expect(await items()).toEqual(
      [2, 1].map((n, i) => ({
        item_id: body.items[i].item_id,
        dataset_id: 'd-1',
        input: { question: `question ${n}` },
        source_trace_id: traceIdOf(n),
        created_at: AT,
      })),
    );
  });

  it.each([
    ['words', 'It arrives on Friday.', 'It arrives on Friday.'],
    ['data', { eta: 'Friday' }, { eta: 'Friday' }],
    ['messages, of which the words are kept', [{ role: 'assistant', content: 'Friday.' }], 'Friday.'],
  ])('with `use_output_as_expected` keeps what the run answered: %s', async (_name, output, expected) => {
    await service.send([aRootSpan(1, { output })]);
    await capture({ trace_ids: [traceIdOf(1)], use_output_as_expected: true });
    expect(await items()).toMatchObject([{ expected }]);
  });

  it.each([
    ['an empty output', ''],
    ['no output', undefined],
    ['a message that only calls a tool', [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f' } }] }]],
  ])(
    'with `use_output_as_expected` a run without an answer is a case without `expected`: %s',
    async (_name, output) => {
      await service.send([aRootSpan(1, { output })]);
      const { body } = await capture({ trace_ids: [traceIdOf(1)], use_output_as_expected: true });
      expect(body).toMatchObject({ captured: 1, skipped: [] });
      const [item, ...others] = await items();
      expect(others).toEqual([]);
      expect(item.input).toEqual({ question: 'question 1' });
      expect(item).not.toHaveProperty('expected');
    },
  );

  it('skips, with the reason, what is not a case', async () => {
    await service.send([
      aRootSpan(1, { input: undefined }),
      aRootSpan(3, { correlation: { project: 'other' } }),
      aRootSpan(4),
    ]);
    const { body } = await capture({ trace_ids: [1, 3, 4, 5].map(traceIdOf), use_output_as_expected: true });
    expect(body.captured).toBe(1);
    expect(body.skipped).toEqual([
      { trace_id: traceIdOf(1), reason: 'the run has no input to make a case of' },
      { trace_id: traceIdOf(3), reason: `no run ${traceIdOf(3)} is stored in project "default"` },
      { trace_id: traceIdOf(5), reason: `no run ${traceIdOf(5)} is stored in project "default"` },
    ]);
  });

  it('a captured case outlives its run', async () => {
    await service.send([aRootSpan(1)]);
    await capture({ trace_ids: [traceIdOf(1)] });
    await service.store.deleteTraces([traceIdOf(1)], 'all');
    expect(await items()).toMatchObject([{ source_trace_id: traceIdOf(1) }]);
  });

  it.each([
    ['{}', 422, 'missing field `trace_ids`'],
    ['{"trace_ids":"x"}', 422, '`trace_ids` must be an array'],
    ['{"trace_ids":[],"use_output_as_expected":"yes"}', 422, '`use_output_as_expected` must be true or false'],
    ['{', 400, 'the request body is not JSON'],
  ])('a body that does not decode (%s) is %i as text', async (raw, status, message) => {
    const answer = await service.ask('/v1/api/datasets/refunds/capture', { method: 'POST', raw });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain(message);
  });

  it('an id that is no trace id is 400, naming its place', async () => {
    const { status, body } = await capture({ trace_ids: [traceIdOf(1), 'ABC'] });
    expect([status, body.code, body.field]).toEqual([400, 'invalid_id', 'trace_ids']);
    expect(body.message).toContain('trace_ids[1]');
  });

  it('an identifier that was hashed when the run arrived is not hashed again', async () => {
    await service.close();
    await start({ redaction: { hashIdentifiers: ['user_id'], hashKey: 'k' } });
    await create({ name: 'refunds' });
    await service.send([aRootSpan(1, { input: { user_id: 'ada', q: 'where?' } })]);
    await capture({ trace_ids: [traceIdOf(1)] });
    const stored = await service.store.findTrace(traceIdOf(1), 'all', true);
    const [item] = await items();
    expect(item.input.user_id).toMatch(/^[0-9a-f]{32}$/);
    expect(item.input).toEqual(stored?.spans[0]?.input);
  });
});

describe('keys and projects', () => {
  const keys = {
    topLevel: { read: ['r'], write: ['w'] },
    projects: { alpha: { read: ['alpha-r'], write: ['alpha-w'] } },
  };
  beforeEach(() => start({ keys }));

  it('writes need the write scope, reads the read scope', async () => {
    expect((await create({ name: 'n' })).status).toBe(401);
    expect((await create({ name: 'n' }, 'r')).status).toBe(403);
    expect((await create({ name: 'n' }, 'w')).status).toBe(201);
    expect((await service.ask('/v1/api/datasets/n', { key: 'w' })).status).toBe(403);
    expect((await service.ask('/v1/api/datasets/n', { key: 'r' })).status).toBe(200);
    expect((await service.ask('/v1/api/datasets/n', { key: 'r', method: 'DELETE' })).status).toBe(403);
  });

  it('a project key makes, sees and changes the datasets of its project alone', async () => {
    const top = (await create({ dataset_id: 'd-top', name: 'n' }, 'w')).body;
    const own = await create({ dataset_id: 'd-own', name: 'n' }, 'alpha-w');
    expect([own.status, own.body.project]).toEqual([201, 'alpha']);
    expect((await create({ name: 'm', project: 'default' }, 'alpha-w')).body.code).toBe('forbidden');
    expect((await service.ask('/v1/api/datasets', { key: 'alpha-r' })).body.datasets).toEqual([own.body]);
    expect((await service.ask('/v1/api/datasets/n', { key: 'alpha-r' })).body).toEqual(own.body);
    expect((await service.ask('/v1/api/datasets/n', { key: 'r' })).body).toEqual(top);
    expect((await service.ask('/v1/api/datasets/n?project=alpha', { key: 'r' })).body).toEqual(own.body);
    expect((await service.ask('/v1/api/datasets/d-top', { key: 'alpha-r' })).status).toBe(404);
    expect((await service.ask('/v1/api/datasets/d-own', { key: 'r' })).body).toEqual(own.body);
    expect((await service.ask('/v1/api/datasets/d-top/items', { key: 'alpha-w', body: { input: 1 } })).status).toBe(
      404,
    );
    expect((await service.ask('/v1/api/datasets/d-top', { key: 'alpha-w', method: 'DELETE' })).status).toBe(404);
    const beyond = await service.ask('/v1/api/datasets/n?project=default', { key: 'alpha-r' });
    expect([beyond.status, beyond.body.code, beyond.body.field]).toEqual([403, 'forbidden', 'project']);
  });

  it('reads of stored payloads are audited under the project that holds them', async () => {
    await create({ name: 'n' }, 'alpha-w');
    await service.ask('/v1/api/datasets/n/items', { key: 'alpha-r' });
    await service.ask('/v1/api/datasets/n/items?project=default', { key: 'alpha-r' });
    await service.ask('/v1/api/datasets/n/capture', { key: 'alpha-w', body: { trace_ids: [] } });
    expect(await service.audited()).toEqual([
      'list_dataset_items alpha allowed',
      'list_dataset_items default refused',
      'capture_runs alpha allowed',
    ]);
  });

  it('a capture answers a write key with ids and reasons, never with what the run holds', async () => {
    await create({ name: 'n' }, 'w');
    const sent = await service.ask('/v1/ingest', { body: { spans: [aRootSpan(1, { input: 'a private question' })] } });
    expect(sent.body.accepted).toBe(1);
    const { body, text } = await service.ask('/v1/api/datasets/n/capture', {
      key: 'w',
      body: { trace_ids: [traceIdOf(1)], use_output_as_expected: true },
    });
    expect(body.captured).toBe(1);
    expect(text).not.toContain('private');
    expect(text).not.toContain('answer 1');
  });
});
