import { Refusal } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { parseJsonText } from '../json-text.ts';
import type { AttributeKey } from '../mapping/key.ts';
import { type Readings, readResource } from '../mapping/readings.ts';
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
  /** Makes the attributes of resource and scope those of the signals read next. */
  use(readings: Readings): void;
};

/**
 * Parses a request of logs or metrics.
 * @throws Refusal `invalid_body`, whose message begins `body is not valid JSON` for a body in protobuf or in no JSON, and
 * names the exporter's variable to set
 */
export const parseRequest = (body: Uint8Array, signal: GroupNames['signal']): JsonObject => {
  let parsed: Json;
  try {
    parsed = parseJsonText(body);
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

const readShared = (owner: JsonObject): { keys: AttributeKey[]; values: Json[] } => {
  const keys: AttributeKey[] = [];
  const values: Json[] = [];
  eachAttribute(owner, 'attributes', (key, value) => {
    keys.push(key);
    values.push(value);
  });
  return { keys, values };
};

/** The scopes of a request, in its order. @throws Refusal when the body is no request of that signal */
export const readGroups = (request: JsonObject, names: GroupNames): ScopeGroup[] => {
  const groups: ScopeGroup[] = [];
  try {
    for (const item of listAt(request, names.resources)) {
      const owner = asObject(item, names.resources);
      const shared = readShared(objectAt(owner, 'resource') ?? {});
      const resource = readResource(shared.keys, shared.values);
      for (const scopeItem of listAt(owner, names.scopes)) {
        const scoped = asObject(scopeItem, names.scopes);
        const scope = objectAt(scoped, 'scope') ?? {};
        const scopeName = textAt(scope, 'name') ?? '';
        const own = readShared(scope);
        const scopeNames = own.keys.map((key) => key.name);
        groups.push({
          scopeName,
          records: listAt(scoped, names.records),
          use: (readings) => {
            readings.useResource(resource);
            readings.useScope(scopeNames, own.values, emitterOfScope(scopeName));
          },
        });
      }
    }
  } catch (error) {
    if (!(error instanceof WrongType)) throw error;
    throw new Refusal({
      code: 'invalid_body',
      message: `body is not an OTLP ${names.signal} request: ${error.message}`,
    });
  }
  return groups;
};
