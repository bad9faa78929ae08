import { type FeedbackCount, noJudgements } from '../judgements.ts';
import { type Row, SPAN } from './columns.ts';
import { totalColumns, totalRows } from './total-rows.ts';

/** Where one part has no number of thumbs that point up, the sum has none. */
const addedUp = (parts: readonly FeedbackCount[]): FeedbackCount =>
  parts.reduce(([kind, count, up], [, more, moreUp]) =>
    up === undefined || moreUp === undefined ? [kind, count + more] : [kind, count + more, up + moreUp],
  );

/** Places in the row of a trace, as `decodeTrace` reads it. */
export const SUMMARY = { traceId: 0, project: 1, spanCount: 6, scores: 24, feedback: 25 } as const;
const WIDTH = 26;

/**
 * One summary for the parts that a trace has in several projects: totals over all their spans, judgements beside each other.
 * @param parts rows of the parts, as `decodeTrace` reads them
 */
export const joiningOf = (parts: readonly Row[]) => {
  const spans: Row[] = [];
  const contexts = new Map<number, Row>();
  const partOf = new Map<number, Row>();
  return {
    /** @param added spans of a part, whose contexts are numbered within it */
    add: (part: number, added: readonly Row[], own: ReadonlyMap<number, Row>): void => {
      const places = new Map<number, number>();
      for (const [place, values] of own) {
        places.set(place, contexts.size);
        partOf.set(contexts.size, parts[part] as Row);
        contexts.set(contexts.size, values);
      }
      for (const span of added) {
        span[SPAN.context] = places.get(Number(span[SPAN.context])) ?? 0;
        spans.push(span);
      }
    },
    joined: (): Row => {
      const totals = totalRows(spans, contexts, noJudgements);
      const [startNs, durationNs, name, status, ...rest] = totalColumns(totals, noJudgements);
      const row: Row = [
        parts[0]?.[SUMMARY.traceId] ?? '',
        partOf.get(totals.lead.context)?.[SUMMARY.project] ?? '',
        name ?? '',
        status ?? null,
        startNs ?? null,
        durationNs ?? null,
        ...rest,
      ];
      const lists = (place: number): unknown[] =>
        parts.flatMap((part) => (part[place] === null ? [] : (JSON.parse(part[place] as string) as unknown[])));
      row[SUMMARY.scores] = JSON.stringify(lists(SUMMARY.scores));
      const counts = Map.groupBy(lists(SUMMARY.feedback) as FeedbackCount[], ([kind]) => kind);
      row[SUMMARY.feedback] = JSON.stringify([...counts.values()].map(addedUp));
      return row.slice(0, WIDTH);
    },
  };
};
