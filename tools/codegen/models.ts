import { isTree, type Tree, treeIn } from './sdk-document.ts';
import { pascalCase } from './text.ts';

/**
 * The models of the client libraries, in words that no language owns. Each emitter turns these into one language; what OpenAPI can
 * say in several ways is said in one here.
 */
export type Models = {
  /** Of the data model that the document describes: major and minor, as `1.0`. A client refuses another major. */
  readonly specVersion: string;
  /** By name. */
  readonly objects: readonly ObjectModel[];
  /** By name. */
  readonly enums: readonly EnumModel[];
};

export type ObjectModel = {
  /** In PascalCase. */
  readonly name: string;
  /** A sentence or more, as the document says it; empty where it says nothing. */
  readonly doc: string;
  readonly members: readonly Member[];
  /** A request holds it, so a caller makes it. */
  readonly isSent: boolean;
};

/** An open enum: these values are known, others may come. */
export type EnumModel = { readonly name: string; readonly doc: string; readonly values: readonly string[] };

export type Member = {
  /** In wire spelling, which is snake_case. */
  readonly name: string;
  readonly type: Type;
  /** Else it may be absent, which is not null. */
  readonly isRequired: boolean;
  /** Required, and null where there is no value. */
  readonly isNullable: boolean;
  /** What it means and its unit; empty where its name says it. */
  readonly doc: string;
};

export type Type =
  /** `integer` has 64 bits. `json` is any JSON, null included; `json_object` any object. */
  | { readonly kind: 'text' | 'integer' | 'number' | 'boolean' | 'json' | 'json_object' }
  | { readonly kind: 'list' | 'map'; readonly of: Type }
  | { readonly kind: 'object' | 'enum'; readonly name: string };

/** A workflow definition is its author's document: the libraries hand it on as it is written, members of a later release included. */
const HANDED_ON: ReadonlySet<string> = new Set(['Definition']);

/** Names that are better than parent and member. */
const BETTER_NAMES: Readonly<Record<string, string>> = {
  LeaseDelivery: 'Delivery',
  MetricPointInputType: 'MetricType',
  MetricPointInputTemporality: 'Temporality',
  RunFilterWaitingOn: 'WaitingOn',
  ErrorBodyCode: 'ErrorCode',
  EventOutcomeOutcome: 'Outcome',
  RunErrorLimit: 'RunLimit',
  RunSummaryPause: 'RunPause',
  RunDetailTimer: 'RunTimer',
  RunDetailWait: 'RunWait',
  RunDetailChild: 'RunChild',
  StepBatchAnswerClaimError: 'ClaimError',
  StepFailureError: 'StepErrorInput',
};

/** Where a member was first said, on schemas that were merged. */
const PLACE = 'x-place';

const singular = (name: string): string => name.replace(/Children$/, 'Child').replace(/(?<!s)s$/, '');

/** What the name of a member says of its unit, for members whose description does not. */
const UNITS: readonly (readonly [RegExp, RegExp, string])[] = [
  [/_ms$/, /millisecond/i, 'Milliseconds.'],
  [/_ns$/, /nanosecond/i, 'Nanoseconds.'],
  [/_seconds$/, /second/i, 'Seconds.'],
  [/_bytes$/, /byte|UTF-8/i, 'Bytes.'],
  [/_usd$/, /dollar/i, 'US dollars.'],
];

/** One line; ends with a full stop. */
const sentence = (text: unknown): string => {
  const line = typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : '';
  return line === '' || /[.:]$/.test(line) ? line : `${line}.`;
};
const withUnit = (name: string, doc: string): string => {
  const unit = UNITS.find(([ending, said]) => ending.test(name) && !said.test(doc));
  return [doc, unit?.[2] ?? ''].filter((part) => part !== '').join(' ');
};

/** @throws TypeError when the document has no version that clients could compare */
export const specVersionOf = (document: Tree): string => {
  const { version } = treeIn(document, 'info');
  if (typeof version !== 'string' || !/^\d+\.\d+$/.test(version)) throw new TypeError('the document has no version');
  return version;
};

/**
 * The models that the operations of a document take and give.
 * @param document what `sdkDocument` cut out
 * @throws TypeError when the document says something in a way that this does not know
 */
