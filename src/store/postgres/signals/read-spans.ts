import type { ProjectReach } from '../../../model/scope.ts';
import type { Expect, Page, SpanQuery, SpansReading, StoredSpan, TraceReading } from '../../signals/query.ts';
import { instantOf, projectNumberAt, spanIdAt, traceIdAt } from '../../signals/position.ts';
import { kindCode, statusCodesOf, storedFacet } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeSpan } from '../../signals/rows/decode.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { spanFacets } from '../../signals/span-facets.ts';
import { pageLength, type SpanPlace, weightOfAll } from '../../signals/span-places.ts';
import { waterfall } from '../../signals/waterfall.ts';
import { isSpanId, isStorable, isTraceId } from '../../signals/storable.ts';
import { int4Array, textArray } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { unnest } from '../insert.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { TRACE_KEY } from './read-search.ts';
import { findSummary, spanColumns } from './read-trace.ts';
import { SPAN_KEY, weightOf, writtenSpans } from './span-pieces.ts';
import { type Binding, binding, hex } from './statement.ts';

/** Traces up to which a filter is so rare that the spans of all of them are read and sorted. */
const RARE = 2_000;

/** Traces that hold every span a filter can match, when they are few enough to read them all. */
const rareTraces = async (ask: Ask, projects: readonly number[], query: SpanQuery): Promise<Row[] | undefined> => {
  const sources = spanFacets(query).map(([facets, value]) => (to: Binding): string => {
    const numbers = facets.map((facet) => storedFacet([facet, value])[0]);
    const [, stored] = storedFacet([facets[0], value]);
    return `(SELECT DISTINCT f.project, f.trace_id FROM trace_facets AS f
      WHERE f.project = ANY ($1::int4[]) AND f.facet = ANY (${to.bind(int4Array(numbers), 'int4[]')})
        AND f.value = ${to.bind(signalKey(stored), 'text')} LIMIT ${RARE + 1})`;
  });
  if (sources.length === 0) return undefined;
  const counting = binding(int4Array(projects));
  const [counts = []] = await ask<bigint[]>(
    `SELECT ${sources.map((print) => `(SELECT count(*) FROM ${print(counting)} AS x)`).join(', ')}`,
    counting.values,
  );
  let best: number | undefined;
  for (const [place, count] of counts.entries())
    if (count <= RARE && (best === undefined || count < (counts[best] ?? 0n))) best = place;
  const print = best === undefined ? undefined : sources[best];
  if (print === undefined) return undefined;
  const reading = binding(int4Array(projects));
  return ask<[number, string]>(`SELECT x.project, ${hex('x.trace_id')} FROM ${print(reading)} AS x`, reading.values);
};

/** Conditions on the spans `s`; `undefined` when one of them names what no span can have. */
const printSpans = (query: SpanQuery, { bind }: Binding): string[] | undefined => {
  const texts: [column: string, value: string | undefined][] = [
    ['name', query.name],
    ['model', query.model],
    ['provider', query.provider],
    ['entity_name', query.entityName],
    ['session_id', query.sessionId],
    ['user_id', query.userId],
    ['environment', query.environment],
    ['service_name', query.serviceName],
  ];
  const parts: string[] = [];
  if (query.from !== undefined) parts.push(`s.start_ns >= ${bind(query.from, 'int8')}`);
  if (query.to !== undefined) parts.push(`s.start_ns < ${bind(query.to, 'int8')}`);
  if (query.kind !== undefined) parts.push(`s.kind = ${bind(kindCode(query.kind), 'int4')}`);
  if (query.status !== undefined) parts.push(`s.status IN ${statusCodesOf(query.status)}`);
  if (query.spanIds !== undefined)
    parts.push(`encode(s.span_id, 'hex') = ANY (${bind(textArray(query.spanIds.filter(isSpanId)), 'text[]')})`);
  for (const [column, value] of texts) {
    if (value === undefined) continue;
    if (!isStorable(value)) return undefined;
    parts.push(`s.${column} = ${bind(value, 'text')}`);
  }
  return parts;
};

type Found = readonly [project: number, traceId: string, spanId: string, start: bigint, weight: number];
type SpanPage = { readonly spans: readonly Found[]; readonly next?: Page<never>['next'] };

