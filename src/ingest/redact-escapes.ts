import { createPieces } from './redact-pieces.ts';

/**
 * Characters for their `\u` escapes, so that a key cannot hide behind them. An escape may itself be written in escapes
 * (`\u0075` for the `u` of another), so this goes on in passes. Only the first looks at all of the text: an escape that a later one
 * finds holds something that the pass before it wrote.
 */

/** A longer run of backslashes is no nesting that anybody writes. */
const MAX_BACKSLASHES = 255;

/** Nobody writes an escape in escapes more often than this. */
const MAX_PASSES = 8;

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const QUOTE = 0x22;
const HEX_DIGITS = 4;

/** The value of a hex digit; -1 for any other code. */
const hexValue = (code: number): number => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

/** Controls and surrogates stay escaped: a name cannot hide behind them. */
const staysEscaped = (code: number): boolean => code < 0x20 || (code >= 0xd800 && code <= 0xdfff);

/** An escape, from the last of its backslashes. Where many backslashes stand it is found much sooner than by `indexOf`. */
const ESCAPE = /\\u(?!00[01]|[dD][89a-fA-F])[0-9a-fA-F]{4}/g;

/** The backslashes before `at`; of more than are admitted, one more than those. */
const backslashesBefore = (text: string, at: number): number => {
  let count = 0;
  while (count <= MAX_BACKSLASHES && text.charCodeAt(at - 1 - count) === BACKSLASH) count += 1;
  return count;
};

/** The code that the four hex digits behind a `u` give; -1 where it is no escape that is undone. */
const codeOfEscape = (text: string, letter: number): number => {
  let code = 0;
  for (let digit = letter + 1; digit <= letter + HEX_DIGITS; digit += 1) {
    const value = hexValue(text.charCodeAt(digit));
    if (value === -1) return -1;
    code = code * 16 + value;
  }
  return staysEscaped(code) ? -1 : code;
};

/** What a `\uXXXX` behind a run of backslashes says, spelt without it: in JSON the two are the same. */
const spelt = (backslashes: number, code: number): string => {
  if (backslashes === 1 && code !== BACKSLASH && code !== QUOTE) return String.fromCharCode(code);
  let odd = backslashes;
  let levels = 0;
  for (; odd % 2 === 0; odd /= 2) levels += 1;
  // Each string around doubles the backslashes, and escapes the quote, of what the string inside says.
  if (code === BACKSLASH) return '\\'.repeat((odd + 1) * 2 ** levels);
  return code === QUOTE
    ? `${'\\'.repeat((odd + 1) * 2 ** levels - 1)}"`
    : '\\'.repeat((odd - 1) * 2 ** levels) + String.fromCharCode(code);
};

/** Where characters stand that a pass wrote and that may belong to another escape, in ascending order. */
type Written = readonly number[];

/** Collects what a pass writes for the escapes of a text. */
const createPass = (text: string) => {
  const pieces = createPieces();
  const written: number[] = [];
  let copied = 0;
  return {
    /**
     * Undoes an escape, where one stands.
     * @param letter where its `u` stands, behind that of the escape before it
     * @param backslashes how many stand before that
     */
    undo: (letter: number, backslashes: number): void => {
      if (backslashes < 1 || backslashes > MAX_BACKSLASHES) return;
      const code = codeOfEscape(text, letter);
      if (code === -1) return;
      if (letter - backslashes > copied) pieces.add(text.slice(copied, letter - backslashes));
      pieces.add(spelt(backslashes, code));
      copied = letter + 1 + HEX_DIGITS;
      if (code === BACKSLASH || code === LETTER_U || hexValue(code) !== -1) written.push(pieces.length() - 1);
    },
    /** `undefined` where it found no escape. */
    result: (): { readonly text: string; readonly written: Written } | undefined => {
      if (copied === 0) return undefined;
      pieces.add(text.slice(copied));
      return { text: pieces.joined(), written };
    },
  };
};

/** Undoes the escapes of a text. */
const firstPass = (text: string) => {
  const pass = createPass(text);
  for (ESCAPE.lastIndex = 0; ESCAPE.test(text); ) {
    const letter = ESCAPE.lastIndex - 1 - HEX_DIGITS;
    pass.undo(letter, backslashesBefore(text, letter));
  }
  return pass.result();
};

/** Undoes those that hold something which the pass before wrote. */
const laterPass = (text: string, written: Written) => {
  const pass = createPass(text);
  let runEnd = 0;
  let last = -1;
  for (const at of written) {
    let letter = at;
    if (text.charCodeAt(at) === BACKSLASH) {
      if (at < runEnd) continue; // a run is walked once, however many of its backslashes are new
      for (runEnd = at + 1; text.charCodeAt(runEnd) === BACKSLASH; ) runEnd += 1;
      letter = runEnd;
    } else {
      while (letter > at - HEX_DIGITS && hexValue(text.charCodeAt(letter)) !== -1) letter -= 1;
    }
    if (letter === last || text.charCodeAt(letter) !== LETTER_U) continue;
    last = letter;
    pass.undo(letter, backslashesBefore(text, letter));
  }
  return pass.result();
};

/** Writes characters for `\u` escapes, at every level of quoting, in time linear in the text. */
export const withoutUnicodeEscapes = (text: string): string => {
  if (!text.includes('\\')) return text;
  let plain = text;
  let next = firstPass(text);
  for (let pass = 1; next !== undefined; pass += 1) {
    plain = next.text;
    next = pass < MAX_PASSES ? laterPass(plain, next.written) : undefined;
  }
  return plain;
};
