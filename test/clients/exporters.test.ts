import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { GO_PROGRAM, JAVA_CLASS_PATH, type Language, missingToolchain, PYTHON_OF_VENV } from '../../tools/clients.ts';
import { until } from '../until.ts';
import { type Ended, expectPricedCall, one, openStage, type Stage } from './stage.ts';

/**
 * The OTLP exporters of four languages as they are published, over gRPC and HTTP: three signals, gzip, and what each makes of a
 * refusal. All are set up by OTEL_EXPORTER_OTLP_* alone.
 */
const KEY = 'ingest-key-1234567';
const MOST_BODY_BYTES = 100_000;
/** As much as one body of the largest size takes: while that is on its way, there is room for no other. */
const MOST_INFLIGHT_BYTES = 4 * MOST_BODY_BYTES;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage([
    ...['--otlp-protobuf', 'all', '--ingest-key', KEY],
    ...['--max-body-bytes', `${MOST_BODY_BYTES}`, '--max-inflight-bytes', `${MOST_INFLIGHT_BYTES}`],
  ]);
});
afterAll(() => stage.close());

type Exporter = {
  readonly name: string;
  /** Absent: npm's, which is always there. */
  readonly language?: Language;
  readonly folder: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What has to be there when it is installed, from its folder. */
  readonly installed: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Calls that it makes before it hears of the first refusal; absent: it never sends again, also where it may. */
  readonly callsAtOnce?: number;
  /** What it prints when a key is not known. */
  readonly unknownKey: RegExp;
};

const exporters: readonly Exporter[] = [
  {
    name: 'Python',
    language: 'python',
    folder: 'python/otel',
    command: PYTHON_OF_VENV,
    args: ['client.py'],
    installed: PYTHON_OF_VENV,
    settings: { SIGNALS: 'traces,logs,metrics' },
    callsAtOnce: 1,
    unknownKey: /Failed to export \w+ .*UNAUTHENTICATED, error details: the key that was sent is not known/,
  },
  {
    name: 'Go',
    language: 'go',
    folder: 'go',
    command: GO_PROGRAM,
    args: [],
    installed: GO_PROGRAM,
    callsAtOnce: 1,
    unknownKey: /traces export: .*Unauthenticated desc = the key that was sent is not known/,
  },
  {
    name: 'Java',
    language: 'java',
    folder: 'java',
    command: 'java',
    args: ['-cp', JAVA_CLASS_PATH, 'Client'],
    installed: '.build/Client.class',
    callsAtOnce: 3,
    unknownKey: /Failed to export \d+ spans.*status code 16.*the key that was sent is not known/,
  },
  {
    name: 'JavaScript',
    folder: 'opentelemetry',
    command: process.execPath,
    args: ['client.mjs'],
    installed: 'node_modules',
    // It says nothing about what it could not send, unless it is asked to.
    settings: { OTLP_ENCODING: 'grpc', OTEL_LOG_LEVEL: 'error' },
    unknownKey: /16 UNAUTHENTICATED: the key that was sent is not known/,
  },
];

type Transport = 'grpc' | 'http/protobuf';