export const readModels = (document: Tree): Models => {
  const schemas = treeIn(treeIn(document, 'components'), 'schemas');
  const objects = new Map<string, ObjectModel>();
  const enums = new Map<string, EnumModel>();

  const refName = (schema: Tree): string | undefined =>
    typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/components/schemas/', '') : undefined;

  /** One schema for `allOf`: members and requirements of all its parts. A reference with a description is the reference. */
  const merged = (schema: Tree): Tree => {
    const parts = schema['allOf'];
    if (!Array.isArray(parts)) return schema;
    const [only] = parts as readonly Tree[];
    if (parts.length === 1 && only !== undefined) return { ...only, ...docOf(schema) };
    const flat = (parts as readonly Tree[]).map((part) => {
      const name = refName(part);
      return name === undefined ? merged(part) : placed(name, merged(treeIn(schemas, name)));
    });
    return {
      type: 'object',
      ...docOf(schema),
      properties: Object.assign({}, ...flat.map((part) => part['properties'])) as unknown,
      required: flat.flatMap((part) => part['required'] ?? []),
    };
  };
  /** What a part brings keeps the name of that part: a `pause` of `RunSummary` is the same in `Run`. */
  const placed = (name: string, part: Tree): Tree => {
    const members = Object.entries(treeIn(part, 'properties')).map(([key, inner]) => [
      key,
      { [PLACE]: name, ...(inner as Tree) },
    ]);
    return { ...part, properties: Object.fromEntries(members) as unknown };
  };
  const docOf = (schema: Tree): Tree =>
    schema['description'] === undefined ? {} : { description: schema['description'] };

  const addEnum = (name: string, schema: Tree): Type => {
    const better = BETTER_NAMES[name] ?? name;
    const values = schema['enum'] as readonly string[];
    const known = enums.get(better);
    if (known !== undefined && known.values.join() !== values.join())
      throw new TypeError(`two enums are named ${better}`);
    // What an enum of one member means, the member says.
    const doc = name === better && schemas[name] !== undefined ? sentence(schema['description']) : '';
    enums.set(better, { name: better, doc, values });
    return { kind: 'enum', name: better };
  };

  const addObject = (place: string, schema: Tree): Type => {
    const name = BETTER_NAMES[place] ?? place;
    if (objects.has(name)) return { kind: 'object', name };
    const required = (schema['required'] ?? []) as readonly string[];
    const entries = Object.entries(treeIn(schema, 'properties'));
    // Entered before its members, so that a schema may refer to itself.
    const doc = sentence(schema['description']);
    objects.set(name, { name, doc, members: [], isSent: false });
    const members = entries.map(([key, inner]): Member => {
      if (!isTree(inner)) throw new TypeError(`${name}.${key} is not a schema`);
      const types = inner['type'];
      const isNullable = Array.isArray(types) && types.length === 2 && types[1] === 'null';
      if (isNullable && !required.includes(key)) throw new TypeError(`${name}.${key} may be null and may be absent`);
      const place = typeof inner[PLACE] === 'string' ? inner[PLACE] : name;
      const schemaOfValue = isNullable ? { ...inner, type: (types as readonly unknown[])[0] } : inner;
      return {
        name: key,
        type: typeOf(schemaOfValue, `${place}${pascalCase(key)}`),
        isRequired: required.includes(key),
        isNullable,
        doc: withUnit(key, meaningOf(inner)),
      };
    });
    objects.set(name, { name, doc, members, isSent: false });
    return { kind: 'object', name };
  };

  /** What the schema says of itself; of a reference to a text or a number, what the schema behind it says. */
  const meaningOf = (schema: Tree): string => {
    const own = sentence(schema['description']);
    if (own !== '') return own === 'Any JSON.' ? '' : own;
    const flat = merged(schema);
    const name = refName(flat);
    const target = name === undefined ? undefined : treeIn(schemas, name);
    return target === undefined || target['enum'] !== undefined || target['properties'] !== undefined
      ? ''
      : sentence(target['description']);
  };

  const typeOf = (schema: Tree, place: string): Type => {
    const flat = merged(schema);
    const name = refName(flat);
    if (name !== undefined) return HANDED_ON.has(name) ? { kind: 'json_object' } : typeOf(treeIn(schemas, name), name);
    const choices = flat['anyOf'] ?? flat['oneOf'];
    if (Array.isArray(choices)) {
      // One or a list of them: a list says both.
      const list = (choices as readonly Tree[]).find((choice) => choice['type'] === 'array');
      return list === undefined ? { kind: 'json' } : typeOf(list, place);
    }
    if (flat['enum'] !== undefined) return addEnum(place, flat);
    switch (flat['type']) {
      case 'string':
        return { kind: 'text' };
      case 'integer':
      case 'number':
      case 'boolean':
        return { kind: flat['type'] };
      case 'array':
        return { kind: 'list', of: typeOf(treeIn(flat, 'items'), singular(place)) };
      case 'object': {
        if (isTree(flat['properties'])) return addObject(place, flat);
        const rest = flat['additionalProperties'];
        return isTree(rest) ? { kind: 'map', of: typeOf(rest, singular(place)) } : { kind: 'json_object' };
      }
      default:
        return { kind: 'json' };
    }
  };

  const markSent = (type: Type): void => {
    if (type.kind === 'list' || type.kind === 'map') markSent(type.of);
    if (type.kind !== 'object') return;
    const model = objects.get(type.name);
    if (model === undefined || model.isSent) return;
    objects.set(type.name, { ...model, isSent: true });
    for (const member of model.members) markSent(member.type);
  };
  /** The type of a body of JSON; none of another body. */
  const typesIn = (body: unknown, place: string): readonly Type[] => {
    const content = isTree(body) && isTree(body['content']) ? body['content']['application/json'] : undefined;
    return isTree(content) ? [typeOf(treeIn(content, 'schema'), place)] : [];
  };

  for (const item of Object.values(treeIn(document, 'paths'))) {
    if (!isTree(item)) continue;
    for (const operation of Object.values(item)) {
      if (!isTree(operation) || typeof operation['operationId'] !== 'string') continue;
      const place = pascalCase(operation['operationId']);
      for (const type of typesIn(operation['requestBody'], `${place}Request`)) markSent(type);
      for (const answer of Object.values(treeIn(operation, 'responses'))) typesIn(answer, `${place}Response`);
    }
  }
  typeOf({ $ref: '#/components/schemas/ErrorBody' }, 'ErrorBody');

  const byName = <T extends { readonly name: string }>(found: Iterable<T>): T[] =>
    [...found].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { specVersion: specVersionOf(document), objects: byName(objects.values()), enums: byName(enums.values()) };
};
