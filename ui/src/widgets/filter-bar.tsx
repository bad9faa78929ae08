import { X } from 'lucide-react';
import { type SubmitEvent, useId, useRef, useState } from 'react';
import { Button } from './button.tsx';
import css from './filter-bar.module.css';
import { focusGroup } from './focus-group.ts';

export type Filter = { readonly name: string; readonly value: string };

type FilterBarProps = {
  /** Filters that hold, in their order; not the text that is searched for. */
  readonly active: readonly Filter[];
  /** Names to choose from. */
  readonly names: readonly string[];
  readonly choices: Partial<Readonly<Record<string, readonly string[]>>>;
  readonly onSet: (name: string, value: string | undefined) => void;
  readonly onClear: () => void;
  /** The full-text search, where the list has one. */
  readonly search?: { readonly value: string; readonly onSearch: (text: string) => void; readonly hint: string };
};

/** Filters of a list by the names of the API: add one, or take one off. */
export const FilterBar = ({ active, names, choices, onSet, onClear, search }: FilterBarProps) => {
  const [name, setName] = useState(names[0] ?? '');
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const words = choices[name];
  const add = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const value = new FormData(form).get('value');
    if (typeof value === 'string' && value.trim() !== '') onSet(name, value.trim());
    form.reset();
  };
  const find = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    search?.onSearch(input.current?.value.trim() ?? '');
  };
  return (
    <div role="group" aria-label="Filters" tabIndex={-1} className={css['bar']}>
      {search !== undefined && (
        <form onSubmit={find} className={css['search']}>
          <input
            key={search.value}
            ref={input}
            type="search"
            aria-label="Search"
            placeholder={search.hint}
            defaultValue={search.value}
            onBlur={(event) => {
              if (event.target.value.trim() !== search.value) search.onSearch(event.target.value.trim());
            }}
          />
        </form>
      )}
      {active.map((filter) => (
        <Button
          key={filter.name}
          className={css['chip']}
          aria-label={`Remove filter ${filter.name} ${filter.value}`}
          title={`Remove filter ${filter.name}`}
          onClick={(event) => {
            focusGroup(event);
            onSet(filter.name, undefined);
          }}
        >
          <span>
            {filter.name} <b>{filter.value}</b>
          </span>
          <X size={12} aria-hidden />
        </Button>
      ))}
      {active.length > 1 && (
        <Button
          look="plain"
          onClick={(event) => {
            focusGroup(event);
            onClear();
          }}
        >
          Clear all
        </Button>
      )}
      <form onSubmit={add} className={css['add']}>
        <select aria-label="Filter by" value={name} onChange={(event) => setName(event.target.value)}>
          {names.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <input
          name="value"
          aria-label="Value"
          list={words === undefined ? undefined : id}
          placeholder={words?.join(', ') ?? 'value'}
          size={12}
          autoComplete="off"
        />
        {words !== undefined && (
          <datalist id={id}>
            {words.map((word) => (
              <option key={word} value={word} />
            ))}
          </datalist>
        )}
        <Button type="submit">Add filter</Button>
      </form>
    </div>
  );
};
