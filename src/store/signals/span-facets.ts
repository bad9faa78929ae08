import type { SpanQuery } from './query.ts';
import type { TraceFacet } from './trace-facets.ts';

/** The properties of a trace under which the value of a span stands: the trace has it, or only some spans of it. */
export type SpanFacets = readonly [TraceFacet, ...TraceFacet[]];

/** What the trace of each span that a filter can match has. Engines that know which traces have a value begin there. */
export const spanFacets = (query: SpanQuery): (readonly [facets: SpanFacets, value: string])[] => {
  const wanted: (readonly [SpanFacets, string | undefined])[] = [
    [['sessionId', 'spanSessionId'], query.sessionId],
    [['userId', 'spanUserId'], query.userId],
    [['entityName'], query.entityName],
    [['model'], query.model],
    [['provider'], query.provider],
    [['kind'], query.kind],
    [['hasError'], query.status === 'error' ? 'yes' : undefined],
    [['environment', 'spanEnvironment'], query.environment],
    [['serviceName', 'spanServiceName'], query.serviceName],
  ];
  return wanted.filter((entry): entry is readonly [SpanFacets, string] => entry[1] !== undefined);
};
