import { builtinPriceBook } from '../../ingest/price-book.ts';
import { resolveModel } from '../../ingest/price.ts';
import type { Position } from '../../store/signals/query.ts';
import type { Look, SignalReads } from './deployment.ts';
import { counted, type Finding, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';

/** Kinds whose spans are calls of a model that is paid for. */
const MODEL_KINDS = ['model_generation', 'rag_embedding'] as const;
/** Newest spans of a kind that are read at the most. */
const MOST_SPANS = 20_000;
const PAGE = 1000;
const MOST_MODELS = 20;
/** Prices change with each model generation: a book older than half a year misses models that are in use. */
const OLD_BOOK_DAYS = 180;
const NANOS_PER_DAY = 86_400_000_000_000n;

/** A book that was up to date so long ago that newer models and prices are likely missing from it. */
const ageOf = (now: bigint): Finding[] => {
  const asOf = BigInt(Date.parse(builtinPriceBook.asOf)) * 1_000_000n;
  const days = Number((now - asOf) / NANOS_PER_DAY);
  return days <= OLD_BOOK_DAYS
    ? []
    : [
        warning(
          `the price book (${builtinPriceBook.id}) is as of ${builtinPriceBook.asOf}, ${counted(days, 'day')} ago: newer models and prices are not in it`,
          'upgrade svc, or send the cost with the span',
        ),
      ];
};

type Tally = { spans: number; isCut: boolean; readonly unpriced: Map<string, number> };

const count = async (reads: SignalReads, kind: (typeof MODEL_KINDS)[number], from: bigint, tally: Tally) => {
  let after: Position | undefined;
  for (let read = 0; read < MOST_SPANS; read += PAGE) {
    const page = await reads.listSpans({
      projects: 'all',
      from,
      kind,
      order: 'desc',
      limit: PAGE,
      payloads: false,
      ...(after === undefined ? {} : { after }),
    });
    for (const { model, usage, cost } of page.items) {
      tally.spans += 1;
      if (model === undefined || usage === undefined || cost !== undefined) continue;
      if (resolveModel(model, builtinPriceBook) === undefined)
        tally.unpriced.set(model, (tally.unpriced.get(model) ?? 0) + 1);
    }
    after = page.next;
    if (after === undefined) return;
  }
  tally.isCut = true;
};

/** Recent model spans against the price book; names the models it does not hold. @see Interface specification, "Cost" */
export const examinePricing = async (look: Look): Promise<Finding[]> => [
  ...ageOf(look.now),
  ...(await examineModels(look)),
];

const examineModels = async ({ signals, from, windowDays }: Look): Promise<Finding[]> => {
  if ('unread' in signals) return [skipped(signals.unread)];
  const tally: Tally = { spans: 0, isCut: false, unpriced: new Map() };
  for (const kind of MODEL_KINDS) await count(signals.reads, kind, from, tally);
  if (tally.spans === 0)
    return [skipped(`no model call of the last ${counted(windowDays, 'day')} to hold against the price book`)];
  const seen = `${tally.isCut ? 'the newest ' : ''}${counted(tally.spans, 'model call')} of the last ${counted(windowDays, 'day')}`;
  const findings: Finding[] = [...tally.unpriced]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_MODELS)
    .map(([model, calls]) =>
      warning(
        `the price book (${builtinPriceBook.id}, as of ${builtinPriceBook.asOf}) does not hold ${quoted(model)}: ${counted(calls, 'call')} without a cost`,
        'send the cost with the span; it is kept as received',
      ),
    );
  const further = tally.unpriced.size - findings.length;
  if (further > 0)
    findings.push(warning(counted(further, 'further model') + ' without a price', 'send the cost with the span'));
  return findings.length > 0
    ? [...findings, ok(`${seen} looked at`)]
    : [ok(`the price book holds every model of ${seen}`)];
};
