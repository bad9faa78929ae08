import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../any-character.ts';
import { wordsOf } from '../../src/store/signals/words.ts';
import { WORD_TABLE, wordTable } from '../../tools/words.ts';

/** The words of a text by the index of the embedded store. */
const openIndex = () => {
  const db = new Database(':memory:');
  db.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize='unicode61 remove_diacritics 0');
           CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance);`);
  const insert = db.prepare('INSERT INTO texts (rowid, text) VALUES (1, ?)');
  const read = db.prepare<[], string>('SELECT term FROM words ORDER BY "offset"').pluck();
  const drop = db.prepare('DELETE FROM texts');
  return (text: string): string[] => {
    insert.run(text);
    const words = read.all();
    drop.run();
    return words;
  };
};

describe('words of a search', () => {
  it('the table says of every character what FTS5 says (`node tools/words.ts` writes it)', () => {
    expect(readFileSync(WORD_TABLE, 'utf8')).toBe(wordTable());
  });

  it.each([
    [
      'user@example.com a/b/c.txt v1.2.3 3.14',
      ['user', 'example', 'com', 'a', 'b', 'c', 'txt', 'v1', '2', '3', '3', '14'],
    ],
    ["snake_case kebab-case don’t it's", ['snake', 'case', 'kebab', 'case', 'don', 't', 'it', 's']],
    ['ΣΊΣΥΦΟΣ σίσυφος', ['σίσυφοσ', 'σίσυφοσ']],
    ['naïve NAÏVE nai\u0308ve', ['naïve', 'naïve', 'nai\u0308ve']],
    ['\u0308 a\u0308', ['a\u0308']],
    ['東京 42 ٤٢', ['東京', '42', '٤٢']],
    ['ÄÖÜ straße STRASSE İ', ['äöü', 'straße', 'strasse', 'İ']],
    ['a\0b\ud800c 😀', ['a', 'b', 'c']],
    [' \t\n—“”…', []],
    ['', []],
  ])('%j holds the words %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('any text has the words that FTS5 indexes of it', () => {
    const byIndex = openIndex();
    const piece = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 12 }),
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom(
        'word',
        'Straße',
        'ΑΣ',
        '-',
        ' ',
        '\u0301',
        '\u0483',
        '\0',
        '\ud800',
        '\udc00',
        '१२',
        'ᏸ',
        'K',
        'ſ',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        expect(wordsOf(text)).toEqual(byIndex(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
