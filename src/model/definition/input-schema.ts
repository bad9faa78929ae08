import { Ajv, type AnySchema, type ErrorObject, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { Result } from '../failure.ts';
import type { Json } from '../json.ts';
import type { Definition } from './definition.ts';
import { faultOfValidation } from './fault.ts';
import type { Parsed } from './template.ts';
import { runWatched } from './watchdog.ts';

/** Bounds of an input schema and of checking an input against it. */
export const inputSchemaBounds = {
  characters: 64 * 1024,
  compileMs: 1000,
  validateMs: 250,
  /** Compiled schemas kept; the one longest unused goes first. */
  cached: 256,
} as const;

/** Says what is wrong with an input, as a sentence with its path; `undefined` when it meets the schema. */
type InputCheck = (input: Json) => string | undefined;

/** Keywords with which a schema can make one input arbitrarily slow to check. A schema without them needs no watch. */
const UNBOUNDED = /"(?:pattern|patternProperties|format|uniqueItems|\$ref|\$dynamicRef)"/;

/** Keywords that generators write and that say nothing about validity. */
const annotations = ['example', 'discriminator', 'xml', 'externalDocs', 'nullable'];

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const options: Options = {
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  verbose: true,
  logger: false,
};

const dialectOf = (schema: Json): Parsed<typeof Ajv | typeof Ajv2020> => {
  const named = schema !== null && typeof schema === 'object' && '$schema' in schema ? schema['$schema'] : undefined;
  if (named === undefined) return { ok: true, value: Ajv2020 };
  if (typeof named === 'string' && DRAFT_2020.test(named)) return { ok: true, value: Ajv2020 };
  if (typeof named === 'string' && DRAFT_07.test(named)) return { ok: true, value: Ajv };
  const shown = JSON.stringify(named).slice(0, 100);
  return { ok: false, message: `$schema ${shown} is not supported; use draft 2020-12 or draft-07` };
};

/** One instance a schema: in a shared one, the $id of one definition would be seen, or replaced, by the next. */
const createAjv = (Dialect: typeof Ajv | typeof Ajv2020): Ajv => {
  const ajv = new Dialect(options);
  ajvFormats.default(ajv);
  for (const keyword of annotations) if (ajv.getKeyword(keyword) === false) ajv.addKeyword(keyword);
  return ajv;
};

/**
 * Compiles the input schema of a definition.
 * @param schema an object or a boolean
 * @returns the check, or what is wrong with the schema: an unknown keyword or format, a reference that leads out of it,
 * a size over `inputSchemaBounds`
 */
export const compileInputSchema = (schema: Json): Parsed<InputCheck> => {
  const text = JSON.stringify(schema);
  if (text.length > inputSchemaBounds.characters)
    return { ok: false, message: `has ${text.length} characters, more than ${inputSchemaBounds.characters}` };
  if (text.includes('"$async"')) return { ok: false, message: '$async is not supported: inputs are checked at once' };
  const dialect = dialectOf(schema);
  if (!dialect.ok) return dialect;
  try {
    const meta = createAjv(dialect.value);
    if (meta.validateSchema(schema as AnySchema) !== true) {
      const [first] = meta.errors ?? [];
      const fault = first === undefined ? undefined : faultOfValidation(first, '', 'shown');
      return { ok: false, message: fault === undefined ? 'is not a JSON Schema' : `${fault.path} ${fault.message}` };
    }
    const compiled = runWatched(inputSchemaBounds.compileMs, () =>
      createAjv(dialect.value).compile(schema as AnySchema),
    );
    if (!compiled.finished)
      return { ok: false, message: `took longer than ${inputSchemaBounds.compileMs} ms to compile` };
    const validate = compiled.value;
    const findFault = (input: Json): ErrorObject | undefined => (validate(input) ? undefined : validate.errors?.[0]);
    const watched = UNBOUNDED.test(text);
    return {
      ok: true,
      value: (input) => {
        let error: ErrorObject | undefined;
        if (watched) {
          const found = runWatched(inputSchemaBounds.validateMs, () => findFault(input));
          if (!found.finished) return `input takes longer than ${inputSchemaBounds.validateMs} ms to check`;
          error = found.value;
        } else error = findFault(input);
        if (error === undefined) return undefined;
        const { path, message } = faultOfValidation(error, 'input', 'hidden');
        return `${path} ${message}`;
      },
    };
  } catch (error) {
    return { ok: false, message: (error as Error).message.slice(0, 300) };
  }
};

/**
 * Checks inputs of runs against the schemas of their definitions, each compiled at its first use and kept while it is used.
 * @returns a function that answers with the input as it was given, or refuses with `input_invalid` and names the path
 * @see Interface specification, "Run": "input validates against the definition schema, if any"
 */
export const createInputChecks = (cached: number = inputSchemaBounds.cached) => {
  const checks = new Map<string, InputCheck>();

  const checkOf = (definition: Definition, schema: Json): InputCheck => {
    const key = `${definition.id}@${definition.version}`;
    let check = checks.get(key);
    if (check === undefined) {
      const compiled = compileInputSchema(schema);
      if (!compiled.ok)
        throw new Error(`input_schema of ${key} was accepted and cannot be compiled: ${compiled.message}`);
      check = compiled.value;
    }
    // A Map keeps the order of insertion, so the first key is the one longest unused.
    checks.delete(key);
    checks.set(key, check);
    if (checks.size > cached) for (const oldest of checks.keys()) if (checks.size > cached) checks.delete(oldest);
    return check;
  };

  return (definition: Definition, input: Json | undefined): Result<Json | undefined> => {
    if (definition.inputSchema === undefined) return { ok: true, value: input };
    const message = checkOf(definition, definition.inputSchema)(input ?? null);
    if (message === undefined) return { ok: true, value: input };
    return {
      ok: false,
      failure: {
        code: 'input_invalid',
        message: `${message} (input_schema of ${definition.id} version ${definition.version})`,
        field: 'input',
      },
    };
  };
};
