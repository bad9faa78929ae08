/** Rows decoded before other work of the event loop gets its turn. */
const DECODED_AT_ONCE = 256;

/** Decodes many rows without holding up the event loop. */
export const decodeInTurns = async <R, T>(rows: readonly R[], decode: (row: R) => T): Promise<T[]> => {
  const decoded: T[] = [];
  for (let i = 0; i < rows.length; i += DECODED_AT_ONCE) {
    if (i > 0) await new Promise(setImmediate);
    for (const row of rows.slice(i, i + DECODED_AT_ONCE)) decoded.push(decode(row));
  }
  return decoded;
};
