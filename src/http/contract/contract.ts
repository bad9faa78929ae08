import { setImmediate } from 'node:timers/promises';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Failure, Refusal } from '../../model/failure.ts';
import openapi from '../../model/generated/openapi.json' with { type: 'json' };
import type { operations } from '../../model/generated/openapi.ts';
import { isSpanId, isTraceId } from '../../model/ids.ts';
import { parseLaterTime, parseTimeParameter } from '../../model/time.ts';
import { UndecodableBody } from '../answer/problem.ts';

export type OperationId = keyof operations;

/** The parameters of an operation's query as its handler sees them: numbers and booleans read, defaults filled in. */
export type QueryOf<O extends OperationId> = NonNullable<operations[O]['parameters']['query']>;
export type PathOf<O extends OperationId> = NonNullable<operations[O]['parameters']['path']>;
/** The body of an operation, as its schema has checked it. */
export type BodyOf<O extends OperationId> = operations[O] extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;

type Schema = { readonly [key: string]: unknown };
type Parameter = { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Schema };
type Operation = {
  readonly operationId: string;
  readonly 'x-scope': string;
  readonly 'x-refused-parameters'?: Readonly<Record<string, string>>;
  /** Path and query are the business of a script in the browser: nothing of them is read here. */
  readonly 'x-any-address'?: boolean;
  /** First segments of further paths that answer the same. */
  readonly 'x-pages'?: readonly string[];
  readonly parameters?: readonly Schema[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
  readonly responses: Readonly<Record<string, Schema>>;
};

/** The interface document. @see spec/openapi.yaml */
export const apiDocument: {
  readonly info: { readonly version: string };
  readonly paths: object;
  readonly components: object;
} = openapi;

/** Version of the data model that this build implements, as the health document gives it. */
export const specVersion: string = openapi.info.version;

const METHODS = ['get', 'post', 'put', 'delete'] as const;

/** Makes something when it is first asked for, so that a start compiles no schema that is not used. */
const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** Follows a reference inside the document. */
const resolve = (schema: Schema): Schema => {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  let found: unknown = openapi;
  for (const part of reference.slice(2).split('/'))
    found = (found as Schema)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  return resolve(found as Schema);
};

/** When something begins. It is in bodies alone, and there is no route that would judge it better. */
const LATER_TIME = 'later-time';
/** Formats of ours, with what each says beyond its pattern: the calendar, the ids that are all zero, words for people. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  [LATER_TIME]: (text) => parseLaterTime(text) !== undefined,
  'time-parameter': (text) => parseTimeParameter(withPlus(text), 0n) !== undefined,
  'trace-id': isTraceId,
  'span-id': isSpanId,
};
/** What spells a format of ours out for other tools. */
const SPELLED_OUT = new Set(['pattern', 'minLength', 'maxLength']);
/** Rules between members: the code behind the routes checks them, and says in words what is wrong. */
const BETWEEN_MEMBERS = 'dependentSchemas';

/**
 * The document's schemas as a validator takes them.
 * @param refer what stands for a reference into the document
 */
const forValidator = (given: unknown, refer: (schema: Schema) => unknown): unknown => {
  if (Array.isArray(given)) return given.map((one) => forValidator(one, refer));
  if (typeof given !== 'object' || given === null) return given;
  const schema = given as Schema;
  if (typeof schema['$ref'] === 'string') return refer(schema);
  const { format } = schema;
  const isOurs = typeof format === 'string' && Object.hasOwn(formats, format);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== BETWEEN_MEMBERS && !(isOurs && SPELLED_OUT.has(key)))
      .map(([key, value]) => [key, forValidator(value, refer)]),
  );
};

/** Bodies refer to each other, some to themselves: their validator holds the components under the id `oas`. */
const forBodies = (schema: unknown): unknown =>
  forValidator(schema, (reference) => ({ ...reference, $ref: `oas${String(reference['$ref'])}` }));

/** Parameters are flat: what they refer to is written in, so that the first question of a process waits for no schema of a body. */
const forParameters = (schema: unknown): unknown =>
  forValidator(schema, (reference) => forParameters(resolve(reference)));

const createAjv = (place: 'parameters' | 'bodies'): Ajv2020 => {
  // Verbose: an error brings its schema along, which may say in words what a pattern means.
  const ajv = new Ajv2020({
    useDefaults: place === 'parameters',
    strictTypes: false,
    strictRequired: false,
    ownProperties: true,
    verbose: true,
    // A test says that the document's schemas are of their dialect. Here it would cost each start the schema of all schemas.
    validateSchema: false,
    meta: false,
  });
  addFormats.default(ajv);
  ajv.addVocabulary(['components', 'example', 'x-spelling']);
  // Ids and times within bodies are judged by the routes, which name the place and the value.
  for (const [name, holds] of Object.entries(formats))
    ajv.addFormat(name, place === 'parameters' || name === LATER_TIME ? holds : true);
  if (place === 'bodies') ajv.addFormat('date-time', true);
  if (place === 'bodies') ajv.addSchema({ $id: 'oas', components: forBodies(openapi.components) as object });
  return ajv;
};

