import type { Json } from '../../model/json.ts';
import { Refusal } from '../../model/failure.ts';
import type { SpanEvent, SpanLink } from '../../model/span.ts';
import type { DecodeContext, DecodedBatch } from '../decoded.ts';
import { newJsonObject, setMember } from '../json-object.ts';
import { type JsonMark, JsonReader } from '../json-reader.ts';
import { KeyCount, MOST_KEYS, MOST_KEYS_OF_ONE, tooManyKeysOfOne } from '../keys.ts';
import { type AttributeKey, attributeKey } from '../mapping/key.ts';
import { readResource } from '../mapping/readings.ts';
import { createSpanMapper, isUsableLink, type SpanMapper } from '../mapping/span-mapper.ts';
import { addShared, EmptyCount, NOTHING_SHARED, type Shared, SharedCount, tooManySignals } from './bounds.ts';
import { type FieldName, fieldNameAt, fieldNameOf } from './field-names.ts';
import { readIdText } from './id-text.ts';
import { keysByBytes } from './keys-by-bytes.ts';
import { emitterOfScope } from './scope.ts';
import { jsonBoundsWithin } from '../work.ts';
import { bytesText, doubleOf, integerOf, statusCodeOf, timeOf, wrongTypeMessage } from './wire-json.ts';

const OBJECT = 0x7b;
const ARRAY = 0x5b;
const STRING = 0x22;

const fourBytes = (text: string): number => Buffer.from(text).readUInt32LE(0);
const OPEN_KEY = fourBytes('{"ke');
const KEY_TO_TEXT = fourBytes('y":"');
const TO_VALUE_1 = fourBytes('","v');
const TO_VALUE_2 = fourBytes('alue');
const TO_VALUE_3 = fourBytes('":{"');
const STRING_1 = fourBytes('stri');
const STRING_2 = fourBytes('ngVa');
const STRING_3 = fourBytes('lue"');
const INT_1 = fourBytes('intV');
const INT_2 = fourBytes('alue');

/**
 * Reads an OTLP/JSON trace request from its bytes straight into the mapper: no tree is built. A member of a wrong type
 * is noted in `mismatch`; within a span it refuses that span alone, elsewhere the request.
 */
class TracesJsonReader {
  private readonly reader: JsonReader;
  private readonly mapper: SpanMapper;
  private readonly limit: number;
  private readonly empty: EmptyCount;
  private readonly sharedCount = new SharedCount();
  private readonly keys: KeyCount;
  /** Of the present span. */
  private attributes = 0;
  private ofResource: Shared = NOTHING_SHARED;
  /** Of the present resource and scope. */
  private shared: Shared = NOTHING_SHARED;
  private spans = 0;
  private mismatch: string | undefined;
  private attributeValue: Json = null;
  /** The last text that `compactKeyValue` made and gave back, and where it begins and ends: it is not made again. */
  private givenBack = '';
  private givenBackStart = -1;
  private givenBackEnd = -1;

  constructor(body: Uint8Array, context: DecodeContext) {
    this.reader = new JsonReader(body, jsonBoundsWithin(body.length, context.maxWork));
    this.mapper = createSpanMapper(context);
    this.limit = context.maxSignals;
    this.empty = new EmptyCount(context.maxSignals);
    this.keys = new KeyCount(context.maxKeys ?? MOST_KEYS);
  }

  request(): DecodedBatch {
    const { reader } = this;
    if (reader.peek() !== OBJECT) {
      reader.skipValue();
      reader.expectEnd();
      throw new Refusal({ code: 'invalid_body', message: 'body is not an OTLP request: it must be a JSON object' });
    }
    if (reader.enterObject())
      do {
        if (this.member() === 'resourceSpans') this.eachObject('resourceSpans', this.resourceSpans);
        else reader.skipValue();
      } while (reader.moreMembers());
    reader.expectEnd();
    this.checkShared();
    if (this.spans > this.limit) throw tooManySignals(this.spans, this.limit);
    this.empty.check(this.spans);
    return { ...this.mapper.decoded(), keys: this.keys.count, sharedBytes: this.sharedCount.bytes };
  }

  private member(): FieldName | undefined {
    const { reader } = this;
    reader.member();
    return reader.nameEscaped
      ? fieldNameOf(reader.nameText())
      : fieldNameAt(reader.bytes, reader.nameStart, reader.nameEnd);
  }

