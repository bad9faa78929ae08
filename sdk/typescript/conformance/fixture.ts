/** Joins the conformance kit to this library, through its public interface alone. @see ../../conformance/README.md */
import { Console } from 'node:console';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import * as svc from '../src/index.ts';
import { bridgeOpenTelemetry } from '../src/otel.ts';
import { openTelemetry, underSpan } from './opentelemetry.ts';
import { type BodyHost, scriptedBody } from './scripted-body.ts';

type With = Record<string, unknown>;
type Verb = (input: With, call: { readonly id: number; readonly signal: AbortSignal }) => unknown;

const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
const emit = (line: object): void => {
  // What the library gives as a bigint is an integer of JSON.
  const text = JSON.stringify(line, (_name, value: unknown) =>
    typeof value === 'bigint' ? rawJson(String(value)) : value,
  );
  process.stdout.write(`${text}\n`);
};
/** Members of the wire, in the spelling of this library. */
const camel = (input: With): With =>
  Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
const without = (input: With, ...names: string[]): With =>
  Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));

let options: svc.InstrumentationOptions & svc.ClientOptions = {};
let made: svc.Instrumentation | undefined;
let madeClient: svc.Client | undefined;
// Standard output belongs to the kit.
globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr });
let unbridge: (() => void) | undefined;
const instrumentation = (): svc.Instrumentation =>
  (made ??= svc.createInstrumentation({ ...options, bridge: bridgeOpenTelemetry(openTelemetry) }));
const client = (): svc.Client => (madeClient ??= svc.createClient(options));
const workers = new Map<string, svc.Worker>();
const calls = new Map<number, AbortController>();

type Gate = { readonly open: Promise<void>; readonly release: () => void };
const gates = new Map<string, Gate>();
const gate = (name: string): Gate => {
  const known = gates.get(name);
  if (known !== undefined) return known;
  let release = (): void => {};
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  gates.set(name, { open, release });
  return { open, release };
};

const record = (name: string, input: unknown): void =>
  void instrumentation()
    .span(name, { input }, () => {})
    .catch(() => {});
const cycle = (): object => {
  const value: { self?: object } = {};
  value.self = value;
  return value;
};
const hostile: Record<string, () => unknown> = {
  cycle,
  nan: () => ({ nan: Number.NaN, endless: Number.POSITIVE_INFINITY }),
  huge: () => 'x'.repeat(8 * 1024 * 1024),
  bad_text: () => ({ text: 'a\uD800b' }),
  throws: () => ({
    toJSON: () => {
      throw new Error('no JSON of this');
    },
  }),
};

/** In order: one after the other. */
const runInside = async (input: With): Promise<unknown[]> => {
  const results: unknown[] = [];
  // oxlint-disable-next-line eslint/no-await-in-loop
  for (const { do: verb, with: more = {} } of (input['inside'] ?? []) as { do: string; with?: With }[])
    results.push((await verbNamed(verb)(more, { id: 0, signal: new AbortController().signal })) ?? {});
  return results;
};

type SpanResult = { trace_id: string; span_id: string; traceparent: string; inside: unknown[]; raised?: string };
const span = async (input: With): Promise<SpanResult> => {
  const given = without(input, 'name', 'output', 'usage', 'events', 'error', 'hop', 'inside');
  let result: SpanResult | undefined;
  try {
    await instrumentation().span(input['name'] as string, camel(given), async (open) => {
      const traceparent = instrumentation().traceparent() ?? '';
      result = { trace_id: open.traceId, span_id: open.spanId, traceparent, inside: [] };
      if (input['output'] !== undefined) open.setOutput(input['output']);
      if (input['usage'] !== undefined) open.setUsage(input['usage'] as svc.Usage);
      for (const event of (input['events'] ?? []) as { name: string; attributes?: With }[])
        open.addEvent(event.name, event.attributes);
      if (input['hop'] === true) await sleep(1);
      result.inside = await runInside(input);
      if (input['error'] !== undefined) throw new Error(input['error'] as string);
    });
  } catch (error) {
    if (result === undefined || error instanceof Unsupported) throw error;
    result.raised = (error as Error).message;
  }
  if (result === undefined) throw new Error('the span did not run its body');
  return result;
};

const watch: Verb = async (input, { id, signal }) => {
  const seqs: number[] = [];
  const after = input['after'] as number | undefined;
  for await (const entry of client().watch(input['run_id'] as string, {
    signal,
    ...(after === undefined ? {} : { after }),
  })) {
    seqs.push(entry.seq);
    emit({ event: 'watch.entry', call: id, seq: entry.seq, kind: entry.kind });
    if (seqs.length === input['limit']) break;
  }
  return { seqs };
};

