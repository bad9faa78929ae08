import { CONTEXT_COLUMNS } from '../../signals/rows/columns.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import type { Position, SpanQuery } from '../../signals/query.ts';
import { spanFacets } from '../../signals/span-facets.ts';
import { facets, kindCode, statusCodesOf, storedFacet } from '../../signals/rows/codes.ts';
import { type RowPage, TRACE_COLUMNS } from './read-traces.ts';
import { timeAndRow } from '../../signals/position.ts';
import { projectNumbers, type Statements } from './statements.ts';
import { waterfall, waterfallOrder, type WaterfallReader } from '../../signals/waterfall.ts';
import { joiningOf, SUMMARY } from '../../signals/rows/joined-trace.ts';
import { payloadReaderOf } from './read-payloads.ts';
import { placesOf, type SpanPlaces } from './places.ts';
import { estimateBytes, spanWeigher, type SpansPiece, writeSpans } from './span-json.ts';
import type { Row } from '../../signals/rows/columns.ts';

const CONTEXTS = CONTEXT_COLUMNS.split(', ')
  .map((column) => `c.${column}`)
  .join(', ');
/** Columns of a span as it is answered; `decode.ts` reads them by these places. */
const ANSWERED = `t.trace_id, p.name, s.span_id, s.parent_span_id, s.name, s.kind, s.status, s.start_ns, s.end_ns, s.received_ns,
  s.is_event, s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens, s.usage_details,
  s.total_cost, s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id, s.error_message, s.error_type,
  s.scope_name, ${CONTEXTS}`;
const JOINED = `JOIN traces AS t ON t.trace = s.trace JOIN projects AS p ON p.project = s.project
  JOIN trace_contexts AS c ON c.trace = s.trace AND c.context = s.context`;

/**
 * Reads spans as they are answered, with their payloads or without.
 * @param from what finds the span `s`: what follows `FROM`
 */
const answeredSpans = (statements: Statements, payloads: boolean, from: string) => {
  const reader = payloads ? payloadReaderOf(statements) : undefined;
  const find = statements.exact<Row>(`SELECT ${ANSWERED}, s.span FROM ${from}`);
  const complete = (row: Row): Row => {
    const span = Number(row.pop());
    return [...row, ...(reader?.find(span) ?? [])];
  };
  return {
    all: (...values: unknown[]): Row[] => find.all(...values).map(complete),
    get: (...values: unknown[]): Row | undefined => {
      const row = find.get(...values);
      return row && complete(row);
    },
  };
};

/** Finds spans by their numbers. */
export const spansByNumber = (statements: Statements, payloads: boolean): ((span: number) => Row | undefined) => {
  const read = answeredSpans(statements, payloads, `spans AS s ${JOINED} WHERE s.span = ?`);
  return (span) => read.get(span);
};

/** Places in a row of `ANSWERED`. */
const ID = 2;
const PARENT = 3;
const START = 7;
const inAnswer: WaterfallReader<Row> = {
  id: (row) => row[ID] as string,
  parent: (row) => row[PARENT] as string | null,
  start: (row) => row[START] as bigint,
};

const HOT = `s.span, s.trace, s.context, s.span_id, s.parent_span_id, s.name, s.kind, s.status, s.start_ns, s.end_ns, s.model,
  s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens, s.total_cost, s.currency, s.repeats_usage`;

/** One summary for the parts that a trace has in several projects. */
const joinParts = (statements: Statements, parts: readonly Row[], traces: readonly number[]): Row => {
  const joining = joiningOf(parts);
  for (const [part, trace] of traces.entries()) {
    const contexts = statements
      .raw<Row>(`SELECT context, ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = ?`)
      .all(trace)
      .map(([place, ...values]): [number, Row] => [Number(place), values]);
    const spans = statements.exact<Row>(`SELECT ${HOT} FROM spans AS s WHERE s.trace = ?`).all(trace);
    joining.add(part, spans, new Map(contexts));
  }
  return joining.joined();
};

