import type { Position } from './query.ts';
import { isSpanId, isTraceId } from './storable.ts';

// A position comes back from a client: one that no page ended at must find little, and fail nothing.

const WHOLE = /^-?\d{1,19}$/;

/** The time that a page ended at, in nanoseconds; zero for what is none. */
export const instantOf = (part: Position[number] | undefined): bigint => {
  const text = String(part);
  return WHOLE.test(text) ? BigInt.asIntN(64, BigInt(text)) : 0n;
};

/** Time and row that a page ended at, as a statement binds them. */
export const timeAndRow = (after: Position): readonly [bigint, number] => [instantOf(after[0]), Number(after[1])];

/** The name that a page ended at. */
export const nameAt = (after: Position): string => String(after[0] ?? '');

/** The trace and the span that a page ended at; ids that come before all others for what is none. */
export const traceIdAt = (part: Position[number] | undefined): string =>
  typeof part === 'string' && isTraceId(part) ? part : '0'.repeat(32);
export const spanIdAt = (part: Position[number] | undefined): string =>
  typeof part === 'string' && isSpanId(part) ? part : '';

const NUMBERS = 2 ** 31;
/** The project that a page ended at, where the engine numbers projects; zero, which no project has, for what is none. */
export const projectNumberAt = (part: Position[number] | undefined): number =>
  Number.isInteger(part) && Math.abs(Number(part)) < NUMBERS ? Number(part) : 0;
