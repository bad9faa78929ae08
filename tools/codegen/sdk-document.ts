/** The operations that the client libraries call. */
const OPERATIONS: readonly string[] = [
  'getHealth',
  'ingestBatch',
  'listTraces',
  'getTrace',
  'listScores',
  'createScore',
  'listFeedback',
  'createFeedback',
  'startRun',
  'listRuns',
  'getRun',
  'listRunEvents',
  'getStepCause',
  'cancelRun',
  'restartRun',
  'pauseRun',
  'resumeRun',
  'signalRun',
  'listParkedEvents',
  'publishEvent',
  'listDefinitions',
  'storeDefinitions',
  'pauseDefinition',
  'resumeDefinition',
  'getDefinition',
  'getDefinitionVersion',
  'listSchedules',
  'getSchedule',
  'createSchedule',
  'changeSchedule',
  'deleteSchedule',
  'pauseSchedule',
  'resumeSchedule',
  'triggerSchedule',
  'startBulk',
  'getBulk',
  'stopBulk',
  'listWorkers',
  'registerWorker',
  'batchSteps',
  'claimSteps',
  'startStep',
  'beatStep',
  'completeStep',
  'failStep',
];
const METHODS: readonly string[] = ['get', 'post', 'put', 'delete'];

export type Tree = { readonly [key: string]: unknown };
export const isTree = (value: unknown): value is Tree =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
export const treeIn = (tree: Tree, key: string): Tree => {
  const found = tree[key];
  if (!isTree(found)) throw new TypeError(`the document has no object ${key}`);
  return found;
};

/** `wait_event`, a kind of step, becomes `WaitEventStep`; `retry`, a part of a definition, `DefinitionRetry`. */
const schemaNameOf = (name: string, schema: unknown): string => {
  const pascal = name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
  const isKind = isTree(schema) && isTree(schema['properties']) && schema['properties']['kind'] !== undefined;
  return isKind ? `${pascal}Step` : `Definition${pascal}`;
};

/**
 * A schema's name in the libraries: `NewSpan` becomes `SpanInput`, because a reader of Go takes `NewSpan` for a function, and `Error`
 * becomes `ErrorBody`, because it hides what the languages call by that name.
 */
const nameInLibraries = (name: string): string =>
  name === 'Error' ? 'ErrorBody' : name.replace(/^New(?=[A-Z])(.+)$/, '$1Input');

/** Gives each schema the name that it has in the libraries, where it stands and where it is referred to. */
const renamed = (openapi: Tree): Tree => {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isTree(value)) return value;
    const entries = Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string') return [key, visit(inner)] as const;
      return [key, inner.replace(/(?<=^#\/components\/schemas\/)\w+$/, nameInLibraries)] as const;
    });
    return Object.fromEntries(entries);
  };
  const components = treeIn(openapi, 'components');
  const schemas = Object.entries(treeIn(components, 'schemas')).map(([name, schema]) => [
    nameInLibraries(name),
    schema,
  ]);
  return visit({ ...openapi, components: { ...components, schemas: Object.fromEntries(schemas) } }) as Tree;
};

/** The schemas of a definition, as schemas of an OpenAPI document: the root becomes `Definition`. */
const definitionSchemas = (definition: Tree): Tree => {
  const { $schema: _dialect, $defs: _parts, ...root } = definition;
  const parts = treeIn(definition, '$defs');
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (!isTree(value)) return value;
    const { discriminator: _kind, $ref, ...rest } = value;
    // Each kind of step names itself by a `const`; the discriminator would have it named after its schema.
    const copy = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, moved(inner)]));
    if (typeof $ref !== 'string') return copy;
    const name = $ref.replace('#/$defs/', '');
    return { ...copy, $ref: `#/components/schemas/${schemaNameOf(name, parts[name])}` };
  };
  const { $schema: _forEditors, ...properties } = treeIn(root, 'properties');
  // An object that names no members would be generated as one that has none.
  const input_schema = { ...treeIn(properties, 'input_schema'), additionalProperties: true };
  return {
    Definition: moved({ ...root, properties: { ...properties, input_schema } }),
    ...Object.fromEntries(Object.entries(parts).map(([name, schema]) => [schemaNameOf(name, schema), moved(schema)])),
  };
};

/** Leaves examples out, and says a choice by `if` as one of two, which the generator reads. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (!isTree(value)) return value;
  const { example: _one, examples: _more, ...rest } = value;
  const { if: condition, then: first, else: second, type: _types, ...others } = rest;
  const kept = condition === undefined ? rest : { ...others, oneOf: [first, second] };
  return Object.fromEntries(Object.entries(kept).map(([key, inner]) => [key, plain(inner)]));
};

/** What a reference like `#/components/schemas/Run` names: `['schemas', 'Run']`. */
const referencesIn = (value: unknown): readonly (readonly [string, string])[] => {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isTree(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const [, section, name] = (key === '$ref' && /^#\/components\/(\w+)\/(\w+)$/.exec(String(inner))) || [];
    return section === undefined || name === undefined ? referencesIn(inner) : [[section, name] as const];
  });
};

/**
 * The part of the interface that the client libraries speak: the operations they call with their good answers, what these
 * refer to under the names of the libraries, and a definition with all that its own schema says. Pure, so that a test can tell whether what was
 * generated from it is still true, whatever else changed in the document.
 * @param document `spec/openapi.yaml`, parsed
 * @param definition `spec/definition.schema.json`, parsed
 * @throws TypeError when an operation or a schema that the library needs is not in the document
 */
export const sdkDocument = (document: Tree, definition: Tree): Tree => {
  const openapi = renamed(document);
  const left = new Set(OPERATIONS);
  const paths = Object.entries(treeIn(openapi, 'paths')).flatMap(([path, item]) => {
    if (!isTree(item)) return [];
    const kept = Object.entries(item).flatMap(([method, operation]) => {
      if (!METHODS.includes(method)) return [[method, operation] as const];
      if (!isTree(operation) || !left.delete(String(operation['operationId']))) return [];
      const answers = Object.entries(treeIn(operation, 'responses')).filter(([status]) => status.startsWith('2'));
      return [[method, { ...operation, responses: Object.fromEntries(answers) }] as const];
    });
    return kept.some(([key]) => METHODS.includes(key)) ? [[path, Object.fromEntries(kept)] as const] : [];
  });
  if (left.size > 0) throw new TypeError(`the document has no operation ${[...left].join(', ')}`);

  const all = treeIn(openapi, 'components');
  const sources: Tree = { ...all, schemas: { ...treeIn(all, 'schemas'), ...definitionSchemas(definition) } };
  const components: Record<string, Record<string, unknown>> = {};
  const collect = (value: unknown): void => {
    for (const [section, name] of referencesIn(value)) {
      const kept = (components[section] ??= {});
      if (kept[name] !== undefined) continue;
      const found = treeIn(treeIn(sources, section), name);
      kept[name] = found;
      collect(found);
    }
  };
  collect(Object.fromEntries(paths));
  for (const [section, kept] of Object.entries(components))
    components[section] = Object.fromEntries(Object.entries(kept).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return plain({
    openapi: openapi['openapi'],
    info: openapi['info'],
    paths: Object.fromEntries(paths),
    components,
  }) as Tree;
};
