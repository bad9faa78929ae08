import { createHash } from 'node:crypto';
import { Refusal } from '../../model/failure.ts';
import type { UnixNano } from '../../model/time.ts';
import type { Position } from '../../store/signals/query.ts';

/** Where a list goes on, and the moment that its relative times were counted from. */
export type Continuation = { readonly position: Position; readonly now: UnixNano };

const DIGEST_CHARACTERS = 16;

/** What a cursor is bound to: the operation, who may see what, and every parameter but the paging itself. */
export type CursorBinding = {
  readonly operation: string;
  readonly projects: unknown;
  readonly query: Readonly<Record<string, unknown>>;
};

const digestOf = (binding: CursorBinding, now: string, position: Position): string => {
  const filters = Object.entries(binding.query)
    .filter(([name, value]) => name !== 'cursor' && name !== 'limit' && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([binding.operation, binding.projects, filters, now, position]);
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARACTERS);
};

/**
 * Writes where a page ended as an opaque text. The digest binds it to its filters and guards it against damage; it is no
 * secret, because what a cursor can reach is decided anew by every request.
 */
export const writeCursor = (binding: CursorBinding, { position, now }: Continuation): string => {
  const moment = now.toString();
  return Buffer.from(JSON.stringify([digestOf(binding, moment, position), moment, position])).toString('base64url');
};

/**
 * Reads a cursor back.
 * @throws Refusal `invalid_parameter` on `cursor` for anything but a cursor that was made with the same filters
 * @see Interface decisions, "1. Conventions"
 */
export const readCursor = (binding: CursorBinding, cursor: string): Continuation => {
  const refusal = new Refusal({
    code: 'invalid_parameter',
    message: '`cursor` was not made by this list with these filters; leave it out to start at the first page',
    field: 'cursor',
  });
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw refusal;
  }
  if (!Array.isArray(parsed) || parsed.length !== 3) throw refusal;
  const [digest, now, position] = parsed as unknown[];
  if (typeof now !== 'string' || !/^\d{1,19}$/.test(now) || !Array.isArray(position)) throw refusal;
  if (!position.every((part) => typeof part === 'string' || typeof part === 'number')) throw refusal;
  if (digest !== digestOf(binding, now, position)) throw refusal;
  return { position, now: BigInt(now) };
};
