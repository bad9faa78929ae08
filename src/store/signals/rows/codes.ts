import { type Severity, severities } from '../../../model/signal.ts';
import { type SpanKind, type SpanStatus, spanKinds, spanStatuses } from '../../../model/span.ts';
import type { FacetValue, TraceFacet } from '../trace-facets.ts';

/**
 * Small integers that stand in the file for the words of closed lists. A number is the word's place in the model's list, so
 * those lists may only grow at their end.
 */
const codesOf = <T extends string>(words: readonly T[]): ReadonlyMap<T, number> =>
  new Map(words.map((word, index) => [word, index]));

const kindCodes = codesOf(spanKinds);
const statusCodes = codesOf(spanStatuses);
const severityCodes = codesOf(severities);

const codeOf = <T extends string>(codes: ReadonlyMap<T, number>, word: T): number => {
  const code = codes.get(word);
  if (code === undefined) throw new RangeError(`"${word}" has no stored code`);
  return code;
};
const wordOf = <T extends string>(words: readonly T[], code: unknown): T => {
  const word = words[Number(code)];
  if (word === undefined) throw new RangeError(`the stored code ${String(code)} has no word`);
  return word;
};

export const kindCode = (kind: SpanKind): number => codeOf(kindCodes, kind);
export const kindOf = (code: unknown): SpanKind => wordOf(spanKinds, code);
/** Stands beside the code of a status for the span of a cancelled run, and for its trace. */
const CANCELLED_BIT = 8;
export const statusCode = (status: SpanStatus, isCancelled = false): number =>
  codeOf(statusCodes, status) | (isCancelled ? CANCELLED_BIT : 0);
export const statusOf = (code: unknown): SpanStatus => wordOf(spanStatuses, Number(code) & ~CANCELLED_BIT);
export const isCancelledCode = (code: unknown): boolean => (Number(code) & CANCELLED_BIT) !== 0;
/** Both codes of a status, as a list of SQL. */
export const statusCodesOf = (status: SpanStatus): string => `(${statusCode(status)}, ${statusCode(status, true)})`;
/** Grows with severity, so that "at least this severe" is a comparison. */
export const severityCode = (severity: Severity): number => codeOf(severityCodes, severity);
export const severityOf = (code: unknown): Severity => wordOf(severities, code);

export const STATUS_OK = statusCode('ok');
export const STATUS_ERROR = statusCode('error');
/** Of the trace of a cancelled run, whatever status its root was sent with. */
export const TRACE_CANCELLED = statusCode('unset', true);

/**
 * Numbers of the properties by which a trace is found: each value that a trace has of one is an entry of `trace_facets`. They
 * stand in the file: they are never changed nor used again.
 */
export const facets = {
  status: 1,
  name: 2,
  model: 3,
  provider: 4,
  entityName: 5,
  kind: 6,
  userId: 7,
  sessionId: 8,
  threadId: 9,
  environment: 10,
  serviceName: 11,
  serviceVersion: 12,
  release: 13,
  tag: 14,
  runId: 15,
  experimentId: 16,
  hasError: 17,
  feedback: 18,
  score: 19,
  spanUserId: 20,
  spanSessionId: 21,
  spanEnvironment: 22,
  spanServiceName: 23,
} as const satisfies Record<TraceFacet, number>;

/** A value of a property as `facet_values` holds it. */
export const storedFacet = ([facet, value]: FacetValue): readonly [facet: number, value: string] => {
  const number = facets[facet];
  switch (facet) {
    case 'status':
      return [number, String(statusCode(value as SpanStatus))];
    case 'kind':
      return [number, String(kindCode(value as SpanKind))];
    case 'hasError':
      return [number, '1'];
    default:
      return [number, value];
  }
};

const facetNames: ReadonlyMap<number, TraceFacet> = new Map(
  Object.entries(facets).map(([name, number]) => [number, name as TraceFacet]),
);

/** The same in the words of the model. */
export const facetOf = (facet: number, value: string): FacetValue => {
  const name = facetNames.get(facet);
  switch (name) {
    case undefined:
      throw new RangeError(`the stored facet ${facet} has no name`);
    case 'status':
      return [name, statusOf(value)];
    case 'kind':
      return [name, kindOf(value)];
    case 'hasError':
      return [name, 'yes'];
    default:
      return [name, value];
  }
};
