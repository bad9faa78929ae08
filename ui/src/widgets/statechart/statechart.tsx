import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { type Chart, openedAtFirst } from '../../model/statechart.ts';
import { Button } from '../button.tsx';
import { Skeleton } from '../states.tsx';
import type { Marks } from './marks.ts';
import css from './statechart.module.css';

const Canvas = lazy(() => import('./canvas.tsx'));

const NO_MARKS: Marks = {};

type StatechartProps = {
  /** What it is the chart of: the name of the figure. */
  readonly name: string;
  readonly chart: Chart;
  readonly marks?: Marks;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
};

/** An interactive statechart. Its twin in words is `<Transitions>`. */
export const Statechart = ({ name, chart, marks = NO_MARKS, selected, onSelect }: StatechartProps) => {
  const atFirst = useMemo(() => openedAtFirst(chart), [chart]);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const opened = useMemo(() => {
    const next = new Set(atFirst);
    for (const id of toggled)
      if (next.has(id)) next.delete(id);
      else next.add(id);
    return next;
  }, [atFirst, toggled]);
  const compound = useMemo(
    () => chart.states.filter(({ kind }) => kind === 'compound' || kind === 'parallel'),
    [chart],
  );
  const onToggle = useCallback(
    (id: string) =>
      setToggled((before) => {
        const next = new Set(before);
        if (next.has(id)) next.delete(id);
        else next.add(id);
        return next;
      }),
    [],
  );
  const chosen = compound.find(({ id }) => id === selected);
  const isAllOpen = compound.every(({ id }) => opened.has(id));
  const openAll = (): void =>
    setToggled(new Set(isAllOpen ? [] : compound.flatMap(({ id }) => (atFirst.has(id) ? [] : [id]))));
  return (
    <figure aria-label={name} className={css['figure']}>
      <Suspense fallback={<Skeleton what="the statechart" />}>
        <Canvas
          chart={chart}
          opened={opened}
          marks={marks}
          selected={selected}
          onSelect={onSelect}
          onToggle={onToggle}
        />
      </Suspense>
      {compound.length > 1 && (
        <figcaption className={css['caption']}>
          {chosen !== undefined && (
            <Button onClick={() => onToggle(chosen.id)}>
              {opened.has(chosen.id) ? `Close ${chosen.key}` : `Look inside ${chosen.key}`}
            </Button>
          )}
          {(!isAllOpen || toggled.size > 0) && (
            <Button onClick={openAll}>{isAllOpen ? 'Close the inner states' : 'Open all states'}</Button>
          )}
        </figcaption>
      )}
    </figure>
  );
};

const MAX_ROWS = 400;

/** All transitions as a table: the chart for those who read, and for those who look something up. */
export const Transitions = ({
  chart,
  selected,
  onSelect,
}: {
  readonly chart: Chart;
  /** Only what leaves or enters this state, or one inside it. */
  readonly selected?: string | undefined;
  readonly onSelect: (id: string) => void;
}) => {
  const isNear = (id: string | undefined): boolean =>
    selected === undefined || id === selected || id?.startsWith(`${selected}.`) === true;
  const rows = chart.transitions.filter(({ from, to }) => isNear(from) || (to !== undefined && isNear(to)));
  const name = (id: string) =>
    id === '' ? (
      'any state'
    ) : (
      <button type="button" className={css['name']} onClick={() => onSelect(id)}>
        {id.replaceAll('.', ' › ')}
      </button>
    );
  return (
    <div className={css['transitions']} role="region" aria-label="Transitions, scrolls" tabIndex={0}>
      <table aria-label="Transitions">
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Event</th>
            <th scope="col">Guard</th>
            <th scope="col">To</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map(({ id, from, to, event, guard, description, actions }) => (
            <tr key={id}>
              <td role="rowheader">{name(from)}</td>
              <td>
                <code>{event}</code>
              </td>
              <td>{guard ?? ''}</td>
              <td>{to === undefined ? (description ?? 'stays') : name(to)}</td>
              <td>{actions.join(', ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && (
        <p className={css['more']}>
          The first {MAX_ROWS} of {rows.length}. Select a state to see its own.
        </p>
      )}
    </div>
  );
};
