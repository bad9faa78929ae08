import type { FastifyRequest } from 'fastify';
import type { Page, Paging } from '../../store/signals/query.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { type Listing, pageBody } from './listing.ts';

/** Rows of one read, at the most: what a store is asked for at once. */
const PAGE_ROWS = 1000;
/** A read ends with the row that brings it to so many bytes. */
export const PIECE_BYTES = 1024 * 1024;
/** What a list that is read in pieces holds: rows as they crossed from their thread, as objects, and as JSON. */
export const IN_PIECES_BYTES = 4 * PIECE_BYTES;

type Read<T, P extends Pick<Paging, 'limit' | 'after' | 'maxBytes'>> = (paging: P) => Promise<Page<T>>;

/**
 * The rows of a list up to its limit, read on as they are written, so that few of them are held, however large they are.
 * @param atEnd is given the last page, once nothing more is read
 * @param first the first page, where it was read before
 */
export async function* readOn<T, P extends Pick<Paging, 'limit' | 'after' | 'maxBytes'>>(
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

/** A list's answer: at once where its rows are small, else read on while it is written. */
export const listed = async <T, P extends Pick<Paging, 'limit' | 'after' | 'maxBytes'>>(
  { answer }: Pick<FastifyRequest, 'answer'>,
  name: string,
  { paging, cursorAfter }: { readonly paging: P; readonly cursorAfter: Listing['cursorAfter'] },
  read: Read<T, P>,
  toWire: (row: T) => object,
): Promise<object> => {
  const first = await read({ ...paging, maxBytes: PIECE_BYTES });
  if (first.next === undefined || first.items.length >= paging.limit)
    return pageBody(name, mapLazily(first.items, toWire), cursorAfter(first));
  answer.expect(IN_PIECES_BYTES);
  let last = first;
  const rows = readOn(
    read,
    paging,
    toWire,
    (page) => {
      last = page;
    },
    first,
  );
  return { [name]: rows, next_cursor: () => cursorAfter(last) };
};
