/**
 * The other side of the benches of durable runs, in a process of its own: starts runs, serves their steps over kept-alive
 * connections, and prints one line of JSON. Started by `bench/runs.ts` with the plan on standard input.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { quantile } from './pairs.ts';

export type RunsPlan = {
  readonly url: string;
  /** Other services that share the runs: each call goes to the next of all. */
  readonly others?: readonly string[];
  /** Runs are of so many projects in turn; of the default one where it is absent. */
  readonly projects?: number;
  readonly definition: string;
  /** Runs that are open at one time. */
  readonly inFlight: number;
  readonly seconds: number;
  /** Stops after so many runs, where that comes first. */
  readonly runs?: number;
  /** How the worker reports: each call of a step by itself, or those of many steps in one. */
  readonly reports?: 'single' | 'batched';
  /** Each run is followed by its journal's stream from its start to its end. */
  readonly follows?: boolean;
  /** The definition waits for an event `go` with the key `${input.n}` before its only task. */
  readonly publishes?: boolean;
};

export type RunsFigures = {
  readonly stepsPerSecond: number;
  readonly steps: number;
  readonly runs: number;
  readonly runP50Ms: number;
  readonly runP99Ms: number;
  /** From the complete of a step (or the event of a wait) leaving here to the offer of the next one arriving here. */
  readonly nextP50Ms: number;
  readonly nextP99Ms: number;
  /** Steps that an answered claim brought, of those that brought any. */
  readonly stepsPerClaim: number;
  readonly refused: number;
  /** Journals that were read to their end. */
  readonly followed: number;
  /** Milliseconds from one complete to the next, in order; of plans with one run in flight. */
  readonly stepMs?: readonly number[];
};

type Lease = { readonly lease_id: string; readonly run_id: string };

const WORKER = { worker_id: `bench-${process.pid}` };
const WARM_UP_SHARE = 0.2;
const STREAMS_PER_ADDRESS = 100;

