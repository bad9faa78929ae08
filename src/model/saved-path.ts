/** Characters of a saved path at the most: what the interface keeps its addresses under. */
export const MOST_PATH_CHARACTERS = 2000;

/** A path of the interface, as it is stored, and the person whom it names, so that erasing that person finds it. */
export type SavedPath = { readonly path: string; readonly userId?: string };

// Never reached: it only makes a path whole for the parser, which then shows whether the path leads anywhere else.
const HERE = 'http://interface.invalid';
/** Characters that a browser drops or reads as another: with them, what is checked is not what is opened. */
const MISREAD = /[\p{Cc}\p{Cf}\\\s]/u;

/**
 * Reads a path that somebody wants to save.
 * @param pages first segments of the interface's paths; the overview, `/`, is always one
 * @returns it as a browser would open it, without a fragment; `undefined` when it is no page of the interface
 */
export const parseSavedPath = (text: string, pages: readonly string[]): SavedPath | undefined => {
  if (text.length > MOST_PATH_CHARACTERS || !text.startsWith('/') || text.startsWith('//') || MISREAD.test(text))
    return undefined;
  if (!URL.canParse(text, HERE)) return undefined;
  const url = new URL(text, HERE);
  if (url.origin !== HERE) return undefined;
  const [, page = '', ...rest] = url.pathname.split('/');
  if (url.pathname.startsWith('//') || (page !== '' && !pages.includes(page))) return undefined;
  const path = url.pathname + url.search;
  if (path.length > MOST_PATH_CHARACTERS) return undefined;
  const userId = url.searchParams.get('user_id') ?? (page === 'users' ? decoded(rest[0]) : undefined);
  return { path, ...(userId === undefined || userId === '' ? {} : { userId }) };
};

const decoded = (segment: string | undefined): string | undefined => {
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};
