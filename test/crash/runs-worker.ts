/**
 * A worker that is there to be killed: `node runs-worker.ts <url> <ledger> <single|batched>`. It speaks the protocol by itself, makes each
 * call alone or those that come together in one, and writes
 * what happened into a ledger of its own, each line on the disk before it goes on: `ran` before a body does anything else,
 * `done` after a complete was acknowledged.
 */
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { WireLease } from '../http/runs/service.ts';
import { definitions, USAGE } from './runs-definitions.ts';

const [url = '', ledgerPath = '', reports = 'single'] = process.argv.slice(2);
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
  readonly body: {
    readonly code?: string;
    readonly leases?: readonly WireLease[];
    readonly started?: readonly Answer[];
    readonly completes?: readonly Answer[];
  };
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

type Verb = 'started' | 'complete';
type Waiting = { readonly verb: Verb; readonly item: object; readonly settle: (answer: Answer) => void };
let waiting: Waiting[] = [];
let isSending = false;
/** Steps that came with reports. */
const spare: WireLease[] = [];

/** Sends what waits, in one call, until nothing does. What is not answered is sent again. */
const sendWaiting = async (): Promise<void> => {
  isSending = true;
  while (waiting.length > 0) {
    const sent = waiting;
    waiting = [];
    const started = sent.filter(({ verb }) => verb === 'started');
    const completes = sent.filter(({ verb }) => verb === 'complete');
    const { body } = await insist('/steps/batch', {
      started: started.map(({ item }) => item),
      completes: completes.map(({ item }) => item),
      ...(completes.length === 0 ? {} : { claim: { max: completes.length } }),
    });
    for (const [items, answers] of [
      [started, body.started],
      [completes, body.completes],
    ] as const)
      for (const [at, one] of items.entries()) {
        const answer = answers?.[at];
        if (answer === undefined) throw new TypeError(`the answer to a batch lacks item ${at}`);
        if (answer.status === 200 || answer.status === 409) one.settle(answer);
        else if (answer.status === 503) waiting.push(one);
        else throw new TypeError(`an item of a batch was answered ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    spare.push(...(body.leases ?? []));
  }
  isSending = false;
};

const report = (verb: Verb, leaseId: string, body: object = {}): Promise<Answer> =>
  reports === 'batched'
    ? new Promise((settle) => {
        waiting.push({ verb, item: { lease_id: leaseId, ...body }, settle });
        if (!isSending) void sendWaiting();
      })
    : insist(`/steps/${leaseId}/${verb}`, body);

/** Mostly short. One in five is long enough to be found half way by a worker that is stopped. */
const bodyMs = (): number => Math.random() * (Math.random() < 0.2 ? 300 : 10);

const isBroken = ({ step_id, input }: WireLease): boolean =>
  step_id === 'fragile' && (input as { broken?: unknown } | undefined)?.broken === true;

const serve = async (lease: WireLease): Promise<void> => {
  const started = await report('started', lease.lease_id);
  if (started.status !== 200) return;
  note(`ran ${lease.lease_id} ${lease.run_id} ${lease.step_id} ${lease.visit}`);
  await sleep(bodyMs());
  if (isBroken(lease)) {
    await insist(`/steps/${lease.lease_id}/fail`, { error: { class: 'fatal', message: 'it is broken' } });
    note(`failed ${lease.lease_id}`);
    return;
  }
  const completed = await report('complete', lease.lease_id, { output: { by: lease.lease_id }, usage: USAGE });
  const landed = completed.status === 200 || completed.body.code === 'already_applied';
  note(`${landed ? 'done' : `refused-${completed.body.code}`} ${lease.lease_id}`);
  if (completed.body.code === 'not_started') throw new TypeError('a declared body was called undeclared');
};

const slot = async (): Promise<void> => {
  for (;;) {
    const next = spare.shift();
    if (next !== undefined) {
      await serve(next);
      continue;
    }
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
