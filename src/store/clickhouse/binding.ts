import { TupleParam } from '@clickhouse/client';
import type { Params } from './connection.ts';

/** Names the parameters of a statement while it is put together. */
export type Binding = {
  readonly params: Params;
  /** Binds a value. @returns its parameter, as a statement names it. @param type of ClickHouse */
  readonly bind: (value: unknown, type: string) => string;
};

/** @param prefix of the names: statements that are put together of two bindings need two */
export const binding = (prefix = 'p'): Binding => {
  const params: Record<string, unknown> = {};
  let count = 0;
  return {
    params,
    bind: (value, type) => {
      const name = `${prefix}${(count += 1)}`;
      params[name] = value;
      return `{${name}:${type}}`;
    },
  };
};

/** Keys of several columns, to be bound as an array of tuples. */
export const tuples = (keys: readonly (readonly unknown[])[]): TupleParam[] =>
  keys.map((key) => new TupleParam([...key]));
