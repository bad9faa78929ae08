import { randomUUID } from 'node:crypto';

/** Shorter ones are safe. */
const LONG_INTEGER = /\d{16}/;
/** The strings and the numbers of a text that is JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const INTEGER = /^-?\d+$/;

/**
 * Reads JSON without losing a digit: an integer beyond 2^53 is a bigint, any other number a number.
 * @throws SyntaxError on what is not JSON
 */
export const parseExactly = (text: string): unknown => {
  const parsed: unknown = JSON.parse(text);
  if (!LONG_INTEGER.test(text)) return parsed;
  // Nobody who wrote the text can have known it.
  const mark = `${randomUUID()}:`;
  let isMarked = false;
  const marked = text.replace(TOKENS, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    isMarked = true;
    return `"${mark}${token}"`;
  });
  if (!isMarked) return parsed;
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

const writeBigints = (value: unknown): string => {
  const mark = `${randomUUID()}:`;
  let isMarked = false;
  const text = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== 'bigint') return member;
    isMarked = true;
    return mark + member;
  });
  return isMarked ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : text;
};

/**
 * Writes JSON; a bigint becomes an integer.
 * @throws TypeError on a value that contains itself
 */
export const writeExactly = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    // A bigint is what it refuses; whatever else it was is thrown again.
    return writeBigints(value);
  }
};
