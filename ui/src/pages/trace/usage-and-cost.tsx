import {
  addsUp,
  type CostReceipt,
  explainNotPriced,
  explainOutcome,
  explainSaved,
  nameOfMeter,
  savedByCache,
  sumOfLines,
} from '../../model/receipt.ts';
import type { Span } from '../../model/trace.ts';
import { costText } from '../../model/cost.ts';
import { formatCount, formatExactMoney } from '../../model/units.ts';
import type { Column } from '../../widgets/data-table.tsx';
import { Facts } from '../../widgets/facts.tsx';
import { PlainTable } from '../../widgets/plain-table.tsx';
import css from './trace.module.css';

type Line = NonNullable<CostReceipt['lines']>[number];

const columnsIn = (currency: string): readonly Column<Line>[] => [
  { id: 'meter', head: 'Meter', cell: nameOfMeter },
  { id: 'tokens', head: 'Tokens', isNumber: true, cell: ({ tokens }) => formatCount(tokens) },
  {
    id: 'rate',
    head: '× per million',
    isNumber: true,
    cell: ({ rate }) => formatExactMoney({ total_cost: rate, currency }),
  },
  {
    id: 'amount',
    head: '= amount',
    isNumber: true,
    cell: ({ amount }) => formatExactMoney({ total_cost: amount, currency }),
  },
];

const Receipt = ({ receipt, cost }: { readonly receipt: CostReceipt; readonly cost: Span['cost'] }) => {
  const { lines, price_book: book, not_priced: notPriced = [] } = receipt;
  const why = explainOutcome(receipt);
  if (lines === undefined || book === undefined || cost === undefined) return <p>{why}</p>;
  const { currency } = book;
  const saved = savedByCache(receipt);
  return (
    <>
      <PlainTable
        name="Receipt"
        columns={columnsIn(currency)}
        rows={lines}
        idOf={({ side, meter }) => `${side} ${meter}`}
      />
      <p>
        <b>Sum {formatExactMoney({ total_cost: sumOfLines(lines), currency })}</b>
        {addsUp(lines, cost)
          ? ', the cost of the span.'
          : `, which is not the cost of the span, ${formatExactMoney(cost)}.`}{' '}
        Priced by the row <code>{book.entry}</code> of the book <code>{book.id}</code> of {book.as_of}, once, when the
        span arrived.
      </p>
      {saved !== undefined && <p>{explainSaved(saved, currency)}</p>}
      {notPriced.length > 0 && (
        <>
          <h3>Not priced</h3>
          <ul className={css['entries']}>
            {notPriced.map((part) => (
              <li key={part.meter + part.reason}>{explainNotPriced(part)}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
};

/** Tokens of a call, and its cost as a bill. */
export const UsageAndCost = ({ span, receipt }: { readonly span: Span; readonly receipt: CostReceipt | undefined }) => {
  const { usage, cost, model, provider } = span;
  const part = (count: number | undefined): string | undefined =>
    count === undefined ? undefined : formatCount(count);
  return (
    <div className={css['entries']}>
      <Facts
        facts={[
          ['Model', model],
          ['Provider', provider],
          ['Input tokens', formatCount(usage?.input_tokens)],
          ['… from cache', part(usage?.input_details?.cache_read)],
          ['… to cache', part(usage?.input_details?.cache_write)],
          ['Output tokens', formatCount(usage?.output_tokens)],
          ['… reasoning', part(usage?.output_details?.reasoning)],
          ['Cost', costText(cost)],
        ]}
      />
      {receipt !== undefined && <Receipt receipt={receipt} cost={cost} />}
    </div>
  );
};
