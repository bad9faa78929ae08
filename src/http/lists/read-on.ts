import type { Page, Paging } from '../../store/signals/query.ts';

/** Rows of one read, at the most: what a store is asked for at once. */
const PAGE_ROWS = 1000;

type Read<T> = (paging: Paging) => Promise<Page<T>>;

/**
 * The rows of a list up to its limit, read page by page as they are written.
 * @param atEnd is given the last page, once nothing more is read
 */
export async function* readOn<T>(
  read: Read<T>,
  paging: Paging,
  toWire: (row: T) => object,
  atEnd: (last: Page<T>) => void,
): AsyncGenerator<object> {
  let left = paging.limit;
  let { after } = paging;
  for (;;) {
    const page = await read({ ...paging, limit: Math.min(left, PAGE_ROWS), ...(after === undefined ? {} : { after }) });
    for (const row of page.items) yield toWire(row);
    left -= page.items.length;
    after = page.next;
    if (after === undefined || left <= 0) {
      atEnd(page);
      return;
    }
  }
}
