import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { FAKE_MODEL, FAKE_USAGE, startFakeModel } from './fake-model.ts';

export type WireSpan = {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly model?: string;
  readonly provider?: string;
  readonly entity_name?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly usage?: {
    input_tokens?: number;
    output_tokens?: number;
    input_details?: { cache_read?: number };
    output_details?: { reasoning?: number };
  };
  readonly cost?: { total_cost: number; currency: string; is_estimated: boolean; price_book_id?: string };
  readonly error?: { message: string; type?: string; stack?: string };
  readonly correlation: Record<string, unknown>;
  readonly attributes: Record<string, unknown>;
};
export type WireTrace = { readonly trace_id: string; readonly name: string; readonly cost?: { total_cost: number } };

/** What gpt-4o-mini costs for one fake answer, from its list price a million tokens: 0.15 in, 0.075 cached, 0.60 out. */
export const costOfOneCall = (cached: number = FAKE_USAGE.cached): number =>
  ((FAKE_USAGE.prompt - cached) * 0.15 + cached * 0.075 + FAKE_USAGE.completion * 0.6) / 1e6;

/** @param cached what the client reports of the cached tokens; zero when it drops the count that the model gave it */
export const expectPricedCall = (span: WireSpan, cached: number = FAKE_USAGE.cached): void => {
  expect(span.kind).toBe('model_generation');
  expect(span.model).toBe(FAKE_MODEL);
  expect(span.provider).toBe('openai');
  expect(span.usage?.input_tokens).toBe(FAKE_USAGE.prompt);
  expect(span.usage?.output_tokens).toBe(FAKE_USAGE.completion);
  expect(span.usage?.input_details?.cache_read ?? 0).toBe(cached);
  expect(span.cost?.total_cost).toBeCloseTo(costOfOneCall(cached), 12);
  expect(span.cost).toMatchObject({ currency: 'USD', is_estimated: true, price_book_id: 'builtin' });
};

export const one = <T>(items: readonly T[], what: string): T => {
  expect(items, what).toHaveLength(1);
  const [item] = items;
  if (item === undefined) throw new Error(`no ${what}`);
  return item;
};

/** A program of another maker, as it is published: where it stands, and how it is run there. */
export type Client = {
  readonly folder: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
};

export type Ended = { readonly code: number | null; readonly printed: string };

/** A daemon, a fake model, and a gate that lets nothing else be reached: what a client needs, and no more. */
export type Stage = {
  readonly daemon: Daemon;
  readonly modelUrl: string;
  /** Runs a client to its end, in a process that has neither this machine's settings nor its home. */
  readonly run: (client: Client) => Promise<Ended>;
  readonly read: <T>(path: string) => Promise<T>;
  readonly tracesOf: (project: string) => Promise<readonly WireTrace[]>;
  readonly spansOf: (project: string) => Promise<readonly WireSpan[]>;
  readonly close: () => Promise<void>;
};

/** Stands where a proxy would: writes down who wants to leave the machine, and lets nobody. */
const startGate = async (): Promise<{ url: string; asked: readonly string[]; close: () => Promise<void> }> => {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.statusCode = 403;
    response.end();
  });
  server.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () => new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve()))),
  };
};

/** @param flags of the daemon */
export const openStage = async (flags: readonly string[] = []): Promise<Stage> => {
  const files = temporaryFolder();
  const home = join(files.path, 'home');
  mkdirSync(home);
  const [model, gate, daemon] = await Promise.all([startFakeModel(), startGate(), startDaemon(files.path, flags)]);

  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${daemon.url}${path}`);
    expect(response.status, path).toBe(200);
    return (await response.json()) as T;
  };

  const tracesOf = async (project: string): Promise<readonly WireTrace[]> =>
    (await read<{ traces: readonly WireTrace[] }>(`/v1/api/traces?project=${encodeURIComponent(project)}`)).traces;

  return {
    daemon,
    modelUrl: model.url,
    read,
    tracesOf,
    run: async ({ folder, command, args, settings }) => {
      const child = spawn(command, args, {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          LANG: 'C.UTF-8',
          // Python libraries, gRPC, and Node (since release 24) obey these.
          ...{ HTTP_PROXY: gate.url, HTTPS_PROXY: gate.url, NO_PROXY: '127.0.0.1,localhost' },
          ...{ http_proxy: gate.url, https_proxy: gate.url, no_proxy: '127.0.0.1,localhost' },
          NODE_USE_ENV_PROXY: '1',
          MODEL_URL: model.url,
          ...settings,
        },
      });
      let printed = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
      const [code] = (await once(child, 'close')) as [number | null];
      expect(gate.asked, `what ${folder} wanted of the world`).toEqual([]);
      return { code, printed };
    },
    spansOf: async (project) => {
      const details = await Promise.all(
        (await tracesOf(project)).map(({ trace_id }) =>
          read<{ spans: readonly WireSpan[] }>(`/v1/api/traces/${trace_id}`),
        ),
      );
      return details.flatMap((detail) => detail.spans);
    },
    close: async () => {
      await Promise.all([daemon.stop(), model.close(), gate.close()]);
      files.remove();
    },
  };
};
