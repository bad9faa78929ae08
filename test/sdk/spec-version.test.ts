import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type FakeService,
  type FakeServiceOptions,
  startFakeService,
} from '../../sdk/conformance/opposite/scripted.ts';
import {
  ConnectionError,
  createClient,
  createInstrumentation,
  createWorker,
  defineWorkflow,
  IncompatibleServer,
} from '../../sdk/typescript/src/index.ts';
import { SPEC_VERSION } from '../../sdk/typescript/src/generated/wire.ts';
import { createVersionCheck, isUnderstood } from '../../sdk/typescript/src/spec-version.ts';

let service: FakeService | undefined;
const open = async (options: FakeServiceOptions = {}): Promise<FakeService> => {
  service = await startFakeService(options);
  return service;
};
afterEach(async () => {
  vi.useRealTimers();
  await service?.stop();
  service = undefined;
});

const workflow = defineWorkflow({
  definition: { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task' }] },
  bodies: { pay: () => 1 },
});
const quiet = { info: () => {}, warn: () => {}, error: () => {} };

describe('the version of the data model', () => {
  it('is understood when its major is that of the library, whatever its minor', () => {
    expect(isUnderstood(SPEC_VERSION)).toBe(true);
    expect(isUnderstood('1.0')).toBe(true);
    expect(isUnderstood('1.99')).toBe(true);
    expect(isUnderstood('1')).toBe(true);
    expect(isUnderstood('2.0')).toBe(false);
    expect(isUnderstood('0.9')).toBe(false);
    expect(isUnderstood('10.0')).toBe(false);
  });

  it('is not known, and keeps nobody from working, where it cannot be read', () => {
    for (const unknown of [undefined, null, 2, '', 'v2', 'two', {}]) expect(isUnderstood(unknown)).toBe(true);
  });

  it('is asked for once, before the first start of a client', async () => {
    const { url, calls } = await open();
    const client = createClient({ endpoint: url });
    await client.start('refund', {});
    await client.start('refund', {});
    expect(calls.map(({ path }) => path)).toEqual(['/healthz', '/v1/api/runs', '/v1/api/runs']);
    client.close();
  });

  it('of another major: a client starts and restarts nothing, and says both versions', async () => {
    const { url, calls } = await open({ specVersion: '2.0' });
    const client = createClient({ endpoint: url });
    const refused = await client.start('refund', {}).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(IncompatibleServer);
    expect(refused).toMatchObject({ serverVersion: '2.0', supportedVersion: SPEC_VERSION });
    await expect(client.restart('run-1')).rejects.toBe(refused);
    expect(calls.map(({ path }) => path)).toEqual(['/healthz']);
    // What reads or ends a run still may.
    await client.getRun('run-1');
    client.close();
  });

  it('of another major: a worker does not register, and ends', async () => {
    const { url, callsTo } = await open({ specVersion: '2.0' });
    const worker = createWorker({ endpoint: url, workflows: [workflow], stopOnSignals: false, logger: quiet });
    await expect(worker.run()).rejects.toThrow(IncompatibleServer);
    expect(callsTo('register')).toEqual([]);
  });

  it('of another major: instrumentation warns once and sends on', async () => {
    const { url, callsTo } = await open({ specVersion: '2.0' });
    let warned = (): void => {};
    const warning = new Promise<void>((resolve) => {
      warned = resolve;
    });
    const onWarning = vi.fn<(message: string) => void>(() => warned());
    const svc = createInstrumentation({ endpoint: url, delayMs: 1, onWarning });
    await svc.span('one', {}, () => {});
    await svc.flush();
    await warning;
    await svc.span('two', {}, () => {});
    await svc.close();
    expect(onWarning).toHaveBeenCalledOnce();
    expect(onWarning.mock.calls[0]?.[0]).toContain('2.0');
    expect(callsTo('ingest').flatMap(({ body }) => body['spans'] as unknown[])).toHaveLength(2);
    expect(callsTo('healthz')).toHaveLength(1);
  });

  it('is not asked for where instrumentation is off', async () => {
    const { url, calls } = await open();
    const svc = createInstrumentation({ endpoint: url, enabled: false });
    await svc.span('one', {}, () => {});
    await svc.close();
    expect(calls).toEqual([]);
  });

  it('without an answer it is unchecked: the start goes on, and ten seconds later a start asks again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const answers: (string | Error)[] = [new ConnectionError('away'), '2.0'];
    const http = {
      call: vi.fn<() => Promise<never>>(() => {
        const answer = answers.shift();
        if (typeof answer !== 'string') return Promise.reject(answer ?? new Error('asked too often'));
        return Promise.resolve({ spec_version: answer } as never);
      }),
    };
    const version = createVersionCheck(http);
    await version.pass();
    vi.advanceTimersByTime(9_999);
    await version.pass();
    expect(http.call).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    await expect(version.pass()).rejects.toThrow(IncompatibleServer);
    await expect(version.pass()).rejects.toThrow(IncompatibleServer);
    expect(http.call).toHaveBeenCalledTimes(2);
  });

  it('callers that ask at once share one question', async () => {
    const { url, callsTo } = await open();
    const client = createClient({ endpoint: url });
    await Promise.all([client.start('refund', {}), client.start('refund', {}), client.start('refund', {})]);
    expect(callsTo('healthz')).toHaveLength(1);
    client.close();
  });
});
