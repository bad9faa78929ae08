import { api, ask } from '../../api/client.ts';

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
});
