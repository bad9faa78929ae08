/**
 * A load of durable runs with a ledger outside the daemon: what was asked of it, what it answered, and the moment of each on a
 * clock that the caller brings. Workers take steps by single calls and in batches.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from 'undici';
import { definitions, USAGE } from '../crash/runs-definitions.ts';
import { type Answer, call, type Entry, readApi, type Run } from '../crash/runs-verify.ts';
import type { WireLease } from '../http/runs/service.ts';

/** Moments at which something was asked and at which its answer was there; without the second, nobody knows what became of it. */
export type Asked = { readonly sentAt: number; answeredAt?: number };
export type Start = Asked & { readonly n: string; readonly input: object; runId?: string };
export type SentEvent = Asked & {
  readonly eventId: string;
  readonly key: string;
  outcome?: 'delivered' | 'parked' | 'duplicate';
  runId?: string;
};
export type Cancel = Asked & { readonly runId: string; status?: Run['status'] };
/** A journal as somebody was shown it. */
export type Shown = Asked & { readonly runId: string; entries?: readonly Entry[] };
/** A call on a lease. Only one that was taken counts as answered. */
export type LeaseCall = Asked & {
  readonly verb: 'started' | 'complete' | 'fail';
  readonly workerId: string;
  readonly lease: WireLease;
};

export type Ledger = {
  readonly starts: Start[];
  readonly events: SentEvent[];
  readonly cancels: Cancel[];
  readonly shown: Shown[];
  readonly calls: LeaseCall[];
};

export const emptyLedger = (): Ledger => ({ starts: [], events: [], cancels: [], shown: [], calls: [] });

/** Whether the answer was there at that moment. */
export const wasAnswered = ({ answeredAt }: Asked, at: number): boolean => answeredAt !== undefined && answeredAt <= at;

export type Service = {
  readonly url: string;
  readonly dispatcher: Agent;
  /** The moment, as the ledger counts. */
  readonly now: () => number;
  /** True once the service is ended, or nothing more is wanted of it: calls may break from then on. */
  readonly isOver: () => boolean;
};

/** Answers of a service that is up, and the word for each item of a batch. */
const post = async ({ dispatcher, url }: Service, path: string, body: object): Promise<Answer> =>
  call(dispatcher, 'POST', `${url}/v1/api${path}`, body);

/** @throws Error for an answer that should not be */
const expectStatus = ({ status, body }: Answer, what: string, ...statuses: number[]): void => {
  if (!statuses.includes(status)) throw new Error(`${what} answered ${status} ${JSON.stringify(body)}`);
};

/** @returns whether it was answered; not once the service is over and the connection broke */
const attempt = async (service: Service, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!service.isOver()) throw error;
  }
};

export const sendStart = async (service: Service, one: Start): Promise<Answer> => {
  const answer = await post(service, '/runs', { definition_id: 'load', input: one.input, idempotency_key: one.n });
  expectStatus(answer, `the start ${one.n}`, 200, 201);
  return answer;
};

export const sendEvent = async (service: Service, one: Pick<SentEvent, 'eventId' | 'key'>): Promise<Answer> => {
  const answer = await post(service, '/events', { event: 'go', key: one.key, payload: {}, event_id: one.eventId });
  expectStatus(answer, `the event ${one.eventId}`, 200);
  return answer;
};

/** What a body gives. */
export const resultOf = (lease: WireLease): object => ({ output: { by: lease.lease_id }, usage: USAGE });

/** What a worker does instead of completing: shares of the bodies. */
export type Mishaps = { readonly fails: number; readonly goesSilent: number };
export const noMishaps: Mishaps = { fails: 0, goesSilent: 0 };

const SLOTS = 4;
const BATCH_SLOTS = 8;
const CLAIM_WAIT_MS = 200;

type Report = { readonly verb: 'complete' | 'fail'; readonly lease: WireLease; readonly body: object };

/**
 * Serves steps until the service is over. With `batches` all goes through one call: what was claimed is declared, what was
 * declared is reported, and more is claimed.
 */
