import type { Readable, Writable } from 'node:stream';

// Lines of JSON on a stream, each followed by a line feed, which JSON text never holds.

/** Lines that hold something. @param most characters of one; a longer one ends the stream with an error */
export async function* linesOf(message: Readable, most: number = Number.POSITIVE_INFINITY): AsyncGenerator<string> {
  let begun: string[] = [];
  let characters = 0;
  for await (const piece of message.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = piece.split('\n');
    begun.push(first);
    characters += first.length;
    if (characters > most) throw new RangeError(`a line of more than ${most} characters`);
    const last = others.pop();
    if (last === undefined) continue;
    const lines = [begun.join(''), ...others];
    begun = [last];
    characters = last.length;
    for (const line of lines) if (line !== '') yield line;
  }
  const left = begun.join('');
  if (left !== '') yield left;
}

/** Writes values as lines. Those of one turn of the event loop go together: each write is a packet, which costs more than its lines. */
export const joinLines = (to: Writable) => {
  let waiting: string[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    const text = `${waiting.join('\n')}\n`;
    waiting = [];
    to.write(text);
  };
  return {
    write: (line: unknown): void => {
      if (waiting.push(JSON.stringify(line)) === 1) setImmediate(flush);
    },
    /** Writes what waits now. */
    flush,
  };
};
