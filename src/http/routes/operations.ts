import type { RunCounts } from '../../actors/run-counts.ts';
import { counterOfDoubt, timeDoubts } from '../../ingest/doubtful-times.ts';
import type { Counters } from '../../model/counters.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import type { AnswerRoom } from '../answer/answer-room.ts';
import { sendReady } from '../answer/send-json.ts';
import { capabilitiesToWire } from '../codec/capabilities.ts';
import { apiDocument, specVersion } from '../contract/contract.ts';
import type { Route } from '../route.ts';

/** Something that readiness depends on. */
export type Probe = {
  /** What it is, as the health document names it: `signal store`, `runs store`. */
  readonly name: string;
  /** One trivial read; rejects when it does not answer. */
  readonly ping: () => Promise<void>;
};

export type OperationsDeps = {
  readonly counters: Counters;
  readonly answers: Pick<AnswerRoom, 'heldBytes' | 'maxBytes'>;
  readonly probes: readonly Probe[];
  /** The signal store, which is not asked for its name and its promises. */
  readonly store: Pick<SignalStore, 'kind' | 'capabilities'>;
  /** Version of the build. */
  readonly version: string;
  /** Seconds since the process started, from a clock that never jumps. */
  readonly uptimeSeconds: () => number;
  /** Runs by status; absent where durable runs are off. */
  readonly runCounts?: () => RunCounts;
};

type Exposed = {
  readonly name: string;
  readonly help: string;
  /** Of a counter with several series, which follow each other: this one's. */
  readonly labels?: string;
  readonly read: (counters: Counters) => number;
};

/** @see Interface specification, "Operational endpoints" */
const exposed: readonly Exposed[] = [
  { name: 'svc_signals_accepted_total', help: 'Signals written.', read: (c) => c.signalsAccepted },
  {
    name: 'svc_signals_rejected_total',
    help: 'Signals refused with a reason returned, over-quota refusals included.',
    read: (c) => c.signalsRejected,
  },
  {
    name: 'svc_batches_duplicate_total',
    help: 'Batches recognised as resends and skipped.',
    read: (c) => c.batchesDuplicate,
  },
  {
    name: 'svc_traces_sampled_out_total',
    help: 'Traces that the sampling policy dropped.',
    read: (c) => c.tracesSampledOut,
  },
  {
    name: 'svc_signals_over_quota_total',
    help: "Signals refused for exceeding a project's ceiling per minute.",
    read: (c) => c.signalsOverQuota,
  },
  {
    name: 'svc_signals_unbounded_total',
    help: 'Signals stored for a project that no ceiling covers.',
    read: (c) => c.signalsUnbounded,
  },
  { name: 'svc_ingest_requests_total', help: 'Ingest requests handled.', read: (c) => c.ingestRequests },
  { name: 'svc_query_requests_total', help: 'Query requests handled.', read: (c) => c.queryRequests },
  { name: 'svc_request_errors_total', help: 'Requests that failed with a server error.', read: (c) => c.requestErrors },
  {
    name: 'svc_audit_write_failures_total',
    help: 'Audit rows that could not be written; the requests they describe succeeded.',
    read: (c) => c.auditWriteFailures,
  },
  ...timeDoubts.map((doubt) => ({
    name: 'svc_signals_doubtful_time_total',
    help: 'Signals written whose times are in another unit than nanoseconds, before the year 2000, or the wrong way round.',
    labels: `{reason="${doubt}"}`,
    read: (c: Counters) => c[counterOfDoubt[doubt]],
  })),
  {
    name: 'svc_forward_dropped_total',
    help: 'Accepted spans that forwarding could not deliver.',
    read: (c) => c.forwardDropped,
  },
  {
    name: 'svc_watch_transitions_dropped_total',
    help: 'Transitions of monitors and SLOs that the runs store did not take; each was reported.',
    read: (c) => c.watchTransitionsDropped,
  },
  {
    name: 'svc_runs_quarantined_total',
    help: 'Runs that were quarantined: this release cannot load them, or a row of them is damaged.',
    read: (c) => c.runsQuarantined,
  },
  {
    name: 'svc_answers_refused_total',
    help: 'Reads refused because the answers under way filled --max-answer-bytes.',
    read: (c) => c.answersRefused,
  },
  {
    name: 'svc_slow_readers_cut_total',
    help: 'Connections cut because their reader took nothing for ten seconds, or less than 16 KiB a second over thirty.',
    read: (c) => c.slowReadersCut,
  },
  {
    name: 'svc_connections_refused_total',
    help: 'Connections closed as they came, because there was no room for them.',
    read: (c) => c.connectionsRefused,
  },
  {
    name: 'svc_idle_connections_cut_total',
    help: 'Idle connections cut to make room for others.',
    read: (c) => c.idleConnectionsCut,
  },
];

