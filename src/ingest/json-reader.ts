import { isAscii, isUtf8 } from 'node:buffer';
import { Refusal } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import { ByteCache, type Sliceable, words } from './words.ts';
import { type MutableJsonObject, newJsonObject, setMember } from './json-object.ts';
import { type KeyCount, MOST_KEYS_OF_ONE, tooManyKeysOfOne } from './keys.ts';

/** What one JSON text may hold. Counted while reading, before anything is built. */
export type JsonBounds = {
  /** Deepest nesting of objects and arrays. */
  readonly depth: number;
  /** Most objects and arrays together. */
  readonly containers: number;
  /** Most values: texts, numbers, words, objects, arrays. */
  readonly values: number;
  /** The refusal of more values, where something else bounds them. */
  readonly tooManyValues?: (limit: number) => Refusal;
};

export type JsonMark = { readonly pos: number; readonly containers: number; readonly values: number };

/** @see Interface decisions, "5. Ingest policy": JSON nesting is bounded at 128 */
export const jsonBounds: JsonBounds = { depth: 128, containers: 1_000_000, values: 4_000_000 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_E = 0x45;
const LETTER_U = 0x75;
const LONGEST_NUMBER = 1024;
/** Digits of which every integer is exact in a double. */
const EXACT_DIGITS = 15;
/** Powers of ten that are exact in a double: such an integer times or over one of them is rounded once, as it must be. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
const MOST_POWER = POWERS_OF_TEN.length - 1;
/** Every number of at most so many digits before its point is in the range of a double. */
const MOST_EXPONENT = 308;
const REPLACEMENT = 0xfffd;

const notJson = (why: string): Refusal =>
  new Refusal({ code: 'invalid_body', message: `body is not valid JSON: ${why}` });

const tooManyContainers = (limit: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message: `body has more than ${limit} objects and arrays, which is the limit; send smaller batches`,
  });

const tooManyValues = (limit: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message: `body has more than ${limit} values, which is the limit; send smaller batches`,
  });

/** What a backslash and one more character stand for; zero for `\\u`, which needs more, and for what is no escape. */
const SIMPLE_ESCAPES = new Uint8Array(256);
for (const [letter, plain] of Object.entries({
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}))
  SIMPLE_ESCAPES[letter.charCodeAt(0)] = plain.charCodeAt(0);

/** What a hexadecimal digit stands for; -1 for what is none. */
const HEX = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  HEX[text.charCodeAt(0)] = digit;
  HEX[text.toUpperCase().charCodeAt(0)] = digit;
}

/** One for each byte that a number may hold. */
const OF_NUMBER = new Uint8Array(256);
for (const character of '0123456789+-.eE') OF_NUMBER[character.charCodeAt(0)] = 1;

/** The UTF-16 unit that `\uXXXX` at `at` stands for; -1 when no such escape is there. */
const unitAt = (bytes: Buffer, at: number): number => {
  if (at + 6 > bytes.length || bytes[at] !== BACKSLASH || bytes[at + 1] !== LETTER_U) return -1;
  const first = HEX[bytes[at + 2] as number] as number;
  const second = HEX[bytes[at + 3] as number] as number;
  const third = HEX[bytes[at + 4] as number] as number;
  const fourth = HEX[bytes[at + 5] as number] as number;
  // One -1 makes it all negative.
  const unit = (first << 12) | (second << 8) | (third << 4) | fourth;
  return unit < 0 ? -1 : unit;
};

/** Whether any of four bytes ends the plain part of a string: a quote, a backslash or a control character. */
const stops = (four: number): boolean => {
  const quote = four ^ 0x22222222;
  const backslash = four ^ 0x5c5c5c5c;
  // A byte that is not ASCII has its high bit before the subtraction, too, and is none of them.
  return (((four - 0x20202020) | (quote - 0x01010101) | (backslash - 0x01010101)) & ~four & 0x80808080) !== 0;
};

