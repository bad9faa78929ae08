import { formatCount } from './units.ts';

/** A line of a JSON value that is looked at. */
export type JsonRow = {
  /** The keys from the outside in, as a JSON pointer. */
  readonly path: string;
  readonly key: string;
  readonly depth: number;
  /** A bounded piece of the value, on one line. */
  readonly text: string;
  readonly kind: 'text' | 'number' | 'other' | 'list' | 'object';
  readonly isOpen: boolean;
  /** Members; nothing of what has none. */
  readonly size: number;
  readonly position: number;
  readonly neighbours: number;
};

const MAX_TEXT = 200;
/** A list longer than this is not opened further. */
const MAX_MEMBERS = 50_000;
const MAX_ROWS = 200_000;

const isHolder = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The head of a text and how long it is: no more of a long one is ever drawn. */
const quoted = (text: string): string =>
  text.length <= MAX_TEXT
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, MAX_TEXT)).slice(0, -1)}…" (${formatCount(text.length)} characters)`;

const describe = (value: unknown, size: number): Pick<JsonRow, 'text' | 'kind'> => {
  if (Array.isArray(value)) return { text: size === 0 ? '[]' : `[${formatCount(size)}]`, kind: 'list' };
  if (isHolder(value)) return { text: size === 0 ? '{}' : `{${formatCount(size)}}`, kind: 'object' };
  if (typeof value === 'string') return { text: quoted(value), kind: 'text' };
  return { text: JSON.stringify(value), kind: typeof value === 'number' ? 'number' : 'other' };
};

export const escapeKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * The lines of what is open. It goes through no more than that: a value of many megabytes that is closed is one line.
 * @param toggled paths that are not as they are at first: the outermost level is open, all else is closed
 */
export const jsonRows = (value: unknown, toggled: ReadonlySet<string>): readonly JsonRow[] => {
  type Waiting = { path: string; key: string; depth: number; value: unknown; position: number; neighbours: number };
  const rows: JsonRow[] = [];
  const stack: Waiting[] = [{ path: '', key: '', depth: 0, value, position: 1, neighbours: 1 }];
  for (let next = stack.pop(); next !== undefined && rows.length < MAX_ROWS; next = stack.pop()) {
    const { path, key, depth, position, neighbours } = next;
    const held = next.value;
    const keys = isHolder(held) ? Object.keys(held) : [];
    const isOpen = keys.length > 0 && toggled.has(path) !== (depth === 0);
    const { text, kind } = describe(held, keys.length);
    rows.push({ path, key, depth, text, kind, isOpen, size: keys.length, position, neighbours });
    if (!isOpen) continue;
    const shown = keys.slice(0, MAX_MEMBERS);
    for (let index = shown.length - 1; index >= 0; index -= 1) {
      const name = shown[index] ?? '';
      stack.push({
        path: `${path}/${escapeKey(name)}`,
        key: name,
        depth: depth + 1,
        value: (held as Readonly<Record<string, unknown>>)[name],
        position: index + 1,
        neighbours: shown.length,
      });
    }
  }
  return rows;
};

export type JsonChange = { readonly path: string; readonly before: string; readonly after: string };

const inShort = (value: unknown): string => {
  if (value === undefined) return 'absent';
  if (typeof value === 'string') return quoted(value);
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${formatCount(text.length)} characters)`;
};
const MAX_CHANGES = 500;

/** What differs between two values, path by path, and whether there is more. Equal subtrees are passed over. */
export const jsonChanges = (
  before: unknown,
  after: unknown,
): { readonly changes: readonly JsonChange[]; readonly isCut: boolean } => {
  const changes: JsonChange[] = [];
  const stack: [string, unknown, unknown][] = [['', before, after]];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [path, a, b] = next;
    if (a === b) continue;
    if (isHolder(a) && isHolder(b) && Array.isArray(a) === Array.isArray(b)) {
      const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].toReversed();
      for (const key of keys)
        stack.push([
          `${path}/${escapeKey(key)}`,
          (a as Readonly<Record<string, unknown>>)[key],
          (b as Readonly<Record<string, unknown>>)[key],
        ]);
      continue;
    }
    if (changes.length >= MAX_CHANGES) return { changes, isCut: true };
    changes.push({ path, before: inShort(a), after: inShort(b) });
  }
  return { changes, isCut: false };
};

/** A line and all around it, from the outside in: what must be open for it to be seen. The outermost is open at first. */
export const pathsAround = (path: string): readonly string[] => {
  const around: string[] = [];
  for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1)) around.push(path.slice(0, at));
  return around;
};
