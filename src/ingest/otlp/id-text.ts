const HEX = /^[0-9a-fA-F]+$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** An id read from text: lowercase hex, or empty with the number of bytes that it stands for. */
export type IdText = { readonly hex: string; readonly bytes: number };

const absent: IdText = { hex: '', bytes: 0 };

const isLowerHex = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x66 || (code > 0x39 && code < 0x61)) return false;
  }
  return true;
};

/**
 * Reads a trace or span id of OTLP/JSON: hex in either case, as OTLP demands, or base64, as the protobuf JSON mapping
 * writes bytes. The two never have the same length.
 * @param bytes 16 for a trace id, 8 for a span id
 * @see Interface specification, "Identifiers and time"
 */
export const readIdText = (text: string, bytes: 16 | 8): IdText => {
  if (text.length === bytes * 2) {
    if (isLowerHex(text)) return { hex: text, bytes };
    if (HEX.test(text)) return { hex: text.toLowerCase(), bytes };
  }
  if (text === '') return absent;
  const padded = bytes === 16 ? 24 : 12;
  const bare = bytes === 16 ? 22 : 11;
  if ((text.length === padded || text.length === bare) && BASE64.test(text)) {
    const decoded = Buffer.from(text, 'base64');
    if (decoded.length === bytes) return { hex: decoded.toString('hex'), bytes };
  }
  // Reported in the unit that the sender most likely thinks in.
  return { hex: '', bytes: Math.max(1, HEX.test(text) ? text.length / 2 : text.length) };
};
