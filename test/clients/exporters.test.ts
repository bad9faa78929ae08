import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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
/** More than one client sends in a run of its own. */
const CEILING = 20;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage([
    ...['--otlp-protobuf', 'all', '--ingest-key', KEY],
    ...['--max-body-bytes', `${MOST_BODY_BYTES}`, '--max-inflight-bytes', `${MOST_INFLIGHT_BYTES}`],
    ...['--quota-per-minute', `${CEILING}`],
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
  /** Its setting for a time to try of 40 seconds; absent: it does not wait for as long as it is asked to. */
  readonly fortySeconds?: string;
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
    fortySeconds: '40',
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
    fortySeconds: '40000',
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

/** Takes a project's minute, late enough in it that the next one begins within the patience of an exporter. */
const takeTheMinute = async (project: string): Promise<void> => {
  const secondOfMinute = (): number => (Date.now() / 1000) % 60;
  while (secondOfMinute() < 42 || secondOfMinute() > 48) await pause(200);
  const log = (n: number) => ({ message: `log ${n}`, correlation: { project } });
  const answer = await fetch(`${stage.daemon.url}/v1/ingest`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ logs: Array.from({ length: CEILING }, (_, n) => log(n)) }),
  });
  expect(await answer.json()).toMatchObject({ accepted: CEILING });
};

const patient = exporters.filter(({ fortySeconds }) => fortySeconds !== undefined);
describe.concurrent.each(patient)(
  'The OTLP exporters of $name over gRPC, when the minute of their project is used up',
  (exporter) => {
    it('wait as long as the service says, by themselves, and everything arrives once', async ({
      skip,
      expect: expects,
    }) => {
      const missing = exporter.language && missingToolchain(exporter.language);
      skip(missing !== undefined, missing);
      const settings = { OTEL_EXPORTER_OTLP_TIMEOUT: exporter.fortySeconds ?? '' };
      let project = '';
      let refused = 0;
      // A client that takes more than the rest of the minute to start is not refused, and shows nothing.
      for (let tries = 1; tries <= 3 && refused === 0; tries += 1) {
        project = projectOf(exporter, `ceiling-${tries}`);
        await takeTheMinute(project);
        const before = await counted('svc_signals_over_quota_total');
        const { code, printed } = await run(exporter, 'grpc', project, settings);
        expects(code, printed).toBe(0);
        refused = (await counted('svc_signals_over_quota_total')) - before;
      }
      expects(refused).toBeGreaterThan(0);
      await expectTrace(project);
      await expectLogsAndMetrics(project);
      const { logs } = await stage.read<{ logs: readonly { message: string }[] }>(`/v1/api/logs?project=${project}`);
      expects(logs.filter(({ message }) => message === 'card declined')).toHaveLength(1);
      const { points } = await stage.read<{ points: readonly { timestamp: string }[] }>(
        `/v1/api/metrics/refunds/points?project=${project}`,
      );
      // A reader may collect at its flush and again at its end: two points, of two times.
      expects(points.length).toBeGreaterThan(0);
      expects(new Set(points.map(({ timestamp }) => timestamp)).size).toBe(points.length);
    });
  },
);
