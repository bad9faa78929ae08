import type { components } from '../../api/types.ts';
import { feedbackText, feedbackWords } from '../../model/feedback.ts';
import { totalTokens } from '../../model/tokens.ts';
import { formatCompact, formatCount, formatDuration, formatMoney } from '../../model/units.ts';
import type { Column } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';

export type TraceRow = components['schemas']['TraceSummary'];

/** The arrows are a picture of words. */
const Feedback = ({ row }: { readonly row: TraceRow }) => (
  <span role="img" aria-label={feedbackWords(row)}>
    {feedbackText(row)}
  </span>
);

export const traceColumns: readonly Column<TraceRow>[] = [
  {
    id: 'name',
    head: 'Name',
    isPinned: true,
    cell: (row) => <PageLink to={`/traces/${row.trace_id}`}>{row.name}</PageLink>,
  },
  {
    id: 'status',
    head: 'Status',
    cell: (row) => <StatusMark state={row.cancelled === true ? 'cancelled' : row.status} />,
  },
  { id: 'start_time', head: 'Started', sort: 'start_time', cell: (row) => <Instant at={row.start_time} /> },
  {
    id: 'duration',
    head: 'Duration',
    sort: 'duration',
    isNumber: true,
    cell: (row) => formatDuration(row.duration_ns),
  },
  { id: 'spans', head: 'Spans', sort: 'span_count', isNumber: true, cell: (row) => formatCount(row.span_count) },
  { id: 'errors', head: 'Errors', isNumber: true, cell: (row) => formatCount(row.error_count) },
  { id: 'tokens', head: 'Tokens', isNumber: true, cell: (row) => formatCompact(totalTokens(row.usage)) },
  { id: 'cost', head: 'Cost', sort: 'cost', isNumber: true, cell: (row) => formatMoney(row.cost) },
  {
    id: 'models',
    head: 'Models',
    cell: (row) => row.models.join(', ') || '—',
  },
  { id: 'feedback', head: 'Feedback', cell: (row) => <Feedback row={row} /> },
];

/** A column for each scorer that scored one of the rows: the mean, and of how many scores it is. */
export const scoreColumns = (rows: readonly TraceRow[]): readonly Column<TraceRow>[] => {
  const scorers = new Set(rows.flatMap(({ scores }) => scores.map(({ scorer_id }) => scorer_id)));
  return [...scorers].toSorted().map((scorer) => ({
    id: `score:${scorer}`,
    head: scorer,
    isNumber: true,
    cell: ({ scores }) => {
      const found = scores.filter(({ scorer_id }) => scorer_id === scorer);
      return found.length === 0
        ? '—'
        : found.map(({ mean, count }) => `${Number(mean.toFixed(3))}${count > 1 ? ` (${count})` : ''}`).join(', ');
    },
  }));
};
