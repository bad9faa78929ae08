import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MOST_KEYS_OF_ONE } from '../../../src/ingest/keys.ts';
import { readAnswer } from '../listening-app.ts';
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

// The bounds themselves, from both sides: test/http/body/parse-body.test.ts.

let service: RunsHttp;
beforeAll(async () => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one'), aTask('two')])] });
});
afterAll(() => service.close());

const send = async (path: string, body: string) =>
  readAnswer(
    await fetch(`${service.url}/v1/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: new Uint8Array(gzipSync(body, { level: 1 })),
    }),
  );
const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join();
const names = `{${times(300_000, (n) => `"${n.toString(36)}":0`)}}`;
const containers = `{"a":[${times(900_000, () => '{}')}]}`;

describe('a body that says little and takes long is refused before it moves a run', () => {
  it.each([
    ['the input of a run: names', '/runs', `{"definition_id":"flow","input":${names}}`],
    ['the input of a run: empty objects', '/runs', `{"definition_id":"flow","input":${containers}}`],
    ['the payload of an event', '/events', `{"event":"e","key":"k","payload":${names}}`],
    ['a payload to one run', '/runs/none/signal', `{"event":"e","payload":${names}}`],
    ['a patch of a state', '/runs/none/restart', `{"state_patch":${names}}`],
    ['an output', '/steps/none/complete', `{"worker_id":"w1","output":${names}}`],
    ['outputs together', '/steps/batch', `{"worker_id":"w1","completes":[{"lease_id":"none","output":${names}}]}`],
    ['definitions', '/definitions', `{"definitions":[{"id":"a","version":1,"steps":[],"meta":${names}}]}`],
  ])('%s', async (_name, path, body) => {
    const { status, body: answer } = await send(path, body);
    expect([status, answer.code]).toEqual([413, 'payload_too_large']);
  });

  it('and no run began', async () => {
    expect((await service.must(service.get('/runs'))).runs).toEqual([]);
  });
});

describe('what people send is taken, compressed too', () => {
  const table = Object.fromEntries(Array.from({ length: MOST_KEYS_OF_ONE }, (_, n) => [`order-${n}`, { total: n }]));
  const list = Array.from({ length: 30_000 }, (_, n) => ({
    id: `order-${n}`,
    total: n,
    note: 'two words, and some more',
  }));
  const prose = 'the quick brown fox jumps over the lazy dog '.repeat(90_000);
  it.each([
    ['a table of as many names as an object may have', table],
    ['a list of 30,000 records', list],
    ['close to 4 MiB of prose', prose],
    ['JSON in a text', JSON.stringify(list)],
  ])('%s', async (_name, given) => {
    const answer = await send('/runs', JSON.stringify({ definition_id: 'flow', input: { given } }));
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([201, expect.anything()]);
  });

  it('so is a batch of a thousand outputs', async () => {
    const output = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`field ${n}`, 'a few words of an answer']));
    const completes = Array.from({ length: 1000 }, (_, n) => ({ lease_id: `lease-${n}`, output }));
    expect((await send('/steps/batch', JSON.stringify({ worker_id: 'w1', completes }))).status).toBe(200);
  });
});
