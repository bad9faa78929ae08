import { Lexer, type MarkedToken, type Token } from 'marked';

/** What Markdown says, without anything that could be loaded or followed: a link is its text and its address, an image the same. */
export type Inline =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em' | 'del'; readonly inner: readonly Inline[] }
  | { readonly kind: 'break' };
export type Block =
  | { readonly kind: 'paragraph' | 'heading'; readonly inner: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  /** `first` is the number of the first item, where items have numbers. */
  | { readonly kind: 'list'; readonly first: number | undefined; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly kind: 'rule' };

/** Longer texts stay plain. */
export const MARKDOWN_CHARACTERS = 150_000;
/** The time of the reader of Markdown grows with the square of a paragraph: so much of hostile marks takes it a quarter of a second. */
const PARAGRAPH_CHARACTERS = 10_000;
/** Deeper quotes and lists are shown as they were written. */
const MOST_DEPTH = 20;
/** Marks of quotes and lists in one line: a line of thousands is an attack, and takes the reader of Markdown seconds. */
const TOO_DEEP = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){50}/m;

const addressed = (inner: readonly Inline[], address: string): readonly Inline[] => {
  const [only] = inner;
  const isAddress = inner.length === 1 && only?.kind === 'text' && only.text === address;
  return isAddress || address === '' ? inner : [...inner, { kind: 'text', text: ` (${address})` }];
};

const inlinesOf = (tokens: readonly Token[], depth: number): readonly Inline[] =>
  tokens.flatMap((token): readonly Inline[] => {
    // Only the tokens of the library itself occur: no extension is in use.
    const known = token as MarkedToken;
    if (depth > MOST_DEPTH) return [{ kind: 'text', text: known.raw }];
    switch (known.type) {
      case 'strong':
      case 'em':
      case 'del':
        return [{ kind: known.type, inner: inlinesOf(known.tokens, depth + 1) }];
      case 'codespan':
        return [{ kind: 'code', text: known.text }];
      case 'br':
        return [{ kind: 'break' }];
      case 'link':
        return addressed(inlinesOf(known.tokens, depth + 1), known.href);
      case 'image':
        return addressed([{ kind: 'text', text: `image: ${known.text}` }], known.href);
      case 'escape':
        return [{ kind: 'text', text: known.text }];
      case 'checkbox':
        return [{ kind: 'text', text: known.checked ? '☑ ' : '☐ ' }];
      case 'text':
        return known.tokens === undefined ? [{ kind: 'text', text: known.text }] : inlinesOf(known.tokens, depth + 1);
      default:
        return [{ kind: 'text', text: known.raw }];
    }
  });

const blocksOf = (tokens: readonly Token[], depth: number): readonly Block[] =>
  tokens.flatMap((token): readonly Block[] => {
    const known = token as MarkedToken;
    if (depth > MOST_DEPTH) return [{ kind: 'code', text: known.raw }];
    switch (known.type) {
      case 'space':
        return [];
      case 'heading':
      case 'paragraph':
        return [{ kind: known.type, inner: inlinesOf(known.tokens, depth) }];
      case 'code':
        return [{ kind: 'code', text: known.text }];
      case 'blockquote':
        return [{ kind: 'quote', blocks: blocksOf(known.tokens, depth + 1) }];
      case 'list':
        return [
          {
            kind: 'list',
            first: known.ordered && known.start !== '' ? known.start : undefined,
            items: known.items.map((item) => blocksOf(item.tokens, depth + 1)),
          },
        ];
      case 'table':
        return [
          {
            kind: 'table',
            head: known.header.map((cell) => inlinesOf(cell.tokens, depth)),
            rows: known.rows.map((row) => row.map((cell) => inlinesOf(cell.tokens, depth))),
          },
        ];
      case 'hr':
        return [{ kind: 'rule' }];
      case 'html':
      case 'def':
        return [{ kind: 'paragraph', inner: [{ kind: 'text', text: known.raw.trimEnd() }] }];
      default:
        return [{ kind: 'paragraph', inner: inlinesOf([known], depth) }];
    }
  });

const isTooMuch = (text: string): boolean =>
  text.length > MARKDOWN_CHARACTERS ||
  text.split(/\n[ \t]*\n/).some(({ length }) => length > PARAGRAPH_CHARACTERS) ||
  TOO_DEEP.test(text);

/** @returns nothing for a text that is too long or nested too deep, which stays plain */
export const readMarkdown = (text: string): readonly Block[] | undefined => {
  if (isTooMuch(text)) return undefined;
  try {
    return blocksOf(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch (fault) {
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
};