/** A `+` of a time zone that was sent bare arrives as a space; nothing else in a time could be meant by it. */
export const withPlus = (text: string): string => text.replace(/ (?=\d\d:\d\d$)/, '+');

const INTEGER = /^-?(?:0|[1-9]\d{0,14})$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const SHOWN_CHARACTERS = 64;

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
};

const typeNames: ReadonlyMap<unknown, string> = new Map([
  ['string', 'a string'],
  ['number', 'a number'],
  ['integer', 'an integer'],
  ['boolean', 'true or false'],
  ['object', 'an object'],
  ['array', 'an array'],
]);
const typeWords = (type: unknown): string => typeNames.get(type) ?? String(type);

/** What was wrong with one value, after its name: `must be at most 1000`. */
const complaint = (error: ErrorObject): string => {
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'minimum':
      return `must be at least ${String(params['limit'])}`;
    case 'maximum':
      return `must be at most ${String(params['limit'])}`;
    case 'enum':
      return `must be one of ${(params['allowedValues'] as readonly unknown[]).join(', ')}`;
    case 'type':
      return `must be ${[params['type']].flat().map(typeWords).join(' or ')}`;
    case 'pattern':
      return String(error.parentSchema?.['x-spelling'] ?? error.message ?? 'is not usable');
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${String(params['limit'])} characters`;
    case 'maxLength':
      return `must have at most ${String(params['limit'])} characters`;
    case 'minItems':
      return `must have at least ${String(params['limit'])} ${params['limit'] === 1 ? 'item' : 'items'}`;
    case 'minProperties':
      return `must have at least ${String(params['limit'])} ${params['limit'] === 1 ? 'member' : 'members'}`;
    case 'maxItems':
      return `must have at most ${String(params['limit'])} items`;
    case 'format':
      switch (params['format']) {
        case LATER_TIME:
          return 'must be an RFC 3339 time such as 2026-11-20T09:00:00Z, before the year 2262, or a time from now such as +10m (units s, m, h, d, w), at most 3650 days';
        case 'time-parameter':
          return 'must be an RFC 3339 time such as 2026-11-20T09:00:00Z, or a time before now such as -7d (units s, m, h, d, w)';
        case 'trace-id':
          return 'must be 32 lowercase hex characters that are not all zero';
        case 'span-id':
          return 'must be 16 lowercase hex characters that are not all zero';
        default:
          return `must be a ${String(params['format'])}`;
      }
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not known here';
    default:
      return error.message ?? 'is not usable';
  }
};

const typeOf = (schema: Schema): unknown => resolve(schema)['type'];

/** A parameter's text as the value its schema speaks of; text that is no such value stays text, and is refused as such. */
const coerce = (text: string, type: unknown): unknown => {
  if (type === 'integer' && INTEGER.test(text)) return Number(text);
  if (type === 'number' && NUMBER.test(text) && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
};

/** Errors that are about a field below the place where they were found, and how they name it. */
const NAMES_FIELD: ReadonlyMap<string, string> = new Map([
  ['required', 'missingProperty'],
  ['additionalProperties', 'additionalProperty'],
  ['unevaluatedProperties', 'unevaluatedProperty'],
]);
const MAX_FIELD_CHARACTERS = 256;

/**
 * The error to tell of those that a body met. Where a value may have several forms and has none, it is the one that lies deepest: it
 * is of the form that was meant. Where all forms are of another type, all of them are named.
 */
const tellingOf = (errors: readonly ErrorObject[]): ErrorObject | undefined => {
  const [first] = errors;
  if (errors.at(-1)?.keyword !== 'anyOf' || first === undefined) return first;
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length;
  const deepest = Math.max(...errors.map(depth));
  const forms = errors.filter((error) => depth(error) === deepest && error.keyword !== 'anyOf');
  const other = forms.find(({ keyword }) => keyword !== 'type');
  const [form = first] = forms;
  return other ?? { ...form, params: { type: forms.flatMap(({ params }): unknown => params['type']) } };
};

/** Name of the field that an error of a body is about, from the root of the body: `correlation.tags.3`. */
const fieldOf = (error: ErrorObject): string => {
  const parts = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const parameter = NAMES_FIELD.get(error.keyword);
  const last: unknown = parameter === undefined ? undefined : (error.params as Record<string, unknown>)[parameter];
  if (typeof last === 'string') parts.push(last);
  return parts.join('.').slice(0, MAX_FIELD_CHARACTERS);
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a member may be null: those with a type or a list of words say it, any other is left to the validator. */
const mayBeNull = (schema: Schema): boolean => {
  const { type, enum: words, anyOf, allOf } = schema;
  if (Array.isArray(allOf)) return allOf.every((one: Schema) => mayBeNull(resolve(one)));
  if (Array.isArray(anyOf)) return anyOf.some((one: Schema) => mayBeNull(resolve(one)));
  if (Array.isArray(words)) return words.includes(null);
  return type === undefined || [type].flat().includes('null');
};

/** Takes out the members that are null where their schema knows no null: clients of many languages send them for "absent". */
const dropNulls = (body: unknown, given: Schema): void => {
  const properties = resolve(given)['properties'];
  if (!isObject(body) || !isObject(properties)) return;
  for (const [name, member] of Object.entries(properties)) {
    if (!Object.hasOwn(body, name)) continue;
    const schema = resolve(member as Schema);
    if (body[name] !== null) dropNulls(body[name], schema);
    else if (!mayBeNull(schema)) delete body[name];
  }
};

export type CompiledOperation = {
  readonly operationId: string;
  readonly method: string;
  /** In the document's spelling: `/v1/api/traces/{trace_id}`. */
  readonly path: string;
  readonly scope: string;
  /** First segments of further paths that are answered the same, as are all paths below them. */
  readonly pages: readonly string[];
  /** Media types of its successful answers. */
  readonly produces: readonly string[];
  readonly takesBody: boolean;
  readonly bodyRequired: boolean;
  /**
   * Reads and checks the path parameters, in place of the raw ones.
   * @throws Refusal `invalid_id` for an id of a trace or span, `invalid_parameter` for any other
   */
  readonly readPath: (raw: unknown) => Record<string, unknown>;
  /** Reads and checks the query. @throws Refusal `invalid_parameter` with `field` */
  readonly readQuery: (raw: unknown) => Record<string, unknown>;
  /** What the two before do once, at the first question: each compiles a validator. */
  readonly compilations: readonly (() => void)[];
  /** Checks a JSON body. @throws Refusal `invalid_body`, or `invalid_parameter` with `field` where one field is at fault */
  readonly checkJson: (body: unknown) => void;
  /** Checks the body of a typed endpoint, and takes members out of it that are null for "absent". @throws UndecodableBody 422 naming the field */
  readonly checkTyped: (body: unknown) => void;
};

const invalidParameter = (field: string, message: string): Refusal =>
  new Refusal({ code: 'invalid_parameter', message, field });

/** Parameters of one place: how they are read, and what compiles their validator, which reading does where it was not done before. */
type ParameterReader = {
  readonly read: (raw: unknown) => Record<string, unknown>;
  readonly compile: () => void;
};

const compileParameters = (
  ajv: () => Ajv2020,
  parameters: readonly Parameter[],
  place: 'path' | 'query',
  refused: Readonly<Record<string, string>>,
): ParameterReader => {
  const own = parameters.filter((parameter) => parameter.in === place);
  const types = new Map(own.map((parameter) => [parameter.name, typeOf(parameter.schema)]));
  const required = own.filter((parameter) => parameter.required === true).map((parameter) => parameter.name);
  const validator = once(
    (): ValidateFunction =>
      ajv().compile({
        type: 'object',
        properties: Object.fromEntries(own.map((parameter) => [parameter.name, forParameters(parameter.schema)])),
      }),
  );
  const read = (raw: unknown): Record<string, unknown> => {
    // Not a literal: with a prototype, a parameter named `__proto__` would be lost instead of refused.
    const values: Record<string, unknown> = Object.create(null);
    for (const [name, given] of Object.entries(raw as Record<string, unknown>)) {
      const reason = Object.hasOwn(refused, name) ? refused[name] : undefined;
      if (reason !== undefined) throw invalidParameter(name, `\`${name}\` is not taken here: ${reason}`);
      if (!types.has(name))
        throw invalidParameter(
          name.slice(0, SHOWN_CHARACTERS),
          `${shown(name)} is not a parameter of this call${own.length === 0 ? '' : `; it takes ${[...types.keys()].join(', ')}`}`,
        );
      if (typeof given !== 'string') throw invalidParameter(name, `\`${name}\` is given more than once`);
      values[name] = coerce(given, types.get(name));
    }
    for (const name of required)
      if (values[name] === undefined) throw invalidParameter(name, `this call needs the parameter \`${name}\``);
    if (own.length === 0) return values;
    const validate = validator();
    if (validate(values)) return values;
    const [error] = validate.errors ?? [];
    if (error === undefined) throw new Error('a validator refused without an error');
    const name = fieldOf(error);
    const isId = place === 'path' && (error.params['format'] === 'trace-id' || error.params['format'] === 'span-id');
    throw new Refusal({
      code: isId ? 'invalid_id' : 'invalid_parameter',
      message: `\`${name}\` ${complaint(error)}; it is ${shown(values[name])}`,
      field: name,
    });
  };
  return { read, compile: own.length === 0 ? () => {} : validator };
};

