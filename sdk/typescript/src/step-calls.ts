import { ConnectionError, ServiceError } from './errors.ts';
import type { Lease } from './generated/wire.ts';
import { DEFAULT_TIMEOUT_MS, type Transport } from './transport.ts';
import type { AnswerOf } from './operation.ts';

/** The calls that the holder of a lease makes on it. */
export type StepVerb = 'started' | 'heartbeat' | 'complete' | 'fail';

export type StepCall = {
  readonly verb: StepVerb;
  readonly leaseId: string;
  /** A JSON object that is not empty, as text. */
  readonly body: string;
  readonly timeoutMs?: number;
  /** Breaks the call off. */
  readonly signal?: AbortSignal | undefined;
  /** It ends its lease, and a step may be claimed with it for the slot. Not so where a report before it was one. */
  readonly freesSlot?: boolean;
  /** Called when it leaves. What is called on the same lease before that travels with it, in the order of the protocol. */
  readonly onSent?: (() => void) | undefined;
};

/** What the answer to a call on a lease may hold. */
export type StepAnswer = Partial<AnswerOf<'completeStep'>>;

export type StepCalls = {
  /**
   * Makes one call, one try.
   * @throws ServiceError when the service refuses, ConnectionError when there is no answer
   */
  readonly make: (call: StepCall) => Promise<StepAnswer>;
};

/** @see docs/worker-protocol.md, "Many calls in one" */
const BATCH_ITEMS = 1000;
/** Larger reports go by themselves: nobody waits until they are through. */
const LARGE_BYTES = 256 * 1024;
const BATCH_BYTES = 1024 * 1024;
/** The service writes one batch while it reads the next. */
const BATCHES_AT_ONCE = 2;
const CLAIM_LIMIT = 1000;

type BatchAnswer = AnswerOf<'batchSteps'>;
type ItemAnswer = BatchAnswer['completes'][number];

const listOf = { started: 'started', heartbeat: 'heartbeats', complete: 'completes', fail: 'fails' } as const;
const verbs = Object.keys(listOf) as StepVerb[];

type Item = StepCall & {
  readonly answer: Promise<StepAnswer>;
  readonly settle: (answer: StepAnswer) => void;
  readonly reject: (error: Error) => void;
};

/**
 * Whether a refusal is about the call that holds the others, so that each is to be made by itself: one that cannot be read spoils no other.
 * A key or a limit holds for all of them.
 */
const isOfBatch = ({ status, retryable }: ServiceError): boolean =>
  status >= 400 && status < 500 && status !== 401 && status !== 403 && !retryable;

const refusalOf = ({ status, body }: ItemAnswer): ServiceError => {
  const { code, message, field } = body as {
    readonly code?: unknown;
    readonly message?: unknown;
    readonly field?: unknown;
  };
  return new ServiceError({
    status,
    code: typeof code === 'string' ? code : `http_${status}`,
    message: typeof message === 'string' ? message : `HTTP ${status}`,
    field: typeof field === 'string' ? field : undefined,
  });
};

/**
 * The calls of all leases of one worker. Those that come together travel together, and the steps that follow come back in the same
 * answer. A service that does not know the batch gets each call by itself.
 */
