import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../../daemon.ts';
import { peakMebibytes } from '../../faults/figures.ts';

const MEBIBYTE = 1024 * 1024;
const CLIENTS = 24;
/** As large as a body may be: 10,000 spans that fill 32 MiB but for a few bytes. */
const SPANS = 10_000;

const folder = temporaryFolder();
let daemon: Daemon | undefined;
afterEach(async () => {
  await daemon?.stop();
  folder.remove();
});

const bodyOf = (client: number): Buffer => {
  const span = (n: number, input: string): string =>
    `{"trace_id":"${(client * 100 + Math.floor(n / 100) + 1).toString(16).padStart(32, '0')}","span_id":"${(n + 1).toString(16).padStart(16, '0')}","name":"a span","start_time":"2026-11-20T12:00:00Z","input":"${input}"}`;
  const room = Math.floor((32 * MEBIBYTE - 20) / SPANS) - span(0, '').length - 1;
  const words = 'refund order status '.repeat(Math.ceil(room / 20)).slice(0, room);
  return Buffer.from(`{"spans":[${Array.from({ length: SPANS }, (_, n) => span(n, words)).join()}]}`);
};

describe('under more than it can hold', () => {
  it.skipIf(!existsSync('/proc/self/status'))(
    'stays under 1 GiB with --max-inflight-bytes at 128 MiB, answers others, stores what it took, and lets the rest try again',
    async () => {
      daemon = await startDaemon(folder.path, [
        '--request-timeout-seconds',
        '280',
        '--max-inflight-bytes',
        String(128 * MEBIBYTE),
      ]);
      const { url, process: child } = daemon;
      const agent = new Agent({ connections: CLIENTS + 1, headersTimeout: 0, bodyTimeout: 0 });
      const statuses: number[] = [];
      let accepted = 0;
      // Nobody sends a last byte before one was refused: more than can be held is then inside, however slow the machine.
      const refused = Promise.withResolvers<void>();
      const client = async (n: number): Promise<void> => {
        const whole = bodyOf(n);
        async function* body(): AsyncGenerator<Buffer> {
          yield whole.subarray(0, -1);
          await refused.promise;
          yield whole.subarray(-1);
        }
        const answer = await request(`${url}/v1/ingest`, {
          method: 'POST',
          body: Readable.from(body()),
          headers: { 'content-type': 'application/json', 'content-length': String(whole.length) },
          dispatcher: agent,
        });
        const reply = (await answer.body.json()) as { accepted?: number; code?: string };
        statuses.push(answer.statusCode);
        if (answer.statusCode === 429) {
          refused.resolve();
          expect(reply.code).toBe('overloaded');
          expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
        }
        accepted += reply.accepted ?? 0;
      };
      const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
      let served = 0;
      let done = false;
      const others = (async () => {
        while (!done) {
          const health = await request(`${url}/healthz`, { dispatcher: agent });
          await health.body.dump();
          served += health.statusCode === 200 ? 1 : 0;
        }
      })();
      await Promise.all(clients);
      done = true;
      await others;
      expect(new Set(statuses).isSubsetOf(new Set([200, 429]))).toBe(true);
      expect(statuses).toContain(200);
      expect(statuses).toContain(429);
      expect(served).toBeGreaterThan(0);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toContain(`svc_signals_accepted_total ${accepted}\n`);
      expect(accepted).toBe(statuses.filter((status) => status === 200).length * SPANS);
      expect(peakMebibytes(child.pid)).toBeLessThan(1024);
      await agent.close();
    },
  );
});
