import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Json } from '../client.ts';

/** A request of JSON-RPC, as one line that names it, the method and its parameters. */
export type BadCall = readonly [name: string, method: string, params?: Json];

const TRACE = '5b8efff798038103d269b633813fc60c';
const RUN = '01a203e3-c861-78e5-91ae-3dc2582b881e';
const long = (length: number): string => 'x'.repeat(length);

const tool = (name: string, given: Readonly<Record<string, unknown>>): BadCall => [
  `${name} ${JSON.stringify(given)}`,
  'tools/call',
  { name, arguments: given },
];

/** "Capabilities", `mcp`: each argument of each tool, just outside of what it takes. */
export const badCalls: readonly BadCall[] = [
  ['a method that is unknown', 'tools/drop', {}],
  ['a method that this server does not offer', 'resources/list', {}],
  ['a call without parameters', 'tools/call'],
  ['a call of no tool', 'tools/call', {}],
  ['a tool that is a number', 'tools/call', { name: 7 }],
  ['a tool that is unknown', 'tools/call', { name: 'drop_runs', arguments: {} }],
  ['a tool named __proto__', 'tools/call', { name: '__proto__', arguments: {} }],
  ['arguments that are a list', 'tools/call', { name: 'find_runs', arguments: [] }],
  ['arguments that are text', 'tools/call', { name: 'find_runs', arguments: 'all' }],
  tool('find_runs', { colour: 'red' }),
  tool('find_runs', { project: '' }),
  tool('find_runs', { project: long(129) }),
  tool('find_runs', { project: 7 }),
  tool('find_runs', { status: 'failed' }),
  tool('find_runs', { status: '' }),
  tool('find_runs', { run_id: '' }),
  tool('find_runs', { run_id: long(1025) }),
  tool('find_runs', { schedule: '' }),
  tool('find_runs', { schedule: 'nothing' }),
  tool('find_runs', { schedule: '../runs' }),
  tool('find_runs', { bulk_id: '' }),
  tool('find_runs', { bulk_id: 'nothing' }),
  tool('find_runs', { model: '' }),
  tool('find_runs', { model: ['gpt-4o'] }),
  tool('find_runs', { user: long(1025) }),
  tool('find_runs', { session: null }),
  tool('find_runs', { text: long(4097) }),
  tool('find_runs', { text: 7 }),
  tool('find_runs', { from: 'yesterday' }),
  tool('find_runs', { from: long(65) }),
  tool('find_runs', { from: '2026-02-30T00:00:00Z' }),
  tool('find_runs', { from: '2026-11-21T00:00:00Z', to: '2026-11-20T00:00:00Z' }),
  tool('find_runs', { to: 'soon' }),
  tool('find_runs', { to: 1763629200 }),
  tool('find_runs', { sort: 'cost' }),
  tool('find_runs', { order: 'up' }),
  tool('find_runs', { limit: 0 }),
  tool('find_runs', { limit: 101 }),
  tool('find_runs', { limit: 1.5 }),
  tool('find_runs', { limit: '20' }),
  tool('find_runs', { cursor: 'abc' }),
  tool('find_runs', { cursor: long(4097) }),
  tool('get_run', {}),
  tool('get_run', { colour: 'red' }),
  tool('get_run', { trace_id: TRACE, run_id: RUN }),
  tool('get_run', { trace_id: '' }),
  tool('get_run', { trace_id: 'run-7' }),
  tool('get_run', { trace_id: '0'.repeat(32) }),
  tool('get_run', { trace_id: 7 }),
  tool('get_run', { trace_id: TRACE }),
  tool('get_run', { run_id: '' }),
  tool('get_run', { run_id: TRACE }),
  tool('get_run', { run_id: RUN }),
  tool('get_run', { trace_id: TRACE, max_payload_characters: -1 }),
  tool('get_run', { trace_id: TRACE, max_payload_characters: 20_001 }),
  tool('get_run', { trace_id: TRACE, max_payload_characters: 'all' }),
  tool('run_stats', { colour: 'red' }),
  tool('run_stats', { project: '' }),
  tool('run_stats', { group_by: 'weather' }),
  tool('run_stats', { group_by: ['model'] }),
  tool('run_stats', { from: 'yesterday' }),
  tool('run_stats', { from: '2026-11-21T00:00:00Z', to: '2026-11-20T00:00:00Z' }),
  tool('run_stats', { to: long(65) }),
];

/** Lines that are no request at all: they get no answer, and take nothing from the next one. */
const noise = ['nonsense', '[]', '"a"', '{"jsonrpc":"1.0","id":0,"method":"tools/list"}', '{"id":0}', ''];

const BIN = join(import.meta.dirname, '..', '..', '..', 'bin', 'svc.mjs');

/**
 * What the tool server answers to each call, by raw lines, as an assistant sees it; noise comes before each.
 * @returns the answers, and what it logged meanwhile
 */
export const answersOfTools = async (
  url: string,
): Promise<{ readonly answers: readonly string[]; readonly logged: readonly string[] }> => {
  const child = spawn(process.execPath, [BIN, 'mcp', '--endpoint', url], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  const logged: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => logged.push(line));
  const waiting = new Map<number, (answer: Json) => void>();
  const unasked: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer: Json = JSON.parse(line);
    const settle = waiting.get(answer.id);
    if (settle === undefined) unasked.push(line);
    else settle(answer);
  });
  const send = (line: string): boolean => child.stdin.write(`${line}\n`);
  let id = 0;
  const ask = (method: string, params?: Json): Promise<Json> => {
    id += 1;
    const answered = new Promise<Json>((resolve) => waiting.set(id, resolve));
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return answered;
  };
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  });
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  const said: string[] = [];
  for (const [place, [, method, params]] of badCalls.entries()) {
    send(noise[place % noise.length] ?? '');
    const { error, result } = await ask(method, params);
    said.push(
      error !== undefined
        ? `error ${error.code}: ${error.message}`
        : `${result.isError === true ? 'refused' : 'answered'}: ${result.content[0].text}`,
    );
  }
  child.stdin.end();
  const [status] = (await ended) as [number];
  if (status !== 0 || unasked.length > 0)
    throw new Error(`exit ${status}; lines that nobody asked for: ${unasked.join()}`);
  return { answers: said, logged };
};
