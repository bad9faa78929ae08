import { withoutUnicodeEscapes } from './redact-escapes.ts';
import type { HashableIdentifier, KeyVerdict } from './redact-keys.ts';
import { createPieces } from './redact-pieces.ts';

/**
 * Redaction inside strings that hold JSON.
 *
 * The text is not parsed and written again: that would lose digits and repeated keys, would see nothing in JSON that was
 * cut off by a length limit or stands between other words, and could be made to recurse without end. It is scanned
 * once, in linear time, for what looks like a key (a quoted name before a colon), at every depth and at every level of
 * quoting: in JSON inside a JSON string the quotes are escaped, once more for each level, and this tells the level.
 */

/** Quoting level of a `"` before which `backslashes` stand: 0 for a plain quote, 1 for `\"`, 2 for `\\\"`, and so on. */
const levelOfQuote = (backslashes: number): number => {
  let level = 0;
  for (let count = backslashes; count % 2 === 1; count = (count - 1) / 2) level += 1;
  return level;
};

/** The backslashes that stand before a quote at a level. */
const escapesAt = (level: number): string => '\\'.repeat(2 ** level - 1);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = ':';

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
/** The letter of `\n`, `\r` and `\t`. */
const isSpaceLetter = (code: number): boolean => code === 0x6e || code === 0x72 || code === 0x74;
/** Where a number, `true`, `null` or any bare word ends. */
const endsWord = (code: number): boolean =>
  isSpace(code) || code === 0x2c || code === 0x7d || code === 0x5d || code === QUOTE || code === BACKSLASH;

const backslashesBefore = (text: string, at: number): number => {
  let count = 0;
  while (text.charCodeAt(at - 1 - count) === BACKSLASH) count += 1;
  return count;
};

/** Passes over blanks, and over `\n`, `\r` and `\t` as quoted JSON spells them, at any level. */
const skipSpace = (text: string, from: number): number => {
  let at = from;
  for (;;) {
    while (isSpace(text.charCodeAt(at))) at += 1;
    let next = at;
    while (text.charCodeAt(next) === BACKSLASH) next += 1;
    if (next === at || !isSpaceLetter(text.charCodeAt(next))) return at;
    at = next + 1;
  }
};

const skipSpaceBack = (text: string, before: number): number => {
  let at = before;
  for (;;) {
    while (isSpace(text.charCodeAt(at - 1))) at -= 1;
    if (!isSpaceLetter(text.charCodeAt(at - 1))) return at;
    const backslashes = backslashesBefore(text, at - 1);
    if (backslashes === 0) return at;
    at -= 1 + backslashes;
  }
};

/**
 * The end of a string that was opened at a level: past its closing quote, or before a quote that closes something
 * around it, or at the end of a text that was cut off.
 */
const endOfString = (text: string, from: number, level: number): number => {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    // A backslash before the string's first character belongs to the opening quote only in malformed text.
    const backslashes = Math.min(backslashesBefore(text, quote), quote - from);
    const found = levelOfQuote(backslashes);
    if (found === level) return quote + 1;
    if (found < level) return quote - (2 ** found - 1);
  }
  return text.length;
};

/** The end of an object or array, strings in it passed over whole. */
const endOfStructure = (text: string, from: number, level: number): number => {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const found = levelOfQuote(backslashesBefore(text, at));
      if (found < level) return at - (2 ** found - 1);
      at = endOfString(text, at + 1, found) - 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
      if (depth <= 0) return at + 1;
    }
  }
  return text.length;
};

const endOfWord = (text: string, from: number): number => {
  let at = from;
  while (at < text.length && !endsWord(text.charCodeAt(at))) at += 1;
  return at;
};

type Value = { readonly start: number; readonly end: number; readonly isQuoted: boolean };

/**
 * The value after a colon, with the quotes around it, or `undefined` when nothing stands there. An object or array is only
 * measured where it goes as a whole: measuring each of a nest from the outside in would take quadratic time.
 */
