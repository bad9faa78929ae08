/** Pieces that are joined at once. */
const PIECES_TOGETHER = 4_096;

/**
 * Puts a text together from pieces. They are joined now and then: one by one, a million of them would take many times the size of
 * the text.
 */
export const createPieces = () => {
  let written = '';
  let pieces: string[] = [];
  let length = 0;
  return {
    add: (piece: string): void => {
      pieces.push(piece);
      length += piece.length;
      if (pieces.length < PIECES_TOGETHER) return;
      written += pieces.join('');
      pieces = [];
    },
    /** Of all pieces so far, in UTF-16 code units. */
    length: (): number => length,
    joined: (): string => written + pieces.join(''),
  };
};
