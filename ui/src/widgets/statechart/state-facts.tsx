import type { ReactNode } from 'react';
import type { Chart } from '../../model/statechart.ts';
import { formatCount } from '../../model/units.ts';
import { Button } from '../button.tsx';
import css from './state-facts.module.css';

/** What a selected state is. */
export const StateFacts = ({
  chart,
  selected,
  onSelect,
  children,
}: {
  readonly chart: Chart;
  readonly selected: string;
  readonly onSelect: (id: string | undefined) => void;
  readonly children?: ReactNode;
}) => {
  const state = chart.states.find(({ id }) => id === selected);
  if (state === undefined) return null;
  const facts: readonly (readonly [string, string])[] = [
    ['Step', state.stepKind?.replaceAll('_', ' ') ?? ''],
    ['When entered', state.entry.join(', ')],
    ['When left', state.exit.join(', ')],
  ];
  return (
    <div className={css['facts']}>
      <div className={css['head']}>
        <h2>{state.id.replaceAll('.', ' › ')}</h2>
        <Button look="plain" onClick={() => onSelect(undefined)}>
          Show all
        </Button>
      </div>
      {state.description !== undefined && <p>{state.description}</p>}
      <dl>
        {facts
          .filter(([, text]) => text !== '')
          .map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
      {children}
    </div>
  );
};

/** The states of a chart, each with how many are in it: the picture in words. */
export const StateList = ({
  chart,
  counts,
  onSelect,
}: {
  readonly chart: Chart;
  readonly counts?: ReadonlyMap<string, number> | undefined;
  readonly onSelect: (id: string) => void;
}) => (
  <ul className={css['states']} aria-label="States">
    {chart.states.map(({ id, key, depth, kind }) => (
      <li key={id} style={{ paddingLeft: depth * 16 }}>
        <button type="button" onClick={() => onSelect(id)}>
          {key}
        </button>
        <span>{kind === 'atomic' ? '' : kind}</span>
        <b>{formatCount(counts?.get(id)) === '0' || counts === undefined ? '' : formatCount(counts.get(id))}</b>
      </li>
    ))}
  </ul>
);