export const serveSteps = async (
  service: Service,
  ledger: Pick<Ledger, 'calls'>,
  worker: { readonly id: string; readonly batches: boolean; readonly mishaps: Mishaps; readonly random: () => number },
): Promise<void> => {
  const { id, random, mishaps } = worker;
  expectStatus(await post(service, '/workers/register', { worker_id: id, definitions }), 'a register', 200);

  const note = (verb: LeaseCall['verb'], lease: WireLease): LeaseCall => {
    const noted: LeaseCall = { verb, lease, workerId: id, sentAt: service.now() };
    ledger.calls.push(noted);
    return noted;
  };
  /** @returns whether it was taken */
  const settle = (noted: LeaseCall, { status, body }: Answer): boolean => {
    // A step may have been given to another worker, and a run may have been cancelled.
    expectStatus({ status, body }, `${noted.verb} of ${noted.lease.lease_id}`, 200, 409);
    if (body['code'] === 'not_started') throw new Error(`${noted.lease.lease_id} was declared, and is not_started`);
    if (status === 200) noted.answeredAt = service.now();
    return status === 200;
  };
  /** What the body gives; nothing from a worker that goes silent. */
  const runBody = (lease: WireLease): Report | undefined => {
    const drawn = random();
    if (drawn < mishaps.goesSilent) return undefined;
    // Where it may be tried again.
    if (lease.step_id === 'reserve' && lease.attempt === 1 && drawn > 1 - mishaps.fails)
      return { verb: 'fail', lease, body: { error: { class: 'retryable', message: 'once more' } } };
    return { verb: 'complete', lease, body: resultOf(lease) };
  };

  const single = async (): Promise<void> => {
    const claimed = await post(service, '/steps/claim', { worker_id: id, max: 1, wait_ms: CLAIM_WAIT_MS });
    expectStatus(claimed, 'a claim', 200);
    for (const lease of claimed.body['leases'] as readonly WireLease[]) {
      const started = note('started', lease);
      if (!settle(started, await post(service, `/steps/${lease.lease_id}/started`, { worker_id: id }))) continue;
      await sleep(random() * 10);
      const report = runBody(lease);
      if (report === undefined) continue;
      const reported = note(report.verb, lease);
      settle(
        reported,
        await post(service, `/steps/${lease.lease_id}/${report.verb}`, { worker_id: id, ...report.body }),
      );
    }
  };

  let offered: readonly WireLease[] = [];
  let reports: readonly Report[] = [];
  const batch = async (): Promise<void> => {
    const items = (verb: Report['verb']): { noted: LeaseCall; item: object }[] =>
      reports
        .filter((report) => report.verb === verb)
        .map(({ lease, body }) => ({ noted: note(verb, lease), item: { lease_id: lease.lease_id, ...body } }));
    const [completes, fails] = [items('complete'), items('fail')];
    const started = offered.map((lease) => ({ noted: note('started', lease), item: { lease_id: lease.lease_id } }));
    const max = BATCH_SLOTS - offered.length;
    const answer = await post(service, '/steps/batch', {
      worker_id: id,
      started: started.map(({ item }) => item),
      completes: completes.map(({ item }) => item),
      fails: fails.map(({ item }) => item),
      ...(max === 0 ? {} : { claim: { max } }),
    });
    expectStatus(answer, 'a batch', 200);
    const settled = (list: string, asked: readonly { noted: LeaseCall }[]): LeaseCall[] => {
      const answers = answer.body[list] as readonly Answer[];
      return asked.flatMap(({ noted }, at) => {
        const one = answers[at];
        if (one === undefined) throw new Error(`a batch answered ${answers.length} of ${asked.length} ${list}`);
        return settle(noted, one) ? [noted] : [];
      });
    };
    settled('completes', completes);
    settled('fails', fails);
    reports = settled('started', started).flatMap(({ lease }) => runBody(lease) ?? []);
    offered = answer.body['leases'] as readonly WireLease[];
    if (offered.length + reports.length === 0) await sleep(10);
  };

  const slot = async (turn: () => Promise<void>): Promise<void> => {
    while (!service.isOver()) await attempt(service, turn);
  };
  await Promise.all(worker.batches ? [slot(batch)] : Array.from({ length: SLOTS }, () => slot(single)));
};

const STARTERS = 4;

/**
 * Starts runs, sends their events before and after they wait for them, cancels some, and reads journals, until the service is over.
 * @param prefix of the names of the runs: no two loads of one folder may share it
 * @param filler is added to each input, so that a run weighs something
 */
export const loadRuns = async (
  service: Service,
  ledger: Ledger,
  options: { readonly prefix: string; readonly most: number; readonly filler: string; readonly random: () => number },
): Promise<void> => {
  const { prefix, most, filler, random } = options;
  const { starts, events, cancels, shown } = ledger;
  let asked = 0;

  const publish = async (eventId: string, key: string): Promise<void> => {
    const one: SentEvent = { eventId, key, sentAt: service.now() };
    events.push(one);
    const { body } = await sendEvent(service, one);
    one.outcome = body['outcome'] as NonNullable<SentEvent['outcome']>;
    if (typeof body['run_id'] === 'string') one.runId = body['run_id'];
    one.answeredAt = service.now();
  };
  const start = async (n: string, naps: boolean): Promise<string> => {
    const one: Start = { n, input: { n, naps, filler }, sentAt: service.now() };
    starts.push(one);
    const { body } = await sendStart(service, one);
    const runId = body['run_id'] as string;
    one.runId = runId;
    one.answeredAt = service.now();
    return runId;
  };
  const cancel = async (runId: string): Promise<void> => {
    const one: Cancel = { runId, sentAt: service.now() };
    cancels.push(one);
    const answer = await post(service, `/runs/${runId}/cancel`, {});
    expectStatus(answer, `the cancel of ${runId}`, 200);
    one.status = answer.body['status'] as Run['status'];
    one.answeredAt = service.now();
  };

  const starter = async (): Promise<void> => {
    while (!service.isOver() && asked < most) {
      const n = `${prefix}-${(asked += 1)}`;
      const [naps, eventFate, otherFate] = [random() < 0.25, random(), random()];
      await attempt(service, async () => {
        if (eventFate < 0.3) await publish(n, n);
        const runId = await start(n, naps);
        if (eventFate >= 0.6) await sleep(random() * 100);
        // Some are told after the cut only.
        if (eventFate >= 0.3 && eventFate < 0.9) await publish(n, n);
        if (otherFate < 0.12) await cancel(runId);
        else if (otherFate < 0.24) await publish(`${n}-for-nobody`, `${n}-for-nobody`);
      });
      await sleep(random() * 40);
    }
  };
  const reader = async (): Promise<void> => {
    while (!service.isOver()) {
      await sleep(20);
      const { runId } = starts[Math.floor(random() * starts.length)] ?? {};
      if (runId === undefined) continue;
      const one: Shown = { runId, sentAt: service.now() };
      shown.push(one);
      await attempt(service, async () => {
        const path = `/runs/${runId}/events?limit=1000`;
        one.entries = (await readApi<{ events: Entry[] }>(service.dispatcher, service.url, path)).events;
        one.answeredAt = service.now();
      });
    }
  };
  await Promise.all([...Array.from({ length: STARTERS }, starter), reader()]);
};
