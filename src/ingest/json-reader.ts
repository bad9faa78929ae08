import { isAscii, isUtf8 } from 'node:buffer';
import { Refusal } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import { type Sliceable, words } from './words.ts';
import { type MutableJsonObject, newJsonObject } from './json-object.ts';
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
const LETTER_U = 0x75;
const FOUR_HEX = /^[0-9a-fA-F]{4}$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;
const LONGEST_NUMBER = 1024;
/** Digits of which every integer is exact in a double. */
const EXACT_DIGITS = 15;
const NUL = /\0/g;
const REPLACEMENT = '\ufffd';

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

/**
 * Whether any of four bytes may end the plain part of a string: a quote, a backslash or a control character. Bytes that
 * are not ASCII may answer yes too, so a yes is looked at byte by byte; a no is certain.
 */
const mayStop = (four: number): boolean => {
  const quote = four ^ 0x22222222;
  const backslash = four ^ 0x5c5c5c5c;
  return (((four - 0x20202020) | (quote - 0x01010101) | (backslash - 0x01010101)) & 0x80808080) !== 0;
};

/** Where strings are put together. One for all readers: none of them gives way to another inside of a string. */
const scratch = Buffer.allocUnsafeSlow(65_536) as Sliceable;
const scratchView = new DataView(scratch.buffer, scratch.byteOffset, scratch.byteLength);

/** Text that all stores can hold: NUL and lone surrogates become U+FFFD. */
export const storableText = (text: string): string => {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replace(NUL, REPLACEMENT) : whole;
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

  /** Passes over plain text from `at`, four bytes at a time; what comes then is looked at byte by byte. */
  private plainEnd(at: number): number {
    const { view } = this;
    const last = view.byteLength - 4;
    let end = at;
    while (end <= last && !mayStop(view.getInt32(end, true))) end += 4;
    return end;
  }

  /** Finds the string that begins here and moves behind it. @returns true when it holds escapes */
  findString(): boolean {
    const { bytes } = this;
    const { length } = bytes;
    let at = this.plainEnd(this.pos + 1);
    this.stringStart = this.pos + 1;
    let escaped = false;
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.stringEnd = at;
        this.pos = at + 1;
        return escaped;
      }
      if (byte === BACKSLASH) {
        escaped = true;
        at = this.plainEnd(this.escapeEnd(at));
        continue;
      }
      if (byte < 0x20) break;
      at++;
    }
    this.pos = Math.min(at, length);
    throw this.unexpected();
  }

  /** The end of the escape that begins at `at`. */
  private escapeEnd(at: number): number {
    const { bytes } = this;
    const letter = bytes[at + 1] as number;
    if (SIMPLE_ESCAPES[letter] !== 0 && letter !== undefined) return at + 2;
    if (letter === LETTER_U && at + 6 <= bytes.length && FOUR_HEX.test(bytes.latin1Slice(at + 2, at + 6)))
      return at + 6;
    throw notJson(`a wrong escape at byte ${at}`);
  }

  textOf(start: number, end: number, escaped: boolean): string {
    const { bytes } = this;
    if (escaped) {
      const quoted = this.ascii ? bytes.latin1Slice(start - 1, end + 1) : bytes.utf8Slice(start - 1, end + 1);
      // Only an escape can bring in what is not storable: raw control characters were refused, and raw text is UTF-8.
      return storableText(JSON.parse(quoted) as string);
    }
    const length = end - start;
    const known = words.find(this.view, start, length);
    if (known !== undefined) return known;
    const text = this.ascii ? bytes.latin1Slice(start, end) : bytes.utf8Slice(start, end);
    // As many characters as bytes: it is ASCII.
    if (text.length === length) words.put(this.view, start, length, text);
    return text;
  }

  /** The string that begins here. */
  string(): string {
    this.countValue();
    const { bytes } = this;
    const { length } = bytes;
    const start = this.pos + 1;
    let at = this.plainEnd(start);
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.pos = at + 1;
        return this.textOf(start, at, false);
      }
      if (byte === BACKSLASH) return this.unescaped(start, at);
      if (byte < 0x20) break;
      at++;
    }
    this.pos = at;
    throw this.unexpected();
  }

  /**
   * The string that begins at `start` and has its first escape at `escape`: copied byte by byte, each escape as what it
   * stands for. Payloads are JSON inside of JSON, so this is most of their text.
   */
  private unescaped(start: number, escape: number): string {
    const { bytes } = this;
    const end = Math.min(bytes.length, start + scratch.length);
    bytes.copy(scratch, 0, start, Math.min(escape, end));
    const { view } = this;
    const lastFour = end - 4;
    let to = escape - start;
    let at = escape;
    while (at < end) {
      while (at <= lastFour) {
        const four = view.getInt32(at, true);
        if (mayStop(four)) break;
        scratchView.setInt32(to, four, true);
        to += 4;
        at += 4;
      }
      if (at === end) break;
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.pos = at + 1;
        return this.ascii ? scratch.latin1Slice(0, to) : scratch.utf8Slice(0, to);
      }
      if (byte === BACKSLASH) {
        const plain = SIMPLE_ESCAPES[bytes[at + 1] as number] as number;
        if (plain === 0) break; // \u, or none at all: the long way
        scratch[to++] = plain;
        at += 2;
        continue;
      }
      if (byte < 0x20) break;
      scratch[to++] = byte;
      at++;
    }
    this.pos = start - 1;
    const escaped = this.findString();
    return this.textOf(this.stringStart, this.stringEnd, escaped);
  }

  /** The number that begins here; an integer that a double cannot hold as its digits. */
  number(): number | string {
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
      const digit = (bytes[at] as number) - 0x30;
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
      (count === 1 || bytes[digits] !== 0x30) &&
      (next === COMMA || next === CLOSE_OBJECT || next === CLOSE_ARRAY)
    ) {
      this.pos = at;
      return negative && value !== 0 ? -value : value;
    }
    return this.longNumber(start);
  }

  private longNumber(start: number): number | string {
    const { bytes } = this;
    let at = start;
    while (at < bytes.length && at - start <= LONGEST_NUMBER) {
      const byte = bytes[at] as number;
      const belongs =
        (byte >= 0x30 && byte <= 0x39) ||
        byte === 0x2b ||
        byte === 0x2d ||
        byte === 0x2e ||
        byte === 0x45 ||
        byte === 0x65;
      if (!belongs) break;
      at++;
    }
    if (at - start > LONGEST_NUMBER)
      throw notJson(`a number of more than ${LONGEST_NUMBER} characters at byte ${start}`);
    const text = bytes.latin1Slice(start, at);
    if (!NUMBER.test(text)) throw this.unexpected();
    const value = Number(text);
    if (!Number.isFinite(value)) throw notJson(`a number that is out of range at byte ${start}`);
    this.pos = at;
    if (INTEGER.test(text) && !Number.isSafeInteger(value)) return text;
    return value + 0;
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
            object[name] = this.value();
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
        if (byte === MINUS || (byte >= 0x30 && byte <= 0x39)) return this.number();
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
        this.value();
    }
  }
}
