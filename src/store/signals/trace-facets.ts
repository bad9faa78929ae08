/**
 * Properties by which traces are found, by an exact value. Of some a trace has one value, of others as many as its spans have.
 * Those that begin with `span` hold values that only some spans of the trace have, beside the value in its summary: the
 * list of spans looks there, too.
 */
export const traceFacets = [
  'status',
  'name',
  'model',
  'provider',
  'entityName',
  'kind',
  'userId',
  'sessionId',
  'threadId',
  'environment',
  'serviceName',
  'serviceVersion',
  'release',
  'tag',
  'runId',
  'experimentId',
  /** `yes` when any span failed. */
  'hasError',
  /** Kinds of feedback that the trace was given. */
  'feedback',
  /** Scorers that judged the trace. */
  'score',
  'spanUserId',
  'spanSessionId',
  'spanEnvironment',
  'spanServiceName',
] as const;
export type TraceFacet = (typeof traceFacets)[number];

/** One value that a trace has of a property, as the words of the model. */
export type FacetValue = readonly [facet: TraceFacet, value: string];

/**
 * Those that are counted over many traces. Ids of sessions, threads and runs are not among them: nearly each trace has its own, so the
 * most frequent of them say nothing.
 */
export const countedFacets = [
  'status',
  'kind',
  'environment',
  'serviceName',
  'serviceVersion',
  'release',
  'name',
  'model',
  'provider',
  'entityName',
  'userId',
  'tag',
  'experimentId',
  'feedback',
  'score',
] as const satisfies readonly TraceFacet[];
export type CountedFacet = (typeof countedFacets)[number];