/** The spans of a page by start, and where it ended. */
const pageOfSpans = async (ask: Ask, query: SpanQuery): Promise<SpanPage> => {
  const projects = await projectNumbers(ask, query.projects);
  const to = binding(int4Array(projects));
  const parts = printSpans(query, to);
  const isPossible = query.traceId === undefined || isTraceId(query.traceId);
  if (parts === undefined || !isPossible || projects.length === 0) return { spans: [] };
  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  if (query.after !== undefined) {
    const [at, traceId, spanId, project] = query.after;
    const trace = traceIdAt(traceId);
    const span = spanIdAt(spanId);
    const number = projectNumberAt(project);
    parts.push(
      `(s.start_ns, s.trace_id, s.span_id, s.project) ${isDescending ? '<' : '>'} (${to.bind(instantOf(at), 'int8')},
        ${to.bind(trace, 'uuid')}, ${to.bind(Buffer.from(span, 'hex'), 'bytea')}, ${to.bind(number, 'int4')})`,
    );
  }
  const conditions = parts.map((part) => ` AND ${part}`).join('');
  const few = query.traceId === undefined ? await rareTraces(ask, projects, query) : undefined;
  const wanted = query.limit + 1;
  const columns = 's.project, s.trace_id, s.span_id, s.start_ns';
  const ordered = (row: string): string =>
    `ORDER BY ${row}.start_ns ${direction}, ${row}.trace_id ${direction}, ${row}.span_id ${direction}`;
  let from: string;
  if (query.traceId !== undefined)
    from = `SELECT ${columns} FROM spans AS s WHERE s.project = ANY ($1::int4[]) AND s.trace_id = ${to.bind(query.traceId, 'uuid')}${conditions}`;
  else if (few === undefined)
    from = `SELECT s.* FROM unnest($1::int4[]) AS k (project) CROSS JOIN LATERAL (
      SELECT ${columns} FROM spans AS s WHERE s.project = k.project${conditions} ${ordered('s')} LIMIT ${wanted}
    ) AS s`;
  else {
    const { sql, values } = unnest(TRACE_KEY, few, to.values.length + 1);
    to.values.push(...values);
    from = `SELECT s.* FROM ${sql} AS k (project, trace_id) CROSS JOIN LATERAL (
      SELECT ${columns} FROM spans AS s WHERE s.project = k.project AND s.trace_id = k.trace_id${conditions} OFFSET 0
    ) AS s WHERE s.project = ANY ($1::int4[])`;
  }
  const found = await ask<[...Found]>(
    `SELECT c.project, ${hex('c.trace_id')}, encode(c.span_id, 'hex'), c.start_ns, ${weightOf(query.payloads)}
     FROM (SELECT c.* FROM (${from}) AS c ${ordered('c')}, c.project ${direction} LIMIT ${wanted}) AS c
     JOIN spans AS s ON s.project = c.project AND s.trace_id = c.trace_id AND s.span_id = c.span_id
     ${query.payloads ? 'LEFT JOIN span_payloads AS l ON l.project = c.project AND l.trace_id = c.trace_id AND l.span_id = c.span_id' : ''}
     ${ordered('c')}, c.project ${direction}`,
    to.values,
  );
  const end = pageLength(found, query, ([, , , , weight]) => weight);
  const spans = found.slice(0, end);
  const last = spans.at(-1);
  return found.length > end && last !== undefined
    ? { spans, next: [last[3].toString(), last[1], last[2], last[0]] }
    : { spans };
};

/** Reads a page of spans by start. */
export const listSpans = async (ask: Ask, query: SpanQuery): Promise<Page<StoredSpan>> => {
  const { spans, next } = await pageOfSpans(ask, query);
  if (spans.length === 0) return { items: [] };
  const { sql, values } = unnest(
    SPAN_KEY,
    spans.map(([project, traceId, spanId]): Row => [project, traceId, spanId]),
  );
  const { columns, joins } = spanColumns(query.payloads);
  const rows = await ask<Row>(
    `SELECT ${columns} FROM ${sql} WITH ORDINALITY AS k (project, trace_id, span_id, place)
     JOIN spans AS s ON s.project = k.project AND s.trace_id = k.trace_id AND s.span_id = k.span_id ${joins} ORDER BY k.place`,
    values,
  );
  const items = await decodeInTurns(rows, (row) => decodeSpan(row, query.payloads));
  return next === undefined ? { items } : { items, next };
};

/** The same page as JSON in pieces. */
export const readSpans = async (ask: Ask, query: SpanQuery, expect: Expect): Promise<SpansReading> => {
  const { spans, next } = await pageOfSpans(ask, query);
  const places = spans.map(
    ([project, traceId, spanId, , weight]): SpanPlace<number> => ({ project, traceId, spanId, weight }),
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
  const rows = await ask<[number, string, string | null, bigint, number]>(
    `SELECT s.project, encode(s.span_id, 'hex'), encode(s.parent_span_id, 'hex'), s.start_ns, ${weightOf(payloads)} FROM spans AS s
     ${payloads ? 'LEFT JOIN span_payloads AS l ON l.project = s.project AND l.trace_id = s.trace_id AND l.span_id = s.span_id' : ''}
     WHERE s.project = ANY ($1::int4[]) AND s.trace_id = $2::uuid`,
    [int4Array(found.numbers), traceId],
  );
  const lines = waterfall(rows, { id: ([, id]) => id, parent: ([, , parent]) => parent, start: ([, , , at]) => at });
  const places = lines.map(
    ([project, spanId, , , weight]): SpanPlace<number> => ({ project, traceId, spanId, weight }),
  );
  expect(weightOfAll(places));
  return { trace: found.trace, projects: found.projects, spans: writtenSpans(ask, places, payloads) };
};
