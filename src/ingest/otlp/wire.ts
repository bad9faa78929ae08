import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../model/failure.ts';
import { storableText } from '../json-reader.ts';
import { NameCount } from '../keys.ts';
import { type AttributeKey, attributeKey } from '../mapping/key.ts';
import { type Sliceable, words } from '../words.ts';
import { keysByBytes } from './keys-by-bytes.ts';

/** Deepest nesting of groups that is skipped over; no field of ours is a group. */
const MOST_GROUPS = 64;
const SHORT_TEXT = 32;
const REPLACEMENT = '\ufffd';

const truncated = (at: number): Refusal =>
  new Refusal({
    code: 'invalid_body',
    message: `body is not a valid OTLP protobuf request: it ends inside of a field, or a length is wrong (near byte ${at})`,
  });

const malformed = (at: number, what: string): Refusal =>
  new Refusal({ code: 'invalid_body', message: `body is not a valid OTLP protobuf request: ${what} at byte ${at}` });

/**
 * Reads the protobuf wire format from one body. Positions move forward only; every length is checked against the end of
 * the message around it.
 * @see https://protobuf.dev/programming-guides/encoding/
 */
export class WireReader {
  readonly bytes: Sliceable;
  private readonly view: DataView;
  pos = 0;
  /** Set when a text was not UTF-8. The reader goes on; the reader of the signal looks here and refuses it. */
  badText = false;
  /** Names of this body that were not known from earlier ones. */
  private readonly newNames = new NameCount();

  constructor(body: Uint8Array) {
    this.bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength) as Sliceable;
    this.view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  /** A field's tag: number and wire type. */
  tag(end: number): number {
    const { bytes } = this;
    const first = bytes[this.pos] as number;
    if (first < 0x80) {
      this.pos++;
      if (first < 8) throw malformed(this.pos - 1, 'field number 0');
      return first;
    }
    const tag = this.varint(end);
    if (tag > 0xffffffff || tag < 8) throw malformed(this.pos, 'an impossible field number');
    return tag;
  }

  /** A varint as a number; exact up to 2^53, which every length and enum is. */
  varint(end: number): number {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      if (this.pos >= end) throw truncated(this.pos);
      const byte = bytes[this.pos++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw malformed(this.pos, 'a varint of more than ten bytes');
  }

  /** A signed 64-bit varint: a number where a double holds it exactly, else its decimal text. */
  int64(end: number): number | string {
    const { bytes } = this;
    const first = bytes[this.pos] as number;
    if (first < 0x80 && this.pos < end) {
      this.pos++;
      return first;
    }
    let low = 0;
    let high = 0;
    for (let count = 0; count < 10; count++) {
      if (this.pos >= end) throw truncated(this.pos);
      const byte = bytes[this.pos++] as number;
      const bits = byte & 0x7f;
      if (count < 4) low |= bits << (7 * count);
      else if (count === 4) {
        low |= bits << 28;
        high = bits >> 4;
      } else high |= count < 9 ? bits << (7 * (count - 5) + 3) : bits << 31;
      if (byte < 0x80) {
        const value = high * 4_294_967_296 + (low >>> 0);
        if (Number.isSafeInteger(value)) return value;
        return ((BigInt(high) << 32n) | BigInt(low >>> 0)).toString();
      }
    }
    throw malformed(this.pos, 'a varint of more than ten bytes');
  }

  /** The end of a length-delimited field that begins here. */
  length(end: number): number {
    const { bytes } = this;
    const first = bytes[this.pos] as number;
    let length: number;
    if (first < 0x80 && this.pos < end) {
      this.pos++;
      length = first;
    } else length = this.varint(end);
    const stop = this.pos + length;
    if (stop > end) throw truncated(this.pos);
    return stop;
  }

  fixed64(end: number): bigint {
    if (this.pos + 8 > end) throw truncated(this.pos);
    const value = this.view.getBigUint64(this.pos, true);
    this.pos += 8;
    return value;
  }

  double(end: number): number {
    if (this.pos + 8 > end) throw truncated(this.pos);
    const value = this.view.getFloat64(this.pos, true);
    this.pos += 8;
    return value;
  }

  hex(end: number): string {
    const text = this.bytes.hexSlice(this.pos, end);
    this.pos = end;
    return text;
  }

  base64(end: number): string {
    const text = this.bytes.base64Slice(this.pos, end);
    this.pos = end;
    return text;
  }

  /** Text up to `end`, as all stores can hold it: NUL is replaced, and anything but UTF-8 sets `badText`. */
  text(end: number): string {
    const { bytes, pos: start } = this;
    this.pos = end;
    const length = end - start;
    if (length <= SHORT_TEXT) {
      if (length === 0) return '';
      const known = words.find(this.view, start, length);
      if (known !== undefined) return known;
      let at = start;
      while (at < end) {
        const byte = bytes[at] as number;
        if (byte >= 0x80 || byte === 0) break;
        at++;
      }
      if (at === end) {
        const word = bytes.latin1Slice(start, end);
        words.put(this.view, start, length, word);
        return word;
      }
    }
    const text = bytes.utf8Slice(start, end);
    if (text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, end))) this.badText = true;
    return text.includes('\0') ? storableText(text) : text;
  }

  key(end: number): AttributeKey {
    const start = this.pos;
    const known = keysByBytes.find(this.view, start, end - start);
    if (known !== undefined) {
      this.pos = end;
      return known;
    }
    const wasBad = this.badText;
    this.badText = false;
    const key = attributeKey(this.text(end));
    this.newNames.add(key.name);
    // What is not UTF-8 is no name: remembered, it would pass the next time.
    if (!this.badText) keysByBytes.put(this.view, start, end - start, key);
    this.badText ||= wasBad;
    return key;
  }

  /** Skips the value of a field that nobody reads. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case 0:
        this.varint(end);
        return;
      case 1:
        this.pos += 8;
        break;
      case 2:
        this.pos = this.length(end);
        return;
      case 3:
        this.skipGroup(tag, end);
        return;
      case 5:
        this.pos += 4;
        break;
      default:
        throw malformed(this.pos, `wire type ${tag & 7}`);
    }
    if (this.pos > end) throw truncated(end);
  }

  private skipGroup(opening: number, end: number): void {
    const open = [opening >>> 3];
    while (open.length > 0) {
      if (this.pos >= end) throw truncated(end);
      const tag = this.tag(end);
      const kind = tag & 7;
      if (kind === 3) {
        if (open.length >= MOST_GROUPS) throw malformed(this.pos, `more than ${MOST_GROUPS} nested groups`);
        open.push(tag >>> 3);
      } else if (kind === 4) {
        if (open.pop() !== tag >>> 3) throw malformed(this.pos, 'a group that ends as another');
      } else this.skip(tag, end);
    }
  }
}
