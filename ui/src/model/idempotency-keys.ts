/** A key that nobody else draws. `crypto.randomUUID` is missing in pages that come without TLS from another machine. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Keys for what one form sends. The same body again gets the key of before, so that a click whose answer was lost begins nothing twice;
 * another body is another call, and gets another key.
 */
export const idempotencyKeys = (): ((body: object) => string) => {
  let last = { text: '', key: '' };
  return (body) => {
    const text = JSON.stringify(body);
    if (text !== last.text) last = { text, key: newKey() };
    return last.key;
  };
};
