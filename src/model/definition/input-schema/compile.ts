import { createHash } from 'node:crypto';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft07 from 'ajv/dist/refs/json-schema-draft-07.json' with { type: 'json' };
import ajvFormats from 'ajv-formats';
import type { Json, JsonObject } from '../../json.ts';
import { faultOfValidation, pathBelow } from '../fault.ts';
import type { Parsed } from '../template.ts';
import { findInputFault, type Node, TooMuch } from './check.ts';
import { isKeyword, nothingIsAllowed, rulesOf } from './keywords.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { below, type Dialect, nameOfPointer, readSchemaTree, type SchemaTree, type Subschema } from './schema-tree.ts';

/** Bounds of an input schema. */
export const inputSchemaBounds = {
  characters: 64 * 1024,
  /** What it takes to compile all its patterns, each counted with some more: a small one takes its time, too. */
  instructions: 5000,
  instructionsMoreAPattern: 25,
  /** Compiled schemas kept; the one longest unused goes first. */
  kept: 256,
} as const;

/** Says what is wrong with an input, as a sentence with its path; `undefined` when it meets the schema. */
export type InputCheck = (input: Json) => string | undefined;

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const dialectOf = (schema: Subschema): Parsed<Dialect> => {
  const named = typeof schema === 'object' && Object.hasOwn(schema, '$schema') ? schema['$schema'] : undefined;
  if (named === undefined) return { ok: true, value: '2020-12' };
  if (typeof named === 'string' && DRAFT_2020.test(named)) return { ok: true, value: '2020-12' };
  if (typeof named === 'string' && DRAFT_07.test(named)) return { ok: true, value: 'draft-07' };
  const shown = JSON.stringify(named).slice(0, 100);
  return { ok: false, message: `$schema ${shown} is not supported; use draft 2020-12 or draft-07` };
};

/**
 * Draft-07 says that the values of an `enum` should be unique, and its meta-schema that they must be: Ajv compares each with each, a second for
 * as many as a schema may have. Here they may repeat, as they may in draft 2020-12.
 */
const draft07WithRepeats = {
  ...draft07,
  properties: { ...draft07.properties, enum: { type: 'array', items: true, minItems: 1 } },
};

const META_SCHEMAS: Readonly<Record<Dialect, string>> = {
  'draft-07': draft07.$id,
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
};
/** Compiles what a schema of a dialect must look like. No schema is ever added to it. */
const compileMetaSchema = (dialect: Dialect): ValidateFunction => {
  const options = { verbose: true, logger: false } as const;
  const ajv = dialect === 'draft-07' ? new Ajv({ ...options, meta: false }) : new Ajv2020(options);
  ajvFormats.default(ajv);
  if (dialect === 'draft-07') ajv.addMetaSchema(draft07WithRepeats);
  const validate = ajv.getSchema(META_SCHEMAS[dialect]);
  if (validate === undefined) throw new Error(`no meta-schema of ${dialect}`);
  return validate;
};
const metaSchemas: Partial<Record<Dialect, ValidateFunction>> = {};
const metaSchemaOf = (dialect: Dialect): ValidateFunction => (metaSchemas[dialect] ??= compileMetaSchema(dialect));

class Unacceptable extends Error {}