export const createStepCalls = (host: {
  readonly http: Pick<Transport, 'call'>;
  readonly workerId: string;
  /** Serves this run only. */
  readonly runId?: string | undefined;
  /** Whether a report may claim what fills the slot that it frees. */
  readonly claims: () => boolean;
  /** Takes the steps that came with an answer. */
  readonly onLeases: (leases: readonly Lease[]) => void;
}): StepCalls => {
  const { http } = host;
  const worker = JSON.stringify(host.workerId);
  let queue: Item[] = [];
  let batches = 0;
  let isScheduled = false;
  let knowsBatch = true;

  const alone = ({ verb, leaseId, body, timeoutMs, signal, onSent }: StepCall): Promise<StepAnswer> => {
    onSent?.();
    return http.call<StepAnswer>({
      method: 'POST',
      path: `/v1/api/steps/${encodeURIComponent(leaseId)}/${verb}`,
      body,
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  };

  /** Takes the next batch out of the queue. */
  const next = (): Item[] => {
    let bytes = 0;
    let count = 0;
    for (const { body } of queue) {
      bytes += body.length;
      if (count === BATCH_ITEMS || bytes > BATCH_BYTES) break;
      count += 1;
    }
    return queue.splice(0, count);
  };

  const textOf = (items: readonly Item[]): string => {
    const freed = items.filter(({ freesSlot }) => freesSlot === true).length;
    const members = verbs.flatMap((verb) => {
      const own = items.filter((item) => item.verb === verb);
      if (own.length === 0) return [];
      const written = own.map(({ leaseId, body }) => `{"lease_id":${JSON.stringify(leaseId)},${body.slice(1)}`);
      return [`,"${listOf[verb]}":[${written.join(',')}]`];
    });
    if (freed > 0 && host.claims())
      members.push(`,"claim":${JSON.stringify({ max: Math.min(freed, CLAIM_LIMIT), wait_ms: 0, run_id: host.runId })}`);
    return `{"worker_id":${worker}${members.join('')}}`;
  };

  const deliver = (items: readonly Item[], answer: BatchAnswer): void => {
    for (const verb of verbs) {
      const answers = answer[listOf[verb]];
      for (const [at, item] of items.filter((each) => each.verb === verb).entries()) {
        const one = answers[at];
        if (one === undefined) item.reject(new ConnectionError('the answer to a batch lacks an item'));
        else if (one.status >= 200 && one.status <= 299) item.settle(one.body);
        else item.reject(refusalOf(one));
      }
    }
    if (answer.leases.length > 0) host.onLeases(answer.leases);
  };

  /** What is called on a lease comes after its declaration here, too. */
  const eachAlone = (items: readonly Item[]): void => {
    const declared = new Map<string, Promise<unknown>>();
    for (const item of items.toSorted((one, other) => verbs.indexOf(one.verb) - verbs.indexOf(other.verb))) {
      const before = declared.get(item.leaseId);
      const answer = before === undefined ? alone(item) : before.then(() => alone(item));
      answer.then(item.settle, item.reject);
      if (item.verb === 'started')
        declared.set(
          item.leaseId,
          answer.catch(() => {}),
        );
    }
  };

  const send = async (items: readonly Item[]): Promise<void> => {
    batches += 1;
    for (const { onSent } of items) onSent?.();
    try {
      const timeoutMs = Math.min(...items.map((item) => item.timeoutMs ?? DEFAULT_TIMEOUT_MS));
      const answer = await http.call<BatchAnswer>({
        method: 'POST',
        path: '/v1/api/steps/batch',
        body: textOf(items),
        timeoutMs,
      });
      deliver(items, answer);
    } catch (error) {
      if (error instanceof ServiceError && isOfBatch(error)) {
        if (error.status === 404) knowsBatch = false;
        eachAlone(items);
      } else for (const item of items) item.reject(error as Error);
    } finally {
      batches -= 1;
      schedule();
    }
  };

  const pump = (): void => {
    isScheduled = false;
    while (batches < BATCHES_AT_ONCE) {
      const items = next();
      if (items.length === 0) return;
      void send(items);
    }
  };

  /** After what is ready now: bodies that end together report together. */
  const schedule = (): void => {
    if (isScheduled || queue.length === 0 || batches >= BATCHES_AT_ONCE) return;
    isScheduled = true;
    setImmediate(pump);
  };

  const together = (call: StepCall): Promise<StepAnswer> => {
    let resolve!: (value: StepAnswer) => void;
    let reject!: (error: Error) => void;
    const answer = new Promise<StepAnswer>((...both) => {
      [resolve, reject] = both;
    });
    const { signal } = call;
    const onAbort = (): void => {
      queue = queue.filter((each) => each !== item);
      reject(new ConnectionError(`the call ${call.verb} was broken off`));
    };
    const item: Item = {
      ...call,
      answer,
      settle: (value) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      },
      reject: (error) => {
        signal?.removeEventListener('abort', onAbort);
        reject(error);
      },
    };
    if (signal?.aborted === true) {
      onAbort();
      return answer;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    queue.push(item);
    schedule();
    return answer;
  };

  /** Where the declaration of its lease stands in line, it comes behind that. */
  const apart = async (call: StepCall): Promise<StepAnswer> => {
    const declaration = queue.find(({ verb, leaseId }) => verb === 'started' && leaseId === call.leaseId);
    await declaration?.answer.catch(() => {});
    return alone(call);
  };

  return {
    make: (call) => (!knowsBatch || call.body.length > LARGE_BYTES ? apart(call) : together(call)),
  };
};
