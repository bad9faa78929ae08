/**
 * Writes `src/store/signals/word-table.ts`: which characters make words, and how they fold, as the FTS5 of SQLite has it. To be run
 * when the rule shall follow a newer FTS5; `test/store/search-words.test.ts` says when the two differ.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

const CHARACTERS = 0x110000;
const isSurrogate = (character: number): boolean => character >= 0xd800 && character < 0xe000;
/** Characters in one row of the index: rows cost more than words. */
const ROW = 512;

type Characters = {
  /** Those that begin a word. */
  readonly letters: ReadonlySet<number>;
  /** Those that go on with a word, and begin none. */
  readonly marks: ReadonlySet<number>;
  /** Where a letter is not its own small one. */
  readonly folds: ReadonlyMap<number, number>;
};

/** Asks FTS5 about every character. */
const askIndex = (): Characters => {
  const db = new Database(':memory:');
  db.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize='unicode61 remove_diacritics 0');
           CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance);`);
  const insert = db.prepare('INSERT INTO texts (rowid, text) VALUES (?, ?)');
  const read = db.prepare<[number], string>('SELECT term FROM words WHERE doc = ? ORDER BY "offset"').pluck();
  const drop = db.prepare('DELETE FROM texts WHERE rowid = ?');
  const letters = new Set<number>();
  const marks = new Set<number>();
  const folds = new Map<number, number>();
  for (let from = 0; from < CHARACTERS; from += ROW) {
    const asked = Array.from({ length: ROW }, (_, at) => from + at).filter((character) => !isSurrogate(character));
    if (asked.length === 0) continue;
    // After each character, in the middle of a word and alone, a word that ends what belongs to it.
    insert.run(1, asked.map((character) => ((c) => `x${c}x ${c} .end. `)(String.fromCodePoint(character))).join(''));
    let words: string[] = [];
    let place = 0;
    for (const word of read.all(1)) {
      if (word !== 'end') {
        words.push(word);
        continue;
      }
      const character = asked[place++] as number;
      const joins = words[0] !== 'x';
      const alone = words.length === (joins ? 2 : 3) ? words.at(-1) : undefined;
      if (alone !== undefined) {
        letters.add(character);
        const folded = alone.codePointAt(0) as number;
        if (folded !== character) folds.set(character, folded);
      } else if (joins) marks.add(character);
      words = [];
    }
    drop.run(1);
  }
  db.close();
  return { letters, marks, folds };
};

/** Lengths of the runs of characters that are none, are, are none, … from 0 on. */
const runsOf = (held: ReadonlySet<number>): number[] => {
  const runs: number[] = [];
  let isIn = false;
  let length = 0;
  for (let character = 0; character < CHARACTERS; character += 1) {
    if (held.has(character) !== isIn) {
      runs.push(length);
      isIn = !isIn;
      length = 0;
    }
    length += 1;
  }
  if (isIn) runs.push(length);
  return runs;
};

/** Runs of characters, each so far from the one before, that fold by the same distance. */
const foldRunsOf = (folds: ReadonlyMap<number, number>): number[] => {
  const runs: { from: number; count: number; step: number; distance: number }[] = [];
  for (const [character, folded] of [...folds].sort(([a], [b]) => a - b)) {
    const last = runs.at(-1);
    const distance = folded - character;
    const step = last === undefined ? 0 : character - (last.from + (last.count - 1) * last.step);
    if (last?.distance === distance && step <= 2 && (last.count === 1 || last.step === step)) {
      last.step = step;
      last.count += 1;
    } else runs.push({ from: character, count: 1, step: 1, distance });
  }
  return runs.flatMap(({ from, count, step, distance }) => [from, count, step, distance]);
};

const LINE = 118;
const numbersText = (numbers: readonly number[]): string => {
  const lines = [''];
  for (const number of numbers) {
    const text = number.toString(36);
    const line = lines.at(-1) ?? '';
    if (line.length + 1 + text.length > LINE) lines.push(text);
    else lines[lines.length - 1] = line === '' ? text : `${line} ${text}`;
  }
  return lines.join('\n');
};

/** The text of the table. */
export const wordTable = (): string => {
  const { letters, marks, folds } = askIndex();
  return `// Written by tools/words.ts out of FTS5. Numbers are in base 36.

/** Lengths of runs of characters that begin no word, that do, that do not, … from U+0000 on. */
export const LETTER_RUNS = \`
${numbersText(runsOf(letters))}
\`;

/** The same of marks: they go on with a word, and begin none. */
export const MARK_RUNS = \`
${numbersText(runsOf(marks))}
\`;

/** How characters fold, four numbers a run: the first of them, how many, how far each is from the next, and what is added to each. */
export const FOLD_RUNS = \`
${numbersText(foldRunsOf(folds))}
\`;
`;
};

export const WORD_TABLE = join(import.meta.dirname, '..', 'src', 'store', 'signals', 'word-table.ts');

if (import.meta.main) writeFileSync(WORD_TABLE, wordTable());
