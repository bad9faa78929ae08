import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { MAX_CHOSEN, toggled } from '../model/selection.ts';
import { plural } from '../model/units.ts';
import { Button } from './button.tsx';
import css from './selection.module.css';

const NONE: ReadonlySet<string> = new Set();

export type Selection = {
  readonly chosen: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
  readonly clear: () => void;
};

/** The rows of a list that somebody chose. @param key of the list: other filters are another list, of which nothing is chosen */
export const useSelection = (key: string): Selection => {
  const [held, setHeld] = useState({ key, ids: NONE });
  const toggle = useCallback(
    (id: string) => setHeld((before) => ({ key, ids: toggled(before.key === key ? before.ids : NONE, id) })),
    [key],
  );
  const clear = useCallback(() => setHeld({ key, ids: NONE }), [key]);
  const chosen = held.key === key ? held.ids : NONE;
  return useMemo(() => ({ chosen, toggle, clear }), [chosen, toggle, clear]);
};

/** What is chosen, and what can be done with it. Nothing while nothing is chosen. */
export const SelectionBar = ({
  selection: { chosen, clear },
  what,
  children,
}: {
  readonly selection: Selection;
  /** One row: `trace`. */
  readonly what: string;
  readonly children: ReactNode;
}) =>
  chosen.size === 0 ? null : (
    <section aria-label="Selection" className={css['bar']}>
      <span role="status">
        {plural(chosen.size, what)} selected{chosen.size === MAX_CHOSEN && ', the most there can be'}
      </span>
      {children}
      <Button look="plain" onClick={clear}>
        Clear selection
      </Button>
    </section>
  );