const valueAfter = (text: string, colon: number, level: number, scalarsOnly: boolean): Value | undefined => {
  const start = skipSpace(text, colon + 1);
  let quote = start;
  while (text.charCodeAt(quote) === BACKSLASH) quote += 1;
  if (text.charCodeAt(quote) === QUOTE) {
    const opened = levelOfQuote(quote - start);
    // A quote of an outer level closes what this stands in: the value was cut off before it began.
    if (opened < level) return undefined;
    return { start, end: endOfString(text, quote + 1, opened), isQuoted: true };
  }
  const code = text.charCodeAt(start);
  if (code === 0x7b || code === 0x5b)
    return scalarsOnly ? undefined : { start, end: endOfStructure(text, start, level), isQuoted: false };
  const end = endOfWord(text, start);
  return end === start ? undefined : { start, end, isQuoted: false };
};

/**
 * Builds the redactor of texts.
 * @returns the same string when nothing in it matches; else the string with `"[redacted]"`, or the hash, in place of the
 * values, quoted as deeply as their keys are
 */
export const createTextRedactor = (
  verdictOf: (key: string) => KeyVerdict,
  hashOf: (identifier: string) => string,
): ((text: string) => string) => {
  const replacement = (
    verdict: 'redact' | HashableIdentifier,
    text: string,
    value: Value,
    level: number,
  ): string | undefined => {
    const quote = `${escapesAt(level)}"`;
    if (verdict === 'redact') return `${quote}[redacted]${quote}`;
    const raw = value.isQuoted ? unquoted(text.slice(value.start, value.end)) : text.slice(value.start, value.end);
    if (raw === '' || raw === 'null' || raw === 'true' || raw === 'false') return undefined;
    return `${quote}${hashOf(raw)}${quote}`;
  };

  const scan = (text: string): string => {
    const pieces = createPieces();
    let copied = 0;
    for (let colon = text.indexOf(COLON); colon !== -1; ) {
      let next = colon + 1;
      const quote = skipSpaceBack(text, colon) - 1;
      if (quote > copied && text.charCodeAt(quote) === QUOTE) {
        const backslashes = backslashesBefore(text, quote);
        const opening = text.lastIndexOf('"', quote - 1);
        if (opening !== -1) {
          const key = text.slice(opening + 1, quote - backslashes);
          const verdict = verdictOf(key);
          if (verdict !== 'keep') {
            const level = levelOfQuote(backslashes);
            const value = valueAfter(text, colon, level, verdict !== 'redact');
            const replaced = value && replacement(verdict, text, value, level);
            if (value !== undefined && replaced !== undefined) {
              pieces.add(text.slice(copied, value.start));
              pieces.add(replaced);
              copied = value.end;
              next = value.end;
            }
          }
        }
      }
      colon = text.indexOf(COLON, next);
    }
    if (copied === 0) return text;
    pieces.add(text.slice(copied));
    return pieces.joined();
  };

  return (text) => {
    const plain = withoutUnicodeEscapes(text);
    // A key needs a quote; most strings have none.
    if (!plain.includes('"') || !plain.includes(COLON)) return text;
    const redacted = scan(plain);
    return redacted === plain ? text : redacted;
  };
};

/** The text of a quoted value, each level of quoting taken off. */
const unquoted = (quoted: string): string => {
  const opening = quoted.indexOf('"');
  const escapes = quoted.slice(0, opening);
  const closed = quoted.endsWith(`${escapes}"`) && quoted.length > opening + 1;
  let inner = quoted.slice(opening + 1, closed ? quoted.length - 1 - escapes.length : undefined);
  for (let level = levelOfQuote(opening); level >= 0; level -= 1) {
    try {
      inner = String(JSON.parse(`"${inner}"`));
    } catch {
      return inner;
    }
  }
  return inner;
};