  private checkShared(): void {
    if (this.mismatch === undefined) return;
    throw new Refusal({
      code: 'invalid_body',
      message: `body is not an OTLP trace request: ${this.mismatch} has the wrong type`,
    });
  }

  /** A value of a type that the member cannot have. An explicit null means absent. */
  private wrongType(field: string): void {
    if (this.reader.skipNull()) return;
    this.mismatch ??= field;
    this.reader.skipValue();
  }

  private eachObject(field: string, read: () => void): void {
    const { reader } = this;
    if (reader.peek() !== ARRAY) {
      this.wrongType(field);
      return;
    }
    if (reader.enterArray())
      do {
        if (reader.peek() === OBJECT) read.call(this);
        else this.wrongType(field);
      } while (reader.moreItems());
  }

  private text(field: string): string {
    if (this.reader.peek() === STRING) return this.reader.string();
    this.wrongType(field);
    return '';
  }

  /** A number, or a text; 64-bit integers come as either. */
  private scalar(field: string): number | string | undefined {
    const byte = this.reader.peek();
    if (byte === STRING) return this.reader.string();
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) return this.reader.number();
    this.wrongType(field);
    return undefined;
  }

  private resourceSpans(): void {
    const { reader, mapper } = this;
    const later: JsonMark[] = [];
    let known = false;
    const before = this.spans;
    this.ofResource = NOTHING_SHARED;
    if (reader.enterObject())
      do {
        const field = this.member();
        if (field === 'resource') {
          const keys: AttributeKey[] = [];
          const values: Json[] = [];
          const { pos } = reader;
          this.attributesOf('resource', keys, values);
          this.checkShared();
          this.ofResource = { attributes: keys.length, bytes: reader.pos - pos };
          mapper.readings.useResource(readResource(keys, values));
          known = true;
        } else if (field === 'scopeSpans') {
          // Members come in any order, and spans need their resource: without it they wait.
          if (known) this.eachObject('scopeSpans', this.scopeSpans);
          else {
            later.push(reader.mark());
            reader.skipValue();
          }
        } else reader.skipValue();
      } while (reader.moreMembers());
    if (!known) mapper.readings.useResource(readResource([], []));
    this.revisit(later, () => this.eachObject('scopeSpans', this.scopeSpans));
    if (this.spans === before) this.empty.add(this.spans);
  }

  private revisit(marks: readonly JsonMark[], read: () => void): void {
    const { reader } = this;
    const behind = reader.mark();
    for (const mark of marks) {
      reader.goTo(mark);
      read();
    }
    reader.goTo(behind);
  }

  /** The attributes of an object that has nothing else of interest. */
  private attributesOf(owner: string, keys: AttributeKey[], values: Json[]): void {
    const { reader } = this;
    if (reader.peek() !== OBJECT) {
      this.wrongType(owner);
      return;
    }
    if (reader.enterObject())
      do {
        if (this.member() === 'attributes')
          this.eachObject('attributes', () => {
            keys.push(this.keyValue());
            values.push(this.attributeValue);
          });
        else reader.skipValue();
      } while (reader.moreMembers());
  }

  private scopeSpans(): void {
    const { reader, mapper } = this;
    const later: JsonMark[] = [];
    let known = false;
    let name = '';
    const before = this.spans;
    this.shared = this.ofResource;
    const useScope = (keys: AttributeKey[], values: Json[]): void =>
      mapper.readings.useScope(
        keys.map((key) => key.name),
        values,
        emitterOfScope(name),
      );
    if (reader.enterObject())
      do {
        const field = this.member();
        if (field === 'scope') {
          const keys: AttributeKey[] = [];
          const values: Json[] = [];
          const { pos } = reader;
          if (reader.peek() !== OBJECT) this.wrongType('scope');
          else if (reader.enterObject())
            do {
              const inner = this.member();
              if (inner === 'name') name = this.text('scope.name');
              else if (inner === 'attributes')
                this.eachObject('attributes', () => {
                  keys.push(this.keyValue());
                  values.push(this.attributeValue);
                });
              else reader.skipValue();
            } while (reader.moreMembers());
          this.checkShared();
          this.shared = addShared(this.ofResource, { attributes: keys.length, bytes: reader.pos - pos });
          useScope(keys, values);
          known = true;
        } else if (field === 'spans') {
          if (known) this.eachSpan(name);
          else {
            later.push(reader.mark());
            reader.skipValue();
          }
        } else reader.skipValue();
      } while (reader.moreMembers());
    if (!known) useScope([], []);
    this.revisit(later, () => this.eachSpan(name));
    if (this.spans === before) this.empty.add(this.spans);
  }

  /** Unlike those of other lists, an item that is no object, null included, is a bad signal of its own. */
  private eachSpan(scopeName: string): void {
    const { reader, mapper } = this;
    this.checkShared(); // what is wrong around the list is not the fault of its first span
    if (reader.peek() !== ARRAY) {
      this.wrongType('spans');
      return;
    }
    if (reader.enterArray())
      do {
        if (reader.peek() === OBJECT) this.span(scopeName);
        else {
          reader.skipValue();
          if (++this.spans > this.limit) continue;
          this.sharedCount.add(1, this.shared);
          mapper.begin();
          mapper.draft.fault = { code: 'invalid_body', message: 'the span must be a JSON object' };
          mapper.end(scopeName);
        }
      } while (reader.moreItems());
  }

  private span(scopeName: string): void {
    const { reader, mapper } = this;
    const { draft } = mapper;
    // Beyond the limit spans are only counted, so that the refusal can name how many there are.
    if (++this.spans > this.limit) {
      reader.skipValue();
      return;
    }
    this.sharedCount.add(1, this.shared);
    this.attributes = 0;
    mapper.begin();
    if (reader.enterObject())
      do {
        switch (this.member()) {
          case 'traceId': {
            const id = readIdText(this.text('trace_id'), 16);
            draft.traceId = id.hex;
            draft.traceIdBytes = id.bytes;
            break;
          }
          case 'spanId': {
            const id = readIdText(this.text('span_id'), 8);
            draft.spanId = id.hex;
            draft.spanIdBytes = id.bytes;
            break;
          }
          case 'parentSpanId': {
            const id = readIdText(this.text('parent_span_id'), 8);
            draft.parentSpanId = id.hex;
            draft.parentSpanIdBytes = id.bytes;
            break;
          }
          case 'name':
            draft.name = this.text('name');
            break;
          case 'startTimeUnixNano':
            draft.startTime = this.time('start_time');
            break;
          case 'endTimeUnixNano':
            draft.endTime = this.time('end_time');
            break;
          case 'attributes':
            this.eachObject('attributes', this.spanAttribute);
            break;
          case 'events':
            this.eachObject('events', this.event);
            break;
          case 'links':
            this.eachObject('links', this.link);
            break;
          case 'status':
            this.status();
            break;
          default:
            reader.skipValue();
        }
      } while (reader.moreMembers());
    if (this.mismatch !== undefined) {
      draft.fault = {
        code: 'invalid_body',
        message: wrongTypeMessage(this.mismatch),
        field: this.mismatch,
      };
      this.mismatch = undefined;
    }
    mapper.end(scopeName);
  }

  private spanAttribute(): void {
    if (++this.attributes > MOST_KEYS_OF_ONE) throw tooManyKeysOfOne();
    const key = this.compactKeyValue() ?? this.keyValue();
    this.mapper.readings.attribute(key, this.attributeValue);
  }

  private time(field: string): bigint {
    const value = this.scalar(field);
    if (value === undefined) return 0n;
    const time = timeOf(value);
    if (time === undefined) {
      this.mismatch ??= field;
      return 0n;
    }
    return time;
  }

  private status(): void {
    const { reader, mapper } = this;
    if (reader.peek() !== OBJECT) {
      this.wrongType('status');
      return;
    }
    if (reader.enterObject())
      do {
        switch (this.member()) {
          case 'code': {
            const code = this.scalar('status.code');
            if (code !== undefined) mapper.draft.statusCode = statusCodeOf(code);
            break;
          }
          case 'message':
            mapper.draft.statusMessage = this.text('status.message');
            break;
          default:
            reader.skipValue();
        }
      } while (reader.moreMembers());
  }

  private event(): void {
    const { reader, mapper } = this;
    let name = '';
    let time = 0n;
    const attributes = newJsonObject();
    if (reader.enterObject())
      do {
        switch (this.member()) {
          case 'name':
            name = this.text('events.name');
            break;
          case 'timeUnixNano':
            time = this.time('events.time');
            break;
          case 'attributes':
            this.eachObject('events.attributes', () => {
              const key = this.keyValue();
              setMember(attributes, key.name, this.attributeValue);
            });
            break;
          default:
            reader.skipValue();
        }
      } while (reader.moreMembers());
    mapper.draft.events.push({ name, time, attributes } satisfies SpanEvent);
  }

  private link(): void {
    const { reader, mapper } = this;
    let traceId = '';
    let spanId = '';
    const attributes = newJsonObject();
    if (reader.enterObject())
      do {
        switch (this.member()) {
          case 'traceId':
            traceId = readIdText(this.text('links.trace_id'), 16).hex;
            break;
          case 'spanId':
            spanId = readIdText(this.text('links.span_id'), 8).hex;
            break;
          case 'attributes':
            this.eachObject('links.attributes', () => {
              const key = this.keyValue();
              setMember(attributes, key.name, this.attributeValue);
            });
            break;
          default:
            reader.skipValue();
        }
      } while (reader.moreMembers());
    if (isUsableLink(traceId, spanId)) mapper.draft.links.push({ traceId, spanId, attributes } satisfies SpanLink);
  }

  /**
   * Reads an attribute that stands as every exporter writes it, `{"key":"<name>","value":{"<type>Value":<scalar>}}`
   * without space or escape in the name, four bytes at a time.
   * @returns `undefined`, with nothing consumed, when it stands in any other way
   */
  private compactKeyValue(): AttributeKey | undefined {
    const { reader } = this;
    const { bytes, view, pos: start } = reader;
    // The longest fixed part, and room to look four bytes ahead.
    const last = bytes.length - 40;
    if (start > last || view.getUint32(start, true) !== OPEN_KEY || view.getUint32(start + 4, true) !== KEY_TO_TEXT)
      return undefined;
    const keyStart = start + 8;
    let at = keyStart;
    for (let byte = bytes[at] as number; byte !== 0x22; byte = bytes[++at] as number)
      if (at > last || byte === 0x5c || byte < 0x20) return undefined;
    if (at > last) return undefined;
    if (
      view.getUint32(at, true) !== TO_VALUE_1 ||
      view.getUint32(at + 4, true) !== TO_VALUE_2 ||
      view.getUint32(at + 8, true) !== TO_VALUE_3
    )
      return undefined;
    const type = at + 12;
    let value: Json;
    let text: string | undefined;
    switch (view.getUint32(type, true)) {
      case STRING_1:
        if (view.getUint32(type + 4, true) !== STRING_2 || view.getUint32(type + 8, true) !== STRING_3)
          return undefined;
        if (bytes[type + 12] !== 0x3a || bytes[type + 13] !== 0x22) return undefined;
        reader.pos = type + 13;
        text = reader.string();
        value = text;
        break;
      case INT_1: {
        if (view.getUint32(type + 4, true) !== INT_2 || bytes[type + 8] !== 0x22 || bytes[type + 9] !== 0x3a)
          return undefined;
        const short = this.shortInteger(type + 10);
        if (short !== undefined) value = short;
        else {
          reader.pos = type + 10;
          const read = this.scalar('attributes.value.intValue');
          value = read === undefined ? null : this.known(integerOf(read), 'attributes.value.intValue');
        }
        break;
      }
      default:
        return undefined;
    }
    if (bytes[reader.pos] !== 0x7d || bytes[reader.pos + 1] !== 0x7d) {
      if (text !== undefined) {
        this.givenBack = text;
        this.givenBackStart = type + 13;
        this.givenBackEnd = reader.pos;
      }
      reader.pos = start;
      return undefined;
    }
    reader.pos += 2;
    reader.countObjects(2);
    this.keys.add();
    this.attributeValue = value;
    return this.keyAt(keyStart, at);
  }

  /**
   * The quoted integer at `start` and past it, when it is one to fifteen digits and so exact: almost all are.
   * @returns `undefined`, with nothing consumed, for anything else
   */
  private shortInteger(start: number): number | undefined {
    const { bytes } = this.reader;
    if (bytes[start] !== STRING) return undefined;
    let at = start + 1;
    let value = 0;
    for (let digit = (bytes[at] as number) - 0x30; digit >= 0 && digit <= 9; digit = (bytes[at] as number) - 0x30) {
      value = value * 10 + digit;
      at++;
    }
    const digits = at - start - 1;
    if (bytes[at] !== STRING || digits === 0 || digits > 15) return undefined;
    this.reader.pos = at + 1;
    return value;
  }

  /** Reads one attribute; its value is left in `attributeValue`. */
  private keyValue(): AttributeKey {
    const { reader } = this;
    this.keys.add();
    let key: AttributeKey | undefined;
    let value: Json = null;
    if (reader.enterObject())
      do {
        const field = this.member();
        if (field === 'key') key = this.key();
        else if (field === 'value') value = this.anyValue();
        else reader.skipValue();
      } while (reader.moreMembers());
    this.attributeValue = value;
    return key ?? attributeKey('');
  }

  private key(): AttributeKey {
    const { reader } = this;
    if (reader.peek() !== STRING) {
      this.wrongType('attributes.key');
      return attributeKey('');
    }
    const escaped = reader.findString();
    const { stringStart, stringEnd } = reader;
    if (escaped) {
      const key = attributeKey(reader.textOf(stringStart, stringEnd, true));
      this.keys.names.add(key.name);
      return key;
    }
    return this.keyAt(stringStart, stringEnd);
  }

  /** The attribute name in these bytes, which hold no escape. */
  private keyAt(start: number, end: number): AttributeKey {
    const { reader } = this;
    const known = keysByBytes.find(reader.view, start, end - start);
    if (known !== undefined) return known;
    const key = attributeKey(reader.textOf(start, end, false));
    this.keys.names.add(key.name);
    keysByBytes.put(reader.view, start, end - start, key);
    return key;
  }

  private anyValue(): Json {
    const { reader } = this;
    if (reader.peek() !== OBJECT) {
      this.wrongType('attributes.value');
      return null;
    }
    let value: Json = null;
    if (reader.enterObject())
      do {
        switch (this.member()) {
          case 'stringValue':
            value = this.attributeText();
            break;
          case 'intValue': {
            const read = this.scalar('attributes.value.intValue');
            value = read === undefined ? null : this.known(integerOf(read), 'attributes.value.intValue');
            break;
          }
          case 'doubleValue': {
            const read = this.scalar('attributes.value.doubleValue');
            value = read === undefined ? null : this.known(doubleOf(read), 'attributes.value.doubleValue');
            break;
          }
          case 'boolValue': {
            const byte = reader.peek();
            if (byte === 0x74 || byte === 0x66) value = reader.boolean();
            else this.wrongType('attributes.value.boolValue');
            break;
          }
          case 'bytesValue':
            value = this.known(bytesText(this.text('attributes.value.bytesValue')), 'attributes.value.bytesValue');
            break;
          case 'arrayValue':
            value = this.list();
            break;
          case 'kvlistValue':
            value = this.map();
            break;
          default:
            reader.skipValue();
        }
      } while (reader.moreMembers());
    return value;
  }

  private attributeText(): string {
    const { reader } = this;
    if (reader.peek() !== STRING || reader.pos !== this.givenBackStart)
      return this.text('attributes.value.stringValue');
    reader.pos = this.givenBackEnd;
    return this.givenBack;
  }

  private known(value: Json | undefined, field: string): Json {
    if (value !== undefined) return value;
    this.mismatch ??= field;
    return null;
  }

  private list(): Json {
    const { reader } = this;
    const items: Json[] = [];
    this.within('attributes.value.arrayValue', () => {
      if (reader.peek() !== ARRAY) this.wrongType('attributes.value.arrayValue.values');
      else if (reader.enterArray())
        do {
          items.push(this.anyValue());
        } while (reader.moreItems());
    });
    return items;
  }

  private map(): Json {
    const members = newJsonObject();
    this.within('attributes.value.kvlistValue', () =>
      this.eachObject('attributes.value.kvlistValue.values', () => {
        const key = this.keyValue();
        setMember(members, key.name, this.attributeValue);
      }),
    );
    return members;
  }

  private within(field: string, readValues: () => void): void {
    const { reader } = this;
    if (reader.peek() !== OBJECT) {
      this.wrongType(field);
      return;
    }
    if (reader.enterObject())
      do {
        if (this.member() === 'values') readValues();
        else reader.skipValue();
      } while (reader.moreMembers());
  }
}

/** Decodes an OTLP trace export request in JSON, and maps it. */
export const decodeTracesJson = (body: Uint8Array, context: DecodeContext): DecodedBatch =>
  new TracesJsonReader(body, context).request();
