import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from '../kit/judging.ts';
import { type Proxy, startProxy } from './proxy.ts';

/** The command of the service that this kit came with. */
const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'bin', 'svc.mjs');

type Daemon = {
  readonly url: string;
  readonly stop: (signal: NodeJS.Signals) => Promise<void>;
};

let starting = 0;
/** How many daemons start now: that time is no scenario's own. */
export const daemonsStarting = (): number => starting;

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Starts the service on a free port of the loopback address. @throws Error with what it printed where it does not start */
const startDaemon = async (folder: string, flags: readonly string[]): Promise<Daemon> => {
  const files = ['--data', join(folder, 'svc.db'), '--runs-data', join(folder, 'svc-runs.db')];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^SVCD?_/.test(name)));
  const child = spawn(process.execPath, [PROGRAM, '--port', '0', ...files, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, NODE_ENV: 'production' },
  });
  alive.add(child);
  const ended = once(child, 'close').then(() => void alive.delete(child));
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
  starting += 1;
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /"address":"(http:[^"]+)"/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    void ended.then(() => reject(new Error(`the service did not start: ${printed}`)));
  }).finally(() => {
    starting -= 1;
  });
  return {
    url,
    stop: async (signal) => {
      child.kill(signal);
      await ended;
    },
  };
};

/** The kit's own view of a service, past the proxy: what is stored there. */
const createApi = (urlOf: () => string) => {
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await fetch(urlOf() + path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const getRun = (runId: string) => ask('GET', `/v1/api/runs/${runId}`) as Promise<StoredRun>;
  return {
    get: <T>(path: string) => ask('GET', path) as Promise<T>,
    post: <T>(path: string, body: unknown) => ask('POST', path, body) as Promise<T>,
    store: (...definitions: readonly object[]) => ask('POST', '/v1/api/definitions', { definitions }),
    start: (definitionId: string, input: unknown, more: object = {}) =>
      ask('POST', '/v1/api/runs', { definition_id: definitionId, input, ...more }) as Promise<StoredRun>,
    run: getRun,
    journal: async (runId: string): Promise<readonly StoredEntry[]> => {
      const page = await (ask('GET', `/v1/api/runs/${runId}/events?limit=1000`) as Promise<{ events: StoredEntry[] }>);
      return page.events;
    },
    /** Waits until a run is as it should be. */
    runWhere: (runId: string, what: string, matches: (run: StoredRun) => boolean): Promise<StoredRun> =>
      until(`run ${what}`, 15_000, async () => {
        const run = await getRun(runId);
        return matches(run) ? run : undefined;
      }),
    ended: (runId: string): Promise<StoredRun> =>
      until('end of the run', 15_000, async () => {
        const run = await getRun(runId);
        return ['succeeded', 'failed', 'cancelled'].includes(run.status) ? run : undefined;
      }),
  };
};

export type StoredAttempt = {
  readonly step_id: string;
  readonly attempt: number;
  readonly status: string;
  readonly lease_id: string;
  readonly worker_id?: string;
  readonly error?: { readonly class: string; readonly code?: string; readonly message: string };
};
/** What scenarios read of a run. */
export type StoredRun = {
  readonly run_id: string;
  readonly trace_id: string;
  readonly status: string;
  readonly definition_version: number;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly state: { readonly [member: string]: unknown };
  readonly error?: { readonly class: string; readonly code?: string; readonly message: string };
  readonly usage: { readonly [member: string]: unknown };
  readonly attempts: readonly StoredAttempt[];
  readonly waits: readonly unknown[];
  readonly priority: number;
};
export type StoredEntry = {
  readonly seq: number;
  readonly kind: string;
  readonly data: { readonly [member: string]: unknown };
};

export type Service = {
  /** Where the fixture finds it: the proxy. */
  readonly url: string;
  readonly proxy: Proxy;
  readonly api: ReturnType<typeof createApi>;
};
export type OwnService = Service & {
  /** Ends the service and starts it again on the same files; the proxy leads to it. */
  readonly restart: (signal?: NodeJS.Signals) => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** A service for one scenario alone, behind a proxy. */
export const startService = async (flags: readonly string[]): Promise<OwnService> => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'));
  let daemon = await startDaemon(folder, flags);
  const proxy = await startProxy(daemon.url);
  return {
    url: proxy.url,
    proxy,
    api: createApi(() => daemon.url),
    restart: async (signal = 'SIGKILL') => {
      await daemon.stop(signal);
      daemon = await startDaemon(folder, flags);
      proxy.swap(daemon.url);
    },
    stop: async () => {
      await proxy.stop();
      await daemon.stop('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const BRISK_FLAGS = ['--lease-ttl-ms', '1000', '--reclaim-window-ms', '100'];
const CALM_FLAGS = ['--lease-ttl-ms', '10000'];

export type Services = ReturnType<typeof createServices>;

/** The daemons that scenarios share, each started when the first needs it. */
export const createServices = () => {
  const folders: string[] = [];
  const shared = (flags: readonly string[]) => {
    let starting: Promise<Daemon> | undefined;
    const daemon = (): Promise<Daemon> => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'));
      folders.push(folder);
      return startDaemon(folder, flags);
    };
    return {
      service: async (): Promise<Service> => {
        starting ??= daemon();
        const { url } = await starting;
        const proxy = await startProxy(url);
        return { url: proxy.url, proxy, api: createApi(() => url) };
      },
      stop: async (): Promise<void> => {
        const daemon = await starting?.catch(() => undefined);
        await daemon?.stop('SIGKILL');
      },
    };
  };
  const calm = shared(CALM_FLAGS);
  const brisk = shared(BRISK_FLAGS);
  return {
    calm: calm.service,
    brisk: brisk.service,
    stop: async (): Promise<void> => {
      await Promise.all([calm.stop(), brisk.stop()]);
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
};
