/**
 * Texts as PostgreSQL can hold them. Keys and ids of senders may hold U+0000 or half of a surrogate pair, which no text of the database
 * can; in a file they are what they are. Here each such character stands behind a mark, and so does the mark itself, so that different
 * texts stay different.
 */
const MARK = '\u001a';
const NEEDS_MARK = /[\0\u001a]/;
const MARKED = /\u001a(?:0|1|d[89a-f][0-9a-f]{2})/g;
// Without the flag `u` each half of a pair is a character, so pairs are named first.
const UNFIT = /[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]|[\0\u001a]/g;

const marked = (character: string): string => {
  if (character.length === 2) return character;
  if (character === '\0') return `${MARK}0`;
  if (character === MARK) return `${MARK}1`;
  return `${MARK}${character.charCodeAt(0).toString(16)}`;
};
const unmarked = (found: string): string => {
  const what = found.slice(1);
  if (what === '0') return '\0';
  return what === '1' ? MARK : String.fromCharCode(Number.parseInt(what, 16));
};

/** The text as it is stored. */
export const storedText = (text: string): string =>
  text.isWellFormed() && !NEEDS_MARK.test(text) ? text : text.replace(UNFIT, marked);

/** The text as it was before it was stored. */
export const originalText = (stored: string): string =>
  stored.includes(MARK) ? stored.replace(MARKED, unmarked) : stored;
