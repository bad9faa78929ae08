import type { Column } from '../../widgets/data-table.tsx';
import css from './traces.module.css';

/** Which columns the list shows; its first is always there. @param shown all of them where nothing was chosen */
export const ColumnChoice = <Row,>({
  columns: [, ...columns],
  shown,
  onChoose,
}: {
  readonly columns: readonly Column<Row>[];
  readonly shown: readonly string[] | undefined;
  readonly onChoose: (shown: readonly string[] | undefined) => void;
}) => {
  const ids = columns.map(({ id }) => id);
  const chosen = shown ?? ids;
  const toggle = (id: string): void => {
    const next = ids.filter((one) => (one === id ? !chosen.includes(id) : chosen.includes(one)));
    // An address without columns means all of them, so a choice of none cannot be told from it.
    onChoose(next.length === ids.length || next.length === 0 ? undefined : next);
  };
  return (
    <details className={css['more']}>
      <summary>Columns</summary>
      <fieldset className={css['choices']}>
        <legend className="visually-hidden">Columns</legend>
        {columns.map(({ id, head }) => (
          <label key={id}>
            <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
            {head}
          </label>
        ))}
      </fieldset>
    </details>
  );
};
