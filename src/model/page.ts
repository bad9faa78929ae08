/** Where a page ended: the sort key of its last row and that row's identity. Opaque to callers, who only hand it back. */
export type Position = readonly (string | number)[];

/** One page of a list. `next` is absent on the last page. Rows inserted between pages neither shift nor repeat older rows. */
export type Page<T> = { readonly items: readonly T[]; readonly next?: Position };

/**
 * Makes a page.
 * @param items up to one more than `limit`: the extra one only shows that another page follows
 */
export const pageOf = <T>(items: readonly T[], limit: number, positionOf: (last: T) => Position): Page<T> => {
  const last = items[limit - 1];
  return items.length > limit && last !== undefined
    ? { items: items.slice(0, limit), next: positionOf(last) }
    : { items };
};
