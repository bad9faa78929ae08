import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refund } from '../../examples/refund-agent/refund.ts';
import {
  type Client,
  createClient,
  createWorker,
  defineWorkflow,
  RetryableError,
  RunFailed,
  type StepBody,
  StepInterrupted,
  type Worker,
} from '../../sdk/typescript/src/index.ts';
import { type RunsOverHttp, startRunsOverHttp } from './runs-over-http.ts';

let service: RunsOverHttp;
let client: Client;
const workers: Worker[] = [];

beforeEach(async () => {
  service = await startRunsOverHttp({ leaseTtlMs: 900, reclaimWindowMs: 100 });
  client = createClient({ endpoint: service.url, retry: { attempts: 20, baseMs: 5, maxMs: 50 } });
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  client.close();
  await service.stop();
  expect(service.faults).toEqual([]);
});

const quiet = { warn: () => {}, error: () => {} };
const work = (...workflows: Parameters<typeof createWorker>[0]['workflows'][number][]): Worker => {
  const worker = createWorker({
    endpoint: service.url,
    workflows,
    stopOnSignals: false,
    graceMs: 50,
    settleMs: 50,
    logger: quiet,
  });
  workers.push(worker);
  void worker.run();
  return worker;
};
const one = (body: StepBody, step: object = {}) =>
  defineWorkflow({
    definition: {
      id: 'one',
      version: 1,
      steps: [{ id: 'only', kind: 'task', input: '${input?}', retry: { backoff_ms: 1 }, ...step }],
    },
    bodies: { only: body },
  });
/** A definition must be stored before a run of it can start: its worker does that when it registers. */
const startOf = async (id: string, input: unknown) => {
  for (;;) {
    try {
      return await client.start(id, input);
    } catch (error) {
      if ((error as { code?: string }).code !== 'not_found') throw error;
    }
  }
};

