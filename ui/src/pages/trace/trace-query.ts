import { api, ask } from '../../api/client.ts';

/** How long a trace that was left is there at once for who goes back. */
const KEPT_MS = 5_000;

/** A trace without its payloads. @param include what comes with it */
export const traceQuery = (traceId: string, include: 'scores,feedback' | undefined) => ({
  queryKey: ['trace', traceId, ...(include === undefined ? ['bare'] : [])],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
    ask(
      api.GET('/v1/api/traces/{trace_id}', {
        params: {
          path: { trace_id: traceId },
          query: { payloads: 'none', ...(include === undefined ? {} : { include }) },
        },
        signal,
      }),
    ),
  // Megabytes each: who walks through many does not gather them.
  gcTime: KEPT_MS,
});