/** Compiles every schema of a tree, also those that nothing refers to: a fault in one is a fault. */
const compileTree = ({ schemas, targets }: SchemaTree, dialect: Dialect): Node => {
  const notesSeen = [...schemas.values()].some(
    (schema) =>
      typeof schema === 'object' &&
      (Object.hasOwn(schema, 'unevaluatedItems') || Object.hasOwn(schema, 'unevaluatedProperties')),
  );
  const nodes = new Map(
    [...schemas.keys()].map((pointer): [string, Node] => [pointer, { rules: [], steps: 1, notesSeen }]),
  );
  const nodeAt = (pointer: string): Node => {
    const node = nodes.get(pointer);
    if (node === undefined) throw new Error(`no schema stands at ${pointer}`);
    return node;
  };
  const patterns = new Map<string, Pattern>();
  let instructions = 0;
  const pattern = (source: string): Pattern => {
    const kept = patterns.get(source);
    if (kept !== undefined) return kept;
    const compiled = compilePattern(source);
    if (!compiled.ok) throw new Unacceptable(compiled.message);
    instructions += compiled.value.size + inputSchemaBounds.instructionsMoreAPattern;
    if (instructions > inputSchemaBounds.instructions)
      throw new Unacceptable(
        `the patterns of the schema are too many, or too large: more than ${inputSchemaBounds.instructions} instructions`,
      );
    patterns.set(source, compiled.value);
    return compiled.value;
  };

  const compile = (schema: JsonObject, pointer: string, node: Node): void => {
    const refuse = (message: string): never => {
      throw new Unacceptable(message);
    };
    const unknown = Object.keys(schema).find((name) => !isKeyword(name, dialect));
    if (unknown !== undefined) refuse(`unknown keyword: ${JSON.stringify(unknown.slice(0, 100))}`);
    node.rules = rulesOf({
      schema,
      pattern,
      refuse,
      node: (...steps) => nodeAt(below(pointer, ...steps)),
      target: () => nodeAt(targets.get(pointer) ?? ''),
    });
    node.steps = node.rules.reduce((sum, { steps }) => sum + steps, 1);
  };
  for (const [pointer, schema] of schemas) {
    const node = nodeAt(pointer);
    try {
      if (typeof schema === 'object') compile(schema, pointer, node);
      else if (!schema) node.rules = [nothingIsAllowed];
    } catch (error) {
      if (!(error instanceof Unacceptable) || pointer === '') throw error;
      throw new Unacceptable(`${nameOfPointer(pointer)}: ${error.message}`, { cause: error });
    }
  }
  return nodeAt('');
};

const compile = (schema: Subschema): Parsed<InputCheck> => {
  const dialect = dialectOf(schema);
  if (!dialect.ok) return dialect;
  // Before the meta-schema is asked, whose time grows with the number of schemas.
  const tree = readSchemaTree(schema, dialect.value);
  if (!tree.ok) return tree;
  const meta = metaSchemaOf(dialect.value);
  if (!meta(schema)) {
    const [first] = meta.errors ?? [];
    const fault = first === undefined ? undefined : faultOfValidation(first);
    return { ok: false, message: fault === undefined ? 'is not a JSON Schema' : `${fault.path} ${fault.message}` };
  }
  let root: Node;
  try {
    root = compileTree(tree.value, dialect.value);
  } catch (error) {
    if (error instanceof Unacceptable) return { ok: false, message: error.message.slice(0, 500) };
    throw error;
  }
  return {
    ok: true,
    value: (input) => {
      try {
        const fault = findInputFault(root, input);
        return fault === undefined ? undefined : `${pathBelow('input', fault.path)} ${fault.message}`;
      } catch (error) {
        if (error instanceof TooMuch) return `input takes too much to check: ${error.message}`;
        throw error;
      }
    },
  };
};

/**
 * Makes a compiler of input schemas that keeps what it compiled, as long as it is used: a definition is judged when it is registered,
 * by each of its workers, and its inputs are checked for as long as there are runs of it.
 */
export const createInputSchemas = (kept: number = inputSchemaBounds.kept) => {
  const compiled = new Map<string, Parsed<InputCheck>>();
  /**
   * Compiles an input schema.
   * @param schema an object or a boolean, of bounded depth
   * @returns the check, whose time is bounded whatever the input; or what is wrong with the schema: an unknown keyword or format, a
   * pattern that no linear engine takes, a reference that leads out of it or back to itself, a size over `inputSchemaBounds`
   */
  return (schema: Json): Parsed<InputCheck> => {
    const text = JSON.stringify(schema);
    if (text.length > inputSchemaBounds.characters)
      return { ok: false, message: `has ${text.length} characters, more than ${inputSchemaBounds.characters}` };
    const key = createHash('sha256').update(text).digest('base64');
    const result = compiled.get(key) ?? compile(schema as Subschema);
    // A Map keeps the order of insertion, so the first key is the one longest unused.
    compiled.delete(key);
    compiled.set(key, result);
    if (compiled.size > kept) for (const oldest of compiled.keys()) if (compiled.size > kept) compiled.delete(oldest);
    return result;
  };
};

export const compileInputSchema = createInputSchemas();
