/**
 * A worker that is there to be killed: `node runs-worker.ts <url> <ledger>`. It speaks the protocol by itself, and writes
 * what happened into a ledger of its own, each line on the disk before it goes on: `ran` before a body does anything else,
 * `done` after a complete was acknowledged.
 */
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { WireLease } from '../http/runs/service.ts';
import { definitions, USAGE } from './runs-definitions.ts';

const [url = '', ledgerPath = ''] = process.argv.slice(2);
const SLOTS = 8;
const workerId = `victim-${process.pid}`;
const dispatcher = new Agent({ connections: SLOTS, bodyTimeout: 5000, headersTimeout: 5000 });
const ledger = openSync(ledgerPath, 'a');
const note = (line: string): void => {
  writeSync(ledger, `${line}\n`);
  fsyncSync(ledger);
};

type Answer = {
  readonly status: number;
  readonly body: { readonly code?: string; readonly leases?: readonly WireLease[] };
};
const call = async (path: string, body: object): Promise<Answer> => {
  const { statusCode, body: answer } = await request(`${url}/v1/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ worker_id: workerId, ...body }),
    dispatcher,
  });
  return { status: statusCode, body: (await answer.json()) as Answer['body'] };
};
/** Until it is answered: the service may be away. @throws Error for an answer that the protocol does not have */
const insist = async (path: string, body: object = {}): Promise<Answer> => {
  for (;;) {
    try {
      const answer = await call(path, body);
      if (answer.status === 200 || answer.status === 409) return answer;
      if (answer.status !== 503)
        throw new TypeError(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    } catch (error) {
      if (error instanceof TypeError) throw error;
    }
    await sleep(20);
  }
};

const serve = async (lease: WireLease): Promise<void> => {
  const started = await insist(`/steps/${lease.lease_id}/started`);
  if (started.status !== 200) return;
  note(`ran ${lease.lease_id} ${lease.run_id} ${lease.step_id} ${lease.visit}`);
  await sleep(Math.random() * 10);
  const completed = await insist(`/steps/${lease.lease_id}/complete`, { output: { by: lease.lease_id }, usage: USAGE });
  const landed = completed.status === 200 || completed.body.code === 'already_applied';
  note(`${landed ? 'done' : `refused-${completed.body.code}`} ${lease.lease_id}`);
  if (completed.body.code === 'not_started') throw new TypeError('a declared body was called undeclared');
};

const slot = async (): Promise<void> => {
  for (;;) {
    let leases: readonly WireLease[] = [];
    try {
      const { status, body } = await call('/steps/claim', { max: 1, wait_ms: 2000 });
      if (status === 404) await insist('/workers/register', { definitions });
      leases = body.leases ?? [];
    } catch {
      await sleep(20);
    }
    for (const lease of leases) await serve(lease);
  }
};

await insist('/workers/register', { definitions });
await Promise.all(Array.from({ length: SLOTS }, slot));
