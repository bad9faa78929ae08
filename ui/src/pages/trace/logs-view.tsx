import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { colorOfSeverity, type LogRecord, matchLogs, severities } from '../../model/logs.ts';
import { nsSince, type TraceRows } from '../../model/trace.ts';
import { formatDuration, plural, UNKNOWN } from '../../model/units.ts';
import { oneOf, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Facts } from '../../widgets/facts.tsx';
import { Filters, FilterSelect } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import css from './trace.module.css';

const PAGE_ROWS = 500;
const MAX_MESSAGE = 20_000;

const grammar = { min_severity: oneOf(severities), words: text(), log: text() } as const;

type LogsProps = {
  readonly traceId: string;
  readonly project: string;
  readonly rows: TraceRows;
  readonly onSelect: (row: number) => void;
};

export const SeverityMark = ({ severity }: Pick<LogRecord, 'severity'>) => (
  <b style={{ color: `var(--${colorOfSeverity(severity)})` }}>{severity}</b>
);

const columnsOf = (rows: TraceRows, onSelect: LogsProps['onSelect']): readonly Column<LogRecord>[] => [
  {
    id: 'at',
    head: 'At',
    width: '84px',
    isNumber: true,
    // A record may be older than the first span.
    cell: ({ timestamp }) => {
      const ns = nsSince(timestamp, rows.baseMs);
      return <span title={timestamp}>{ns < 0 ? `−${formatDuration(-ns)}` : ns === 0 ? '0' : formatDuration(ns)}</span>;
    },
  },
  {
    id: 'severity',
    head: 'Severity',
    width: '76px',
    cell: (record) => <SeverityMark severity={record.severity} />,
  },
  {
    id: 'span',
    head: 'Span',
    width: '22%',
    cell: ({ span_id }) => {
      const row = span_id === undefined ? undefined : rows.rowOf.get(span_id);
      if (row === undefined) return span_id === undefined ? UNKNOWN : <code title="Not stored">{span_id}</code>;
      const name = rows.spans[row]?.name ?? '';
      return (
        <Button look="plain" aria-label={`Show ${name} in the waterfall`} onClick={() => onSelect(row)}>
          {name}
        </Button>
      );
    },
  },
  { id: 'message', head: 'Message', cell: ({ message }) => message.slice(0, 400) },
  { id: 'logger', head: 'Logger', width: '12%', cell: ({ logger }) => logger ?? UNKNOWN },
];

const valueText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : (JSON.stringify(value) ?? '');

const Record = ({ record }: { readonly record: LogRecord }) => (
  <section aria-label="Log record" className={css['inspector']}>
    <div className={css['span-head']} data-scrolls>
      <div className={css['span-facts']}>
        <SeverityMark severity={record.severity} />
        <Instant at={record.timestamp} />
        {record.logger !== undefined && <code>{record.logger}</code>}
      </div>
      <pre className={css['message']}>{record.message.slice(0, MAX_MESSAGE)}</pre>
      {record.message.length > MAX_MESSAGE && <p className={css['soft']}>The rest is cut here.</p>}
      <Facts
        facts={Object.entries(record.attributes)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => [name, valueText(value)] as const)}
      />
    </div>
  </section>
);

/** The log records of a trace, each beside the span that wrote it. */
export const LogsView = ({ traceId, project, rows, onSelect }: LogsProps) => {
  const [state, setState] = usePageState(grammar);
  const { min_severity } = state;
  const logs = usePaged<LogRecord>(['logs', traceId, min_severity ?? ''], async (cursor, signal) => {
    const query = {
      project,
      trace_id: traceId,
      order: 'asc' as const,
      limit: PAGE_ROWS,
      ...(min_severity === undefined ? {} : { min_severity }),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const page = await ask(api.GET('/v1/api/logs', { params: { query }, signal }));
    return { rows: page.logs, next: page.next_cursor };
  });
  const words = state.words ?? '';
  const found = useMemo(() => matchLogs(logs.data ?? [], words), [logs.data, words]);
  const columns = useMemo(() => columnsOf(rows, onSelect), [rows, onSelect]);
  const record = found.find(({ log_id }) => log_id === state.log);
  const remove = { min_severity: undefined, words: undefined };
  return (
    <>
      <Filters
        active={[
          ...(min_severity === undefined
            ? []
            : [
                {
                  name: 'min_severity',
                  value: min_severity,
                  onRemove: () => setState({ min_severity: undefined }),
                },
              ]),
          ...(words === '' ? [] : [{ name: 'words', value: words, onRemove: () => setState({ words: undefined }) }]),
        ]}
      >
        <FilterSelect
          name="At least"
          value={min_severity}
          words={severities}
          onChoose={(severity) => setState({ min_severity: severity })}
        />
        <input
          type="search"
          aria-label="Words in the logs"
          placeholder="Words in the logs"
          value={words}
          onChange={({ target }) => setState({ words: target.value })}
        />
      </Filters>
      <Loaded query={logs} what="the logs">
        {(read) =>
          found.length === 0 && !logs.hasMore ? (
            <EmptyState
              title={read.length === 0 && min_severity === undefined ? 'No log records' : 'No record matches'}
            >
              {(min_severity !== undefined || words !== '') && (
                <Button onClick={() => setState(remove)}>Remove the filters</Button>
              )}
            </EmptyState>
          ) : (
            <div className={css['panes']}>
              <DataTable
                name="Logs"
                columns={columns}
                rows={found}
                idOf={({ log_id }) => log_id}
                selected={state.log}
                onSelect={({ log_id }) => setState({ log: log_id === state.log ? undefined : log_id })}
                onEnd={logs.more}
                foot={`${plural(found.length, 'record')} of ${plural(read.length, 'record')} read${logs.hasMore ? '; scroll for more' : ''}`}
              />
              {record !== undefined && <Record record={record} />}
            </div>
          )
        }
      </Loaded>
    </>
  );
};