const bodyHost: BodyHost = { emit, gate: (name) => gate(name).open };
const runWorker: Verb = async (input) => {
  const definitions = input['definitions'] as svc.Definition[];
  const log = (level: string) => (message: string) => emit({ event: 'worker.log', level, message });
  const worker = svc.createWorker({
    ...options,
    ...(camel(without(input, 'definitions', 'name', 'signals')) as object),
    workflows: definitions.map((definition) => {
      const tasks = definition.steps.filter((step) => step.kind === 'task');
      const bodies = Object.fromEntries(tasks.map((step) => [step.id, scriptedBody(bodyHost)]));
      return svc.defineWorkflow({ definition, bodies });
    }),
    exporting: { delayMs: 20, ...options },
    stopOnSignals: input['signals'] === true,
    logger: { info: log('info'), warn: log('warn'), error: log('error') },
  });
  workers.set((input['name'] as string | undefined) ?? 'w', worker);
  await worker.run();
  return {};
};

const steer =
  (verb: 'cancel' | 'pause' | 'resume'): Verb =>
  (input) =>
    client()[verb](input['run_id'] as string, input['reason'] as string | undefined);
const ofSchedule =
  (verb: 'getSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'triggerSchedule' | 'deleteSchedule'): Verb =>
  async (input) =>
    (await client()[verb](input['id'] as string)) ?? {};
const ofBulk = (verb: 'countBulk' | 'startBulk'): Verb => {
  return (input) => {
    const work = without(without(input, 'filter'), 'idempotency_key') as svc.BulkWork;
    const { idempotencyKey } = camel(input) as { idempotencyKey?: string };
    return client()[verb](
      work,
      camel(input['filter'] as With),
      ...(idempotencyKey === undefined ? [] : [{ idempotencyKey }]),
    );
  };
};

const verbs: Record<string, Verb> = {
  hello: () => ({
    language: 'typescript',
    library: '@svc/sdk',
    version: '0.1.0',
    capabilities: ['batch', 'blocking_bodies', 'int64', 'log_bridge', 'otel_bridge'],
  }),
  configure: (input) => {
    const { retry } = input;
    options = { ...camel(input), ...(retry === undefined ? {} : { retry: camel(retry as With) as svc.RetryPolicy }) };
    return { problems: instrumentation().problems };
  },
  cancel_call: (input) => {
    calls.get(input['call'] as number)?.abort();
    return {};
  },
  exit: async (input) => {
    unbridge?.();
    await Promise.all([...workers.values()].map((worker) => worker.stop()));
    madeClient?.close();
    await made?.close();
    process.exit((input['code'] as number | undefined) ?? 0);
  },

  span,
  log: (input) => {
    instrumentation().log(input['severity'] as svc.Severity, input['message'] as string, input);
    return {};
  },
  'otel.span': (input) => underSpan(() => runInside(input)),
  metric: (input) => {
    instrumentation().metric(camel(input) as svc.MetricInput);
    return {};
  },
  aspect_note: (input) => {
    instrumentation().aspectNote(camel(input) as svc.AspectNoteInput);
    return {};
  },
  'log.native': (input) => {
    unbridge ??= svc.bridgeConsole(instrumentation());
    console[input['level'] as 'debug' | 'info' | 'warn' | 'error'](input['message']);
    return {};
  },
  score: (input) => {
    instrumentation().score(camel(input) as svc.ScoreInput);
    return {};
  },
  feedback: (input) => {
    instrumentation().feedback(camel(input) as svc.FeedbackInput);
    return {};
  },
  hostile: (input) => {
    const value = hostile[input['what'] as string];
    if (value === undefined) throw new Unrepresentable();
    record(input['name'] as string, value());
    return {};
  },
  burst: (input) => {
    const payload = 'x'.repeat((input['payload_bytes'] as number | undefined) ?? 0);
    for (let i = 0; i < (input['count'] as number); i += 1)
      record(`${(input['prefix'] as string | undefined) ?? 'burst-'}${i}`, payload);
    return {};
  },
  counters: () => instrumentation().counters(),
  flush: async (input) => ({ flushed: await instrumentation().flush(input['timeout_ms'] as number | undefined) }),
  close: async (input) => {
    await instrumentation().close(input['timeout_ms'] as number | undefined);
    return {};
  },

  'client.start': (input) => client().start(input['definition_id'] as string, input['input'], camel(input)),
  'client.wait': async (input, { signal }) => ({ output: await client().wait(input['run_id'] as string, { signal }) }),
  'client.watch': watch,
  'client.get': (input) => client().getRun(input['run_id'] as string),
  'client.journal': (input) => client().journal(input['run_id'] as string, without(input, 'run_id')),
  'client.cause': (input) => client().stepCause(input['run_id'] as string, input['step_id'] as string),
  'client.list': (input) => client().listRuns(camel(input)),
  'client.signal': (input) =>
    client().signal(
      input['run_id'] as string,
      input['event'] as string,
      input['payload'] as svc.JsonObject,
      camel(input),
    ),
  'client.publish': (input) => client().publish(camel(input) as Parameters<svc.Client['publish']>[0]),
  'client.cancel': steer('cancel'),
  'client.pause': steer('pause'),
  'client.resume': steer('resume'),
  'client.restart': (input) => client().restart(input['run_id'] as string, camel(without(input, 'run_id'))),
  'client.store_definitions': (input) => client().storeDefinitions(input['definitions'] as svc.Definition[]),
  'client.check_definitions': (input) => client().checkDefinitions(input['definitions'] as svc.Definition[]),
  'client.pause_definition': (input) => client().pauseDefinition(input['id'] as string, input),
  'client.resume_definition': (input) => client().resumeDefinition(input['id'] as string, input),
  'client.create_schedule': (input) =>
    client().createSchedule(input['id'] as string, camel(input['schedule'] as With) as svc.ScheduleOptions),
  'client.replace_schedule': (input) =>
    client().replaceSchedule(input['id'] as string, camel(input['schedule'] as With) as svc.ScheduleOptions),
  'client.get_schedule': ofSchedule('getSchedule'),
  'client.pause_schedule': ofSchedule('pauseSchedule'),
  'client.resume_schedule': ofSchedule('resumeSchedule'),
  'client.trigger_schedule': ofSchedule('triggerSchedule'),
  'client.delete_schedule': ofSchedule('deleteSchedule'),
  'client.list_schedules': () => client().listSchedules(),
  'client.count_bulk': ofBulk('countBulk'),
  'client.start_bulk': ofBulk('startBulk'),
  'client.get_bulk': (input) => client().getBulk(input['bulk_id'] as string),
  'client.stop_bulk': (input) => client().stopBulk(input['bulk_id'] as string),
  'client.list_workers': () => client().listWorkers(),
  'client.read': (input) =>
    client().read(input['path'] as '/v1/api/runs', input['query'] as Parameters<svc.Client['read']>[1]),
  'client.close': () => {
    client().close();
    return {};
  },

  'worker.run': runWorker,
  'worker.stop': async (input) => {
    await workers.get((input['name'] as string | undefined) ?? 'w')?.stop();
    return {};
  },
  release: (input) => {
    gate(input['name'] as string).release();
    return {};
  },
};

class Unrepresentable extends Error {}
class Unsupported extends Error {}
const verbNamed = (name: string): Verb => {
  const verb = verbs[name];
  if (verb === undefined) throw new Unsupported(name);
  return verb;
};

const errorOf = (error: unknown, signal: AbortSignal): object => {
  const { message } = error as Error;
  if (error instanceof svc.ServiceError) {
    const { status, code, field, requestId, retryAfterMs } = error;
    return { type: 'ServiceError', message, status, code, field, request_id: requestId, retry_after_ms: retryAfterMs };
  }
  if (error instanceof svc.RunFailed) return { type: 'RunFailed', message, run: error.run };
  if (error instanceof svc.IncompatibleServer) return { type: 'IncompatibleServer', message };
  if (error instanceof svc.ConnectionError) return { type: 'ConnectionError', message };
  if (error instanceof Unrepresentable) return { type: 'Unrepresentable', message };
  if (error instanceof Unsupported) return { type: 'Unsupported', message };
  if (signal.aborted) return { type: 'Cancelled', message };
  if (error instanceof TypeError || error instanceof RangeError) return { type: 'InvalidArgument', message };
  return { type: 'Unexpected', message };
};

const serve = async (line: string): Promise<void> => {
  const request = JSON.parse(line) as { readonly id: number; readonly do: string; readonly with?: With };
  const { id } = request;
  const stop = new AbortController();
  calls.set(id, stop);
  try {
    emit({ id, ok: (await verbNamed(request.do)(request.with ?? {}, { id, signal: stop.signal })) ?? {} });
  } catch (error) {
    emit({ id, error: errorOf(error, stop.signal) });
  } finally {
    calls.delete(id);
  }
};

createInterface({ input: process.stdin })
  .on('line', (line) => void serve(line))
  .on('close', () => process.exit(0));
