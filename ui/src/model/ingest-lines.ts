/**
 * A trace as the lines that `POST /v1/ingest` takes back. Answers of the service are cut as text: what a signal says is sent again
 * to the last character, and no number passes through a double.
 */

/** The lists of an answer that are signals, by the names that a batch has for them. */
const SIGNALS = ['spans', 'logs', 'scores', 'feedback', 'aspect_notes'] as const;
type Signal = (typeof SIGNALS)[number];
const isSignal = (name: string): name is Signal => SIGNALS.some((signal) => signal === name);

const SPACE = /[\s,:]/;

/** @returns where a string that begins at `from` ends, behind its closing quote */
const endOfString = (text: string, from: number): number => {
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) throw new SyntaxError('the answer is cut off inside of a string');
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
};

const skipSpace = (text: string, from: number): number => {
  let at = from;
  while (at < text.length && SPACE.test(text[at] ?? '')) at += 1;
  return at;
};

/** @returns where a value that begins at `from` ends; nothing is parsed, so depth costs no stack */
const endOfValue = (text: string, from: number): number => {
  const first = text[from];
  if (first === '"') return endOfString(text, from);
  if (first !== '{' && first !== '[') {
    let at = from;
    while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at += 1;
    return at;
  }
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw new SyntaxError('the answer is cut off');
};

const elementsOf = (text: string, from: number): readonly string[] => {
  const elements: string[] = [];
  for (let at = skipSpace(text, from + 1); at < text.length && text[at] !== ']'; ) {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
  }
  return elements;
};

/** The members of an object, in their order: name, and where the value begins and ends. */
const membersOf = function* (answer: string): Generator<readonly [name: string, from: number, to: number]> {
  let at = skipSpace(answer, answer.indexOf('{') + 1);
  while (at < answer.length && answer[at] === '"') {
    const endOfName = endOfString(answer, at);
    const from = skipSpace(answer, endOfName);
    const to = endOfValue(answer, from);
    yield [JSON.parse(answer.slice(at, endOfName)) as string, from, to];
    at = skipSpace(answer, to);
  }
};

/**
 * One line for each signal of an answer: of a trace, of a page of notes.
 * @param answer JSON of an object, as the service wrote it
 * @returns the lines, and the lists of which the service did not give all
 * @throws SyntaxError when it ends too early
 */
export const ingestLines = (answer: string): { readonly lines: readonly string[]; readonly cut: readonly string[] } => {
  const lines: string[] = [];
  const names: string[] = [];
  const cut: string[] = [];
  let hasMore = false;
  for (const [name, from, to] of membersOf(answer)) {
    if (isSignal(name) && answer[from] === '[') {
      names.push(name);
      for (const element of elementsOf(answer, from)) lines.push(`{"${name}":[${element}]}`);
    }
    if (name === 'truncated') cut.push(...(JSON.parse(answer.slice(from, to)) as string[]));
    hasMore ||= name === 'next_cursor';
  }
  return { lines, cut: hasMore ? names : cut };
};

/** What one request of `POST /v1/ingest` may hold, as the service is started by default. */
const REQUEST_BOUNDS = { signals: 10_000, bytes: 32 * 1024 * 1024 } as const;

/** The lines as files that are each one request. A line that is over the bound by itself stands alone. */
export const requestFiles = (
  lines: readonly string[],
  bounds: { readonly signals: number; readonly bytes: number } = REQUEST_BOUNDS,
): readonly string[] => {
  const encoder = new TextEncoder();
  const files: string[] = [];
  let held: string[] = [];
  let bytes = 0;
  const close = (): void => {
    if (held.length > 0) files.push(`${held.join('\n')}\n`);
    held = [];
    bytes = 0;
  };
  for (const line of lines) {
    // A character of UTF-16 is at most three bytes of UTF-8: most lines need no encoding to know that they fit.
    const size = bytes + line.length * 3 < bounds.bytes ? line.length * 3 + 1 : encoder.encode(line).length + 1;
    if (held.length >= bounds.signals || bytes + size > bounds.bytes) close();
    held.push(line);
    bytes += size;
  }
  close();
  return files;
};
