/** A copy of its own: a string cut out of a text keeps all of the text in memory for as long as it is remembered. */
export const detached = (part: string): string => Buffer.from(part, 'utf16le').toString('utf16le');
