import { instantOf } from './position.ts';
import type { Position, RollUpSort } from './query.ts';

/** What an order of sessions or users compares; null of one without a cost. Such ones come last in both directions. */
export type RollUpKey = bigint | number | null;

/** Stands in a position for "no cost". */
const NO_KEY = '';

/** The key in a position, which comes back from a client, who may have made it up. */
export const rollUpKeyAt = (sort: RollUpSort, part: Position[number] | undefined): RollUpKey => {
  if (sort !== 'cost') return instantOf(part);
  const cost = part === NO_KEY ? Number.NaN : Number(part);
  return Number.isNaN(cost) ? null : cost;
};

/** @param identity what tells those with the same key apart */
export const rollUpPosition = (key: RollUpKey, ...identity: Position): Position => [
  key === null ? NO_KEY : typeof key === 'bigint' ? key.toString() : key,
  ...identity,
];