/**
 * Strings are read in parts of so many bytes, each with a call of its own: V8 changes to better code when a function is
 * called, and within a loop only sometimes. One of 8 MiB would be read by its interpreter, ten times as slowly.
 */
const PART = 16_384;

/** Where strings are put together. One for all readers: none of them gives way to another inside of a string. */
const scratch = Buffer.allocUnsafeSlow(65_536) as Sliceable;
const scratchView = new DataView(scratch.buffer, scratch.byteOffset, scratch.byteLength);

/** Short decimals of far powers of ten, by their bytes: to round one takes ten times as long as to read it. */
const decimals = new ByteCache<number>(8);

/** Text that all stores can hold: NUL and lone surrogates become U+FFFD. */
export const storableText = (text: string): string => {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!whole.includes('\0')) return whole;
  // Unit by unit: `replace` keeps a piece of text for each of millions of them.
  const units = new Uint16Array(whole.length);
  for (let at = 0; at < units.length; at++) units[at] = whole.charCodeAt(at) || REPLACEMENT;
  return Buffer.from(units.buffer).toString('utf16le');
};

/**
 * Reads JSON from bytes, in one pass, value by value: a caller that knows the shape builds its own things and no tree.
 * Strict as RFC 8259, and bounded. An integer that a double cannot hold is given as its decimal text, never rounded.
 *
 * Objects and arrays are read as
 * `if (reader.enterObject()) do { switch (reader.member()) … } while (reader.moreMembers())`.
 */
export class JsonReader {
  readonly bytes: Sliceable;
  readonly view: DataView;
  pos = 0;
  /** Where the name of the current member stands, without quotes. */
  nameStart = 0;
  nameEnd = 0;
  /** The name holds escapes, and is `nameText` instead of the bytes. */
  nameEscaped = false;
  private readonly ascii: boolean;
  private readonly bounds: JsonBounds;
  private depth = 0;
  private containers = 0;
  private values = 0;
  private readonly keys: KeyCount | undefined;
  private readonly freeDepth: number;