const run = (
  { name, folder, command, args, installed, settings, language }: Exporter,
  transport: Transport,
  project: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> => {
  const where = join(import.meta.dirname, folder);
  if (!existsSync(join(where, installed))) throw new Error(`${name} is not installed: npm test installs it`);
  return stage.run({
    folder: where,
    command: command === 'java' || language === undefined ? command : join(where, command),
    args,
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: stage.daemon.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: transport,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${KEY}`,
      OTEL_RESOURCE_ATTRIBUTES: `svc.project=${project}`,
      TRANSPORT: transport === 'grpc' ? 'grpc' : 'http',
      ...settings,
      ...more,
    },
  });
};

/** A counter of `/metrics`. */
const counted = async (name: string): Promise<number> => {
  const text = await (await fetch(`${stage.daemon.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
};
const requests = (): Promise<number> => counted('svc_ingest_requests_total');

const expectTrace = async (project: string): Promise<void> => {
  const spans = await stage.spansOf(project);
  const named = (name: string) =>
    one(
      spans.filter((span) => span.name === name),
      name,
    );
  expect(spans).toHaveLength(3);
  expect(named('handle refund').correlation).toMatchObject({ session_id: 'conversation-1', user_id: 'user-1' });
  expectPricedCall(named('chat gpt-4o-mini'));
  expect(named('pay')).toMatchObject({ kind: 'tool_call', status: 'error', error: { message: 'card declined' } });
};

const expectLogsAndMetrics = async (project: string): Promise<void> => {
  const { logs } = await stage.read<{ logs: readonly object[] }>(`/v1/api/logs?project=${project}`);
  expect(logs).toContainEqual(expect.objectContaining({ severity: 'error', message: 'card declined' }));
  const { metrics } = await stage.read<{ metrics: readonly object[] }>(`/v1/api/metrics?project=${project}`);
  expect(metrics).toContainEqual(expect.objectContaining({ name: 'refunds', type: 'counter' }));
  expect(metrics).toContainEqual(expect.objectContaining({ name: 'refund_amount', type: 'histogram' }));
};

/** Takes all the room for bodies, with one that does not end. @returns who gives it back */
const takeAllRoom = async (): Promise<Socket> => {
  const { port, hostname } = new URL(stage.daemon.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const before = await requests();
  socket.write(
    `POST /v1/traces HTTP/1.1\r\nHost: svc\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${MOST_BODY_BYTES}\r\n\r\n`,
  );
  socket.write('{'.padEnd(MOST_BODY_BYTES - 1));
  await until(async () => (await requests()) > before);
  return socket;
};

type Runs = { readonly http?: Ended; readonly large: Ended; readonly wrongKey: Ended };

const projectOf = ({ name }: Exporter, what: string): string => `${name}-${what}`.toLowerCase();

/** The runs of one exporter that need nothing of each other, side by side: most of their time is waiting between tries. */
const runAll = async (exporter: Exporter): Promise<Runs> => {
  const grpc = (what: string, more: Readonly<Record<string, string>>): Promise<Ended> =>
    run(exporter, 'grpc', projectOf(exporter, what), more);
  const [http, large, wrongKey] = await Promise.all([
    // The exporters of JavaScript over HTTP have a test of their own.
    exporter.language && run(exporter, 'http/protobuf', projectOf(exporter, 'http')),
    grpc('large', { PAYLOAD_BYTES: `${2 * MOST_BODY_BYTES}` }),
    grpc('wrong-key', { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20wrong' }),
  ]);
  return { ...(http === undefined ? {} : { http }), large, wrongKey };
};

const started = new Map<string, Promise<Runs>>();
/** Runs the exporter once for all of its tests, or skips, and says why, where this machine cannot run it. */
const runsOf = (exporter: Exporter, { skip }: TestContext): Promise<Runs> => {
  const missing = exporter.language && missingToolchain(exporter.language);
  skip(missing !== undefined, missing);
  const runs = started.get(exporter.name) ?? runAll(exporter);
  started.set(exporter.name, runs);
  return runs;
};

const withHttp = exporters.filter(({ language }) => language !== undefined);
describe.each(withHttp)('The OTLP exporters of $name over HTTP', (exporter) => {
  it('send all three signals in protobuf', async (context) => {
    const { http } = await runsOf(exporter, context);
    expect(http?.code, http?.printed).toBe(0);
    await expectTrace(projectOf(exporter, 'http'));
    await expectLogsAndMetrics(projectOf(exporter, 'http'));
  });
});

describe.each(exporters)('The OTLP exporters of $name over gRPC', (exporter) => {
  it('give up a batch over the bound after a few tries at most, and send the other signals', async (context) => {
    const { large } = await runsOf(exporter, context);
    expect(large.code, large.printed).toBe(0);
    expect(large.printed).toMatch(/body of \d+ bytes is too large.*send smaller batches/);
    expect(await stage.tracesOf(projectOf(exporter, 'large'))).toEqual([]);
    await expectLogsAndMetrics(projectOf(exporter, 'large'));
  });

  it('report a wrong key, and stop', async (context) => {
    const { wrongKey } = await runsOf(exporter, context);
    expect(wrongKey.printed).toMatch(exporter.unknownKey);
    expect(await stage.tracesOf(projectOf(exporter, 'wrong-key'))).toEqual([]);
  });

  it('send all three signals with gzip, after the service had no room for them', async (context) => {
    await runsOf(exporter, context);
    const project = projectOf(exporter, 'gzip');
    const gzip = { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' };
    const room = await takeAllRoom();
    const before = await requests();
    const first = run(exporter, 'grpc', project, gzip);
    if (exporter.callsAtOnce === undefined) {
      const { printed } = await first;
      expect(printed).toMatch(/14 UNAVAILABLE: the requests in flight hold 399996 of 400000 bytes/);
      room.destroy();
    } else {
      const refused = before + exporter.callsAtOnce + 1;
      await until(async () => (await requests()) >= refused);
      expect(await stage.tracesOf(project)).toEqual([]);
      room.destroy();
    }
    const { code, printed } = await (exporter.callsAtOnce === undefined ? run(exporter, 'grpc', project, gzip) : first);
    expect(code, printed).toBe(0);
    await expectTrace(project);
    await expectLogsAndMetrics(project);
  });
});
