/** Characters that are gathered before they are sent on. */
const CHUNK_CHARACTERS = 64 * 1024;

const isList = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && !(value instanceof String);

/** Maps on demand: each element is made when it is written out, so a long list never stands in memory twice. */
export function* mapLazily<T, U>(items: Iterable<T>, map: (item: T) => U): Generator<U> {
  for (const item of items) yield map(item);
}

/**
 * Writes an object as JSON in pieces. Its lists are written element by element, so that a large answer is made while it
 * is being sent and other requests have their turn between two pieces; any iterable is written as a list. Fields that are
 * `undefined` are left out.
 */
export function* jsonPieces(body: object): Generator<string> {
  let text = '{';
  let first = true;
  for (const [key, value] of Object.entries(body)) {
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