/**
 * What one error of a body says, for people. Values are left out: a body holds payloads.
 * @returns for a missing field `missing field \`x\``, else the field and what it must be
 */
const bodyComplaint = (error: ErrorObject): string => {
  const field = fieldOf(error);
  if (error.keyword === 'required') return `missing field \`${field}\``;
  return field === '' ? `the body ${complaint(error)}` : `\`${field}\` ${complaint(error)}`;
};

const readsNothing: ParameterReader = { read: () => ({}), compile: () => {} };

const compileOperation = (
  ajvs: { readonly parameters: () => Ajv2020; readonly bodies: () => Ajv2020 },
  method: string,
  path: string,
  operation: Operation,
  shared: readonly Schema[],
): CompiledOperation => {
  const parameters = [...shared, ...(operation.parameters ?? [])].map(resolve) as unknown as Parameter[];
  const bodySchema = operation.requestBody?.content['application/json']?.schema;
  const validator = once((): ValidateFunction => ajvs.bodies().compile(forBodies(bodySchema) as Schema));
  const firstError = (body: unknown): ErrorObject | undefined => {
    if (bodySchema === undefined) return undefined;
    const validate = validator();
    return validate(body) ? undefined : tellingOf(validate.errors ?? []);
  };
  const refused = operation['x-refused-parameters'] ?? {};
  const isAnyAddress = operation['x-any-address'] === true;
  const inPath = isAnyAddress ? readsNothing : compileParameters(ajvs.parameters, parameters, 'path', {});
  const inQuery = isAnyAddress ? readsNothing : compileParameters(ajvs.parameters, parameters, 'query', refused);
  return {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    scope: operation['x-scope'],
    pages: operation['x-pages'] ?? [],
    produces: Object.entries(operation.responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([, response]) => Object.keys((resolve(response)['content'] as object | undefined) ?? {})),
    takesBody: operation.requestBody !== undefined,
    bodyRequired: operation.requestBody?.required === true,
    readPath: inPath.read,
    readQuery: inQuery.read,
    compilations: [inPath.compile, inQuery.compile],
    checkJson: (body) => {
      const error = firstError(body);
      if (error === undefined) return;
      const field = fieldOf(error);
      const failure: Failure =
        field === ''
          ? { code: 'invalid_body', message: bodyComplaint(error) }
          : { code: 'invalid_parameter', message: bodyComplaint(error), field };
      throw new Refusal(failure);
    },
    checkTyped: (body) => {
      if (bodySchema !== undefined) dropNulls(body, bodySchema);
      const error = firstError(body);
      if (error !== undefined)
        throw new UndecodableBody(422, `the request body does not decode: ${bodyComplaint(error)}`);
    },
  };
};

