import PQueue from 'p-queue';
import { createOutbound, type Outbound, OutboundError } from '../ingest/outbound.ts';
import { formatTimestamp, unixNanoFromMillis } from '../model/time.ts';
import type { WatchLog } from './log.ts';
import type { WatchReport } from './report.ts';

/** @see reliability notes, P29: one attempt, 10 s, reply capped */
const TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 64 * 1024;
/** Calls to one origin at once, and calls that wait for them; a receiver that hangs holds up its own reports alone. */
const CALLS_AT_ONCE = 4;
const MOST_WAITING = 1_000;

type Lane = { readonly outbound: Outbound; readonly queue: PQueue };

/** The body of a webhook. @see Interface specification, "Query API: monitors and SLOs" */
const webhookBody = ({ type: _type, at, id, ...report }: WatchReport): object => ({
  monitor_id: id,
  ...report,
  at: formatTimestamp(unixNanoFromMillis(at)),
});

/**
 * Sends reports to webhooks: one attempt each, not waited for by anybody. What fails is logged, by its origin alone since
 * paths are secrets, and dropped.
 */
export const createWebhooks = (log: WatchLog, { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {}) => {
  const lanes = new Map<string, Lane>();
  const stopping = new AbortController();
  const laneOf = (origin: string): Lane => {
    const known = lanes.get(origin);
    if (known !== undefined) return known;
    const lane = {
      outbound: createOutbound({ maxConnections: CALLS_AT_ONCE }),
      queue: new PQueue({ concurrency: CALLS_AT_ONCE }),
    };
    lanes.set(origin, lane);
    return lane;
  };

  const send = (webhook: string, report: WatchReport): void => {
    const origin = URL.parse(webhook)?.origin ?? 'not a URL';
    const dropped = (fields: object): void => {
      const { type, id, project, condition } = report;
      log.warn(
        { [`${type}_id`]: id, project, condition, origin, ...fields },
        'a webhook was not delivered; it is dropped',
      );
    };
    const { outbound, queue } = laneOf(origin);
    if (stopping.signal.aborted) return dropped({ reason: 'aborted' });
    if (queue.size >= MOST_WAITING) return dropped({ reason: 'overloaded' });
    const body = Buffer.from(JSON.stringify(webhookBody(report)));
    void queue.add(async () => {
      try {
        const { status } = await outbound.post(webhook, {
          // Reports are rare: a connection kept for the next one would be closed under it, and there is no second attempt.
          headers: { 'content-type': 'application/json', connection: 'close' },
          body,
          timeoutMs,
          maxReplyBytes: MAX_REPLY_BYTES,
          signal: stopping.signal,
        });
        if (status < 200 || status > 299) dropped({ reason: 'status', status });
      } catch (error) {
        if (!(error instanceof OutboundError)) dropped({ reason: 'failed' });
        else dropped({ reason: error.reason, ...(error.status === undefined ? {} : { status: error.status }) });
      }
    });
  };

  return {
    send,
    /** Resolves when every report sent so far was delivered or dropped. */
    idle: async (): Promise<void> => {
      await Promise.all([...lanes.values()].map(({ queue }) => queue.onIdle()));
    },
    /** Cuts what is under way: a stop waits for no receiver. */
    close: async (): Promise<void> => {
      stopping.abort();
      await Promise.all([...lanes.values()].map(({ queue }) => queue.onIdle()));
      for (const { outbound } of lanes.values()) outbound.close();
    },
  };
};
export type Webhooks = ReturnType<typeof createWebhooks>;
