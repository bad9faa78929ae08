/** What steers a terminal or hides in a text: controls, direction and zero-width characters, line separators, half characters. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Text that somebody sent, on one line, with every character visible: what a terminal would obey is written as an escape.
 * @param most characters that are shown; what is cut is counted
 */
export const printable = (text: string, most = Number.POSITIVE_INFINITY): string => {
  const shown = text.length > most ? text.slice(0, most) : text;
  const line = shown.replaceAll(
    STEERING,
    (character) => shortEscapes[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return text.length > most ? `${line}... (${text.length - most} more characters)` : line;
};

/** Of those, what `JSON.stringify` leaves as it is. */
const LEFT_BY_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

const escapeUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** The same JSON document for every reader, without a character that a terminal would obey. @param indent absent: on one line */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(LEFT_BY_JSON, escapeUnits);

const MOST_QUOTED = 80;

/** A name or a word that somebody gave, as a sentence repeats it: in quotes, cut, with every character visible. */
export const quoted = (text: string): string =>
  jsonText(text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}...` : text);
