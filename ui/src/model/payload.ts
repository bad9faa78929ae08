import { formatBytes } from './units.ts';

/** A payload as it is first shown: never more than a bounded piece of it. */
export type Preview = {
  readonly text: string;
  readonly isCut: boolean;
  readonly characters: number;
  /** `5 MB of text`. */
  readonly size: string;
  readonly isText: boolean;
};

/** A text above this is shown by its head alone. */
const GATE_CHARACTERS = 2_000_000;
const HEAD_CHARACTERS = 4_000;
/** What is drawn of smaller ones. */
const DRAWN_CHARACTERS = 100_000;

/** The payload as a file: a text as it is, anything else as JSON. */
export const payloadText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');

export const previewOf = (value: unknown): Preview => {
  const text = payloadText(value);
  const drawn = text.length > GATE_CHARACTERS ? HEAD_CHARACTERS : DRAWN_CHARACTERS;
  return {
    text: text.slice(0, drawn),
    isCut: text.length > drawn,
    characters: text.length,
    size: `${formatBytes(text.length)} of ${typeof value === 'string' ? 'text' : 'JSON'}`,
    isText: typeof value === 'string',
  };
};
