import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { tellingRows, writeBrief } from '../../model/brief.ts';
import { ingestLines, requestFiles } from '../../model/ingest-lines.ts';
import type { TraceDetail, TraceRows } from '../../model/trace.ts';
import { formatCount, formatDuration, formatMoney, plural } from '../../model/units.ts';
import { BriefView, briefCss, BudgetSelect, USUAL_BUDGET } from '../../widgets/brief-view.tsx';
import { Button } from '../../widgets/button.tsx';
import { Dialog } from '../../widgets/dialog.tsx';
import { download } from '../../widgets/download.ts';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { readSpans, readText } from './read-spans.ts';

type ExportProps = {
  readonly loaded: TraceDetail;
  readonly rows: TraceRows;
  /** The row on which the reader is. */
  readonly selected: number;
};

/** Notes of a trace are a list of their own, of which one page is read. */
const MOST_NOTES = 1000;

/** The complete trace as a file, or files, that ingest takes back. */
export const DownloadTrace = ({ loaded: { trace } }: Pick<ExportProps, 'loaded'>) => {
  const read = useMutation({
    mutationFn: async () => {
      const detail = ingestLines(await readText(`/v1/api/traces/${trace.trace_id}`, { include: 'all' }));
      const notes = ingestLines(
        await readText('/v1/api/aspect_notes', {
          project: trace.correlation.project,
          trace_id: trace.trace_id,
          limit: String(MOST_NOTES),
        }),
      );
      const lines = [...detail.lines, ...notes.lines];
      const files = requestFiles(lines);
      for (const [at, file] of files.entries())
        download(
          files.length === 1 ? `${trace.trace_id}.ndjson` : `${trace.trace_id}-${at + 1}.ndjson`,
          'application/x-ndjson',
          file,
        );
      return { lines: lines.length, files: files.length, cut: [...detail.cut, ...notes.cut] };
    },
  });
  return (
    <>
      <Button
        disabled={read.isPending}
        title="Spans, logs, scores, feedback and notes, one a line: POST /v1/ingest takes the file back"
        onClick={() => read.mutate()}
      >
        Download NDJSON
      </Button>
      {read.data !== undefined && (
        <span role="status">
          {plural(read.data.lines, 'line')} in {plural(read.data.files, 'file')}
          {read.data.files > 1 && ', each as large as one request may be'}
          {read.data.cut.length > 0 && `; not complete: ${read.data.cut.join(', ')}`}
        </span>
      )}
      {read.error !== null && <ProblemNotice error={read.error} />}
    </>
  );
};

/** Spans whose payloads are read for it. */
const MOST_TOLD = 40;

const CopyForm = ({ loaded: { trace }, rows, selected }: ExportProps) => {
  const client = useQueryClient();
  const [isOne, setOne] = useState(false);
  const [budget, setBudget] = useState(USUAL_BUDGET);
  const canTellOne = rows.isMissing[selected] !== 1;
  const order = useMemo(
    () => (isOne && canTellOne ? [selected] : tellingRows(rows, MOST_TOLD)),
    [isOne, canTellOne, selected, rows],
  );
  const ids = order.map((row) => rows.spans[row]?.span_id ?? '');
  const read = useQuery({
    queryKey: ['trace', trace.trace_id, 'told', ids],
    queryFn: async () => {
      const spans = await readSpans(client, trace.trace_id, ids);
      return new Map(order.flatMap((row, at) => (spans[at] === undefined ? [] : [[row, spans[at].span] as const])));
    },
    staleTime: 30_000,
  });
  const brief = useMemo(
    () =>
      read.data === undefined
        ? undefined
        : writeBrief({
            rows,
            order,
            full: read.data,
            title: isOne ? `Span of the trace ${trace.name}` : `Trace ${trace.name}`,
            facts: [
              `trace ${trace.trace_id}`,
              `status: ${trace.status}`,
              `started ${trace.start_time}, took ${formatDuration(trace.duration_ns)}`,
              `${plural(trace.span_count, 'span')}, ${plural(trace.error_count, 'error')}`,
              `cost: ${trace.cost === undefined ? 'not priced' : formatMoney(trace.cost)}`,
              `tokens: ${formatCount(trace.usage?.total_tokens)}`,
            ],
            budgetTokens: budget,
          }),
    [read.data, rows, order, isOne, trace, budget],
  );
  return (
    <>
      <div className={briefCss['choices']}>
        <label>
          What{' '}
          <select value={isOne ? 'span' : 'trace'} onChange={({ target }) => setOne(target.value === 'span')}>
            <option value="trace">The complete trace</option>
            <option value="span" disabled={!canTellOne}>
              The selected span: {rows.spans[selected]?.name.slice(0, 60)}
            </option>
          </select>
        </label>
        <BudgetSelect value={budget} onChoose={setBudget} />
      </div>
      <Loaded query={read} what="the spans">
        {() => brief !== undefined && <BriefView brief={brief} />}
      </Loaded>
    </>
  );
};

/** A trace or a span as Markdown within a number of tokens. */
export const CopyForAssistant = (props: ExportProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Copy for an assistant…</Button>
      <Dialog title="Copy for an assistant" isOpen={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <CopyForm {...props} />}
      </Dialog>
    </>
  );
};
