import { api, ask } from '../../api/client.ts';
import type { Span } from '../../model/trace.ts';

/** Spans of one call, at the most; the service takes no more. */
const MOST_IN_A_CALL = 100;

type Waiting = { readonly resolve: (span: Span) => void; readonly reject: (error: unknown) => void };

/** Spans that are asked for in the same turn, by project and trace. */
const gathered = new Map<string, Map<string, Waiting[]>>();

const askFor = async (project: string, traceId: string, wanted: Map<string, Waiting[]>): Promise<void> => {
  const spanIds = [...wanted.keys()].join(',');
  let cursor: string | undefined;
  try {
    do {
      const query = { project, trace_id: traceId, span_ids: spanIds, limit: MOST_IN_A_CALL };
      const page = await ask(
        api.GET('/v1/api/spans', { params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } } }),
      );
      for (const span of page.spans) {
        for (const { resolve } of wanted.get(span.span_id) ?? []) resolve(span);
        wanted.delete(span.span_id);
      }
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    for (const [spanId, waiting] of wanted)
      for (const { reject } of waiting) reject(new Error(`span ${spanId} is not stored any more`));
  } catch (error) {
    for (const waiting of wanted.values()) for (const { reject } of waiting) reject(error);
  }
};

const readInBatch = (project: string, traceId: string, spanId: string): Promise<Span> =>
  new Promise((resolve, reject) => {
    const key = `${project}\n${traceId}`;
    let wanted = gathered.get(key);
    if (wanted === undefined || wanted.size >= MOST_IN_A_CALL) {
      const batch = new Map<string, Waiting[]>();
      wanted = batch;
      gathered.set(key, batch);
      setTimeout(() => {
        if (gathered.get(key) === batch) gathered.delete(key);
        void askFor(project, traceId, batch);
      });
    }
    wanted.set(spanId, [...(wanted.get(spanId) ?? []), { resolve, reject }]);
  });

/** One span with its payloads, read in one call with all others that come into view at the same moment. */
export const batchedSpanQuery = (project: string, traceId: string, spanId: string) => ({
  queryKey: ['span', traceId, spanId, 'in a batch'],
  queryFn: () => readInBatch(project, traceId, spanId),
  staleTime: 30_000,
});
