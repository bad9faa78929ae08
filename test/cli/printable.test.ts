import { describe, expect, it } from 'vitest';
import { jsonText, printable } from '../../src/cli/printable.ts';

/** What a terminal obeys, or what hides: ESC, CSI as one character, a right-to-left override, a zero-width space, a tag, half a pair. */
const hostile = ['\u001b', '\u009b', '\u202e', '\u200b', '\u{e0041}', '\ud800', '\u2028', '\u0007'];

describe('text that somebody sent', () => {
  it('is shown with what a terminal would obey written as escapes', () => {
    expect(printable('a\u001b[31mred\u202e')).toBe('a\\u{1b}[31mred\\u{202e}');
    expect(printable('two\nlines\r\tend')).toBe('two\\nlines\\r\\tend');
    for (const character of hostile) expect(printable(`a${character}b`)).toMatch(/^a\\u\{[0-9a-f]+\}b$/);
  });

  it('stays as it is where it is harmless, in any script', () => {
    for (const text of ['refund-17', 'Grüße', '請求書', 'שלום', '👍'] as const) expect(printable(text)).toBe(text);
  });

  it('is cut at the length asked for, and what is cut is counted', () => {
    expect(printable('abcdef', 6)).toBe('abcdef');
    expect(printable('abcdefg', 6)).toBe('abcdef... (1 more characters)');
  });

  it('as JSON is the same document, and holds no such character', () => {
    const value = { [`key${hostile.join('')}`]: hostile, text: 'Grüße' };
    const text = jsonText(value, 2);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[^\P{Cc}\n]/u);
    expect(text).toContain('Grüße');
  });
});