describe('the library against the core of durable runs', () => {
  it('runs a workflow of several steps, and gives its output', async () => {
    work(
      defineWorkflow({
        definition: {
          id: 'sum',
          version: 1,
          steps: [
            {
              id: 'add',
              kind: 'task',
              input: { n: '${input.n}' },
              next: [{ when: 'state.total < 3', to: 'add' }, { to: 'tell' }],
            },
            { id: 'tell', kind: 'task', input: { total: '${state.total}' } },
          ],
        },
        bodies: {
          add: (context, input: { n: number }) => {
            const total = Number(context.state['total'] ?? 0) + input.n;
            context.patchState({ total });
            return { total, visit: context.visit };
          },
          tell: (_context, input: { total: number }, steps) => ({ ...input, last: steps['add']?.output }),
        },
      }),
    );
    const run = await startOf('sum', { n: 1 });
    expect(await client.wait(run.run_id)).toEqual({ total: 3, last: { total: 3, visit: 3 } });
  });

  it('tries again what raised RetryableError, with the same step key and the details of the last attempt', async () => {
    const seen: unknown[] = [];
    work(
      one((context) => {
        seen.push([context.attempt, context.stepKey]);
        if (context.attempt > 1) return context.lastDetails;
        context.heartbeat({ page: 17 });
        throw new RetryableError('not yet');
      }),
    );
    const run = await startOf('one', null);
    expect(await client.wait(run.run_id)).toEqual({ page: 17 });
    const [[, first], [, second]] = seen as [[number, string], [number, string]];
    expect(seen.map((each) => (each as [number])[0])).toEqual([1, 2]);
    expect(second).toBe(first);
  });

  it('throws the failed run at who waits for it', async () => {
    work(
      one(() => {
        throw new Error('broken');
      }),
    );
    const run = await startOf('one', null);
    const error = await client.wait(run.run_id).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFailed);
    expect((error as RunFailed).run.error).toMatchObject({ class: 'fatal', message: 'broken', step_id: 'only' });
  });

  it('cancels the body of a cancelled run at its next heartbeat', async () => {
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const interrupted = new Promise<unknown>((resolve) => {
      work(
        one(
          (context) =>
            new Promise((_resolve, reject) => {
              begun();
              context.signal.addEventListener('abort', () => {
                resolve(context.signal.reason);
                reject(context.signal.reason as Error);
              });
            }),
        ),
      );
    });
    const run = await startOf('one', null);
    await running;
    await client.cancel(run.run_id, 'changed my mind');
    const reason = await interrupted;
    expect(reason).toBeInstanceOf(StepInterrupted);
    expect(reason).toMatchObject({ reason: 'run_terminal' });
    await expect(client.wait(run.run_id)).rejects.toThrow('was cancelled');
  });

  it('gives the step of a stopping worker to the next one at once, without spending its budget', async () => {
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const stopping = work(
      one(
        (context) =>
          new Promise((_resolve, reject) => {
            begun();
            context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
          }),
        { retry: { max_attempts: 1 } },
      ),
    );
    const run = await startOf('one', null);
    await running;
    await stopping.stop();
    work(one(() => 'by the second', { retry: { max_attempts: 1 } }));
    expect(await client.wait(run.run_id)).toBe('by the second');
    const { attempts } = await client.getRun(run.run_id);
    expect(attempts.map((attempt) => attempt.status)).toEqual(['failed', 'succeeded']);
    expect(attempts[0]?.error).toMatchObject({ class: 'rate_limited', code: 'worker_stopping' });
  });

  it('loses no result and repeats no journal entry when the service restarts under a running body', async () => {
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let finish = (): void => {};
    const finishing = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let ran = 0;
    work(
      one(async () => {
        ran += 1;
        begun();
        await finishing;
        return 'kept';
      }),
    );
    const run = await startOf('one', null);
    const seen: number[] = [];
    const watching = (async () => {
      for await (const entry of client.watch(run.run_id)) seen.push(entry.seq);
    })();
    await running;
    await service.restart();
    finish();
    await watching;
    expect(await client.wait(run.run_id)).toBe('kept');
    expect(ran).toBe(1);
    expect(seen).toEqual(seen.map((_, index) => index));
  });

  it('serves the example: a clear case is paid after a retry, another waits for a person', async () => {
    work(refund);
    const clear = await startOf('refund', { ticket: { id: 'a', text: 'It arrived broken.', amount: 40 } });
    expect(await client.wait(clear.run_id)).toMatchObject({ amount: 40 });
    const detail = await client.getRun(clear.run_id);
    expect(detail.attempts.filter((attempt) => attempt.step_id === 'pay').map((attempt) => attempt.status)).toEqual([
      'failed',
      'succeeded',
    ]);
    expect(detail.usage).toMatchObject({ input_tokens: 225 });

    const asking = await client.start(refund, { ticket: { id: 'b', text: 'The colour.', amount: 250 } });
    for await (const entry of client.watch(asking.run_id)) {
      if (entry.kind !== 'run.waiting' || entry.step_id !== 'ask') continue;
      const approval = { event: 'approval', key: 'ticket/b', payload: { approved: true }, eventId: 'once' };
      expect(await client.publish(approval)).toMatchObject({ outcome: 'delivered', run_id: asking.run_id });
      expect(await client.publish(approval)).toMatchObject({ outcome: 'duplicate' });
    }
    expect(await client.wait(asking.run_id)).toMatchObject({ amount: 250 });

    const early = { event: 'approval', key: 'ticket/c', payload: { approved: false } };
    expect(await client.publish(early)).toEqual({ outcome: 'parked' });
    const refused = await client.start(refund, { ticket: { id: 'c', text: 'The colour.', amount: 250 } });
    const error = await client.wait(refused.run_id).catch((reason: unknown) => reason);
    expect((error as RunFailed).run.error).toMatchObject({ class: 'fatal', code: 'refused' });
    await expect(client.start(refund, { ticket: { id: 'd' } } as never)).rejects.toMatchObject({
      code: 'input_invalid',
      message: expect.stringContaining('input.ticket.text is required') as string,
    });
  });
});
