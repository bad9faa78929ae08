import { createHash } from 'node:crypto';

const MARK_CHARACTERS = 12;

/** Stands for a list and its filters: a cursor names its place and the list it was made by; with another it is refused. */
export const listMark = (list: string, filters: readonly unknown[]): string =>
  createHash('sha256')
    .update(JSON.stringify([list, ...filters.map((filter) => filter ?? null)]))
    .digest('base64url')
    .slice(0, MARK_CHARACTERS);

/** Where a page of the list ended, as text. */
export const writeCursor = (mark: string, place: readonly string[]): string =>
  Buffer.from(JSON.stringify([mark, ...place])).toString('base64url');

/** @returns the place; `undefined` for anything but a cursor that this list wrote with these filters */
export const readCursor = (cursor: string, mark: string): readonly string[] | undefined => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(parsed) || parsed[0] !== mark || !parsed.every((part) => typeof part === 'string'))
      return undefined;
    return parsed.slice(1);
  } catch {
    return undefined;
  }
};