/** Compiles every operation of the document, by its id. */
export const compileDocument = (): ReadonlyMap<string, CompiledOperation> => {
  const ajvs = { parameters: once(() => createAjv('parameters')), bodies: once(() => createAjv('bodies')) };
  const compiled = new Map<string, CompiledOperation>();
  for (const [path, item] of Object.entries(openapi.paths as unknown as Record<string, Record<string, unknown>>))
    for (const method of METHODS) {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) continue;
      const shared = (item['parameters'] ?? []) as readonly Schema[];
      compiled.set(operation.operationId, compileOperation(ajvs, method, path, operation, shared));
    }
  return compiled;
};

let compiledDocument: ReadonlyMap<string, CompiledOperation> | undefined;

/** Every operation of the document, by its id; compiled once a process. */
export const apiOperations = (): ReadonlyMap<string, CompiledOperation> => {
  compiledDocument ??= compileDocument();
  return compiledDocument;
};

/**
 * Compiles what checks the parameters of reads, one validator a turn of the loop: what is first asked some seconds after a start waits for
 * none, and nothing that arrives meanwhile waits for more than one.
 */
export const compileReads = async (
  operations: Iterable<CompiledOperation> = apiOperations().values(),
): Promise<void> => {
  for (const { method, compilations } of operations)
    for (const compile of method === 'GET' ? compilations : []) {
      compile();
      await setImmediate();
    }
};
