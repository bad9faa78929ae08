import type { ReactNode } from 'react';
import { formatCount, plural } from '../model/units.ts';
import { Button } from './button.tsx';
import css from './listed.module.css';
import type { Paged } from './paged.ts';

/** The rows of a list that the filters leave, and how many of those that were read they are. */
export const Listed = <Row,>({
  what,
  rows,
  listed,
  paged,
  order,
  fills = false,
  onClear,
  children,
}: {
  readonly what: string;
  readonly rows: readonly Row[];
  readonly listed: readonly Row[];
  /** Where the rows come from. */
  readonly paged: Pick<Paged<Row>, 'hasMore' | 'more'>;
  readonly order?: string;
  /** The list is all of its page, and takes its height. */
  readonly fills?: boolean;
  readonly onClear: () => void;
  readonly children: (listed: readonly Row[], foot: string) => ReactNode;
}) => {
  const { hasMore } = paged;
  const of = listed.length < rows.length ? ` of ${formatCount(rows.length)} read` : '';
  if (listed.length === 0)
    return (
      <p className={css['none']}>
        The filters leave none of {plural(rows.length, what)}
        {hasMore && ' read so far'}. <Button onClick={onClear}>Clear all filters</Button>{' '}
        {hasMore && <Button onClick={paged.more}>Read more</Button>}
      </p>
    );
  return (
    <div className={css[fills ? 'whole' : 'list']}>
      {children(
        listed,
        `${plural(listed.length, what)}${of} shown${order === undefined ? '' : `, ${order}`}${hasMore ? '; scroll for more' : ''}`,
      )}
    </div>
  );
};
