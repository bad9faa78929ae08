import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { refund } from '../../examples/refund-agent/refund.ts';
import {
  type Client,
  createClient,
  createWorker,
  defineWorkflow,
  type JournalEntry,
  RetryableError,
  RunFailed,
  type Run,
  type StepBody,
  StepInterrupted,
  type Worker,
  type WorkerOptions,
  type Workflow,
} from '../../sdk/typescript/src/index.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { type Delivery, killable } from './killable-worker.ts';

/** A daemon that can be ended and started again, at the same address and on the same files. */
const startService = async (...flags: string[]) => {
  const folder = temporaryFolder();
  const port = String(await aLastingPort());
  const startIt = (): Promise<Daemon> => startDaemon(folder.path, [...flags, '--port', port]);
  let daemon = await startIt();
  const { url } = daemon;
  const client = createClient({ endpoint: url, retry: { attempts: 40, baseMs: 20, maxMs: 500 } });
  return {
    url,
    client,
    restart: async (signal: NodeJS.Signals): Promise<void> => {
      await daemon.stop(signal);
      daemon = await startIt();
    },
    stop: async (): Promise<void> => {
      client.close();
      await daemon.stop('SIGKILL');
      folder.remove();
    },
  };
};
type Service = Awaited<ReturnType<typeof startService>>;

