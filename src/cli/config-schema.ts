import { hashableIdentifiers } from '../ingest/redact-keys.ts';
import { scopes } from '../model/scope.ts';
import { watches } from '../model/watch.ts';
import {
  flagNames,
  flags,
  type JsonSchema,
  KEY_CHARACTERS,
  PROJECT_NAME,
  PROJECT_NAME_BOUND,
  snakeName,
} from './flags.ts';

/** What the patterns of the schema mean, in words that go after "must be". */
export const spellings = (pattern: unknown): string => {
  switch (pattern) {
    case PROJECT_NAME.source:
      return PROJECT_NAME_BOUND;
    case ID:
      return '1 to 128 letters, digits, dots, underscores, colons and hyphens, the first a letter or a digit';
    case KEY_CHARACTERS.source:
      return '1 to 512 characters of printable ASCII, without spaces';
    case HEADER_NAME:
      return 'the name of a header: 1 to 128 letters, digits and hyphens';
    case url.pattern:
      return 'a URL that begins with http:// or https://';
    default:
      return `spelled as ${String(pattern)} says`;
  }
};

const closed = (properties: { readonly [name: string]: JsonSchema }, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length > 0 ? { required } : {}),
});

const text = { type: 'string', minLength: 1 } as const;
const url = { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/]' } as const;
const days = { type: 'integer', minimum: 1, maximum: 36_525 } as const;
const ID = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';
const HEADER_NAME = '^[A-Za-z0-9-]{1,128}$';
const id = { type: 'string', pattern: ID } as const;
const project = { type: 'string', pattern: PROJECT_NAME.source } as const;
/** 0 lets a monitor of trace_count see that nothing arrives at all. */
const minSamples = { type: 'integer', minimum: 0, default: 20 } as const;

const projectBlock = closed({
  retention_days: { ...days, description: 'Days that this project is kept; else --retention-days.' },
  quota_per_minute: { type: 'integer', minimum: 1, description: 'Its ceiling; else --quota-per-minute.' },
  sample: { type: 'number', minimum: 0, maximum: 1, description: 'Its fraction; else --sample.' },
  keys: {
    description: 'Keys that reach this project only.',
    ...closed(Object.fromEntries(scopes.map((scope) => [scope, { type: 'array', items: { $ref: '#/$defs/key' } }]))),
  },
});

const monitor = closed(
  {
    id,
    name: text,
    project,
    webhook: url,
    enabled: { type: 'boolean', default: true },
    watch: { enum: watches },
    compare: { enum: ['above', 'below'] },
    threshold: { type: 'number' },
    window_seconds: { type: 'integer', minimum: 1, maximum: 31_536_000 },
    scorer_id: { ...text, description: 'Required for score_mean, and read by it alone.' },
    min_samples: minSamples,
  },
  ['id', 'watch', 'window_seconds'],
);

const slo = closed(
  {
    id,
    name: text,
    project,
    webhook: url,
    objective: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    window_days: { type: 'integer', minimum: 1, maximum: 365 },
    min_samples: minSamples,
  },
  ['id', 'objective', 'window_days'],
);

const flagProperties = Object.fromEntries(
  flagNames
    .filter((name) => name !== 'config-file')
    .map((name) => [snakeName(name), { ...flags[name].schema, description: flags[name].meaning }]),
);

/**
 * The JSON Schema of the config file: every flag in snake_case, and the blocks. `spec/config.schema.json` is its print,
 * for editors. Rules that join two values stand in `config-file.ts`.
 * @see Interface specification, "Command-line surface", "Monitor and SLO (config file shapes)", "Scorers"
 * @see Interface decisions, sections 3, 5 and 8
 */
export const configSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration file of the service',
  ...closed({
    $schema: { type: 'string', description: 'For editors; not read.' },
    ...flagProperties,
    projects: {
      type: 'object',
      propertyNames: project,
      additionalProperties: projectBlock,
    },
    redaction: closed({
      keys: {
        type: 'array',
        items: text,
        description: 'Names whose values become "[redacted]", beside the built-in ones of credentials.',
      },
      hash_identifiers: { type: 'array', uniqueItems: true, items: { enum: hashableIdentifiers } },
      hash_key: { ...text, description: 'Secret of the HMAC-SHA-256 that replaces hashed identifiers.' },
    }),
    forward: closed(
      {
        endpoint: { ...url, description: 'Base address of an OTLP/HTTP receiver; /v1/traces is appended.' },
        headers: {
          type: 'object',
          propertyNames: { pattern: HEADER_NAME },
          additionalProperties: { type: 'string' },
        },
      },
      ['endpoint'],
    ),
    judge: closed(
      {
        endpoint: { ...url, description: 'Base address of a model API with chat completions.' },
        model: text,
        api_key: { type: 'string', description: 'May be empty.' },
        timeout_seconds: { type: 'integer', minimum: 1, maximum: 300, default: 30 },
        criteria: {
          type: 'object',
          minProperties: 1,
          propertyNames: id,
          additionalProperties: text,
          description: 'Question text by scorer id.',
        },
      },
      ['endpoint', 'model', 'criteria'],
    ),
    monitor_interval_seconds: { type: 'integer', minimum: 1, maximum: 86_400, default: 60 },
    monitors: { type: 'array', items: monitor },
    slos: { type: 'array', items: slo },
  }),
  $defs: { key: { type: 'string', pattern: KEY_CHARACTERS.source } },
};