const partsOf = (statements: Statements, traceId: string, reach: ProjectReach): Row[] =>
  statements
    .exact<Row>(
      `SELECT t.trace, ${TRACE_COLUMNS} FROM traces AS t JOIN projects AS p ON p.project = t.project
       WHERE t.trace_id = ? AND t.project IN (SELECT value FROM json_each(?)) ORDER BY t.trace`,
    )
    .all(traceId, JSON.stringify(projectNumbers(statements, reach)));

/** The projects that hold a part of a trace. */
export const projectsOfTrace = (statements: Statements, traceId: string, reach: ProjectReach): string[] =>
  partsOf(statements, traceId, reach).map((part) => part[1 + SUMMARY.project] as string);

/** What the spans of a trace will weigh as JSON, in bytes, before any is read. */
const measureTrace = (statements: Statements, parts: readonly Row[], payloads: boolean): number => {
  // Ids of spans are drawn at random, so the first of them in their order are any of them.
  const some = statements.pluck<number>('SELECT s.span FROM spans AS s WHERE s.trace = ? ORDER BY s.span_id LIMIT 64');
  let bytes = 0;
  for (const part of parts)
    bytes += estimateBytes(statements, some.all(part[0]), Number(part[1 + SUMMARY.spanCount]), payloads);
  return bytes;
};

/** A trace of so many spans is opened at once: that takes no longer than to measure it. */
const OPENED_AT_ONCE = 256;

/** Where the spans of traces stand, in waterfall order. */
const placesInOrder = (statements: Statements, traces: readonly number[]): SpanPlaces => {
  // A start is read as two numbers: as one it would be a bigint, which takes longer to make and to compare.
  const read = statements.raw<[span: number, id: string, parent: string | null, seconds: number, nanos: number]>(
    `SELECT s.span, s.span_id, s.parent_span_id, s.start_ns / 1000000000, s.start_ns % 1000000000
     FROM spans AS s WHERE s.trace = ?`,
  );
  const traceOf: number[] = [];
  const spans: number[] = [];
  const ids: string[] = [];
  const parents: (string | null)[] = [];
  const seconds: number[] = [];
  const nanos: number[] = [];
  for (const trace of traces)
    for (const row of read.all(trace)) {
      traceOf.push(trace);
      spans.push(row[0]);
      ids.push(row[1]);
      parents.push(row[2]);
      seconds.push(row[3]);
      nanos.push(row[4]);
    }
  const compareStarts = (a: number, b: number): number =>
    (seconds[a] as number) - (seconds[b] as number) || (nanos[a] as number) - (nanos[b] as number);
  const order = waterfallOrder({ ids, parents, compareStarts });
  const inOrder = <T>(column: readonly T[]): T[] => order.map((place) => column[place] as T);
  const [only, other] = traces;
  return placesOf(only !== undefined && other === undefined ? only : inOrder(traceOf), inOrder(spans), inOrder(ids));
};

export type OpenedTrace = [trace: Row, projects: string[], places: SpanPlaces, bytes: number, first: SpansPiece];

/**
 * A trace, where its spans stand in waterfall order, what they weigh as JSON in bytes, and the first of them.
 * @param isExpected whether what it weighs is known, and there is room for it
 * @returns of a large one that nobody expects what it will weigh, and nothing of it is read; `undefined` when it is not stored
 */
export const openTrace = (
  statements: Statements,
  traceId: string,
  reach: ProjectReach,
  payloads: boolean,
  isExpected: boolean,
): OpenedTrace | number | undefined => {
  const found = partsOf(statements, traceId, reach);
  if (found.length === 0) return undefined;
  const count = found.reduce((sum, part) => sum + Number(part[1 + SUMMARY.spanCount]), 0);
  if (!isExpected && count > OPENED_AT_ONCE) return measureTrace(statements, found, payloads);
  const traces = found.map(([trace]) => Number(trace));
  const parts = found.map(([, ...row]) => row);
  const places = placesInOrder(statements, traces);
  const first = writeSpans(statements, places, payloads);
  const [written, taken] = first;
  return [
    parts.length === 1 ? (parts[0] as Row) : joinParts(statements, parts, traces),
    parts.map((part) => part[SUMMARY.project] as string),
    places,
    taken < places.spans.length && !isExpected ? measureTrace(statements, found, payloads) : written.length,
    first,
  ];
};

