import type { FastifyRequest } from 'fastify';
import type { Page, Paging } from '../../store/signals/query.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import type { Listing } from './listing.ts';

/** Rows of one read, at the most: what a store is asked for at once. */
const PAGE_ROWS = 1000;
/** A read ends with the row that brings it to so many bytes. */
const PIECE_BYTES = 1024 * 1024;
/** What a list that is read in pieces holds: rows as they crossed from their thread, as objects, and as JSON. */
const IN_PIECES_BYTES = 4 * PIECE_BYTES;

type Read<T, P extends Partial<Paging> & Pick<Paging, 'limit'>> = (paging: P) => Promise<Page<T>>;

/**
 * The rows of a list up to its limit, read on as they are written, so that few of them are held, however large they are.
 * @param atEnd is given the last page, once nothing more is read
 * @param first the first page, where it was read before
 */
export async function* readOn<T, P extends Partial<Paging> & Pick<Paging, 'limit'>>(
  read: Read<T, P>,
  paging: P,
  toWire: (row: T) => object,
  atEnd: (last: Page<T>) => void,
  first?: Page<T>,
): AsyncGenerator<object> {
  let left = paging.limit;
  let page = first;
  let { after } = paging;
  for (;;) {
    page ??= await read({
      ...paging,
      limit: Math.min(left, PAGE_ROWS),
      maxBytes: PIECE_BYTES,
      ...(after === undefined ? {} : { after }),
    });
    for (const row of page.items) yield toWire(row);
    left -= page.items.length;
    after = page.next;
    if (after === undefined || left <= 0) {
      atEnd(page);
      return;
    }
    page = undefined;
  }
}

/**
 * The rows of a list: at once where they are small, else read on while they are written.
 * @returns the rows, and the page that was read last, which is known once they are written
 */
export const listRows = async <T, P extends Partial<Paging> & Pick<Paging, 'limit'>>(
  { answer }: Pick<FastifyRequest, 'answer'>,
  paging: P,
  read: Read<T, P>,
  toWire: (row: T) => object,
): Promise<{ readonly rows: Iterable<object> | AsyncIterable<object>; readonly last: () => Page<T> }> => {
  let last = await read({ ...paging, maxBytes: PIECE_BYTES });
  if (last.next === undefined || last.items.length >= paging.limit)
    return { rows: mapLazily(last.items, toWire), last: () => last };
  answer.expect(IN_PIECES_BYTES);
  const atEnd = (page: Page<T>): void => {
    last = page;
  };
  return { rows: readOn(read, paging, toWire, atEnd, last), last: () => last };
};

/** The answer of a list. */
export const listed = async <T, P extends Partial<Paging> & Pick<Paging, 'limit'>>(
  request: Pick<FastifyRequest, 'answer'>,
  name: string,
  { paging, cursorAfter }: { readonly paging: P; readonly cursorAfter: Listing['cursorAfter'] },
  read: Read<T, P>,
  toWire: (row: T) => object,
): Promise<object> => {
  const { rows, last } = await listRows(request, paging, read, toWire);
  return { [name]: rows, next_cursor: () => cursorAfter(last()) };
};
