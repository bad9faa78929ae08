import type { Page } from './runs-service.ts';

/**
 * One page of a list.
 * @param items what the store gave for one more than `limit`: the last of them says only that a page follows
 */
export const page = <T>(items: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> => {
  const last = items[limit - 1];
  return items.length > limit && last !== undefined
    ? { items: items.slice(0, limit), nextCursor: cursorOf(last) }
    : { items };
};
