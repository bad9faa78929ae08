import { RE2JS } from 're2js';
import type { Parsed } from '../template.ts';

/** Bounds of one regular expression, in instructions of its program. */
export const patternBounds = { instructions: 2000, repeats: 1000 } as const;

/** A regular expression that is tested in time that is linear in the text. */
export type Pattern = {
  readonly test: (text: string) => boolean;
  /** Instructions of its program: what a character may cost. */
  readonly instructions: number;
  /** What it takes to compile it, in instructions. */
  readonly size: number;
};

/** A property of Unicode is hundreds of ranges, which take their time where it is repeated, and where a class is made of many. */
const PROPERTY_INSTRUCTIONS = 8;
const isProperty = (escape: string): boolean => /^\\p/i.test(escape);

const PROPERTIES = /\\p\{/gi;

class Unsupported extends Error {}
const tooLarge = (): Unsupported => new Unsupported(`a size of more than ${patternBounds.instructions} instructions`);

const codePoint = (hex: string): string => `\\x{${hex}}`;
/** What ECMA-262 calls white space and line ends; RE2 knows the ASCII ones alone. */
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NO_SPACES = String.raw`\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const ANY_BUT_LINE_END = String.raw`[^\n\r\x{2028}\x{2029}]`;
const NOTHING = String.raw`[^\x{0}-\x{10ffff}]`;

/** Names of general categories that RE2 knows by their short ones. @see https://www.unicode.org/Public/UCD/latest/ucd/PropertyValueAliases.txt */
const categories: ReadonlyMap<string, string> = new Map([
  ['Letter', 'L'],
  ['Lowercase_Letter', 'Ll'],
  ['Uppercase_Letter', 'Lu'],
  ['Mark', 'M'],
  ['Number', 'N'],
  ['Decimal_Number', 'Nd'],
  ['digit', 'Nd'],
  ['Punctuation', 'P'],
  ['punct', 'P'],
  ['Separator', 'Z'],
  ['Symbol', 'S'],
  ['Other', 'C'],
]);

const refusedGroups: readonly (readonly [start: string, name: string])[] = [
  ['(?=', 'lookahead'],
  ['(?!', 'lookahead'],
  ['(?<=', 'lookbehind'],
  ['(?<!', 'lookbehind'],
];

/** One escape of ECMA-262, with the flag `u`, from its backslash on. */
const ESCAPE =
  /^\\(?:u\{([0-9a-fA-F]+)\}|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|c([A-Za-z])|([pP])\{([^}]*)\}|(k<[^>]*>|[1-9]\d*)|([\s\S]))/u;
const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/;

const escapeAt = (rest: string, place: 'inside' | 'outside'): { readonly length: number; readonly text: string } => {
  const match = ESCAPE.exec(rest);
  if (match === null) throw new Unsupported(`the escape ${JSON.stringify(rest.slice(0, 4))}`);
  const [whole, braced, high, low, four, two, control, property, value = '', back, one = ''] = match;
  const done = (text: string) => ({ length: whole.length, text });
  if (back !== undefined) throw new Unsupported(`the backreference ${whole}`);
  if (high !== undefined && low !== undefined)
    return done(
      codePoint(
        (((Number.parseInt(high, 16) & 0x3ff) << 10) + (Number.parseInt(low, 16) & 0x3ff) + 0x10000).toString(16),
      ),
    );
  const hex = braced ?? four ?? two;
  if (hex !== undefined) {
    if (/^0*d[89a-f]..$/i.test(hex)) throw new Unsupported(`the lone surrogate ${whole}`);
    return done(codePoint(hex));
  }
  if (control !== undefined) return done(codePoint((control.charCodeAt(0) % 32).toString(16)));
  if (property !== undefined) {
    const name = value.replace(/^(?:Script|sc|General_Category|gc)=/, '');
    return done(`\\${property}{${categories.get(name) ?? name}}`);
  }
  if (one === 's') return done(place === 'inside' ? SPACES : `[${SPACES}]`);
  if (one === 'S') return done(place === 'inside' ? NO_SPACES : `[${NO_SPACES}]`);
  if (one === '0') return done(codePoint('0'));
  if (one === 'b' && place === 'inside') return done(codePoint('8'));
  return done(one === '/' ? '/' : whole);
};

type CharacterClass = { readonly end: number; readonly text: string; readonly properties: number };

const classAt = (source: string, start: number): CharacterClass => {
  const negated = source[start + 1] === '^';
  let at = start + (negated ? 2 : 1);
  let text = '';
  let properties = 0;
  while (source[at] !== ']') {
    const char = source[at] ?? '';
    if (char === '\\') {
      const escape = escapeAt(source.slice(at), 'inside');
      text += escape.text;
      at += escape.length;
      if (isProperty(escape.text)) properties += 1;
    } else {
      // A class of RE2 may begin with "[:", and a "-" stands for itself only in some places.
      const isRange = char === '-' && text !== '' && source[at + 1] !== ']';
      text += char === '[' || (char === '-' && !isRange) ? `\\${char}` : char;
      at += 1;
    }
  }
  if (text === '') return { end: at + 1, text: negated ? '(?s:.)' : NOTHING, properties };
  return { end: at + 1, text: `[${negated ? '^' : ''}${text}]`, properties };
};

/** Says in the syntax of RE2 what a pattern of ECMA-262 says, without groups that capture: nothing reads them here. */
const translate = (source: string): { readonly text: string } & Pick<Pattern, 'instructions' | 'size'> => {
  let text = '';
  let at = 0;
  /** In classes, which are one instruction each. */
  let properties = 0;
  /** Instructions of each group that is open, and of the part that a quantifier would repeat. */
  const open: number[] = [];
  let instructions = 0;
  let last = 0;
  const add = (piece: string, length: number, size: number): void => {
    text += piece;
    at += length;
    instructions += size;
    last = size;
  };
  while (at < source.length) {
    const rest = source.slice(at, at + 64);
    const char = rest[0] ?? '';
    const quantifier = QUANTIFIER.exec(rest);
    if (quantifier !== null) {
      const [whole, least, comma, most] = quantifier;
      const times = Math.max(1, Number(most || (least ?? 1)) + (comma === ',' ? 1 : 0));
      if (times > patternBounds.repeats)
        throw new Unsupported(`a repetition of more than ${patternBounds.repeats} times (${whole}); use maxLength`);
      add(whole, whole.length, last * (times - 1) + 1);
      if (instructions > patternBounds.instructions) break;
    } else if (char === '(') {
      const refused = refusedGroups.find(([start]) => rest.startsWith(start));
      if (refused !== undefined) throw new Unsupported(`a ${refused[1]}, ${refused[0]}...)`);
      const head = /^\((?:\?(?:<[^>]*>|:))?/.exec(source.slice(at))?.[0] ?? '(';
      if (head === '(' && rest[1] === '?') throw new Unsupported('inline flags');
      open.push(instructions);
      add('(?:', head.length, 0);
    } else if (char === ')') {
      const inner = instructions - (open.pop() ?? 0);
      add(')', 1, 0);
      last = inner;
    } else if (char === '[') {
      const found = classAt(source, at);
      add(found.text, found.end - at, 1);
      properties += found.properties;
    } else if (char === '\\') {
      const escape = escapeAt(rest, 'outside');
      add(escape.text, escape.length, isProperty(escape.text) ? PROPERTY_INSTRUCTIONS : 1);
    } else if (char === '.') add(ANY_BUT_LINE_END, 1, 1);
    else add(char, 1, 1);
  }
  return { text, instructions, size: instructions + PROPERTY_INSTRUCTIONS * properties };
};

/** What the engine of the language says of a pattern; it reads it, and never runs it. */
const findSyntaxFault = (source: string): string | undefined => {
  try {
    RegExp(source, 'u');
    return undefined;
  } catch (error) {
    return (error as Error).message.slice(-200);
  }
};

/**
 * Compiles a regular expression of a JSON Schema for an engine whose time is linear in the text, whatever the text.
 * @param source in the syntax of ECMA-262 with the flag `u`
 * @returns the pattern; or what is wrong with it, or what of it no linear engine has: lookaround, backreferences
 * @see https://github.com/google/re2/wiki/Syntax
 */
export const compilePattern = (
  source: string,
  letterCase: 'either case' | 'as written' = 'as written',
): Parsed<Pattern> => {
  const shown = JSON.stringify(source.length > 100 ? `${source.slice(0, 100)}…` : source);
  try {
    // Before the engine of the language reads it: that takes as long for a class of very many properties.
    if ((source.match(PROPERTIES)?.length ?? 0) * PROPERTY_INSTRUCTIONS > patternBounds.instructions) throw tooLarge();
    const wrong = findSyntaxFault(source);
    if (wrong !== undefined) return { ok: false, message: `pattern ${shown}: ${wrong}` };
    const { text, instructions, size } = translate(source);
    if (size > patternBounds.instructions) throw tooLarge();
    const program = RE2JS.compile(text, letterCase === 'either case' ? RE2JS.CASE_INSENSITIVE : 0);
    return {
      ok: true,
      value: { test: (input) => program.test(input), instructions: instructions + 1, size: size + 1 },
    };
  } catch (error) {
    const why = error instanceof Unsupported ? error.message : `what RE2 does not know (${(error as Error).message})`;
    return {
      ok: false,
      message: `pattern ${shown} has ${why.slice(0, 300)}: inputs are checked in linear time, with the syntax of RE2`,
    };
  }
};
