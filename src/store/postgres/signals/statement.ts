import type { Bound } from '../connection.ts';

/**
 * Whether PostgreSQL can hold a text, and so whether any signal can have it. What comes from paths, filters and cursors is asked here
 * first: U+0000 would fail the statement, and half a character would be sent as another one.
 */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** A trace id as the service spells it. */
export const hex = (column: string): string => `replace(${column}::text, '-', '')`;

/** Names the parameters of a statement while it is put together. */
export type Binding = {
  readonly values: Bound[];
  /** Binds a value. @returns its parameter, cast to the type */
  readonly bind: (value: Bound, type: string) => string;
};

/** @param values what the statement binds already */
export const binding = (...values: Bound[]): Binding => ({
  values,
  bind: (value, type) => {
    values.push(value);
    return `$${values.length}::${type}`;
  },
});
