import type { Span } from '../../src/model/trace.ts';

export const BASE = Date.parse('2026-11-20T09:00:00Z');

/** A span as the service answers it. @param from @param to milliseconds from the start of the trace */
export const aSpan = (
  id: string,
  parent: string | undefined,
  from: number,
  to?: number,
  more: Partial<Span> = {},
): Span => ({
  trace_id: 't',
  span_id: id,
  ...(parent === undefined ? {} : { parent_span_id: parent }),
  name: id,
  kind: 'generic',
  status: to === undefined ? 'unset' : 'ok',
  start_time: new Date(BASE + from).toISOString(),
  ...(to === undefined ? {} : { end_time: new Date(BASE + to).toISOString() }),
  is_root: parent === undefined,
  is_event: false,
  received_at: new Date(BASE).toISOString(),
  correlation: { project: 'p' },
  ...more,
});
