import css from './data-table.module.css';
import type { Column } from './data-table.tsx';

/** A short table in the flow of a page, drawn completely. Long lists are a `DataTable`. */
export const PlainTable = <Row,>({
  name,
  columns,
  rows,
  idOf,
}: {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
}) => (
  <div className={css['plain']} role="region" aria-label={`${name}, scrolls`} tabIndex={0}>
    <table className={css['table']} aria-label={name}>
      <thead>
        <tr>
          {columns.map(({ id, head, isNumber }) => (
            <th key={id} scope="col" className={isNumber === true ? css['number'] : undefined}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={idOf(row)}>
            {columns.map(({ id, cell, isNumber }, at) => (
              <td
                key={id}
                role={at === 0 ? 'rowheader' : undefined}
                className={isNumber === true ? css['number'] : undefined}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
