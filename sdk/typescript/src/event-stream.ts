import { ConnectionError } from './errors.ts';

/** One event of a server-sent stream. */
export type StreamEvent = { readonly id?: string; readonly event?: string; readonly data: string };

/** A line longer than this is no event of ours. */
const LINE_LIMIT_CHARACTERS = 64 * 1024 * 1024;

/**
 * Reads server-sent events from the bytes of an answer. Comments, the service's sign of life, are not events: they only
 * keep the stream from being taken for dead.
 * @param idleMs without a byte for so long, the stream is taken for dead
 * @throws ConnectionError when the stream breaks or is dead
 * @see WHATWG HTML, "9.2 Server-sent events"
 */
export async function* readEvents(bytes: AsyncIterable<Buffer>, idleMs: number): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const source = bytes[Symbol.asyncIterator]();
  let buffered = '';
  let id: string | undefined;
  let event: string | undefined;
  let data: string[] = [];

  const nextPiece = async (): Promise<IteratorResult<Buffer>> => {
    let timer: NodeJS.Timeout | undefined;
    const dead = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new ConnectionError(`the stream was silent for ${idleMs} ms`)), idleMs);
    });
    try {
      return await Promise.race([source.next(), dead]);
    } catch (error) {
      throw error instanceof ConnectionError ? error : new ConnectionError('the stream broke off', { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };

  try {
    for (;;) {
      const piece = await nextPiece();
      if (piece.done === true) return;
      buffered += decoder.decode(piece.value, { stream: true });
      if (buffered.length > LINE_LIMIT_CHARACTERS) throw new ConnectionError('the stream holds a line without an end');
      const lines = buffered.split(/\r\n|\n|\r(?!$)/);
      buffered = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0)
            yield {
              data: data.join('\n'),
              ...(id === undefined ? {} : { id }),
              ...(event === undefined ? {} : { event }),
            };
          data = [];
          event = undefined;
          continue;
        }
        const colon = line.indexOf(':');
        if (colon === 0) continue;
        const name = colon === -1 ? line : line.slice(0, colon);
        const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'data') data.push(value);
        else if (name === 'id') id = value;
        else if (name === 'event') event = value;
      }
    }
  } finally {
    // Not awaited: a source that never answers would hold the reader here indefinitely.
    void source.return?.(undefined)?.catch(() => {});
  }
}
