import type { ProjectReach } from '../../../model/scope.ts';
import type { Expect, Page, SpanQuery, SpansReading, StoredSpan, TraceReading } from '../../signals/query.ts';
import { instantOf, spanIdAt, traceIdAt } from '../../signals/position.ts';
import { kindCode, statusCodesOf } from '../../signals/rows/codes.ts';
import { decodeSpan } from '../../signals/rows/decode.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { isSpanId, isStorable, storable } from '../../signals/storable.ts';
import { pageLength, type SpanPlace, weightOfAll } from '../../signals/span-places.ts';
import { waterfall } from '../../signals/waterfall.ts';
import { type Binding, binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { findSummary, spanColumns } from './read-trace.ts';
import { writtenSpans } from './span-pieces.ts';
import { SPANS } from './tables.ts';
import { readWhole } from './whole-rows.ts';

/** Conditions on the spans `s`; `undefined` when one of them names what no span can have. */
const printSpans = (query: SpanQuery, to: Binding): string[] | undefined => {
  const { bind } = to;
  const texts: [column: string, value: string | undefined][] = [
    ['trace_id', query.traceId],
    ['name', query.name],
    ['model', query.model],
    ['provider', query.provider],
    ['entity_name', query.entityName],
    ['session_id', query.sessionId],
    ['user_id', query.userId],
    ['environment', query.environment],
    ['service_name', query.serviceName],
  ];
  const parts = [inReach(query.projects, to, 's.')];
  if (query.from !== undefined) parts.push(`s.start_ns >= ${bind(query.from, 'Int64')}`);
  if (query.to !== undefined) parts.push(`s.start_ns < ${bind(query.to, 'Int64')}`);
  if (query.kind !== undefined) parts.push(`s.kind = ${bind(kindCode(query.kind), 'UInt8')}`);
  if (query.status !== undefined) parts.push(`s.status IN ${statusCodesOf(query.status)}`);
  if (query.spanIds !== undefined) parts.push(`s.span_id IN ${bind(query.spanIds.filter(isSpanId), 'Array(String)')}`);
  for (const [column, value] of texts) {
    if (value === undefined) continue;
    if (!isStorable(value)) return undefined;
    parts.push(`s.${column} = ${bind(value, 'String')}`);
  }
  return parts;
};

type Found = readonly [project: string, traceId: string, spanId: string, start: string, weight: string];
type SpanPage = { readonly spans: readonly Found[]; readonly next?: Page<never>['next'] };

const weightColumn = (payloads: boolean): string => (payloads ? 's.weight' : 's.light_weight');

/** The spans of a page by start, and where it ended. */
const pageOfSpans = async (ask: Ask, query: SpanQuery): Promise<SpanPage> => {
  const to = binding();
  const parts = printSpans(query, to);
  if (parts === undefined) return { spans: [] };
  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  if (query.after !== undefined) {
    const [at, traceId, spanId, project] = query.after;
    const trace = traceIdAt(traceId);
    const span = spanIdAt(spanId);
    parts.push(
      `(s.start_ns, s.trace_id, s.span_id, s.project) ${isDescending ? '<' : '>'} (${to.bind(instantOf(at), 'Int64')},
        ${to.bind(trace, 'String')}, ${to.bind(span, 'String')}, ${to.bind(storable(String(project)), 'String')})`,
    );
  }
  const found = await ask<[...Found]>(
    `SELECT s.project, s.trace_id, s.span_id, s.start_ns, ${weightColumn(query.payloads)} FROM spans AS s FINAL
     WHERE ${parts.join(' AND ')}
     ORDER BY s.start_ns ${direction}, s.trace_id ${direction}, s.span_id ${direction}, s.project ${direction}
     LIMIT ${query.limit + 1}`,
    to.params,
  );
  const end = pageLength(found, query, (row) => Number(row[4]));
  const spans = found.slice(0, end);
  const last = spans.at(-1);
  return found.length > end && last !== undefined ? { spans, next: [last[3], last[1], last[2], last[0]] } : { spans };
};

/** Reads a page of spans by start. */
export const listSpans = async (ask: Ask, query: SpanQuery): Promise<Page<StoredSpan>> => {
  const { spans, next } = await pageOfSpans(ask, query);
  const { rows } = await readWhole(
    ask,
    { of: SPANS, columns: spanColumns(query.payloads).replaceAll('s.', 'r.') },
    spans.map(([project, traceId, spanId]) => [project, traceId, spanId]),
    undefined,
  );
  const items = await decodeInTurns(rows, (row) => decodeSpan(row, query.payloads));
  return next === undefined ? { items } : { items, next };
};

/** The same page as JSON in pieces. */
export const readSpans = async (ask: Ask, query: SpanQuery, expect: Expect): Promise<SpansReading> => {
  const { spans, next } = await pageOfSpans(ask, query);
  const places = spans.map(
    ([project, traceId, spanId, , weight]): SpanPlace<string> => ({ project, traceId, spanId, weight: Number(weight) }),
  );
  expect(weightOfAll(places));
  const reading = { spans: writtenSpans(ask, places, query.payloads) };
  return next === undefined ? reading : { ...reading, next };
};

/** A trace as JSON in pieces, in waterfall order. */
export const readTrace = async (
  ask: Ask,
  traceId: string,
  reach: ProjectReach,
  payloads: boolean,
  expect: Expect,
): Promise<TraceReading | undefined> => {
  const found = await findSummary(ask, traceId, reach);
  if (found === undefined) return undefined;
  const { bind, params } = binding();
  const rows = await ask<[string, string, string | null, string, string]>(
    `SELECT s.project, s.span_id, s.parent_span_id, s.start_ns, ${weightColumn(payloads)} FROM spans AS s FINAL
     WHERE s.project IN ${bind(found.projects, 'Array(String)')} AND s.trace_id = ${bind(traceId, 'String')}`,
    params,
  );
  const lines = waterfall(rows, {
    id: ([, id]) => id,
    parent: ([, , parent]) => parent,
    start: ([, , , at]) => BigInt(at),
  });
  const places = lines.map(
    ([project, spanId, , , weight]): SpanPlace<string> => ({ project, traceId, spanId, weight: Number(weight) }),
  );
  expect(weightOfAll(places));
  return { trace: found.trace, projects: found.projects, spans: writtenSpans(ask, places, payloads) };
};
