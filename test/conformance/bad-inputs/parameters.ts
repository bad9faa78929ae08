import type { Json } from '../client.ts';

/**
 * For each query parameter of each reading operation of the document, values just outside of what it allows, and for each path
 * parameter one that is no id. Values in the answer are not judged here: the file of answers says what each is.
 */
export const badParameters = (document: Json): readonly string[] => {
  const resolve = (schema: Json): Json =>
    typeof schema?.$ref === 'string'
      ? resolve(
          schema.$ref
            .slice(2)
            .split('/')
            .reduce((found: Json, part: string) => found[part], document),
        )
      : schema;
  const formOf = (given: Json): Json => {
    const schema = resolve(given);
    const [only] = schema.allOf ?? [];
    return only === undefined ? schema : { ...formOf(only), ...schema };
  };
  const outside = (schema: Json): readonly string[] => {
    if (schema.enum !== undefined) return ['nothing-of-these', ''];
    if (schema.type === 'boolean') return ['yes', ''];
    if (schema.type === 'integer' || schema.type === 'number') {
      const beyond = [
        ...(schema.minimum === undefined ? [] : [String(schema.minimum - 1)]),
        ...(schema.maximum === undefined || schema.maximum > 1e15 ? [] : [String(schema.maximum + 1)]),
      ];
      return [...beyond, 'many', ...(schema.type === 'integer' ? ['1.5'] : ['NaN'])];
    }
    if (schema.format === 'time-parameter') return ['yesterday', '2026-02-30T00:00:00Z'];
    if (schema.format === 'trace-id' || schema.format === 'span-id') return ['run-7'];
    return [
      ...(schema.minLength >= 1 ? [''] : []),
      ...(schema.maxLength === undefined ? [] : ['x'.repeat(schema.maxLength + 1)]),
    ];
  };
  const requests: string[] = [];
  for (const [template, item] of Object.entries<Json>(document.paths)) {
    const operation = item.get;
    // A page takes what its own address grammar knows, and passes over the rest.
    if (operation === undefined || operation['x-any-address'] !== undefined || /watch|stream/.test(template)) continue;
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve);
    const path = template.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
      name === 'trace_id' ? '5b8efff798038103d269b633813fc60c' : name === 'span_id' ? 'eee19b7ec3c1b174' : 'nothing',
    );
    requests.push(`GET ${path}?colour=red`);
    for (const parameter of parameters.filter((one: Json) => one.in === 'query'))
      for (const value of outside(formOf(parameter.schema)))
        requests.push(`GET ${path}?${parameter.name}=${encodeURIComponent(value)}`);
  }
  return requests;
};