  /**
   * @param keys counts the members of what `value` builds deeper than `freeDepth`
   * @param freeDepth depth of the objects whose members the protocol names
   * @throws Refusal when the body is not UTF-8
   */
  constructor(body: Uint8Array, bounds: JsonBounds = jsonBounds, keys?: KeyCount, freeDepth = 0) {
    this.keys = keys;
    this.freeDepth = freeDepth;
    this.bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength) as Sliceable;
    this.view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.bounds = bounds;
    this.ascii = isAscii(this.bytes);
    if (!this.ascii && !isUtf8(this.bytes)) throw notJson('it is not UTF-8');
    // RFC 8259 lets a reader ignore a byte order mark.
    if (this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf) this.pos = 3;
  }

  /** A place to come back to, with what was counted on the way there. */
  mark(): JsonMark {
    return { pos: this.pos, containers: this.containers, values: this.values };
  }

  /** Goes to a place at the same depth. What is read a second time is counted once. */
  goTo(mark: JsonMark): void {
    this.pos = mark.pos;
    this.containers = mark.containers;
    this.values = mark.values;
  }

  /** The first byte of the next value, or -1 at the end. */
  peek(): number {
    const { bytes } = this;
    const { length } = bytes;
    while (this.pos < length) {
      const byte = bytes[this.pos] as number;
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return byte;
      this.pos++;
    }
    return -1;
  }

  unexpected(): Refusal {
    return notJson(this.pos >= this.bytes.length ? 'it ends too early' : `unexpected character at byte ${this.pos}`);
  }

  /** Nothing may follow the one value of a text. */
  expectEnd(): void {
    if (this.peek() !== -1) throw this.unexpected();
  }

  private enter(): void {
    this.pos++;
    if (++this.depth > this.bounds.depth)
      throw new Refusal({
        code: 'invalid_body',
        message: `body is nested deeper than ${this.bounds.depth} levels, which is the limit`,
      });
    if (++this.containers > this.bounds.containers) throw tooManyContainers(this.bounds.containers);
    this.countValue();
  }

  /** Counts what a caller read past the reader's own methods; each of the objects is closed again. */
  countObjects(objects: number): void {
    this.containers += objects;
    this.values += objects;
    if (this.containers > this.bounds.containers) throw tooManyContainers(this.bounds.containers);
  }

  private countValue(): void {
    if (++this.values > this.bounds.values) throw (this.bounds.tooManyValues ?? tooManyValues)(this.bounds.values);
  }

  /** Enters the object that comes next. @returns false when it has no member, and is already behind */
  enterObject(): boolean {
    this.enter();
    if (this.peek() !== CLOSE_OBJECT) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  moreMembers(): boolean {
    const byte = this.peek();
    if (byte === COMMA) {
      this.pos++;
      return true;
    }
    if (byte !== CLOSE_OBJECT) throw this.unexpected();
    this.pos++;
    this.depth--;
    return false;
  }

  enterArray(): boolean {
    this.enter();
    if (this.peek() !== CLOSE_ARRAY) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  moreItems(): boolean {
    const byte = this.peek();
    if (byte === COMMA) {
      this.pos++;
      return true;
    }
    if (byte !== CLOSE_ARRAY) throw this.unexpected();
    this.pos++;
    this.depth--;
    return false;
  }

  /** Reads a member's name and its colon; the value is next. */
  member(): void {
    if (this.peek() !== QUOTE) throw this.unexpected();
    this.nameEscaped = this.findString();
    this.nameStart = this.stringStart;
    this.nameEnd = this.stringEnd;
    const { bytes } = this;
    if (bytes[this.pos] === COLON) {
      this.pos++;
      return;
    }
    if (this.peek() !== COLON) throw this.unexpected();
    this.pos++;
  }

  nameText(): string {
    return this.textOf(this.nameStart, this.nameEnd, this.nameEscaped);
  }

  /** Bounds of the last string found, without its quotes. */
  stringStart = 0;
  stringEnd = 0;

  /** Goes on in a string: to its quote, or to its first escape unless these are passed, or to what may not be in it. */
  private stringStop(from: number, passEscapes: boolean): number {
    const { bytes } = this;
    let at = from;
    let byte = 0;
    do {
      at = this.passPart(at, passEscapes);
      byte = bytes[at] as number; // none at the end, and then it is no longer `>= 0x20`
    } while (byte >= 0x20 && byte !== QUOTE && (passEscapes || byte !== BACKSLASH));
    return at;
  }

  private passPart(from: number, passEscapes: boolean): number {
    const { bytes, view } = this;
    const { length } = bytes;
    const end = Math.min(length, from + PART);
    const lastFour = end - 4;
    let at = from;
    while (at < end) {
      while (at <= lastFour && !stops(view.getInt32(at, true))) at += 4;
      let byte = 0;
      for (; at < end; at++) {
        byte = bytes[at] as number;
        if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
      }
      if (byte !== BACKSLASH || !passEscapes) break;
      while (at < end && bytes[at] === BACKSLASH) {
        if (at + 1 < length && SIMPLE_ESCAPES[bytes[at + 1] as number] !== 0) at += 2;
        else if (unitAt(bytes, at) >= 0) at += 6;
        else throw notJson(`a wrong escape at byte ${at}`);
      }
    }
    return at;
  }

  /** Finds the string that begins here and moves behind it. @returns true when it holds escapes */
  findString(): boolean {
    const { bytes } = this;
    const start = this.pos + 1;
    let at = this.stringStop(start, false);
    const escaped = bytes[at] === BACKSLASH;
    if (escaped) at = this.stringStop(at, true);
    this.pos = at;
    if (bytes[at] !== QUOTE) throw this.unexpected();
    this.pos = at + 1;
    this.stringStart = start;
    this.stringEnd = at;
    return escaped;
  }

  textOf(start: number, end: number, escaped: boolean): string {
    if (!escaped) return this.textIn(this.bytes, this.view, start, end, this.ascii);
    const length = end - start;
    if (length <= scratch.length) {
      const written = this.unescape(scratch, scratchView, start, end);
      return this.textIn(scratch, scratchView, 0, written, this.unescapedAscii);
    }
    const target = Buffer.allocUnsafeSlow(length) as Sliceable;
    const view = new DataView(target.buffer, target.byteOffset, length);
    const written = this.unescape(target, view, start, end);
    return this.textIn(target, view, 0, written, this.unescapedAscii);
  }

  private textIn(bytes: Sliceable, view: DataView, start: number, end: number, ascii: boolean): string {
    const length = end - start;
    const known = words.find(view, start, length);
    if (known !== undefined) return known;
    const text = ascii ? bytes.latin1Slice(start, end) : bytes.utf8Slice(start, end);
    // As many characters as bytes: it is ASCII.
    if (text.length === length) words.put(view, start, length, text);
    return text;
  }

  /** The string that begins here. */
  string(): string {
    this.countValue();
    const { bytes } = this;
    const start = this.pos + 1;
    const at = this.stringStop(start, false);
    if (bytes[at] === BACKSLASH) return this.escapedString(start);
    this.pos = at;
    if (bytes[at] !== QUOTE) throw this.unexpected();
    this.pos = at + 1;
    return this.textIn(bytes, this.view, start, at, this.ascii);
  }

  /**
   * The string that begins at `start` and holds escapes. Payloads are JSON inside of JSON, so this is most of their text:
   * one that is not long is read in one pass.
   */
  private escapedString(start: number): string {
    const { bytes } = this;
    const end = Math.min(bytes.length, start + scratch.length);
    const written = this.unescape(scratch, scratchView, start, end);
    const at = this.unescapedEnd;
    if (at < end && bytes[at] === QUOTE) {
      this.pos = at + 1;
      return this.textIn(scratch, scratchView, 0, written, this.unescapedAscii);
    }
    // It is longer than that, or wrong.
    this.pos = start - 1;
    this.findString();
    return this.textOf(this.stringStart, this.stringEnd, true);
  }

  /** How far `unescape` has read and written, and whether it wrote nothing but ASCII. */
  private unescapedEnd = 0;
  private unescapedBytes = 0;
  private unescapedAscii = true;

  /**
   * Copies a string that begins at `start`, each escape as the UTF-8 of what it stands for, and of U+FFFD where stores
   * cannot hold that (raw text is UTF-8, and raw control characters are refused). What is written is never longer than
   * what is read. Stops at the quote, at what is wrong, and at `end`.
   * @returns how many bytes were written
   */
  private unescape(target: Sliceable, targetView: DataView, start: number, end: number): number {
    this.unescapedEnd = start;
    this.unescapedBytes = 0;
    this.unescapedAscii = this.ascii;
    let partEnd: number;
    do {
      partEnd = Math.min(end, this.unescapedEnd + PART);
      this.unescapePart(target, targetView, partEnd);
    } while (this.unescapedEnd >= partEnd && partEnd < end);
    return this.unescapedBytes;
  }

  private unescapePart(target: Sliceable, targetView: DataView, end: number): void {
    const { bytes, view } = this;
    const { length } = bytes;
    const lastFour = end - 4;
    let ascii = this.unescapedAscii;
    let to = this.unescapedBytes;
    let at = this.unescapedEnd;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte !== BACKSLASH) {
        if (byte === QUOTE || byte < 0x20) break;
        target[to++] = byte;
        at++;
        while (at <= lastFour) {
          const four = view.getInt32(at, true);
          if (stops(four)) break;
          targetView.setInt32(to, four, true);
          to += 4;
          at += 4;
        }
        continue;
      }
      const plain = at + 1 < length ? (SIMPLE_ESCAPES[bytes[at + 1] as number] as number) : 0;
      if (plain !== 0) {
        target[to++] = plain;
        at += 2;
        continue;
      }
      let code = unitAt(bytes, at);
      if (code < 0) break;
      at += 6;
      if (code < 0x80 && code !== 0) {
        target[to++] = code;
        continue;
      }
      ascii = false;
      if (code >= 0xd800 && code <= 0xdfff) {
        const low = code < 0xdc00 ? unitAt(bytes, at) : -1;
        if (low >= 0xdc00 && low <= 0xdfff) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          at += 6;
        } else code = REPLACEMENT;
      } else if (code === 0) code = REPLACEMENT;
      if (code < 0x800) target[to++] = 0xc0 | (code >> 6);
      else {
        if (code < 0x10000) target[to++] = 0xe0 | (code >> 12);
        else {
          target[to++] = 0xf0 | (code >> 18);
          target[to++] = 0x80 | ((code >> 12) & 0x3f);
        }
        target[to++] = 0x80 | ((code >> 6) & 0x3f);
      }
      target[to++] = 0x80 | (code & 0x3f);
    }
    this.unescapedEnd = at;
    this.unescapedBytes = to;
    this.unescapedAscii = ascii;
  }

  /** The number that begins here; an integer that a double cannot hold as its digits. */
  number(): number | string {
    return this.readNumber(true);
  }

  /** @param wanted false where nobody asks which number it is, only whether it is one */
  private readNumber(wanted: boolean): number | string {
    this.countValue();
    const { bytes } = this;
    const { length } = bytes;
    const start = this.pos;
    let at = start;
    const negative = bytes[at] === MINUS;
    if (negative) at++;
    const digits = at;
    let value = 0;
    while (at < length) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      at++;
    }
    const next = at < length ? (bytes[at] as number) : COMMA;
    const count = at - digits;
    // The common case: a short integer that ends here.
    if (
      count > 0 &&
      count <= EXACT_DIGITS &&
      (count === 1 || bytes[digits] !== ZERO) &&
      (next === COMMA || next === CLOSE_OBJECT || next === CLOSE_ARRAY)
    ) {
      this.pos = at;
      return negative && value !== 0 ? -value : value;
    }
    return this.otherNumber(start, digits, at, value, wanted);
  }

  /**
   * Any number.
   * @param start where it begins
   * @param digits where its digits begin
   * @param wholeEnd where its whole part ends
   * @param whole what that part says
   */
  private otherNumber(
    start: number,
    digits: number,
    wholeEnd: number,
    whole: number,
    wanted: boolean,
  ): number | string {
    const { bytes } = this;
    const { length } = bytes;
    if (wholeEnd === digits || (wholeEnd - digits > 1 && bytes[digits] === ZERO)) throw this.wrongNumber(start);
    let at = wholeEnd;
    // Its digits as an integer, how many of them stand behind zeros, and the power of ten that the integer is multiplied by.
    let value = whole;
    let significant = whole === 0 ? 0 : wholeEnd - digits;
    let power = 0;
    if (at < length && bytes[at] === DOT) {
      const fraction = ++at;
      for (; at < length; at++) {
        const digit = (bytes[at] as number) - ZERO;
        if (digit < 0 || digit > 9) break;
        value = value * 10 + digit;
        if (value !== 0) significant++;
      }
      if (at === fraction) throw this.wrongNumber(start);
      power = fraction - at;
    }
    if (at < length && ((bytes[at] as number) & ~0x20) === LETTER_E) {
      at++;
      const sign = at < length ? (bytes[at] as number) : ZERO;
      if (sign === PLUS || sign === MINUS) at++;
      const exponentStart = at;
      let exponent = 0;
      for (; at < length; at++) {
        const digit = (bytes[at] as number) - ZERO;
        if (digit < 0 || digit > 9) break;
        exponent = exponent * 10 + digit;
      }
      if (at === exponentStart) throw this.wrongNumber(start);
      power += sign === MINUS ? -exponent : exponent;
    }
    if (at - start > LONGEST_NUMBER || (at < length && OF_NUMBER[bytes[at] as number] === 1))
      throw this.wrongNumber(start);
    this.pos = at;
    if (!wanted && significant + power <= MOST_EXPONENT) return 0;
    if (significant <= EXACT_DIGITS && power >= -MOST_POWER && power <= MOST_POWER) {
      const exact = power < 0 ? value / (POWERS_OF_TEN[-power] as number) : value * (POWERS_OF_TEN[power] as number);
      return bytes[start] === MINUS && exact !== 0 ? -exact : exact;
    }
    const known = decimals.find(this.view, start, at - start);
    if (known !== undefined) return known;
    const text = bytes.latin1Slice(start, at);
    const rounded = Number(text) + 0;
    if (!Number.isFinite(rounded)) throw notJson(`a number that is out of range at byte ${start}`);
    if (at === wholeEnd && !Number.isSafeInteger(rounded)) return text;
    decimals.put(this.view, start, at - start, rounded);
    return rounded;
  }

  /** The refusal of a number at `start`, where the reader stands: the grammar has none, or it is too long. */
  private wrongNumber(start: number): Refusal {
    const { bytes } = this;
    const most = Math.min(bytes.length, start + LONGEST_NUMBER + 1);
    let at = start;
    while (at < most && OF_NUMBER[bytes[at] as number] === 1) at++;
    return at - start > LONGEST_NUMBER
      ? notJson(`a number of more than ${LONGEST_NUMBER} characters at byte ${start}`)
      : this.unexpected();
  }

  private word(text: string): void {
    this.countValue();
    const end = this.pos + text.length;
    if (end > this.bytes.length || this.bytes.latin1Slice(this.pos, end) !== text) throw this.unexpected();
    this.pos = end;
  }

  /** True and behind it, when `null` comes next. */
  skipNull(): boolean {
    if (this.peek() !== 0x6e) return false;
    this.word('null');
    return true;
  }

  boolean(): boolean {
    if (this.bytes[this.pos] === 0x74) {
      this.word('true');
      return true;
    }
    this.word('false');
    return false;
  }

  /** Whatever value comes next, as data. */
  value(): Json {
    const byte = this.peek();
    switch (byte) {
      case QUOTE:
        return this.string();
      case OPEN_OBJECT: {
        const object: MutableJsonObject = newJsonObject();
        let members = 0;
        if (this.enterObject()) {
          const keys = this.depth > this.freeDepth ? this.keys : undefined;
          const mostMembers = this.keys === undefined ? Number.POSITIVE_INFINITY : MOST_KEYS_OF_ONE;
          do {
            this.member();
            const name = this.nameText();
            if (++members > mostMembers) throw tooManyKeysOfOne();
            if (keys !== undefined) {
              keys.add();
              keys.names.add(name);
            }
            setMember(object, name, this.value());
          } while (this.moreMembers());
        }
        return object;
      }
      case OPEN_ARRAY: {
        const list: Json[] = [];
        if (this.enterArray())
          do {
            list.push(this.value());
          } while (this.moreItems());
        return list;
      }
      case 0x74:
      case 0x66:
        return this.boolean();
      case 0x6e:
        this.word('null');
        return null;
      default:
        if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return this.number();
        throw this.unexpected();
    }
  }

  /** Passes over the value that comes next. It is checked just as strictly, escapes aside. */
  skipValue(): void {
    const byte = this.peek();
    switch (byte) {
      case QUOTE:
        this.countValue();
        this.findString();
        return;
      case OPEN_OBJECT:
        if (this.enterObject())
          do {
            this.member();
            this.skipValue();
          } while (this.moreMembers());
        return;
      case OPEN_ARRAY:
        if (this.enterArray())
          do {
            this.skipValue();
          } while (this.moreItems());
        return;
      default:
        if (byte === MINUS || (byte >= ZERO && byte <= NINE)) this.readNumber(false);
        else this.value();
    }
  }
}
