/**
 * Members of an object in JSON text, without a value made of the text: `JSON.parse` makes an array for each `[]` of it, and takes
 * several times as long.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
const isDigit = (code: number): boolean => code >= ZERO && code <= 0x39;

const LETTER_U = 0x75;
const HEX_DIGITS = 4;

/** What may stand behind a backslash, beside `u`. */
const escaped: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const isHexDigit = (code: number): boolean => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/** The end of the escape whose backslash stands at `start`; -1 where it is none. */
const endOfEscape = (text: string, start: number): number => {
  const letter = text.charCodeAt(start + 1);
  if (letter !== LETTER_U) return escaped.has(letter) ? start + 2 : -1;
  const end = start + 2 + HEX_DIGITS;
  for (let at = start + 2; at < end; at += 1) if (!isHexDigit(text.charCodeAt(at))) return -1;
  return end;
};

/** The end of the string whose opening quote stands at `start`; -1 where it is none. */
const endOfString = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < 0x20) return -1;
    if (code !== BACKSLASH) {
      at += 1;
      continue;
    }
    at = endOfEscape(text, at);
    if (at === -1) return -1;
  }
  return -1;
};

const endOfDigits = (text: string, start: number): number => {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at === start ? -1 : at;
};

const endOfNumber = (text: string, start: number): number => {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  at = text.charCodeAt(at) === ZERO ? at + 1 : endOfDigits(text, at);
  if (at !== -1 && text.charCodeAt(at) === POINT) at = endOfDigits(text, at + 1);
  if (at === -1 || (text.charCodeAt(at) | 0x20) !== 0x65) return at;
  const sign = text.charCodeAt(at + 1);
  return endOfDigits(text, sign === MINUS || sign === 0x2b ? at + 2 : at + 1);
};

const endOfWord = (text: string, start: number): number => {
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, start)) return start + word.length;
  return -1;
};

const endOfScalar = (text: string, start: number): number => {
  const code = text.charCodeAt(start);
  if (code === QUOTE) return endOfString(text, start);
  return code === MINUS || isDigit(code) ? endOfNumber(text, start) : endOfWord(text, start);
};

/**
 * Finds members of the outermost object, in time linear in the text and without recursion.
 * @param text JSON text of an object
 * @param names of the members that are wanted
 * @returns their values as JSON text, of a name that is there twice the last one; `undefined` where `JSON.parse` would refuse the text,
 * or make no object of it
 */
export const findMembers = (text: string, names: ReadonlySet<string>): ReadonlyMap<string, string> | undefined => {
  const found = new Map<string, string>();
  /** What closes each object and list that is open. */
  const closing: number[] = [];
  let expected: 'value' | 'value or end' | 'name' | 'name or end' | 'comma or end' = 'value';
  /** The member of the outermost object, where it is wanted, and where its value begins. */
  let member: string | undefined;
  let valueStart = -1;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code <= 0x20) {
      if (!isSpace(code)) return undefined;
      at += 1;
      continue;
    }
    if (expected === 'comma or end' && code === COMMA) {
      expected = closing[closing.length - 1] === CLOSE_OBJECT ? 'name' : 'value';
      at += 1;
      continue;
    }
    if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      if (expected === 'value' || expected === 'name' || closing.pop() !== code) return undefined;
      at += 1;
      if (closing.length === 0) return text.slice(at).search(/[^ \n\r\t]/) === -1 ? found : undefined;
      expected = 'comma or end';
    } else if (expected === 'name' || expected === 'name or end') {
      if (code !== QUOTE) return undefined;
      const end = endOfString(text, at);
      if (end === -1) return undefined;
      if (closing.length === 1) {
        const raw = text.slice(at + 1, end - 1);
        const name = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
        member = names.has(name) ? name : undefined;
      }
      at = end;
      while (isSpace(text.charCodeAt(at))) at += 1;
      if (text.charCodeAt(at) !== COLON) return undefined;
      at += 1;
      expected = 'value';
      continue;
    } else {
      if (expected === 'comma or end') return undefined;
      if (closing.length === 0 && code !== OPEN_OBJECT) return undefined;
      if (closing.length === 1) valueStart = at;
      if (code === OPEN_OBJECT || code === OPEN_LIST) {
        closing.push(code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST);
        expected = code === OPEN_OBJECT ? 'name or end' : 'value or end';
        at += 1;
        continue;
      }
      at = endOfScalar(text, at);
      if (at === -1) return undefined;
      expected = 'comma or end';
    }
    // A value has ended.
    if (closing.length === 1 && member !== undefined) found.set(member, text.slice(valueStart, at));
  }
  return undefined;
};
