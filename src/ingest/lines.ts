/** Cuts a byte stream into lines. Made for one request. */
export type LineSplitter = {
  /** @returns the lines that ended in this piece, without their line ends */
  readonly push: (piece: Buffer) => Buffer[];
  /** @returns the last line, when it had no line end */
  readonly end: () => Buffer | undefined;
};

const LF = 0x0a;
const CR = 0x0d;

const withoutCarriageReturn = (line: Buffer): Buffer => (line.at(-1) === CR ? line.subarray(0, -1) : line);

/**
 * Cuts at LF or CRLF. A line holds as many bytes as the body may: the caller bounds the body, so it keeps
 * no bound of its own. Pieces are kept until their line ends and joined once, so a long line costs one copy.
 */
export const createLineSplitter = (): LineSplitter => {
  let begun: Buffer[] = [];
  return {
    push: (piece) => {
      const lines: Buffer[] = [];
      let start = 0;
      for (let at = piece.indexOf(LF); at !== -1; at = piece.indexOf(LF, start)) {
        const rest = piece.subarray(start, at);
        if (begun.length > 0) {
          begun.push(rest);
          lines.push(withoutCarriageReturn(Buffer.concat(begun)));
          begun = [];
        } else lines.push(withoutCarriageReturn(rest));
        start = at + 1;
      }
      if (start < piece.length) begun.push(piece.subarray(start));
      return lines;
    },
    end: () => {
      if (begun.length === 0) return undefined;
      const last = withoutCarriageReturn(Buffer.concat(begun));
      begun = [];
      return last;
    },
  };
};

/** True for a line of spaces and tabs alone, which separates batches without being one. */
export const isBlank = (line: Buffer): boolean => {
  for (let at = 0; at < line.length; at += 1) if (line[at] !== 0x20 && line[at] !== 0x09) return false;
  return true;
};
