/** Characters that are gathered before they are sent on. */
const CHUNK_CHARACTERS = 64 * 1024;

const isList = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && !(value instanceof String);

const isAsyncList = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

const valueOf = (given: unknown): unknown => (typeof given === 'function' ? (given as () => unknown)() : given);

/** Maps on demand: each element is made when it is written out, so a long list never stands in memory twice. */
export function* mapLazily<T, U>(items: Iterable<T>, map: (item: T) => U): Generator<U> {
  for (const item of items) yield map(item);
}

/**
 * Elements of a list that are JSON already: UTF-8 of some of them at a time, each with a comma before it. Each piece lies in a buffer of its
 * own, which belongs to the caller.
 */
export class WrittenElements {
  readonly pieces: AsyncIterable<Uint8Array>;
  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.pieces = pieces;
  }
}

/** Whether a list of an answer comes while it is written. */
export const comesInPieces = (body: object): boolean =>
  Object.values(body).some((value) => value instanceof WrittenElements || isAsyncList(value));

/**
 * Writes an object as JSON in pieces. Its lists are written element by element, so that a large answer is made while it
 * is being sent and other requests have their turn between two pieces; any iterable is written as a list. A function stands for
 * a field whose value is known when it is its turn. Fields that are `undefined` are left out.
 */
export function* jsonPieces(body: object): Generator<string> {
  let text = '{';
  let first = true;
  for (const [key, given] of Object.entries(body)) {
    const value = valueOf(given);
    if (value === undefined) continue;
    text += `${first ? '' : ','}${JSON.stringify(key)}:`;
    first = false;
    if (!isList(value)) {
      text += JSON.stringify(value);
      continue;
    }
    text += '[';
    let firstElement = true;
    for (const element of value) {
      text += (firstElement ? '' : ',') + JSON.stringify(element);
      firstElement = false;
      if (text.length >= CHUNK_CHARACTERS) {
        yield text;
        text = '';
      }
    }
    text += ']';
  }
  yield `${text}}`;
}

const COMMA = 0x2c;

/** The same for an object of which parts are read while it is written: lists may be asynchronous or already JSON. */
export async function* jsonPiecesAsRead(body: object): AsyncGenerator<Uint8Array> {
  let text = '{';
  let first = true;
  const taken = (): Buffer => {
    const bytes = Buffer.from(text, 'utf8');
    text = '';
    return bytes;
  };
  for (const [key, given] of Object.entries(body)) {
    const value = valueOf(given);
    if (value === undefined) continue;
    text += `${first ? '' : ','}${JSON.stringify(key)}:`;
    first = false;
    if (value instanceof WrittenElements) {
      text += '[';
      let isEmpty = true;
      for await (const piece of value.pieces) {
        if (piece.length === 0) continue;
        if (text !== '') yield taken();
        yield isEmpty && piece[0] === COMMA ? piece.subarray(1) : piece;
        isEmpty = false;
      }
      text += ']';
    } else if (isList(value) || isAsyncList(value)) {
      text += '[';
      let isEmpty = true;
      for await (const element of value) {
        text += (isEmpty ? '' : ',') + JSON.stringify(element);
        isEmpty = false;
        if (text.length >= CHUNK_CHARACTERS) yield taken();
      }
      text += ']';
    } else text += JSON.stringify(value);
  }
  text += '}';
  yield taken();
}