/** A trace with its spans in waterfall order, from every project in reach. */
export const findTrace = (
  statements: Statements,
  traceId: string,
  reach: ProjectReach,
  payloads: boolean,
): [trace: Row, spans: Row[]] | undefined => {
  const found = partsOf(statements, traceId, reach);
  if (found.length === 0) return undefined;
  const traces = found.map(([trace]) => Number(trace));
  const parts = found.map(([, ...row]) => row);
  const read = answeredSpans(statements, payloads, `spans AS s ${JOINED} WHERE s.trace = ?`);
  const spans = traces.flatMap((trace) => read.all(trace));
  return [parts.length === 1 ? (parts[0] as Row) : joinParts(statements, parts, traces), waterfall(spans, inAnswer)];
};

/** One complete span. The same ids in two projects: the one that arrived last. */
export const findSpan = (
  statements: Statements,
  traceId: string,
  spanId: string,
  reach: ProjectReach,
): Row | undefined =>
  answeredSpans(
    statements,
    true,
    `traces AS t JOIN spans AS s ON s.trace = t.trace AND s.span_id = ?
     JOIN projects AS p ON p.project = t.project JOIN trace_contexts AS c ON c.trace = s.trace AND c.context = s.context
     WHERE t.trace_id = ? AND t.project IN (SELECT value FROM json_each(?)) ORDER BY s.span DESC`,
  ).get(spanId, traceId, JSON.stringify(projectNumbers(statements, reach)));

/** Traces up to which a filter is so rare that the spans of all of them are read and sorted. */
const RARE = 2_000;

/** Traces that hold every span a filter can match, when they are few enough to read them all. */
const rareTraces = (statements: Statements, numbers: readonly number[], query: SpanQuery): number[] | undefined => {
  let best: number[] | undefined;
  for (const [[name, ...others], value] of spanFacets(query)) {
    const [number, stored] = storedFacet([name, value]);
    const places = [number, ...others.map((other) => facets[other])];
    const traces = statements
      .pluck<number>(
        `SELECT DISTINCT f.trace FROM facet_values AS v CROSS JOIN trace_facets AS f ON f.value = v.id
         WHERE v.project IN (SELECT value FROM json_each(?)) AND v.facet IN (SELECT value FROM json_each(?)) AND v.value = ? LIMIT ?`,
      )
      .all(JSON.stringify(numbers), JSON.stringify(places), stored, RARE + 1);
    if (traces.length <= RARE && (best === undefined || traces.length < best.length)) best = traces;
  }
  return best;
};

/** The first of these spans: with a bound of bytes, those up to the one that brings them over it. */
const upTo = (
  statements: Statements,
  spans: readonly [bigint, bigint][],
  { maxBytes, payloads }: SpanQuery,
): readonly [bigint, bigint][] => {
  if (maxBytes === undefined) return spans;
  let bytes = 0;
  const weigh = spanWeigher(statements, payloads);
  const end = spans.findIndex(([span]) => {
    bytes += weigh(Number(span));
    return bytes > maxBytes;
  });
  return end === -1 ? spans : spans.slice(0, end + 1);
};

