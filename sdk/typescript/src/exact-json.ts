/** Shorter ones are safe. */
const LONG_INTEGER = /\d{16}/;
/** Where a text begins, or a number. */
const TOKENS = /"|-?\d[\d.eE+-]*/g;
const INTEGER = /^-?\d+$/;

/** Nobody who wrote a text can have known it. Digits and dashes; browsers have no UUIDs in pages without TLS. */
const newMark = (): string => `${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`;

/** Where a text that begins with a quote ends. One expression for all of it runs out of stack on a few million escapes. */
const endOfText = (json: string, from: number): number => {
  for (let quote = json.indexOf('"', from + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (json[quote - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
  }
  return json.length;
};

/** Every integer beyond 2^53 as a text behind a mark; `undefined` where there is none. @param json valid */
const markLongIntegers = (json: string, mark: string): string | undefined => {
  const parts: string[] = [];
  let copied = 0;
  TOKENS.lastIndex = 0;
  for (let found = TOKENS.exec(json); found !== null; found = TOKENS.exec(json)) {
    const [token] = found;
    if (token === '"') TOKENS.lastIndex = endOfText(json, found.index);
    else if (INTEGER.test(token) && !Number.isSafeInteger(Number(token))) {
      parts.push(json.slice(copied, found.index), `"${mark}${token}"`);
      copied = TOKENS.lastIndex;
    }
  }
  return copied === 0 ? undefined : parts.join('') + json.slice(copied);
};

/**
 * Reads JSON without losing a digit: an integer beyond 2^53 is a bigint, any other number a number.
 * @throws SyntaxError on what is not JSON
 */
export const parseExactly = (text: string): unknown => {
  const parsed: unknown = JSON.parse(text);
  if (!LONG_INTEGER.test(text)) return parsed;
  const mark = newMark();
  const marked = markLongIntegers(text, mark);
  if (marked === undefined) return parsed;
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

const writeBigints = (value: unknown): string => {
  const mark = newMark();
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
