import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAnswer } from '../listening-app.ts';
import { type EvaluationService, startEvaluation, traceIdOf } from './evaluation-service.ts';

// The bounds themselves, from both sides: test/http/body/parse-body.test.ts.

let service: EvaluationService;
beforeAll(async () => {
  service = await startEvaluation();
  await service.ask('/v1/api/datasets', { body: { name: 'd', dataset_id: 'd' } });
  await service.ask('/v1/api/datasets/d/items', { body: { item_id: 'i', input: 'as it was' } });
});
afterAll(() => service.close());

const send = async (method: string, path: string, body: string) =>
  readAnswer(
    await fetch(service.url + path, {
      method,
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: new Uint8Array(gzipSync(body, { level: 1 })),
    }),
  );

const MIB = 1024 * 1024;
const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join();
const names = `{${times(330_000, (n) => `"${n.toString(36)}":0`)}}`;
const filledWith = (part: string): string => part.repeat(Math.floor((8 * MIB - 1024) / part.length));
const backslashes = filledWith('\\\\u005cu005cu005cu005cu005cu005cu005cu005c');
const quotes = filledWith('\\\\u0022jwt\\\\u0022\\\\u003a0,');
const secrets = `{${filledWith('\\"token\\":0,')}\\"a\\":0}`;
const containers = `[${times(900_000, () => '{}')}]`;
const score = (more: string): string => `{"trace_id":"${traceIdOf(1)}","scorer_id":"q","value":1,${more}}`;
const feedback = (more: string): string => `{"trace_id":"${traceIdOf(1)}","kind":"thumbs","value":"up",${more}}`;

/** Bytes that do not compress: they let as many more be inflated. */
const noise = randomBytes(300 * 1024).toString('hex');
/** Short enough for a payload, and not for an index. */
const longId = `${noise}${'x'.repeat(12 * MIB)}`;

const items = '/v1/api/datasets/d/items';

describe('a body that says little and takes long is refused before it is redacted', () => {
  it.each([
    ['an item of a backslash behind each backslash', 'POST', items, `{"input":"${backslashes}"}`],
    ['an item of secrets in a text', 'POST', items, `{"input":"${secrets}"}`],
    ['what an item is expected to give', 'POST', items, `{"input":0,"expected":"${quotes}"}`],
    ['an item of names', 'POST', items, `{"input":${names}}`],
    ['an item of empty objects', 'POST', items, `{"input":${containers}}`],
    ['metadata of an item', 'POST', items, `{"input":0,"metadata":${names}}`],
    ['members that no call knows', 'POST', items, `{"input":0,${names.slice(1)}`],
    ['an item that takes the place of another', 'PUT', `${items}/i`, `{"input":"${backslashes}"}`],
    ['the description of a dataset', 'POST', '/v1/api/datasets', `{"name":"e","description":"${backslashes}"}`],
    ['metadata of an experiment: names', 'POST', '/v1/api/experiments', `{"name":"x","metadata":${names}}`],
    ['metadata of an experiment: a text', 'POST', '/v1/api/experiments', `{"name":"x","metadata":{"a":"${quotes}"}}`],
    ['the reason of a score', 'POST', '/v1/api/scores', score(`"reason":"${backslashes}"`)],
    ['metadata of a score: names', 'POST', '/v1/api/scores', score(`"metadata":${names}`)],
    ['metadata of a score: a text', 'POST', '/v1/api/scores', score(`"metadata":{"a":"${secrets}"}`)],
    ['the comment of feedback', 'POST', '/v1/api/feedback', feedback(`"comment":"${quotes}"`)],
    ['metadata of feedback', 'POST', '/v1/api/feedback', feedback(`"metadata":${names}`)],
    ['the id of a scorer', 'POST', '/v1/api/scores', score('"reason":"a"').replace('"q"', `"${longId}"`)],
    ['the author of feedback', 'POST', '/v1/api/feedback', feedback(`"author_id":"${longId}"`)],
    ['the settings of a scorer', 'POST', '/v1/api/score', `{"trace_ids":[],"scorers":[],"config":${names}}`],
  ])('%s', async (_name, method, path, body) => {
    const { status, body: answer } = await send(method, path, body);
    expect([status, answer.code]).toEqual([413, 'payload_too_large']);
  });

  it('and nothing of it is stored', async () => {
    const stored = [
      (await service.ask('/v1/api/datasets')).body.datasets.map(({ name }: { name: string }) => name),
      (await service.ask(items)).body.items.map(({ item_id: itemId }: { item_id: string }) => itemId),
      (await service.ask('/v1/api/experiments')).body.experiments.length,
      (await service.ask(`/v1/api/scores?trace_id=${traceIdOf(1)}`)).body.scores.length,
      (await service.ask(`/v1/api/feedback?trace_id=${traceIdOf(1)}`)).body.feedback.length,
    ];
    expect(stored).toEqual([['d'], ['i'], 0, 0, 0]);
  });
});

describe('what people send is taken, compressed too', () => {
  const prose = 'the quick brown fox jumps over the lazy dog '.repeat(Math.ceil(MIB / 44));
  const cases = Array.from({ length: 10_000 }, (_, n) => ({
    id: n,
    question: `${n} ${prose.slice(0, 300)}`,
    tags: ['a', 'b'],
  }));
  const metadata = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`setting ${n}`, { value: n }]));
  it.each([
    ['an item of 1 MiB of prose', items, { item_id: 'prose', input: prose, expected: prose }],
    ['an item of 10,000 cases', items, { item_id: 'cases', input: cases }],
    ['the same as a text', items, { item_id: 'text', input: JSON.stringify(cases) }],
    ['an experiment with a thousand settings', '/v1/api/experiments', { name: 'x', metadata }],
    [
      'a score with 1 MiB of reason',
      '/v1/api/scores',
      { ...JSON.parse(score('"reason":""')), reason: prose, metadata },
    ],
    ['feedback with 1 MiB of comment', '/v1/api/feedback', { ...JSON.parse(feedback('"comment":""')), comment: prose }],
  ])('%s', async (_name, path, body) => {
    const answer = await send('POST', path, JSON.stringify(body));
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([201, expect.anything()]);
  });
});
