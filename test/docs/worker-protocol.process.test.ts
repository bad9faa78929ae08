import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

type Body = Readonly<Record<string, unknown>>;
type Lease = Body & { readonly lease_id: string; readonly run_id: string; readonly step_id: string };

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'worker-protocol.md'), 'utf8');
/** The examples below a heading: what is sent, then what is answered. */
const examplesOf = (title: string): readonly Body[] => {
  const section = page.split(/^#{2,3} /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  return [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text) as Body);
};
const pairOf = (title: string): readonly [Body, Body] => {
  const [sent, answered, ...more] = examplesOf(title);
  if (sent === undefined || answered === undefined || more.length > 0) throw new Error(`${title} has no two examples`);
  return [sent, answered];
};

/** The service makes these anew for each run; of the others the page tells the value. */
const MADE = new Set(['lease_id', 'run_id', 'step_key', 'trace_id', 'span_id', 'lease_expires_at']);
/** An answer with what is made anew in the words of the example, where it has the same form. */
const inWordsOf = (example: unknown, real: unknown, key = ''): unknown => {
  if (MADE.has(key) && typeof real === 'string' && typeof example === 'string') {
    const form = (text: string): string => text.replace(/[0-9a-f]/g, 'x').replace(/(?:\.x+)?Z$/, 'Z');
    return form(real) === form(example) ? example : real;
  }
  if (Array.isArray(real)) return real.map((each, at) => inWordsOf((example as unknown[] | undefined)?.[at], each));
  if (real === null || typeof real !== 'object') return real;
  return Object.fromEntries(
    Object.entries(real).map(([name, inner]) => [name, inWordsOf((example as Body | undefined)?.[name], inner, name)]),
  );
};

describe('every example of the page, sent to the real daemon', () => {
  const folder = temporaryFolder();
  let daemon: Daemon;
  beforeAll(async () => {
    daemon = await startDaemon(folder.path);
  });
  afterAll(async () => {
    await daemon.stop('SIGKILL');
    folder.remove();
  });

  const post = async (path: string, body: Body): Promise<{ status: number; body: Body }> => {
    const answer = await fetch(`${daemon.url}/v1/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Body };
  };
  const send = async (path: string, [sent, answered]: readonly [Body, Body], status = 200): Promise<void> => {
    const answer = await post(path, sent);
    expect([path, answer.status, inWordsOf(answered, answer.body)]).toEqual([path, status, answered]);
  };
  const claim = async (): Promise<{ answer: Body; lease: Lease }> => {
    const { status, body } = await post('/steps/claim', pairOf('Claim')[0]);
    expect(status).toBe(200);
    const [lease] = body['leases'] as Lease[];
    if (lease === undefined) throw new Error('nothing to claim');
    return { answer: body, lease };
  };
  const worker = { worker_id: pairOf('Started')[0]['worker_id'] };
  /** To where the page's lease is: triage has judged, `pay` is claimed. */
  const runToPay = async (key: string): Promise<Lease> => {
    const [start] = examplesOf('Try it');
    expect((await post('/runs', { ...start, idempotency_key: key })).status).toBe(201);
    const { lease } = await claim();
    expect(lease.step_id).toBe('triage');
    await post(`/steps/${lease.lease_id}/started`, worker);
    const judged = { ...worker, output: { confidence: 0.93 }, state_patch: { amount: 12.5 } };
    const reported = await post(`/steps/${lease.lease_id}/complete`, judged);
    expect(reported).toEqual({ status: 200, body: { run_status: 'queued', next_step: 'pay' } });
    return (await claim()).lease;
  };

  it('a refusal, Register', async () => {
    const [refused] = examplesOf('The idea');
    await send('/steps/claim', [pairOf('Claim')[0], refused ?? {}], 404);
    await send('/workers/register', pairOf('Register'));
  });

  it('Try it, Started, Heartbeat, Fail', async () => {
    const { lease_id: lease, run_id: run } = await runToPay('first');
    await send(`/steps/${lease}/started`, pairOf('Started'));
    await send(`/steps/${lease}/started`, pairOf('Started'));
    await send(`/steps/${lease}/heartbeat`, pairOf('Heartbeat'));
    await send(`/steps/${lease}/fail`, pairOf('Fail'));
    // It would be offered again, in the middle of the next example.
    expect((await post(`/runs/${run}/cancel`, {})).status).toBe(200);
  });

  it('Claim, Complete', async () => {
    const { lease_id: first } = await runToPay('second');
    await post(`/steps/${first}/started`, worker);
    await post(`/steps/${first}/heartbeat`, pairOf('Heartbeat')[0]);
    const back = { ...worker, error: { class: 'rate_limited', message: 'later' }, retry_after_ms: 0 };
    expect((await post(`/steps/${first}/fail`, back)).status).toBe(200);
    const { answer, lease } = await claim();
    const [, answered] = pairOf('Claim');
    expect(inWordsOf(answered, answer)).toEqual(answered);
    await post(`/steps/${lease.lease_id}/started`, worker);
    await send(`/steps/${lease.lease_id}/complete`, pairOf('Complete'));
    // The four refusals, the first of them.
    const again = await post(`/steps/${lease.lease_id}/complete`, pairOf('Complete')[0]);
    expect([again.status, again.body['code']]).toEqual([409, 'already_applied']);
  });

  it('Many calls in one', async () => {
    const { lease_id: lease } = await runToPay('third');
    await post(`/steps/${lease}/started`, worker);
    const [sent, answered] = pairOf('Many calls in one');
    const named = (list: unknown) => (list as Body[]).map((item) => ({ ...item, lease_id: lease }));
    const real = { ...sent, heartbeats: named(sent['heartbeats']), completes: named(sent['completes']) };
    await send('/steps/batch', [real, answered]);
  });

  it('there are no others', () => {
    const calls = ['Register', 'Claim', 'Started', 'Heartbeat', 'Complete', 'Fail', 'Many calls in one'];
    const sent = ['The idea', ...calls, 'Try it'];
    expect(sent.flatMap(examplesOf)).toHaveLength([...page.matchAll(/```json\n/g)].length);
  });
});