/** What stands beside the counters: how things are now. */
export type Gauges = {
  readonly answerBytes: number;
  readonly maxAnswerBytes: number;
  readonly uptimeSeconds: number;
  /** Absent where durable runs are off. */
  readonly runs?: RunCounts;
};

/** The counters and gauges in the text exposition format, version 0.0.4. */
export const expositionOf = (counters: Counters, gauges: Gauges): string => {
  const lines = exposed.flatMap(({ name, help, labels = '', read }, at) => [
    ...(exposed[at - 1]?.name === name ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} counter`]),
    `${name}${labels} ${read(counters)}`,
  ]);
  const gauge = (name: string, help: string, value: number): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${Math.floor(value)}`);
  };
  const byStatus = (
    name: string,
    type: 'counter' | 'gauge',
    help: string,
    counts: Readonly<Record<string, number>>,
  ) => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [status, count] of Object.entries(counts)) lines.push(`${name}{status="${status}"} ${count}`);
  };
  if (gauges.runs !== undefined) {
    byStatus('svc_runs_open', 'gauge', 'Runs that have not ended, by status.', gauges.runs.open);
    byStatus(
      'svc_runs_ended_total',
      'counter',
      'Runs that ended since the process started, by status.',
      gauges.runs.ended,
    );
  }
  gauge('svc_answer_bytes', 'Bytes held for answers under way.', gauges.answerBytes);
  gauge('svc_answer_bytes_limit', 'Bytes that answers under way may hold (--max-answer-bytes).', gauges.maxAnswerBytes);
  gauge('svc_uptime_seconds', 'Seconds since the process started.', gauges.uptimeSeconds);
  return `${lines.join('\n')}\n`;
};

/** How long a probe may take before it counts as not answering, in milliseconds. */
const PROBE_MS = 5000;

/** @returns what is wrong with it, or nothing */
const probe = async ({ name, ping }: Probe): Promise<string | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PROBE_MS} ms`)), PROBE_MS);
  });
  try {
    await Promise.race([ping(), late]);
    return undefined;
  } catch (error) {
    return `${name}: ${error instanceof Error ? error.message : 'does not answer'}`;
  } finally {
    clearTimeout(timer);
  }
};

/** Health, readiness, counters and the document. @see Interface specification, "Operational endpoints" */
export const operationsRoutes = (deps: OperationsDeps): Route[] => {
  const health = (detail?: string) => ({
    status: detail === undefined ? 'ok' : 'degraded',
    version: deps.version,
    spec_version: specVersion,
    uptime_seconds: Math.floor(deps.uptimeSeconds()),
    storage: deps.store.kind,
    detail,
  });
  const documentText = JSON.stringify(apiDocument);

  return [
    {
      method: 'GET',
      path: '/healthz',
      scope: 'open',
      operationId: 'getHealth',
      surface: 'operations',
      handler: () => health(),
    },
    {
      method: 'GET',
      path: '/readyz',
      scope: 'open',
      operationId: 'getReadiness',
      surface: 'operations',
      handler: async (_request, reply) => {
        const details = (await Promise.all(deps.probes.map(probe))).filter((detail) => detail !== undefined);
        const capabilities = capabilitiesToWire(deps.store.capabilities);
        if (details.length === 0) return { ...health(), capabilities };
        reply.code(503);
        return { ...health(details.join('; ')), capabilities };
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      scope: 'open',
      operationId: 'getCounters',
      surface: 'operations',
      handler: (request, reply) =>
        sendReady(
          request,
          reply,
          'text/plain; version=0.0.4; charset=utf-8',
          expositionOf(deps.counters, {
            answerBytes: deps.answers.heldBytes(),
            maxAnswerBytes: deps.answers.maxBytes,
            uptimeSeconds: deps.uptimeSeconds(),
            ...(deps.runCounts === undefined ? {} : { runs: deps.runCounts() }),
          }),
        ),
    },
    {
      method: 'GET',
      path: '/openapi.json',
      scope: 'open',
      operationId: 'getDocument',
      surface: 'operations',
      handler: (request, reply) => sendReady(request, reply, 'application/json', documentText),
    },
  ];
};
