import type { Json } from '../../model/json.ts';
import type { SpanEvent, SpanLink } from '../../model/span.ts';
import { Refusal } from '../../model/failure.ts';
import type { DecodeContext, DecodedBatch } from '../decoded.ts';
import { type MutableJsonObject, newJsonObject, setMember } from '../json-object.ts';
import { MOST_KEYS_OF_ONE, tooManyKeysOfOne } from '../keys.ts';
import type { AttributeKey } from '../mapping/key.ts';
import { readResource } from '../mapping/readings.ts';
import { createSpanMapper, isUsableLink, type SpanMapper } from '../mapping/span-mapper.ts';
import {
  MOST_NODES,
  MOST_VALUE_DEPTH,
  addShared,
  EmptyCount,
  NOTHING_SHARED,
  overBudget,
  type Shared,
  SharedCount,
  tooManySignals,
} from './bounds.ts';
import { emitterOfScope } from './scope.ts';
import { WireReader } from './wire.ts';

/** Field tags (number and wire type) of the OTLP messages. @see opentelemetry-proto, trace/v1, common/v1, resource/v1 */
const LEN_1 = 0x0a;
const LEN_2 = 0x12;
const LEN_3 = 0x1a;

class TracesReader {
  readonly wire: WireReader;
  private readonly mapper: SpanMapper;
  private readonly budget: number;
  private readonly mostNodes: number;
  private readonly empty: EmptyCount;
  private readonly sharedCount = new SharedCount();
  private ofResource: Shared = NOTHING_SHARED;
  /** Of the present resource and scope. */
  private shared: Shared = NOTHING_SHARED;
  private nodes = 0;
  private tooDeep = false;
  private lastTraceStart = -1;
  private lastTraceId = '';
  private attributeValue: Json = null;

  constructor(body: Uint8Array, context: DecodeContext, budget: number) {
    this.wire = new WireReader(body);
    this.mapper = createSpanMapper(context);
    this.mostNodes = Math.min(MOST_NODES, context.maxKeys ?? MOST_NODES);
    this.budget = Math.min(budget, this.mostNodes);
    this.empty = new EmptyCount(context.maxSignals);
  }

