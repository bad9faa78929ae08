import type { Json, JsonObject } from '../../json.ts';
import { pathOfPointer } from '../fault.ts';
import type { Parsed } from '../template.ts';

export type Dialect = '2020-12' | 'draft-07';
export type Subschema = JsonObject | boolean;

/** A schema, read as a tree of schemas: which there are, where, and what each refers to. */
export type SchemaTree = {
  /** By JSON pointer from the root, which is the empty pointer. */
  readonly schemas: ReadonlyMap<string, Subschema>;
  /** From the pointer of a schema with a `$ref` to the pointer of the one that it means. */
  readonly targets: ReadonlyMap<string, string>;
};

/** Most schemas in one, itself and those that nothing refers to included. */
export const SCHEMAS = 2000;

/**
 * Where keywords hold schemas. A schema `in place` is applied to the very value that its holder is applied to; one `within` to a part
 * of it, which is smaller; one `aside` only by reference.
 */
type Holder = {
  readonly holds: 'one' | 'list' | 'one or list' | 'by name';
  readonly at: 'in place' | 'within' | 'aside';
};
const inPlace = (holds: Holder['holds']): Holder => ({ holds, at: 'in place' });
const within = (holds: Holder['holds']): Holder => ({ holds, at: 'within' });

const holders: ReadonlyMap<string, Holder> = new Map(
  Object.entries({
    $defs: { holds: 'by name', at: 'aside' },
    definitions: { holds: 'by name', at: 'aside' },
    contentSchema: { holds: 'one', at: 'aside' },
    allOf: inPlace('list'),
    anyOf: inPlace('list'),
    oneOf: inPlace('list'),
    not: inPlace('one'),
    if: inPlace('one'),
    then: inPlace('one'),
    else: inPlace('one'),
    dependencies: inPlace('by name'),
    dependentSchemas: inPlace('by name'),
    properties: within('by name'),
    patternProperties: within('by name'),
    additionalProperties: within('one'),
    unevaluatedProperties: within('one'),
    propertyNames: within('one'),
    items: within('one or list'),
    prefixItems: within('list'),
    additionalItems: within('one'),
    unevaluatedItems: within('one'),
    contains: within('one'),
  } satisfies Readonly<Record<string, Holder>>),
);

/** Why a keyword that JSON Schema has is refused here. */
const refusedKeywords: ReadonlyMap<string, string> = new Map([
  ['$async', '$async is not supported: inputs are checked at once'],
  ['$dynamicRef', '$dynamicRef is not supported: what it means depends on the way to it; use $ref'],
  ['$dynamicAnchor', '$dynamicAnchor is not supported; use $anchor'],
  ['$recursiveRef', '$recursiveRef is not supported; use $ref'],
  ['$recursiveAnchor', '$recursiveAnchor is not supported; use $anchor'],
]);

/** Relative references are resolved against it; nothing is ever fetched. */
const NOWHERE = 'https://schema.invalid/';

