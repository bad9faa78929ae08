/** V8 copies shorter parts anyway. */
const SHORTEST_CUT = 13;

/** A copy of its own: a string cut out of a text keeps all of the text in memory for as long as it is remembered. */
export const detached = (part: string): string =>
  part.length < SHORTEST_CUT ? part : Buffer.from(part, 'utf16le').toString('utf16le');
