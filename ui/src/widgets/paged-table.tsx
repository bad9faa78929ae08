import { useState } from 'react';
import { formatCount, plural } from '../model/units.ts';
import { Button } from './button.tsx';
import { PlainTable } from './plain-table.tsx';

const PAGE_ROWS = 100;

type PagedTableProps<Row> = Parameters<typeof PlainTable<Row>>[0];

/** A table in the flow of a page that may be long: a page of it, and more when somebody asks. */
export const PagedTable = <Row,>({ rows, ...table }: PagedTableProps<Row>) => {
  const [pages, setPages] = useState(1);
  const shown = rows.slice(0, pages * PAGE_ROWS);
  return (
    <>
      <PlainTable {...table} rows={shown} />
      {shown.length < rows.length && (
        <p>
          {formatCount(shown.length)} of {plural(rows.length, 'row')} shown.{' '}
          <Button aria-label={`More of ${table.name}`} onClick={() => setPages((before) => before + 1)}>
            More
          </Button>
        </p>
      )}
    </>
  );
};
