const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/** Where the string that opens at `start` closes; the end of the text where it does not. */
const endOfString = (json: string, start: number): number => {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = at;
    while (json[escapes - 1] === '\\') escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
  }
  return json.length;
};

/**
 * The texts of `[[a,b,c],[a,b,c]]`, cut and not parsed: V8 may read an escaped name of a member as that of an object before.
 * @param json as `JSON.stringify` writes it
 * @see https://github.com/nodejs/node/issues/63785
 */
export const cutRows = (json: string): string[][] => {
  const rows: string[][] = [];
  let row: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (OPEN.has(code)) {
      depth += 1;
      if (depth === 2) [row, start] = [[], at + 1];
    } else if (CLOSE.has(code)) {
      if (depth === 2) {
        row.push(json.slice(start, at));
        rows.push(row);
      }
      depth -= 1;
    } else if (code === COMMA && depth === 2) {
      row.push(json.slice(start, at));
      start = at + 1;
    }
  }
  return rows;
};
