import { serverTimeOf } from '../../api/server-clock.ts';
import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { firstToShow, layOut } from '../../model/trace.ts';
import { formatDuration, formatMoney, plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { KindMark, StatusMark } from '../../widgets/status-mark.tsx';
import { durationOf } from '../../model/trace.ts';
import css from './traces.module.css';

/** So many spans tell what a trace is about. */
const PEEKED_SPANS = 60;

/** A trace beside the list, so that the reader keeps the list. */
export const Peek = ({ traceId, onClose }: { readonly traceId: string; readonly onClose: () => void }) => {
  const query = useQuery({
    queryKey: ['trace', traceId],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/traces/{trace_id}', {
          params: { path: { trace_id: traceId }, query: { payloads: 'none', include: 'scores,feedback' } },
          signal,
        }),
      ),
    staleTime: 30_000,
  });
  const rows = useMemo(
    () => (query.data === undefined ? undefined : layOut(query.data.spans, serverTimeOf(query.dataUpdatedAt))),
    [query.data, query.dataUpdatedAt],
  );
  const first = rows === undefined ? undefined : rows.spans[firstToShow(rows)];
  return (
    <section aria-label="Peek" className={css['peek']}>
      <Loaded query={query} what="the trace">
        {({ trace, spans }) => (
          <>
            <div className={css['peek-head']}>
              <h2>{trace.name}</h2>
              <Button look="plain" aria-label="Close the peek panel" onClick={onClose}>
                <X size={16} aria-hidden />
              </Button>
            </div>
            <p className={css['facts']}>
              <StatusMark state={trace.cancelled === true ? 'cancelled' : trace.status} />
              <span>{formatDuration(trace.duration_ns)}</span>
              <span>{plural(trace.span_count, 'span')}</span>
              <span>{trace.cost === undefined ? '— not priced' : formatMoney(trace.cost)}</span>
              <PageLink to={`/traces/${traceId}`}>Open the trace</PageLink>
              <CopyCurl paths={[`/v1/api/traces/${traceId}`]} />
            </p>
            {first?.error !== undefined && (
              <p className={css['error']}>
                <b>{first.name}</b> {first.error.type} {first.error.message}
              </p>
            )}
            <ul className={css['spans']}>
              {rows?.spans.slice(0, PEEKED_SPANS).map((span, row) => (
                <li key={span.span_id} style={{ paddingLeft: `${Math.min(rows.depth[row] ?? 0, 8) * 12}px` }}>
                  <PageLink to={`/traces/${traceId}`} params={{ span: span.span_id }}>
                    {span.status === 'error' ? '✕ ' : ''}
                    {span.name}
                  </PageLink>
                  <KindMark kind={span.kind} />
                  <span>{formatDuration(durationOf(rows, row))}</span>
                </li>
              ))}
            </ul>
            {spans.length > PEEKED_SPANS && <p>{plural(spans.length - PEEKED_SPANS, 'more span')}</p>}
          </>
        )}
      </Loaded>
    </section>
  );
};
