import type { QueryClient } from '@tanstack/react-query';
import { api, ask, askService } from '../../api/client.ts';
import { problemOf } from '../../api/problem.ts';
import type { NamedKind } from '../../model/stall.ts';
import type { Span } from '../../model/trace.ts';
import { formatQuery, type Params } from '../../model/url.ts';

/** One span with its payloads, and how its cost came about. */
export const spanQuery = (traceId: string, spanId: string) => ({
  queryKey: ['span', traceId, spanId],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
    ask(
      api.GET('/v1/api/traces/{trace_id}/spans/{span_id}', {
        params: { path: { trace_id: traceId, span_id: spanId }, query: { include: 'receipt' } },
        signal,
      }),
    ),
  staleTime: 30_000,
});

export type ReadSpan = Awaited<ReturnType<ReturnType<typeof spanQuery>['queryFn']>>;

/** Browsers open six connections to a service; more calls at once would only wait in them. */
const AT_ONCE = 6;

/** Several spans with their payloads, a few reads at a time. Those that were read before are not read again. */
export const readSpans = async (
  client: QueryClient,
  traceId: string,
  spanIds: readonly string[],
): Promise<readonly ReadSpan[]> => {
  const read: ReadSpan[] = [];
  for (let at = 0; at < spanIds.length; at += AT_ONCE) {
    const some = spanIds.slice(at, at + AT_ONCE).map((id) => client.fetchQuery(spanQuery(traceId, id)));
    read.push(...(await Promise.all(some)));
  }
  return read;
};

/** Spans of one name: of a trace with what they were given, or the latest that ended well, without. */
export const listNamed = async (
  { name, kind }: NamedKind,
  project: string,
  traceId: string | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Span[]> => {
  const which = traceId === undefined ? { status: 'ok' as const, payloads: 'none' as const } : { trace_id: traceId };
  const query = { project, name, kind, limit, ...which };
  const { spans } = await ask(api.GET('/v1/api/spans', { params: { query }, signal }));
  return spans;
};

/** An answer as text, to be passed on to the last character. */
export const readText = async (path: string, params: Params): Promise<string> => {
  const response = await askService(new Request(new URL(path + formatQuery(params), location.origin)));
  if (!response.ok) throw problemOf(response, await response.json().catch(() => undefined));
  return response.text();
};
