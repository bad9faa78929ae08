import { type DaemonClient, DaemonError } from '../../../src/cli/daemon-client.ts';
import type { components } from '../../../src/model/generated/openapi.ts';

type Schemas = components['schemas'];
type Detail = Schemas['TraceDetail'];
type Span = Schemas['Span'];
export type Run = Schemas['RunDetail'];

export const RUN_ID = '019aa1ef-8a11-7c42-9d5e-5f0f6f2b7c01';
export const TRACE_ID = RUN_ID.replaceAll('-', '');
export const RUN_SPAN_ID = TRACE_ID.slice(16);

/** A service that answers what the test lays under each path, and notes what it was asked. */
export const aService = (answers: Readonly<Record<string, unknown>>) => {
  const asked: { readonly path: string; readonly query: Readonly<Record<string, unknown>> }[] = [];
  const client: DaemonClient = {
    get: async <T>(path: string, query: Readonly<Record<string, unknown>> = {}) => {
      asked.push({ path, query });
      const answer = answers[path];
      if (answer === undefined) throw new DaemonError(`not_found: nothing is stored at ${path}`, { code: 'not_found' });
      if (answer instanceof Error) throw answer;
      return answer as T;
    },
    getText: () => Promise.reject(new Error('no text is asked for')),
  };
  return { client, asked };
};

/** A durable run that was started in 2026; the fields of the test count. */
export const aRun = (fields: Partial<Run> = {}): Run => ({
  run_id: RUN_ID,
  trace_id: TRACE_ID,
  project: 'default',
  definition_id: 'refund',
  definition_version: 3,
  status: 'running',
  correlation: {},
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  step_count: 2,
  priority: 0,
  created_at: '2026-11-20T09:00:00Z',
  updated_at: '2026-11-20T09:00:05Z',
  input: {},
  state: {},
  attempts: [],
  timers: [],
  waits: [],
  children: [],
  ...fields,
});

export const anAttempt = (
  step: string,
  attempt: number,
  fields: Partial<Run['attempts'][number]> = {},
): Run['attempts'][number] => ({
  lease_id: `lease-${step}-${attempt}`,
  step_id: step,
  visit: 1,
  attempt,
  status: 'succeeded',
  worker_id: 'w1',
  offered_at: '2026-11-20T09:00:01Z',
  started_at: '2026-11-20T09:00:01Z',
  ended_at: '2026-11-20T09:00:03Z',
  span_id: `${attempt}`.padStart(16, step.charCodeAt(0).toString(16)),
  ...fields,
});

export const aSpan = (spanId: string, name: string, fields: Partial<Span> = {}): Span => ({
  trace_id: TRACE_ID,
  span_id: spanId,
  name,
  kind: 'generic',
  status: 'ok',
  start_time: '2026-11-20T09:00:01Z',
  end_time: '2026-11-20T09:00:03Z',
  received_at: '2026-11-20T09:00:04Z',
  is_event: false,
  is_root: fields.parent_span_id === undefined,
  correlation: { project: 'default' },
  ...fields,
});

/** The detail of a trace of these spans, the first of which is its root. */
export const aDetail = (spans: readonly [Span, ...Span[]], trace: Partial<Detail['trace']> = {}): Detail => ({
  trace: {
    trace_id: TRACE_ID,
    name: spans[0].name,
    status: spans[0].status,
    start_time: spans[0].start_time,
    duration_ns: 5_000_000_000,
    span_count: spans.length,
    error_count: spans.filter(({ status }) => status === 'error').length,
    models: [],
    correlation: { project: 'default' },
    scores: [],
    feedback: {},
    ...trace,
  },
  spans: [...spans],
});
