import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { previewOf } from '../../model/payload.ts';
import { findLoops, findStalls, lasted, nameKey, openNames, repeatedTools, usualTime } from '../../model/stall.ts';
import type { TraceRows } from '../../model/trace.ts';
import { formatDuration, plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { listNamed } from './read-spans.ts';
import css from './trace.module.css';

/** Calls of one tool whose inputs are read, and finished spans of one name. */
const MOST_CALLS = 200;
const MOST_SAMPLES = 100;
/** Links to calls of one loop. */
const MOST_LINKS = 10;
const MAX_INPUT = 160;

type NoticesProps = {
  readonly traceId: string;
  readonly project: string;
  readonly rows: TraceRows;
  readonly onSelect: (row: number) => void;
};

/** What looks like a loop or a stall: the same call again and again, and a span that is open past its usual time. */
export const Notices = ({ traceId, project, rows, onSelect }: NoticesProps) => {
  const tools = useMemo(() => repeatedTools(rows), [rows]);
  const open = useMemo(() => openNames(rows), [rows]);
  const inputs = useQuery({
    queryKey: ['trace', traceId, 'inputs', tools, rows.storedCount],
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(tools.map((tool) => listNamed(tool, project, traceId, MOST_CALLS, signal)));
      return new Map(lists.flat().map(({ span_id, input }) => [span_id, input] as const));
    },
    enabled: tools.length > 0,
    staleTime: 30_000,
  });
  const usual = useQuery({
    queryKey: ['spans', 'usual', project, open],
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        open.map(async (named) => [named, await listNamed(named, project, undefined, MOST_SAMPLES, signal)] as const),
      );
      const times = new Map<string, number>();
      for (const [named, spans] of lists) {
        const time = usualTime(spans.map(lasted).filter((ns) => ns !== undefined));
        if (time !== undefined) times.set(nameKey(named), time);
      }
      return times;
    },
    enabled: open.length > 0,
    staleTime: 60_000,
  });
  const loops = useMemo(() => (inputs.data === undefined ? [] : findLoops(rows, inputs.data)), [rows, inputs.data]);
  const stalls = useMemo(() => (usual.data === undefined ? [] : findStalls(rows, usual.data)), [rows, usual.data]);
  if (loops.length === 0 && stalls.length === 0) return null;
  return (
    <section aria-label="Notices" className={css['notice']}>
      {loops.map((loop) => (
        <p key={`${nameKey(loop)} ${loop.rows[0]}`}>
          <b>{loop.name}</b> was called {plural(loop.rows.length, 'time')} with the same input,{' '}
          <code>{previewOf(loop.input).text.replaceAll(/\s+/g, ' ').slice(0, MAX_INPUT)}</code>:{' '}
          {loop.rows.slice(0, MOST_LINKS).map((row, at) => (
            <Button key={row} aria-label={`Show call ${at + 1} of ${loop.name}`} onClick={() => onSelect(row)}>
              {at + 1}
            </Button>
          ))}
          {loop.rows.length > MOST_LINKS && `and ${loop.rows.length - MOST_LINKS} more`}
        </p>
      ))}
      {stalls.map(({ row, openNs, usualNs }) => (
        <p key={row}>
          <b>{rows.spans[row]?.name}</b> has been open for {formatDuration(openNs)}; 95 % of those that ended took at
          most {formatDuration(usualNs)}.{' '}
          <Button aria-label={`Show ${rows.spans[row]?.name}`} onClick={() => onSelect(row)}>
            Show
          </Button>
        </p>
      ))}
    </section>
  );
};
