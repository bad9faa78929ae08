/**
 * The member names of OTLP/JSON, known by their bytes. OTLP/JSON demands lowerCamelCase; the snake_case names of the
 * protobuf files are understood as well, since a sender that writes them means the same and would otherwise lose all.
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
const names = [
  'resourceSpans',
  'resource',
  'scopeSpans',
  'scope',
  'spans',
  'attributes',
  'key',
  'value',
  'stringValue',
  'intValue',
  'doubleValue',
  'boolValue',
  'arrayValue',
  'kvlistValue',
  'bytesValue',
  'values',
  'name',
  'traceId',
  'spanId',
  'parentSpanId',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'timeUnixNano',
  'events',
  'links',
  'status',
  'code',
  'message',
] as const;

export type FieldName = (typeof names)[number];

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const byText = new Map<string, FieldName>();
for (const name of names) {
  byText.set(name, name);
  byText.set(snakeCase(name), name);
}

const SLOTS = 256;
type Entry = { readonly bytes: Buffer; readonly name: FieldName };
const table = new Array<Entry[] | undefined>(SLOTS).fill(undefined);

const slotOf = (bytes: Uint8Array, start: number, end: number): number =>
  ((end - start) * 37 +
    (bytes[start] as number) * 7 +
    (bytes[end - 1] as number) * 3 +
    (bytes[(start + end) >> 1] as number)) &
  (SLOTS - 1);

for (const [text, name] of byText) {
  const bytes = Buffer.from(text);
  const slot = slotOf(bytes, 0, bytes.length);
  table[slot] = [...(table[slot] ?? []), { bytes, name }];
}

/** The field named by `bytes[start, end)`, which hold no escape; `undefined` for any other name. */
export const fieldNameAt = (bytes: Uint8Array, start: number, end: number): FieldName | undefined => {
  if (end === start) return undefined;
  const entries = table[slotOf(bytes, start, end)];
  if (entries === undefined) return undefined;
  const length = end - start;
  for (const entry of entries) {
    const known = entry.bytes;
    if (known.length !== length) continue;
    let at = 0;
    while (at < length && known[at] === bytes[start + at]) at++;
    if (at === length) return entry.name;
  }
  return undefined;
};

/** The field of that name, for a name that came with escapes. */
export const fieldNameOf = (text: string): FieldName | undefined => byText.get(text);
