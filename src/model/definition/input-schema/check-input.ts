import type { Result } from '../../failure.ts';
import type { Json } from '../../json.ts';
import type { Definition } from '../definition.ts';
import type { Parsed } from '../template.ts';
import { compileInputSchema, type InputCheck } from './compile.ts';

/** By schema as a definition in memory holds it, so that a check of a thousand children compiles, or even looks it up, once. */
const checks = new WeakMap<object, Parsed<InputCheck>>();

const checkOf = (schema: Json): Parsed<InputCheck> => {
  if (typeof schema !== 'object' || schema === null) return compileInputSchema(schema);
  const known = checks.get(schema) ?? compileInputSchema(schema);
  checks.set(schema, known);
  return known;
};

/**
 * Checks the input of a run against the schema of its definition.
 * @returns the input as it was given; `input_invalid`, naming the path and never the value; or `definition_invalid` where an earlier
 * release stored a schema that this one refuses
 * @see Interface specification, "Run": "input validates against the definition schema, if any"
 */
export const checkInput = (definition: Definition, input: Json | undefined): Result<Json | undefined> => {
  if (definition.inputSchema === undefined) return { ok: true, value: input };
  const of = `input_schema of ${definition.id} version ${definition.version}`;
  const compiled = checkOf(definition.inputSchema);
  if (!compiled.ok)
    return {
      ok: false,
      failure: {
        code: 'definition_invalid',
        message: `${of} cannot be used by this release: ${compiled.message}; register a version with another schema`,
      },
    };
  const message = compiled.value(input ?? null);
  if (message === undefined) return { ok: true, value: input };
  return { ok: false, failure: { code: 'input_invalid', message: `${message} (${of})`, field: 'input' } };
};