const isSchema = (value: Json | undefined): value is Subschema =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
export const below = (pointer: string, ...segments: readonly (string | number)[]): string =>
  [pointer, ...segments.map((segment) => String(segment).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');

/** The schemas that a schema holds, keyword by keyword, each with its pointer. */
function* heldBy(
  schema: JsonObject,
  pointer: string,
): Generator<{ at: Holder['at']; pointer: string; schema: Subschema }> {
  for (const [keyword, { holds, at }] of holders) {
    const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    if (typeof value !== 'object' && typeof value !== 'boolean') continue;
    if (value === null) continue;
    if (holds === 'by name') {
      for (const [name, inner] of Object.entries(value as JsonObject))
        if (isSchema(inner)) yield { at, pointer: below(pointer, keyword, name), schema: inner };
    } else if (Array.isArray(value)) {
      for (const [index, inner] of (value as readonly Json[]).entries())
        if (isSchema(inner)) yield { at, pointer: below(pointer, keyword, index), schema: inner };
    } else if (isSchema(value)) yield { at, pointer: below(pointer, keyword), schema: value };
  }
}

export const nameOfPointer = (pointer: string): string => (pointer === '' ? 'the schema' : pathOfPointer('', pointer));

class Unacceptable extends Error {}

/** Resolves an identifier or a reference; `undefined` for what is no URI reference. */
const resolve = (reference: string, base: string): { resource: string; fragment: string } | undefined => {
  if (!URL.canParse(reference, base)) return undefined;
  const url = new URL(reference, base);
  const { hash } = url;
  url.hash = '';
  try {
    return { resource: url.href, fragment: decodeURIComponent(hash.slice(1)) };
  } catch {
    return undefined;
  }
};

/** The schemas that are applied, through any number of steps, to the same value as the one at a pointer. */
const findEndlessWay = ({ schemas, targets }: SchemaTree): readonly string[] | undefined => {
  const onTo = (pointer: string): string[] => {
    const schema = schemas.get(pointer);
    const target = targets.get(pointer);
    const held =
      typeof schema === 'object'
        ? [...heldBy(schema, pointer)].filter(({ at }) => at === 'in place').map((inner) => inner.pointer)
        : [];
    return target === undefined ? held : [target, ...held];
  };
  const done = new Set<string>();
  for (const start of schemas.keys()) {
    const way: { pointer: string; left: string[] }[] = done.has(start) ? [] : [{ pointer: start, left: onTo(start) }];
    const open = new Set([start]);
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const next = last.left.shift();
      if (next === undefined) {
        open.delete(last.pointer);
        done.add(last.pointer);
        way.pop();
      } else if (open.has(next)) {
        const from = way.findIndex(({ pointer }) => pointer === next);
        return [...way.slice(from).map(({ pointer }) => pointer), next];
      } else if (!done.has(next)) {
        open.add(next);
        way.push({ pointer: next, left: onTo(next) });
      }
    }
  }
  return undefined;
};

/**
 * Reads the tree of a schema, and resolves its references within it.
 * @param schema of bounded depth
 * @returns the tree; or what is wrong: too many schemas, a keyword that is refused, a reference that leads out of it or to something
 * that is no schema, one that leads back to its own value without end
 * @see JSON Schema 2020-12 Core, sections 8.2, 9.2 and 9.4.1
 */
export const readSchemaTree = (root: Subschema, dialect: Dialect): Parsed<SchemaTree> => {
  const schemas = new Map<string, Subschema>();
  const targets = new Map<string, string>();
  /** Schemas by identifier, and by identifier and anchor. */
  const resources = new Map([[NOWHERE, '']]);
  const anchors = new Map<string, string>();
  const references: { readonly from: string; readonly reference: string; readonly base: string }[] = [];

  const visit = (schema: Subschema, pointer: string, outerBase: string): void => {
    schemas.set(pointer, schema);
    if (schemas.size > SCHEMAS) throw new Unacceptable(`holds more than ${SCHEMAS} schemas`);
    if (typeof schema === 'boolean') return;
    for (const [keyword, why] of refusedKeywords) if (Object.hasOwn(schema, keyword)) throw new Unacceptable(why);
    let base = outerBase;
    const { $id, $anchor, $ref } = schema;
    if (typeof $id === 'string') {
      const named = resolve($id, outerBase);
      if (named === undefined) throw new Unacceptable(`$id ${JSON.stringify($id)} is not a URI reference`);
      // In draft-07 an identifier that is a fragment is an anchor.
      if (named.fragment !== '') anchors.set(`${named.resource}#${named.fragment}`, pointer);
      if (named.fragment === '' || dialect === '2020-12') {
        base = named.resource;
        resources.set(base, pointer);
      }
    }
    if (typeof $anchor === 'string') anchors.set(`${base}#${$anchor}`, pointer);
    if (typeof $ref === 'string') references.push({ from: pointer, reference: $ref, base });
    for (const inner of heldBy(schema, pointer)) visit(inner.schema, inner.pointer, base);
  };

  try {
    visit(root, '', NOWHERE);
    for (const { from, reference, base } of references) {
      const shown = `$ref ${JSON.stringify(reference.slice(0, 200))}`;
      const named = resolve(reference, base);
      const resource = named === undefined ? undefined : resources.get(named.resource);
      if (named === undefined || resource === undefined)
        throw new Unacceptable(`can't resolve reference: ${shown} leads out of the schema, and nothing is fetched`);
      const { fragment } = named;
      const target =
        fragment === '' || fragment.startsWith('/')
          ? `${resource}${fragment}`
          : anchors.get(`${named.resource}#${fragment}`);
      if (target === undefined || !schemas.has(target))
        throw new Unacceptable(`can't resolve reference: ${shown} leads to no schema`);
      targets.set(from, target);
    }
    const tree = { schemas, targets };
    const way = findEndlessWay(tree);
    if (way !== undefined)
      throw new Unacceptable(
        `refers to itself without end: ${way.map(nameOfPointer).slice(0, 8).join(' → ')}${way.length > 8 ? ' …' : ''}`,
      );
    return { ok: true, value: tree };
  } catch (error) {
    if (error instanceof Unacceptable) return { ok: false, message: error.message };
    throw error;
  }
};
