/** The row of TypeScript in the bench of recording spans. @see README.md */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInstrumentation, type Instrumentation } from '../../sdk/typescript/src/index.ts';
import { quantile } from '../pairs.ts';

const SPANS = 50_000;
const OFFERED = 300_000;
const RATE = 100_000;

const record = async (svc: Instrumentation, n: number, question = 'What is it all about?'): Promise<void> => {
  const options = { kind: 'model_generation', model: 'gpt-4o-mini', input: question, attributes: { n } } as const;
  await svc.span('draft', options, (span) => {
    span.setOutput('42');
    span.setUsage({ input_tokens: 12, output_tokens: 1 });
  });
};

const residentMb = (): number => (Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]) * 4096) / 1e6;

const cost = async (endpoint: string): Promise<object> => {
  const svc = createInstrumentation({ endpoint });
  for (let n = 0; n < 1000; n += 1) await record(svc, n);
  const taken: number[] = [];
  const before = process.cpuUsage();
  for (let n = 0; n < SPANS; n += 1) {
    const from = performance.now();
    await record(svc, n);
    taken.push((performance.now() - from) * 1000);
  }
  const { user, system } = process.cpuUsage(before);
  await svc.close(0);
  return { median_us: quantile(taken, 0.5), p99_us: quantile(taken, 0.99), cpu_us: (user + system) / SPANS };
};

const stalled = async (endpoint: string): Promise<object> => {
  const svc = createInstrumentation({ endpoint });
  await record(svc, -1);
  await sleep(1000);
  const question = 'x'.repeat(4096);
  const before = residentMb();
  let most = before;
  const from = performance.now();
  for (let n = 0; n < OFFERED; n += 1) {
    await record(svc, n, question);
    if (n % 10_000 !== 0) continue;
    most = Math.max(most, residentMb());
    await sleep(Math.max(0, (n / RATE) * 1000 - (performance.now() - from)));
  }
  const seconds = (performance.now() - from) / 1000;
  const { dropped } = svc.counters();
  await svc.close(0);
  return { offered_per_s: Math.round(OFFERED / seconds), dropped, grew_mb: most - before };
};

const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
console.log(JSON.stringify({ stalled: await stalled(url), record: await cost(url) }));
process.exit(0);