  /** Counts the spans of the request without reading one. */
  countSpans(): number {
    const { wire } = this;
    const end = wire.bytes.length;
    let spans = 0;
    wire.pos = 0;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag !== LEN_1) {
        wire.skip(tag, end);
        continue;
      }
      const resourceEnd = wire.length(end);
      const spansBefore = spans;
      while (wire.pos < resourceEnd) {
        const inner = wire.tag(resourceEnd);
        if (inner !== LEN_2) {
          wire.skip(inner, resourceEnd);
          continue;
        }
        const scopeEnd = wire.length(resourceEnd);
        const before = spans;
        while (wire.pos < scopeEnd) {
          const innermost = wire.tag(scopeEnd);
          if (innermost === LEN_2) spans++;
          wire.skip(innermost, scopeEnd);
        }
        if (spans === before) this.empty.add(spans);
      }
      if (spans === spansBefore) this.empty.add(spans);
    }
    wire.pos = 0;
    return spans;
  }

  /** @throws Refusal when spans and empty parts are more than spans may be */
  checkEmpty(spans: number): void {
    this.empty.check(spans);
  }

  request(): DecodedBatch {
    const { wire } = this;
    const end = wire.bytes.length;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_1) this.resourceSpans(wire.length(end));
      else wire.skip(tag, end);
    }
    return { ...this.mapper.decoded(), keys: this.nodes, sharedBytes: this.sharedCount.bytes };
  }

  /** Counts a node, or a field of one that is said again: each is read, and the last counts. */
  private count(): void {
    if (++this.nodes > this.budget) throw overBudget(this.budget, this.mostNodes);
  }

  /** Refuses the whole request: what the text belongs to is no single span. */
  private checkShared(what: string): void {
    if (!this.wire.badText && !this.tooDeep) return;
    throw new Refusal({
      code: 'invalid_body',
      message: this.wire.badText
        ? `${what} has text that is not UTF-8`
        : `${what} has a value nested deeper than ${MOST_VALUE_DEPTH}`,
    });
  }

  private resourceSpans(end: number): void {
    const { wire } = this;
    const start = wire.pos;
    const keys: AttributeKey[] = [];
    const values: Json[] = [];
    let bytes = 0;
    // Fields may come in any order, and spans need their resource: it is looked for first.
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_1) {
        const resourceEnd = wire.length(end);
        bytes += resourceEnd - wire.pos;
        this.attributeList(resourceEnd, LEN_1, keys, values);
      } else wire.skip(tag, end);
    }
    this.ofResource = { attributes: keys.length, bytes };
    this.checkShared('a resource');
    this.mapper.readings.useResource(readResource(keys, values));
    wire.pos = start;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_2) this.scopeSpans(wire.length(end));
      else wire.skip(tag, end);
    }
  }

  /** The attributes of a message in which they have the tag `attributesTag`. */
  private attributeList(end: number, attributesTag: number, keys: AttributeKey[], values: Json[]): void {
    const { wire } = this;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === attributesTag) {
        keys.push(this.keyValue(wire.length(end), 0));
        values.push(this.attributeValue);
      } else wire.skip(tag, end);
    }
  }

  private scopeSpans(end: number): void {
    const { wire } = this;
    const start = wire.pos;
    let name = '';
    let bytes = 0;
    const keys: AttributeKey[] = [];
    const values: Json[] = [];
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag !== LEN_1) {
        wire.skip(tag, end);
        continue;
      }
      const scopeEnd = wire.length(end);
      bytes += scopeEnd - wire.pos;
      while (wire.pos < scopeEnd) {
        const inner = wire.tag(scopeEnd);
        if (inner === LEN_1) {
          if (name !== '') this.count();
          name = wire.text(wire.length(scopeEnd));
        } else if (inner === LEN_3) {
          keys.push(this.keyValue(wire.length(scopeEnd), 0));
          values.push(this.attributeValue);
        } else wire.skip(inner, scopeEnd);
      }
    }
    this.shared = addShared(this.ofResource, { attributes: keys.length, bytes });
    this.checkShared('a scope');
    this.mapper.readings.useScope(
      keys.map((key) => key.name),
      values,
      emitterOfScope(name),
    );
    wire.pos = start;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_2) this.span(wire.length(end), name);
      else wire.skip(tag, end);
    }
  }

  private span(end: number, scopeName: string): void {
    const { wire, mapper } = this;
    const { draft, readings } = mapper;
    let attributes = 0;
    this.sharedCount.add(1, this.shared);
    mapper.begin();
    while (wire.pos < end) {
      const tag = wire.tag(end);
      switch (tag) {
        case 0x0a: {
          const stop = wire.length(end);
          draft.traceIdBytes = stop - wire.pos;
          draft.traceId = draft.traceIdBytes === 16 ? this.traceId(stop) : '';
          wire.pos = stop;
          break;
        }
        case 0x12: {
          const stop = wire.length(end);
          draft.spanIdBytes = stop - wire.pos;
          draft.spanId = draft.spanIdBytes === 8 ? wire.hex(stop) : '';
          wire.pos = stop;
          break;
        }
        case 0x22: {
          const stop = wire.length(end);
          draft.parentSpanIdBytes = stop - wire.pos;
          draft.parentSpanId = draft.parentSpanIdBytes === 8 ? wire.hex(stop) : '';
          wire.pos = stop;
          break;
        }
        case 0x2a:
          if (draft.name !== '') this.count();
          draft.name = wire.text(wire.length(end));
          break;
        case 0x39:
          draft.startTime = wire.fixed64(end);
          break;
        case 0x41:
          draft.endTime = wire.fixed64(end);
          break;
        case 0x4a: {
          if (++attributes > MOST_KEYS_OF_ONE) throw tooManyKeysOfOne();
          const key = this.keyValue(wire.length(end), 0);
          readings.attribute(key, this.attributeValue);
          break;
        }
        case 0x5a:
          draft.events.push(this.event(wire.length(end)));
          break;
        case 0x6a: {
          const link = this.link(wire.length(end));
          if (link !== undefined) draft.links.push(link);
          break;
        }
        case 0x7a:
          this.status(wire.length(end));
          break;
        default:
          wire.skip(tag, end);
      }
    }
    if (wire.badText || this.tooDeep) {
      draft.fault = wire.badText
        ? { code: 'invalid_body', message: 'the span has text that is not UTF-8' }
        : { code: 'invalid_body', message: `the span has a value nested deeper than ${MOST_VALUE_DEPTH}` };
      wire.badText = false;
      this.tooDeep = false;
    }
    mapper.end(scopeName);
  }

  /** Spans of one trace come together: the text of the last id is used again while the bytes are the same. */
  private traceId(end: number): string {
    const { wire } = this;
    const { bytes, pos } = wire;
    const last = this.lastTraceStart;
    if (last >= 0) {
      let at = 15;
      while (at >= 0 && bytes[last + at] === bytes[pos + at]) at--;
      if (at < 0) return this.lastTraceId;
    }
    this.lastTraceStart = pos;
    this.lastTraceId = wire.hex(end);
    return this.lastTraceId;
  }

  private status(end: number): void {
    const { wire, mapper } = this;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === 0x12) {
        if (mapper.draft.statusMessage !== '') this.count();
        mapper.draft.statusMessage = wire.text(wire.length(end));
      } else if (tag === 0x18) mapper.draft.statusCode = wire.varint(end);
      else wire.skip(tag, end);
    }
  }

  private event(end: number): SpanEvent {
    const { wire } = this;
    this.count();
    let name = '';
    let time = 0n;
    const attributes = newJsonObject();
    while (wire.pos < end) {
      const tag = wire.tag(end);
      switch (tag) {
        case 0x09:
          time = wire.fixed64(end);
          break;
        case 0x12:
          if (name !== '') this.count();
          name = wire.text(wire.length(end));
          break;
        case 0x1a: {
          const key = this.keyValue(wire.length(end), 0);
          setMember(attributes, key.name, this.attributeValue);
          break;
        }
        default:
          wire.skip(tag, end);
      }
    }
    return { name, time, attributes };
  }

  private link(end: number): SpanLink | undefined {
    const { wire } = this;
    this.count();
    let traceId = '';
    let spanId = '';
    const attributes = newJsonObject();
    while (wire.pos < end) {
      const tag = wire.tag(end);
      switch (tag) {
        case 0x0a:
          if (traceId !== '') this.count();
          traceId = wire.hex(wire.length(end));
          break;
        case 0x12:
          if (spanId !== '') this.count();
          spanId = wire.hex(wire.length(end));
          break;
        case 0x22: {
          const key = this.keyValue(wire.length(end), 0);
          setMember(attributes, key.name, this.attributeValue);
          break;
        }
        default:
          wire.skip(tag, end);
      }
    }
    return isUsableLink(traceId, spanId) ? { traceId, spanId, attributes } : undefined;
  }

  /** Reads one attribute; its value is left in `attributeValue`. */
  private keyValue(end: number, depth: number): AttributeKey {
    const { wire } = this;
    this.count();
    let key: AttributeKey | undefined;
    let value: Json = null;
    let fields = 0;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (++fields > 2) this.count();
      if (tag === LEN_1) key = wire.key(wire.length(end));
      else if (tag === LEN_2) value = this.anyValue(wire.length(end), depth);
      else wire.skip(tag, end);
    }
    this.attributeValue = value;
    return key ?? emptyKey(wire);
  }

  private anyValue(end: number, depth: number): Json {
    const { wire } = this;
    let value: Json = null;
    let fields = 0;
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (++fields > 1) this.count();
      switch (tag) {
        case 0x0a:
          value = wire.text(wire.length(end));
          break;
        case 0x10:
          value = wire.varint(end) !== 0;
          break;
        case 0x18:
          value = wire.int64(end);
          break;
        case 0x21: {
          const number = wire.double(end);
          // JSON has no word for these; the proto3 JSON mapping spells them as text.
          value = Number.isFinite(number) ? number + 0 : String(number);
          break;
        }
        case 0x2a:
          value = this.arrayValue(wire.length(end), depth + 1);
          break;
        case 0x32:
          value = this.mapValue(wire.length(end), depth + 1);
          break;
        case 0x3a:
          value = wire.base64(wire.length(end));
          break;
        default:
          wire.skip(tag, end);
      }
    }
    return value;
  }

  private arrayValue(end: number, depth: number): Json {
    const { wire } = this;
    if (this.isTooDeep(end, depth)) return null;
    const list: Json[] = [];
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_1) {
        this.count();
        list.push(this.anyValue(wire.length(end), depth));
      } else wire.skip(tag, end);
    }
    return list;
  }

  private mapValue(end: number, depth: number): Json {
    const { wire } = this;
    if (this.isTooDeep(end, depth)) return null;
    const map: MutableJsonObject = newJsonObject();
    while (wire.pos < end) {
      const tag = wire.tag(end);
      if (tag === LEN_1) {
        const key = this.keyValue(wire.length(end), depth);
        setMember(map, key.name, this.attributeValue);
      } else wire.skip(tag, end);
    }
    return map;
  }

  private isTooDeep(end: number, depth: number): boolean {
    if (depth <= MOST_VALUE_DEPTH) return false;
    this.tooDeep = true;
    this.wire.pos = end;
    return true;
  }
}

const emptyKey = (wire: WireReader): AttributeKey => wire.key(wire.pos);

/**
 * Decodes an OTLP trace export request in protobuf, and maps it.
 *
 * A span that cannot be kept (ids, text that is not UTF-8, nesting) is refused alone; a body that is not a request is
 * refused completely. An integer that a double cannot hold becomes its decimal text.
 * @param body the request, not compressed; never changed
 * @param nodeBudget most attributes, nested values, events and links to read; at most, and by default, the hard bound
 * @throws Refusal `invalid_body` for anything that is not a request; `payload_too_large` above `context.maxSignals` spans
 * or the hard bound of nodes
 * @throws BudgetExceeded above a smaller `nodeBudget`
 * @see Interface specification, "OTLP ingest", "Limits"
 */
export const decodeTracesProtobuf = (
  body: Uint8Array,
  context: DecodeContext,
  nodeBudget: number = MOST_NODES,
): DecodedBatch => {
  const reader = new TracesReader(body, context, Math.min(nodeBudget, MOST_NODES));
  const spans = reader.countSpans();
  if (spans > context.maxSignals) throw tooManySignals(spans, context.maxSignals);
  reader.checkEmpty(spans);
  return reader.request();
};

export { BudgetExceeded } from './bounds.ts';