/** The rows of a page of spans by start, and where it ended. */
const pageOfSpans = (statements: Statements, query: SpanQuery): [spans: number[], next: Position | undefined] => {
  const numbers = projectNumbers(statements, query.projects);
  const isDescending = query.order === 'desc';
  const beyond = isDescending ? '<' : '>';
  const parts: string[] = [];
  const values: unknown[] = [];
  const add = (sql: string, value: unknown): void => {
    if (value === undefined) return;
    parts.push(sql);
    values.push(value);
  };
  add('s.start_ns >= ?', query.from);
  add('s.start_ns < ?', query.to);
  add('s.kind = ?', query.kind === undefined ? undefined : kindCode(query.kind));
  if (query.status !== undefined) parts.push(`s.status IN ${statusCodesOf(query.status)}`);
  add(
    's.span_id IN (SELECT value FROM json_each(?))',
    query.spanIds === undefined ? undefined : JSON.stringify(query.spanIds),
  );
  add('s.name = ?', query.name);
  add('s.model = ?', query.model);
  add('s.provider = ?', query.provider);
  add('s.entity_name = ?', query.entityName);
  const inContext: [column: string, value: string | undefined][] = [
    ['session_id', query.sessionId],
    ['user_id', query.userId],
    ['environment', query.environment],
    ['service_name', query.serviceName],
  ];
  for (const [column, value] of inContext)
    add(
      `EXISTS (SELECT 1 FROM trace_contexts AS x WHERE x.trace = s.trace AND x.context = s.context AND x.${column} = ?)`,
      value,
    );
  if (query.after !== undefined) {
    parts.push(`(s.start_ns, s.span) ${beyond} (?, ?)`);
    values.push(...timeAndRow(query.after));
  }

  const few =
    query.traceId === undefined
      ? rareTraces(statements, numbers, query)
      : statements
          .pluck<number>('SELECT trace FROM traces WHERE trace_id = ? AND project IN (SELECT value FROM json_each(?))')
          .all(query.traceId, JSON.stringify(numbers));
  const direction = isDescending ? 'DESC' : 'ASC';
  const read = (from: string, first: readonly unknown[], condition: string): [bigint, bigint][] =>
    statements
      .exact<[bigint, bigint]>(
        `SELECT s.span, s.start_ns FROM ${from} WHERE ${[condition, ...parts].join(' AND ')}
         ORDER BY s.start_ns ${direction}, s.span ${direction} LIMIT ?`,
      )
      .all(...first, ...values, query.limit + 1);
  const found =
    few === undefined
      ? numbers.flatMap((number) => read('spans AS s INDEXED BY spans_by_start', [number], 's.project = ?'))
      : read(
          'json_each(?) AS j CROSS JOIN spans AS s INDEXED BY spans_by_id ON s.trace = j.value',
          [JSON.stringify(few), JSON.stringify(numbers)],
          's.project IN (SELECT value FROM json_each(?))',
        );
  const sign = isDescending ? -1 : 1;
  found.sort(([spanA, startA], [spanB, startB]) => {
    if (startA !== startB) return (startA < startB ? -1 : 1) * sign;
    return (spanA < spanB ? -1 : 1) * sign;
  });
  const page = upTo(statements, found.slice(0, query.limit), query);
  const last = page.at(-1);
  return [
    page.map(([span]) => Number(span)),
    found.length > page.length && last !== undefined ? [last[1].toString(), Number(last[0])] : undefined,
  ];
};

/** Reads a page of spans by start. */
export const listSpans = (statements: Statements, query: SpanQuery): RowPage => {
  const [spans, next] = pageOfSpans(statements, query);
  const find = spansByNumber(statements, query.payloads);
  return [spans.map(find).filter((row): row is Row => row !== undefined), next];
};

/** Where the spans of a page stand, what they will weigh as JSON, and the first of them. */
export const openSpans = (
  statements: Statements,
  query: SpanQuery,
): [places: SpanPlaces, bytes: number, first: SpansPiece, next: Position | undefined] => {
  const [spans, next] = pageOfSpans(statements, query);
  const find = statements.raw<[trace: number, id: string, span: number]>(
    'SELECT s.trace, s.span_id, s.span FROM spans AS s WHERE s.span = ?',
  );
  const found = spans.map((span) => find.get(span)).filter((row) => row !== undefined);
  const places = placesOf(
    found.map(([trace]) => trace),
    found.map(([, , span]) => span),
    found.map(([, id]) => id),
  );
  const first = writeSpans(statements, places, query.payloads);
  return [places, estimateBytes(statements, spans, found.length, query.payloads), first, next];
};
