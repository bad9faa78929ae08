/** Where a path such as `steps[2].next[0].when` stands in a JSON text. */

const TOKEN = /\s*(?:"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+)/y;

type Token = { readonly text: string; readonly start: number; readonly end: number };

const tokenAt = (text: string, from: number): Token | undefined => {
  TOKEN.lastIndex = from;
  const [found] = TOKEN.exec(text) ?? [];
  if (found === undefined) return undefined;
  const token = found.trimStart();
  return { text: token, start: from + found.length - token.length, end: from + found.length };
};

/** The end of the value that begins at `from`. */
const endOfValue = (text: string, from: number): number | undefined => {
  let depth = 0;
  for (let token = tokenAt(text, from); token !== undefined; token = tokenAt(text, token.end)) {
    if (token.text === '{' || token.text === '[') depth += 1;
    else if (token.text === '}' || token.text === ']') depth -= 1;
    if (depth === 0) return token.end;
  }
  return undefined;
};

const keyOf = (token: string): string => {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
};

/** Where the member `segment` of the value at `from` begins. */
const memberOf = (text: string, from: number, segment: string): number | undefined => {
  const open = tokenAt(text, from);
  if (open === undefined || (open.text !== '{' && open.text !== '[')) return undefined;
  let at = open.end;
  for (let index = 0; ; index += 1) {
    const first = tokenAt(text, at);
    if (first === undefined || first.text === '}' || first.text === ']') return undefined;
    let key = String(index);
    let value = first.start;
    if (open.text === '{') {
      key = keyOf(first.text);
      value = tokenAt(text, tokenAt(text, first.end)?.end ?? text.length)?.start ?? text.length;
    }
    if (key === segment) return value;
    const end = endOfValue(text, value);
    const comma = end === undefined ? undefined : tokenAt(text, end);
    if (comma?.text !== ',') return undefined;
    at = comma.end;
  }
};

export type Span = { readonly start: number; readonly end: number };

/**
 * @param text JSON that parses
 * @param path as the service names faults; of what is missing, the place around it is found
 */
export const placeInText = (text: string, path: string): Span => {
  let start = tokenAt(text, 0)?.start ?? 0;
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    const member = memberOf(text, start, name ?? index ?? '');
    if (member === undefined) break;
    start = member;
  }
  return { start, end: endOfValue(text, start) ?? text.length };
};

/** Lines are counted from 1. */
export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
