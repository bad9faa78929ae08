import { Refusal } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { DecodeContext } from '../decoded.ts';
import { parseCounted } from '../json-text.ts';
import { jsonBoundsWithin } from '../work.ts';
import { KeyCount, MOST_KEYS } from '../keys.ts';
import type { AttributeKey } from '../mapping/key.ts';
import { type Readings, readResource } from '../mapping/readings.ts';
import { addShared, EmptyCount, type Shared } from './bounds.ts';
import { emitterOfScope } from './scope.ts';
import { asObject, eachAttribute, isObject, listAt, objectAt, textAt, WrongType } from './tree.ts';

/** The names under which logs and metrics nest their records, and the hint for a sender to use JSON. */
export type GroupNames = {
  readonly signal: 'logs' | 'metrics';
  readonly resources: string;
  readonly scopes: string;
  readonly records: string;
};

/** One scope of one resource, with its records as parsed. */
export type ScopeGroup = {
  readonly scopeName: string;
  readonly records: readonly Json[];
  /** What each of the records holds of resource and scope. */
  readonly shared: Shared;
  /** Makes the attributes of resource and scope those of the signals read next. */
  use(readings: Readings): void;
};

/** An attribute of OTLP/JSON is `{"key": ..., "value": {"stringValue": ...}}`; the rest is for the members of its record. */
const MEMBERS_PER_ATTRIBUTE = 4;

/**
 * Parses a request of logs or metrics.
 * @throws Refusal `invalid_body`, whose message begins `body is not valid JSON` for a body in protobuf or in no JSON, and
 * names the exporter's variable to set
 */
export const parseRequest = (
  body: Uint8Array,
  signal: GroupNames['signal'],
  { maxKeys = MOST_KEYS, maxWork }: Pick<DecodeContext, 'maxKeys' | 'maxWork'>,
): JsonObject => {
  let parsed: Json;
  try {
    parsed = parseCounted(
      body,
      jsonBoundsWithin(body.length, maxWork),
      new KeyCount(maxKeys * MEMBERS_PER_ATTRIBUTE),
      0,
    );
  } catch (error) {
    if (!(error instanceof Refusal) || !error.message.startsWith('body is not valid JSON')) throw error;
    throw new Refusal({
      ...error.failure,
      message: `${error.message}; ${signal} are taken as JSON only, so set OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL=http/json`,
    });
  }
  if (!isObject(parsed))
    throw new Refusal({ code: 'invalid_body', message: 'body is not an OTLP request: it must be a JSON object' });
  return parsed;
};

/** About as many bytes as a value has in JSON. */
const sizeOf = (value: Json): number => {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (Array.isArray(value))
    return (value as readonly Json[]).reduce((size: number, item) => size + 1 + sizeOf(item), 2);
  const object = value as JsonObject;
  let size = 2;
  for (const name in object) size += name.length + sizeOf(object[name] as Json);
  return size;
};

const readShared = (owner: JsonObject): { keys: AttributeKey[]; values: Json[]; cost: Shared } => {
  const keys: AttributeKey[] = [];
  const values: Json[] = [];
  let bytes = 0;
  eachAttribute(owner, 'attributes', (key, value) => {
    keys.push(key);
    values.push(value);
    bytes += key.name.length + sizeOf(value);
  });
  return { keys, values, cost: { attributes: keys.length, bytes } };
};

/**
 * The scopes of a request, in its order.
 * @param maxSignals most records, together with resources and scopes without one
 * @throws Refusal when the body is no request of that signal, or too much of it is empty
 */
export const readGroups = (request: JsonObject, names: GroupNames, maxSignals: number): ScopeGroup[] => {
  const groups: ScopeGroup[] = [];
  const empty = new EmptyCount(maxSignals);
  let found = 0;
  try {
    for (const item of listAt(request, names.resources)) {
      const owner = asObject(item, names.resources);
      const before = found;
      const shared = readShared(objectAt(owner, 'resource') ?? {});
      const resource = readResource(shared.keys, shared.values);
      for (const scopeItem of listAt(owner, names.scopes)) {
        const scoped = asObject(scopeItem, names.scopes);
        const scope = objectAt(scoped, 'scope') ?? {};
        const scopeName = textAt(scope, 'name') ?? '';
        const own = readShared(scope);
        const scopeNames = own.keys.map((key) => key.name);
        const records = listAt(scoped, names.records);
        found += records.length;
        if (records.length === 0) empty.add(found);
        groups.push({
          scopeName,
          records,
          shared: addShared(addShared(shared.cost, own.cost), { attributes: 0, bytes: scopeName.length }),
          use: (readings) => {
            readings.useResource(resource);
            readings.useScope(scopeNames, own.values, emitterOfScope(scopeName));
          },
        });
      }
      if (found === before) empty.add(found);
    }
    if (found <= maxSignals) empty.check(found); // else the refusal names how many there are
  } catch (error) {
    if (!(error instanceof WrongType)) throw error;
    throw new Refusal({
      code: 'invalid_body',
      message: `body is not an OTLP ${names.signal} request: ${error.message}`,
    });
  }
  return groups;
};
