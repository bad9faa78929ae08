import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aDaemon, type Answer, type Json } from '../client.ts';
import { answersOfTools, badCalls } from './mcp.ts';
import { badParameters } from './parameters.ts';
import { type BadRequest, doors, paths, runs, typedBodies, workers } from './requests.ts';

// "Bad input gets a clear error": a request on a line, its exact answer on the next. `vitest -u` writes the files anew: read what changed.

const client = await aDaemon(['--max-body-bytes', '1048576']);

const SHOWN = 120;
/** An answer in protobuf holds such bytes beside its words. */
// oxlint-disable-next-line no-control-regex -- it is about them
const NOT_SHOWN = /[\u0000-\u001f\u007f-\u009f\ufffd]+/gu;
const shorten = (line: string): string =>
  line.length <= SHOWN ? line : `${line.slice(0, SHOWN)}… (${line.length} characters)`;

/** Where a request goes: its words in brackets only name it. */
const ask = ([request, body, headers]: BadRequest): Promise<Answer> => {
  const [method = '', path = ''] = request.split(' ');
  return client.call(method, path, body, headers);
};

const refusals = ({ json }: Answer): readonly Json[] => {
  if (json?.code !== undefined) return [json];
  if (json?.partialSuccess !== undefined) return [{ code: 'partial', message: json.partialSuccess.errorMessage }];
  return json?.errors ?? [];
};

const table = async (requests: readonly BadRequest[]): Promise<string> => {
  const lines: string[] = [];
  for (const request of requests) {
    const answer = await ask(request);
    const said = refusals(answer).map(
      ({ code, message, field }) => `${code}${field === undefined ? '' : ` (${field})`}: ${message}`,
    );
    lines.push(
      shorten(request[0]),
      `  ${answer.status} ${(said.join('; ') || answer.text || '(no body)').replaceAll(NOT_SHOWN, '·')}`,
    );
  }
  return `${lines.join('\n')}\n`;
};

const areas: Readonly<Record<string, readonly BadRequest[]>> = {
  doors,
  'typed-bodies': typedBodies,
  runs,
  workers,
  paths,
  parameters: badParameters(await client.get('/openapi.json').then(({ json }) => json)).map((request) => [request]),
};

describe('bad input has a clear answer', () => {
  it.each(Object.entries(areas))('%s', async (area, requests) => {
    const names = requests.map(([request]) => request);
    expect(
      names.filter((name, place) => names.indexOf(name) !== place),
      'each request has a name of its own',
    ).toEqual([]);
    await expect(await table(requests)).toMatchFileSnapshot(`answers/${area}.txt`);
  });

  it('tools of assistants', async () => {
    const names = badCalls.map(([name]) => name);
    expect(
      names.filter((name, place) => names.indexOf(name) !== place),
      'each call has a name of its own',
    ).toEqual([]);
    const { answers, logged } = await answersOfTools(client.url);
    expect(new Set(logged)).toEqual(
      new Set(['svc: a line of the input was passed over: it is no message of JSON-RPC 2.0']),
    );
    // What a reader of the protocol found wrong comes as several lines of JSON.
    const lines = answers.map((said) => said.replaceAll(/\s+/g, ' '));
    expect(lines.filter((said) => !/^(?:error -32\d{3}|refused): \S/.test(said))).toEqual([]);
    const rows = names.flatMap((name, place) => [shorten(name), `  ${lines[place]}`]);
    await expect(`${rows.join('\n')}\n`).toMatchFileSnapshot('answers/mcp.txt');
  });

  it('none is a success or a fault of ours, and each names what is wrong', () => {
    const answers = Object.keys(areas).map((area) =>
      readFileSync(new URL(`answers/${area}.txt`, import.meta.url), 'utf8')
        .trimEnd()
        .split('\n'),
    );
    const rows = answers.flatMap((lines) => lines.filter((_, place) => place % 2 === 1));
    expect(rows.length).toBeGreaterThan(450);
    expect(rows.filter((row) => !/^ {2}(4\d\d|200 (partial|\w+ \(\w|\w+:))/.test(row))).toEqual([]);
    expect(rows.filter((row) => row.includes('(no body)'))).toEqual([]);
  });

  it('nothing of it is stored, and the process lives', async () => {
    for (const [list, member] of [
      ['/v1/api/traces', 'traces'],
      ['/v1/api/logs', 'logs'],
      ['/v1/api/metrics', 'metrics'],
      ['/v1/api/scores', 'scores'],
      ['/v1/api/datasets', 'datasets'],
      ['/v1/api/experiments', 'experiments'],
      ['/v1/api/runs', 'runs'],
      ['/v1/api/definitions', 'definitions'],
      ['/v1/api/workers', 'workers'],
    ] as const)
      expect((await client.get(list)).json[member], list).toEqual([]);
    expect((await client.get('/readyz')).status).toBe(200);
  });
});