const workers: Worker[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

const quiet = { warn: () => {}, error: () => {} };
const work = (service: Service, workflow: Workflow, more: Partial<WorkerOptions> = {}): Worker => {
  const worker = createWorker({
    endpoint: service.url,
    workflows: [workflow],
    stopOnSignals: false,
    graceMs: 50,
    logger: quiet,
    ...more,
  });
  workers.push(worker);
  void worker.run();
  return worker;
};
/** A definition must be stored before a run of it can start: its worker does that when it registers. */
const start = async (client: Client, id: string, input: unknown = null): Promise<Run> => {
  for (;;) {
    try {
      return await client.start(id, input);
    } catch (error) {
      if ((error as { code?: string }).code !== 'not_found') throw error;
      await pause(10);
    }
  }
};
const one = (id: string, body: StepBody, step: object = {}) =>
  defineWorkflow({
    definition: { id, version: 1, steps: [{ id: 'only', kind: 'task', retry: { backoff_ms: 1 }, ...step }] },
    bodies: { only: body },
  });
const promised = () => {
  let resolve = (): void => {};
  const done = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { done, resolve: () => resolve() };
};
/** A body that goes on until its signal fires. */
const heldUntilInterrupted =
  (begun: () => void, interrupted: (reason: unknown) => void = () => {}): StepBody =>
  (context) =>
    new Promise((_resolve, reject) => {
      begun();
      context.signal.addEventListener('abort', () => {
        interrupted(context.signal.reason);
        reject(context.signal.reason as Error);
      });
    });

/** What `watch` gave is the journal: from 0, without a gap and without a repeat, to the end. */
const expectWhole = async (client: Client, runId: string, seen: readonly JournalEntry[]): Promise<void> => {
  expect(seen.map((entry) => entry.seq)).toEqual(seen.map((_, index) => index));
  expect(seen.at(-1)?.kind).toBe('run.finished');
  expect((await client.journal(runId, { limit: 1000 })).events).toEqual(seen);
};
const collect = async (client: Client, runId: string): Promise<JournalEntry[]> => {
  const seen: JournalEntry[] = [];
  for await (const entry of client.watch(runId)) seen.push(entry);
  return seen;
};

describe('the library against the real daemon', () => {
  let service: Service;
  let client: Client;
  beforeAll(async () => {
    // A heartbeat each third of it; a machine with busy cores may be silent for seconds.
    service = await startService('--lease-ttl-ms', '9000');
    client = service.client;
  });
  afterAll(() => service.stop());

  it('runs a workflow of several steps, and gives its output', async () => {
    work(
      service,
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
    const run = await start(client, 'sum', { n: 1 });
    const seen = await collect(client, run.run_id);
    await expectWhole(client, run.run_id, seen);
    expect(await client.wait(run.run_id)).toEqual({ total: 3, last: { total: 3, visit: 3 } });
  });

  it('starts one run for one idempotency key', async () => {
    work(
      service,
      one('keyed', () => 'ran'),
    );
    await client.wait((await start(client, 'keyed')).run_id);
    const again = { idempotencyKey: 'order-17', correlation: { user_id: 'u-1' } };
    const first = await client.start('keyed', null, again);
    expect((await client.start('keyed', null, again)).run_id).toBe(first.run_id);
    const { runs } = await client.listRuns({ definitionId: 'keyed', userId: 'u-1' });
    expect(runs.map((run) => run.run_id)).toEqual([first.run_id]);
  });

  it('tries again what raised RetryableError, with the same step key and the details of the last attempt', async () => {
    const seen: [number, string][] = [];
    work(
      service,
      one('again', (context) => {
        seen.push([context.attempt, context.stepKey]);
        if (context.attempt > 1) return context.lastDetails;
        context.heartbeat({ page: 17 });
        throw new RetryableError('not yet');
      }),
    );
    const run = await start(client, 'again');
    expect(await client.wait(run.run_id)).toEqual({ page: 17 });
    expect(seen.map(([attempt]) => attempt)).toEqual([1, 2]);
    expect(new Set(seen.map(([, key]) => key)).size).toBe(1);
  });

  it('throws the failed run at who waits for it', async () => {
    work(
      service,
      one('broken', () => {
        throw new Error('broken');
      }),
    );
    const run = await start(client, 'broken');
    const error = await client.wait(run.run_id).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFailed);
    expect((error as RunFailed).run.error).toMatchObject({ class: 'fatal', message: 'broken', step_id: 'only' });
  });

  it('cancels the body of a cancelled run at its next heartbeat', async () => {
    const begun = promised();
    const interrupted = new Promise<unknown>((resolve) => {
      work(service, one('cancelled', heldUntilInterrupted(begun.resolve, resolve)));
    });
    const run = await start(client, 'cancelled');
    await begun.done;
    await client.cancel(run.run_id, 'changed my mind');
    const reason = await interrupted;
    expect(reason).toBeInstanceOf(StepInterrupted);
    expect(reason).toMatchObject({ reason: 'run_terminal' });
    await expect(client.wait(run.run_id)).rejects.toThrow('was cancelled');
  });

  it('gives the step of a stopping worker to the next one, without spending its budget', async () => {
    const begun = promised();
    const once = { retry: { max_attempts: 1 } };
    const stopping = work(service, one('handed-on', heldUntilInterrupted(begun.resolve), once));
    const run = await start(client, 'handed-on');
    await begun.done;
    await stopping.stop();
    work(
      service,
      one('handed-on', () => 'by the second', once),
    );
    expect(await client.wait(run.run_id)).toBe('by the second');
    // A worker that is slow to start what it was offered loses the offer, and that is no attempt.
    const attempts = (await client.getRun(run.run_id)).attempts.filter(({ status }) => status !== 'lapsed');
    expect(attempts[0]).toMatchObject({
      status: 'failed',
      error: { class: 'rate_limited', code: 'worker_stopping' },
    });
    expect(attempts.at(-1)).toMatchObject({ status: 'succeeded' });
  });

  it('reads definitions, workers, causes and journals in the shapes of the interface', async () => {
    const workflow = one('read', () => 'ran');
    const worker = work(service, workflow, { name: 'reader', version: '7', concurrency: 3 });
    const run = await start(client, 'read');
    await client.wait(run.run_id);
    expect(await client.getDefinition('read')).toMatchObject({
      id: 'read',
      versions: [{ version: 1, open_runs: 0, workers: 1 }],
      latest: workflow.definition,
    });
    expect(await client.getDefinitionVersion('read', 1)).toMatchObject({ id: 'read', definition: workflow.definition });
    const { definitions } = await client.listDefinitions({ limit: 1000 });
    expect(definitions).toContainEqual(expect.objectContaining({ id: 'read', version: 1 }));
    expect((await client.listWorkers()).workers).toContainEqual(
      expect.objectContaining({ worker_id: worker.workerId, name: 'reader', version: '7', concurrency: 3 }),
    );
    const cause = await client.stepCause(run.run_id, 'only');
    expect(cause.attempt).toMatchObject({ step_id: 'only', worker_id: worker.workerId });
    expect(cause.chain.at(-1)).toMatchObject({ kind: 'run.started', seq: 0 });
    const page = await client.journal(run.run_id, { after: 0, limit: 1 });
    expect(page).toMatchObject({ events: [{ seq: 1 }], next_after: 1 });
    await expect(client.signal(run.run_id, 'approval', { ok: true })).rejects.toMatchObject({ code: 'run_terminal' });
    await expect(client.getRun('no-such-run')).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('stores definitions before their worker is there, and checks them without storing', async () => {
    const workflow = one('early', () => 'ran');
    const checked = await client.checkDefinitions([workflow.definition]);
    expect(checked.definitions).toEqual([{ id: 'early', version: 1, faults: [] }]);
    await expect(client.getDefinition('early')).rejects.toMatchObject({ code: 'not_found' });
    const stored = await client.storeDefinitions([workflow.definition]);
    expect(stored.definitions).toEqual([{ id: 'early', version: 1, stored: 'created' }]);
    const run = await client.start('early', null);
    expect(run).toMatchObject({ status: 'queued' });
    work(service, workflow);
    expect(await client.wait(run.run_id)).toBe('ran');
  });

  it('a worker of one run leaves others alone, and ends with its run: by its own report, or by a cancel', async () => {
    const ran: string[] = [];
    const workflow = one('single', (context) => {
      ran.push(context.runId);
    });
    const registered = await fetch(`${service.url}/v1/api/workers/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ worker_id: 'registrar', definitions: [workflow.definition] }),
    });
    expect(registered.status).toBe(200);
    const other = await client.start('single', null);
    const mine = await client.start('single', null);
    await work(service, workflow, { runId: mine.run_id }).run();
    expect((await client.getRun(mine.run_id)).status).toBe('succeeded');
    const waiting = await client.start('single', null);
    const ended = work(
      service,
      one('another', () => null),
      { runId: waiting.run_id, claimWaitMs: 20 },
    ).run();
    await client.cancel(waiting.run_id);
    await ended;
    expect(ran).toEqual([mine.run_id]);
    expect((await client.getRun(other.run_id)).status).toBe('queued');
    await expect(work(service, workflow, { runId: 'no-such-run' }).run()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('serves the example: a clear case is paid after a retry, another waits for a person', async () => {
    work(service, refund);
    const clear = await start(client, 'refund', { ticket: { id: 'a', text: 'It arrived broken.', amount: 40 } });
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
      message: expect.stringContaining('input.ticket.text') as string,
    });
  });
});

/** A body may begin before the service knows of it. */
const untilDeclared = async (client: Client, runId: string): Promise<void> => {
  while ((await client.getRun(runId)).attempts.at(-1)?.status !== 'running') await pause(20);
};

describe('a worker that is killed in the middle of a body', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('--lease-ttl-ms', '3000', '--reclaim-window-ms', '2000');
  });
  afterAll(() => service.stop());

  /** Starts a run whose step a worker process holds in its body, kills that process, and starts another worker. */
  const killTheFirst = async (delivery: Delivery) => {
    const file = join(import.meta.dirname, 'killable-worker.ts');
    const first = spawn(process.execPath, [file, service.url, delivery], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(first);
    const lines = createInterface({ input: first.stdout });
    const charging = once(lines, 'line') as Promise<[string]>;
    const run = await start(service.client, delivery);
    expect(await charging).toEqual(['charges, attempt 1']);
    await untilDeclared(service.client, run.run_id);
    first.kill('SIGKILL');
    await once(first, 'exit');

    const began: string[] = [];
    const body =
      (name: string): StepBody =>
      () => {
        began.push(name);
        return 'the second';
      };
    work(service, killable(delivery, { charge: body('charge'), mend: body('mend') }), { workerId: 'second' });
    const output = await service.client.wait(run.run_id);
    const { attempts } = await service.client.getRun(run.run_id);
    const ran = attempts.filter((attempt) => attempt.status !== 'lapsed');
    return { output, began, ran: ran.map(({ step_id, worker_id, status }) => [step_id, worker_id, status]) };
  };

  it('at_least_once: another worker runs the step again', async () => {
    const { output, began, ran } = await killTheFirst('at_least_once');
    expect(output).toEqual({ by: 'the second' });
    expect(began).toEqual(['charge']);
    expect(ran).toEqual([
      ['charge', 'first', 'orphaned'],
      ['charge', 'second', 'succeeded'],
    ]);
  });

  it('at_most_once: the step is not started again, and its on_error decides', async () => {
    const { output, began, ran } = await killTheFirst('at_most_once');
    expect(output).toEqual({ by: 'the second' });
    expect(began).toEqual(['mend']);
    expect(ran).toEqual([
      ['charge', 'first', 'orphaned'],
      ['mend', 'second', 'succeeded'],
    ]);
  });
});

describe('a daemon that ends and starts again while a worker heartbeats and a client watches and waits', () => {
  let service: Service;
  let client: Client;
  beforeAll(async () => {
    // Silence counts while the daemon stops and starts, too: seconds each where cores are busy.
    service = await startService('--lease-ttl-ms', '9000', '--reclaim-window-ms', '20000');
    client = service.client;
  });
  afterAll(() => service.stop());

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'by %s: the body runs once, its result lands, the journal that was watched is whole',
    async (signal) => {
      const id = `through-${signal.toLowerCase()}`;
      const begun = promised();
      const finish = promised();
      let ran = 0;
      work(
        service,
        one(id, async () => {
          ran += 1;
          begun.resolve();
          await finish.done;
          return 'kept';
        }),
      );
      const run = await start(client, id);
      const watching = collect(client, run.run_id);
      const waiting = client.wait(run.run_id);
      const expiry = async (): Promise<string | undefined> =>
        (await client.getRun(run.run_id)).attempts.at(-1)?.lease_expires_at;
      await begun.done;
      await untilDeclared(client, run.run_id);
      await service.restart(signal);
      // Heartbeats go on, with the daemon that came after.
      const before = await expiry();
      while ((await expiry()) === before) await pause(50);
      finish.resolve();
      expect(await waiting).toBe('kept');
      await expectWhole(client, run.run_id, await watching);
      expect(ran).toBe(1);
      const { attempts } = await client.getRun(run.run_id);
      expect(attempts.at(-1)).toMatchObject({ status: 'succeeded' });
      expect(attempts.filter((attempt) => attempt.status !== 'lapsed')).toHaveLength(1);
    },
  );

  it('killed four times in one run, each time a result is on its way: every visit counts once', async () => {
    const VISITS = 24;
    const kills = new Set([5, 10, 15, 20]);
    const restarts: Promise<void>[] = [];
    work(
      service,
      defineWorkflow({
        definition: {
          id: 'count',
          version: 1,
          steps: [
            {
              id: 'add',
              kind: 'task',
              next: [{ when: `state.total < ${VISITS}`, to: 'add' }, { to: 'done' }],
            },
            { id: 'done', kind: 'succeed', output: { total: '${state.total}' } },
          ],
        },
        bodies: {
          add: (context) => {
            context.patchState({ total: Number(context.state['total'] ?? 0) + 1 });
            // Not awaited: the report goes out while the daemon dies.
            if (kills.delete(context.visit)) restarts.push(service.restart('SIGKILL'));
          },
        },
      }),
    );
    const run = await start(client, 'count');
    const [seen, output] = await Promise.all([collect(client, run.run_id), client.wait(run.run_id)]);
    await Promise.all(restarts);
    expect(output).toEqual({ total: VISITS });
    expect(restarts).toHaveLength(4);
    await expectWhole(client, run.run_id, seen);
    const { attempts } = await client.getRun(run.run_id);
    const accepted = attempts.filter((attempt) => attempt.status === 'succeeded').map((attempt) => attempt.visit);
    expect(accepted).toEqual(Array.from({ length: VISITS }, (_, index) => index + 1));
  });
});
