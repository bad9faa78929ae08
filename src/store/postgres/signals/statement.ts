import type { Bound } from '../connection.ts';

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