const run = async (plan: RunsPlan): Promise<RunsFigures> => {
  const pools = [plan.url, ...(plan.others ?? [])].map((url) => {
    const { hostname } = new URL(url);
    if (hostname !== '127.0.0.1') throw new Error(`load goes to 127.0.0.1 only, not to ${hostname}`);
    return new Pool(url, { connections: 2 * plan.inFlight + 16, pipelining: 1 });
  });
  let calls = 0;
  const headers = { 'content-type': 'application/json' };
  // `dispatch` builds no stream for an answer: half of what `request` costs, which the service would lack on a small machine.
  const post = (path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> =>
    new Promise((resolve, reject) => {
      let status = 0;
      let text = '';
      pools[(calls += 1) % pools.length]?.dispatch(
        { path: `/v1/api${path}`, method: 'POST', headers, body: JSON.stringify(body) },
        {
          onRequestStart: () => {},
          onResponseStart: (_, statusCode) => {
            status = statusCode;
          },
          onResponseData: (_, chunk) => {
            text += chunk.toString('utf8');
          },
          onResponseEnd: () => {
            resolve({ status, body: JSON.parse(text) as Record<string, unknown> });
          },
          onResponseError: (_, error) => {
            reject(error);
          },
        },
      );
    });

  // A stream holds its connection, and one address may hold a hundred of them.
  const streams = Array.from(
    { length: plan.follows === true ? Math.ceil(plan.inFlight / STREAMS_PER_ADDRESS) : 0 },
    (_, n) =>
      new Pool(plan.url, {
        connections: STREAMS_PER_ADDRESS,
        pipelining: 1,
        localAddress: `127.0.0.${n + 2}`,
      }),
  );
  let followed = 0;
  /** @returns whether the service took it: a stream that has ended for us may still count there, and a thousand are its bound */
  const followOnce = (runId: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      let tail = '';
      let isTaken = false;
      streams[begun % streams.length]?.dispatch(
        {
          path: `/v1/api/runs/${runId}/events`,
          method: 'GET',
          headers: { accept: 'text/event-stream' },
        },
        {
          onRequestStart: () => {},
          onResponseStart: (_, statusCode) => {
            isTaken = statusCode !== 429;
          },
          onResponseData: (_, chunk) => {
            tail = (tail + chunk.toString('utf8')).slice(-1000);
          },
          onResponseEnd: () => {
            if (tail.includes('run.finished')) followed += 1;
            resolve(isTaken);
          },
          onResponseError: (_, error) => {
            reject(error);
          },
        },
      );
    });

  const follow = async (runId: string): Promise<void> => {
    while (!(await followOnce(runId))) await sleep(20);
  };

  const leftAt = new Map<string, number>();
  const startedAt = new Map<string, number>();
  const next: number[] = [];
  const whole: number[] = [];
  const stepMs: number[] = [];
  let steps = 0;
  let runs = 0;
  let begun = 0;
  let refused = 0;
  let claims = 0;
  let claimed = 0;
  let lastComplete = 0;
  const from = performance.now();
  const until = from + plan.seconds * 1000;
  const warmUntil = from + plan.seconds * 1000 * WARM_UP_SHARE;
  let measuredFrom = Number.NaN;
  let stopping = false;
  let ended: () => void = () => {};
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });

  const begin = async (): Promise<void> => {
    if (stopping || performance.now() >= until || begun >= (plan.runs ?? Number.POSITIVE_INFINITY)) {
      if (startedAt.size === 0) ended();
      return;
    }
    begun += 1;
    const n = `${process.pid}-${begun}`;
    const at = performance.now();
    const project = plan.projects === undefined ? {} : { project: `project-${begun % plan.projects}` };
    const { status, body } = await post('/runs', { definition_id: plan.definition, input: { n }, ...project });
    if (status !== 201) throw new Error(`a start answered ${status} ${JSON.stringify(body)}`);
    const runId = body['run_id'] as string;
    startedAt.set(runId, at);
    if (plan.follows === true) void follow(runId);
    if (plan.publishes === true) {
      leftAt.set(runId, performance.now());
      await post('/events', { event: 'go', key: n, payload: {} });
    }
  };

  const finish = (runId: string): void => {
    const at = startedAt.get(runId);
    startedAt.delete(runId);
    leftAt.delete(runId);
    runs += 1;
    if (at !== undefined && !Number.isNaN(measuredFrom)) whole.push(performance.now() - at);
    void begin();
  };

  const reported = (lease: Lease, status: number, body: Record<string, unknown>): void => {
    if (status !== 200) {
      refused += 1;
      return;
    }
    const now = performance.now();
    if (Number.isNaN(measuredFrom) && now >= warmUntil) measuredFrom = now;
    else if (!Number.isNaN(measuredFrom)) steps += 1;
    if (plan.inFlight === 1 && lastComplete > 0) stepMs.push(now - lastComplete);
    lastComplete = now;
    if (body['run_status'] === 'succeeded') finish(lease.run_id);
    else if (body['run_status'] === 'failed') throw new Error(`run ${lease.run_id} failed`);
  };

  const serve = async (lease: Lease): Promise<void> => {
    const started = await post(`/steps/${lease.lease_id}/started`, WORKER);
    if (started.status !== 200) {
      refused += 1;
      return;
    }
    leftAt.set(lease.run_id, performance.now());
    const { status, body } = await post(`/steps/${lease.lease_id}/complete`, { ...WORKER, output: { ok: true } });
    reported(lease, status, body);
  };

  const arrived = (leases: readonly Lease[]): void => {
    if (leases.length > 0) claims += 1;
    claimed += leases.length;
    const now = performance.now();
    for (const lease of leases) {
      const left = leftAt.get(lease.run_id);
      if (left !== undefined && !Number.isNaN(measuredFrom)) next.push(now - left);
    }
  };

  /** Steps that are served and not reported yet; one call at a time takes them all, and claims what comes next. */
  const done: Lease[] = [];
  let isReporting = false;
  const reportAll = async (): Promise<void> => {
    if (isReporting) return;
    isReporting = true;
    while (done.length > 0) {
      // Two items each, and a call takes a thousand.
      const leases = done.splice(0, 500);
      const left = performance.now();
      for (const { run_id } of leases) leftAt.set(run_id, left);
      const { status, body } = await post('/steps/batch', {
        ...WORKER,
        started: leases.map(({ lease_id }) => ({ lease_id })),
        completes: leases.map(({ lease_id }) => ({ lease_id, output: { ok: true } })),
        claim: { max: plan.inFlight },
      });
      if (status !== 200) throw new Error(`a batch answered ${status} ${JSON.stringify(body)}`);
      const answers = body['completes'] as { status: number; body: Record<string, unknown> }[];
      for (const [at, lease] of leases.entries()) reported(lease, answers[at]?.status ?? 0, answers[at]?.body ?? {});
      const more = body['leases'] as Lease[];
      arrived(more);
      done.push(...more);
    }
    isReporting = false;
  };

  const claimer = async (max: number): Promise<void> => {
    while (!stopping) {
      const { status, body } = await post('/steps/claim', { ...WORKER, max, wait_ms: 1000 });
      if (status !== 200) throw new Error(`a claim answered ${status} ${JSON.stringify(body)}`);
      const leases = body['leases'] as Lease[];
      arrived(leases);
      if (plan.reports === 'batched') {
        done.push(...leases);
        void reportAll();
      } else for (const lease of leases) void serve(lease);
    }
  };

  const claimers = Array.from({ length: plan.reports === 'batched' ? 1 : plan.inFlight === 1 ? 2 : 4 }, () =>
    claimer(plan.reports === 'batched' ? plan.inFlight : Math.ceil(plan.inFlight / 4)),
  );
  await Promise.all(Array.from({ length: plan.inFlight }, begin));
  await over;
  const took = (lastComplete - measuredFrom) / 1000;
  stopping = true;
  await Promise.all(claimers);
  await Promise.all(pools.map((pool) => pool.close()));
  await Promise.all(streams.map((one) => one.close()));
  return {
    stepsPerSecond: steps / took,
    steps,
    runs,
    runP50Ms: quantile(whole, 0.5),
    runP99Ms: quantile(whole, 0.99),
    nextP50Ms: quantile(next, 0.5),
    nextP99Ms: quantile(next, 0.99),
    stepsPerClaim: claimed / claims,
    refused,
    followed,
    ...(plan.inFlight === 1 ? { stepMs } : {}),
  };
};

const pieces: Buffer[] = [];
for await (const piece of process.stdin as AsyncIterable<Buffer>) pieces.push(piece);
const plan = JSON.parse(Buffer.concat(pieces).toString()) as RunsPlan;
const registered = await fetch(`${plan.url}/v1/api/definitions/${plan.definition}`);
const { latest } = (await registered.json()) as { latest: object };
await fetch(`${plan.url}/v1/api/workers/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ ...WORKER, definitions: [latest] }),
});
process.stdout.write(JSON.stringify(await run(plan)));
