import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import definitionSchema from '../../spec/definition.schema.json' with { type: 'json' };
import { configSchema } from '../../src/cli/config-schema.ts';
import openapi from '../../src/model/generated/openapi.json' with { type: 'json' };

const ajv = new Ajv2020({ strict: false });
const faultsOf = (schema: object): unknown => (ajv.validateSchema(schema) === true ? [] : ajv.errors);

const METHODS = ['get', 'post', 'put', 'delete'] as const;
type Operation = {
  readonly parameters?: readonly { readonly name?: string; readonly schema?: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> };
};

/** Every schema that a route of the document names for a parameter or a body. */
const schemasOfRoutes = (): (readonly [string, object])[] =>
  Object.entries(openapi.paths as unknown as Record<string, Record<string, unknown>>).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const { parameters = [], requestBody } = (item[method] ?? {}) as Operation;
      return [
        ...parameters.map(({ name, schema }) => [`${method} ${path} ${name ?? ''}`, schema] as const),
        ...Object.values(requestBody?.content ?? {}).map(({ schema }) => [`${method} ${path} body`, schema] as const),
      ].flatMap(([name, schema]) => (schema === undefined ? [] : [[name, schema] as const]));
    }),
  );

// A start does not check them: it would compile the schema of all schemas each time.
describe('our own schemas keep to their dialect', () => {
  it.each([
    ['of a definition', definitionSchema],
    ['of the config file', configSchema],
    ['of the components of the interface', { $defs: openapi.components.schemas }],
  ])('those %s', (_, schema) => {
    expect(faultsOf(schema)).toEqual([]);
  });

  it('those of parameters that routes share', () => {
    for (const [name, { schema }] of Object.entries(
      openapi.components.parameters as Record<string, { readonly schema: object }>,
    ))
      expect(faultsOf(schema), name).toEqual([]);
  });

  it('those of parameters and bodies of each route', () => {
    const schemas = schemasOfRoutes();
    expect(schemas.length).toBeGreaterThan(50);
    for (const [name, schema] of schemas) expect(faultsOf(schema), name).toEqual([]);
  });

  it('and a schema that does not is found', () => {
    expect(faultsOf({ $defs: { Broken: { properties: { at: { type: 'nonsense' } } } } })).not.toEqual([]);
  });
});
