import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import css from './filters.module.css';
import { focusGroup } from './focus-group.ts';

export { css as filtersCss };

type Active = { readonly name: string; readonly value: string; readonly onRemove: () => void };

/** The filters of a list: how they are set, and each one that is, as a button that removes it. */
export const Filters = ({ children, active }: { readonly children: ReactNode; readonly active: readonly Active[] }) => (
  <div role="group" aria-label="Filters" tabIndex={-1} className={css['filters']}>
    {children}
    {active.map(({ name, value, onRemove }) => (
      <Button
        key={name}
        aria-label={`Remove filter ${name} ${value}`}
        onClick={(event) => {
          focusGroup(event);
          onRemove();
        }}
      >
        {name} {value} <X size={12} aria-hidden />
      </Button>
    ))}
  </div>
);

/** One choice of few; nothing is all of them. */
export const FilterSelect = <T extends string>({
  name,
  value,
  words,
  onChoose,
}: {
  readonly name: string;
  readonly value: T | undefined;
  readonly words: readonly T[];
  readonly onChoose: (word: T | undefined) => void;
}) => (
  <label className={css['field']}>
    {name}
    <select value={value ?? ''} onChange={({ target }) => onChoose(words.find((word) => word === target.value))}>
      <option value="">any</option>
      {words.map((word) => (
        <option key={word} value={word}>
          {word}
        </option>
      ))}
    </select>
  </label>
);
