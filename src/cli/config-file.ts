import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { HashableIdentifier } from '../ingest/redact-keys.ts';
import type { Scope } from '../model/scope.ts';
import { findBuiltIn } from '../scoring/built-in.ts';
import type { Watch } from '../model/watch.ts';
import { configSchema, spellings } from './config-schema.ts';
import { parseHttpUrl } from './flags.ts';

export type ProjectConfig = {
  readonly retention_days?: number;
  readonly quota_per_minute?: number;
  readonly sample?: number;
  readonly keys?: Readonly<Partial<Record<Scope, readonly string[]>>>;
};
export type RedactionConfig = {
  readonly keys?: readonly string[];
  readonly hash_identifiers?: readonly HashableIdentifier[];
  readonly hash_key?: string;
};
export type ForwardConfig = { readonly endpoint: string; readonly headers?: Readonly<Record<string, string>> };
export type JudgeConfig = {
  readonly endpoint: string;
  readonly model: string;
  readonly api_key?: string;
  readonly timeout_seconds?: number;
  readonly criteria: Readonly<Record<string, string>>;
};
export type MonitorConfig = {
  readonly id: string;
  readonly name?: string;
  readonly project?: string;
  readonly webhook?: string;
  readonly enabled?: boolean;
  readonly watch: Watch;
  readonly compare?: 'above' | 'below';
  readonly threshold?: number;
  readonly window_seconds: number;
  readonly scorer_id?: string;
  readonly min_samples?: number;
};
export type SloConfig = {
  readonly id: string;
  readonly name?: string;
  readonly project?: string;
  readonly webhook?: string;
  readonly objective: number;
  readonly window_days: number;
  readonly min_samples?: number;
};

/** The config file as it stands, once it is known to be right. Defaults are filled in by `settings.ts`. */
export type ConfigFile = {
  /** Flags that stand in the file, under their snake_case names. */
  readonly [flag: string]: unknown;
  readonly projects?: Readonly<Record<string, ProjectConfig>>;
  readonly redaction?: RedactionConfig;
  readonly forward?: ForwardConfig;
  readonly judge?: JudgeConfig;
  readonly monitors?: readonly MonitorConfig[];
  readonly slos?: readonly SloConfig[];
  readonly monitor_interval_seconds?: number;
};

/** Where in the file something is wrong, as `monitors[0].threshold`, and what. No value of the file but a number is repeated. */
export type ConfigFault = { readonly path: string; readonly problem: string };

type Segment = string | number;

const pathText = (segments: readonly Segment[]): string =>
  segments
    .map((segment, position) => {
      if (typeof segment === 'number') return `[${segment}]`;
      if (!/^[A-Za-z_$][\w$-]*$/.test(segment)) return `[${JSON.stringify(segment.slice(0, 64))}]`;
      return position === 0 ? segment : `.${segment}`;
    })
    .join('');

const valueAt = (root: unknown, segments: readonly Segment[]): unknown =>
  segments.reduce<unknown>((node, segment) => (node as Record<Segment, unknown> | undefined)?.[segment], root);

/** A JSON pointer as segments; a digit is an index only where the file has an array. */
const segmentsOf = (pointer: string, root: unknown): Segment[] => {
  const segments: Segment[] = [];
  for (const raw of pointer.split('/').slice(1)) {
    const name = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    segments.push(Array.isArray(valueAt(root, segments)) ? Number(name) : name);
  }
  return segments;
};

const kindOf = (given: unknown): string => {
  if (given === null) return 'null';
  if (Array.isArray(given)) return 'an array';
  return typeof given === 'object' ? 'an object' : `a ${typeof given}`;
};

const articleOf = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

/** The known key that is spelled most like the unknown one, when one is close: same letters but for two. */
const nearest = (unknown: string, known: readonly string[]): string | undefined => {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, column) => column);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next.push(
          Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)),
        );
      row = next;
    }
    return row[b.length] ?? 0;
  };
  return known
    .map((name) => ({ name, away: distance(unknown.slice(0, 64), name) }))
    .filter(({ away }) => away <= 2)
    .toSorted((a, b) => a.away - b.away)[0]?.name;
};

const faultOf = (error: ErrorObject, root: unknown): ConfigFault => {
  const segments = segmentsOf(error.instancePath, root);
  const given = error.data;
  const is = typeof given === 'number' ? `, is ${given}` : '';
  const at = (problem: string): ConfigFault => ({ path: pathText(segments), problem });
  if (error.propertyName !== undefined)
    return { path: pathText([...segments, error.propertyName]), problem: `must be ${spellings(error.schema)}` };
  switch (error.keyword) {
    case 'additionalProperties': {
      const unknown = String(error.params['additionalProperty']);
      const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {});
      const close = nearest(unknown, known);
      const hint =
        close === undefined
          ? `known keys: ${known.filter((k) => k !== '$schema').join(', ')}`
          : `did you mean ${close}?`;
      return { path: pathText([...segments, unknown]), problem: `unknown key; ${hint}` };
    }
    case 'required':
      return { path: pathText([...segments, String(error.params['missingProperty'])]), problem: 'is missing' };
    case 'type':
      return at(
        `must be ${articleOf(String(error.params['type']))}, is ${typeof given === 'number' ? given : kindOf(given)}`,
      );
    case 'enum':
      return at(`must be one of ${(error.params['allowedValues'] as readonly string[]).join(', ')}`);
    case 'minimum':
      return at(`must be at least ${error.params['limit']}${is}`);
    case 'maximum':
      return at(`must be at most ${error.params['limit']}${is}`);
    case 'exclusiveMinimum':
      return at(`must be above ${error.params['limit']}${is}`);
    case 'exclusiveMaximum':
      return at(`must be below ${error.params['limit']}${is}`);
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return at('must not be empty');
    case 'uniqueItems':
      return at('holds the same value twice');
    case 'pattern':
      return at(`must be ${spellings(error.schema)}`);
    default:
      return at(error.message ?? 'is not valid');
  }
};

/** What a header can carry: the value is sent as it stands. */
const HEADER_VALUE = /^[\x20-\x7e\t]*$/;
const NO_HEADER = 'holds a character that no header may hold';

const duplicateOf = (ids: readonly string[]): number => ids.findIndex((id, index) => ids.indexOf(id) !== index);

/** Rules that join two values, which a schema can say but not explain. */
const findJoinedFault = (file: ConfigFile): ConfigFault | undefined => {
  const fault = (segments: readonly Segment[], problem: string): ConfigFault => ({ path: pathText(segments), problem });
  for (const block of ['monitors', 'slos'] as const) {
    const entries = file[block] ?? [];
    const twice = duplicateOf(entries.map((entry) => entry.id));
    if (twice !== -1) return fault([block, twice, 'id'], `is ${JSON.stringify(entries[twice]?.id)} a second time`);
    for (const [index, { webhook }] of entries.entries())
      if (webhook !== undefined && parseHttpUrl(webhook) === undefined)
        return fault([block, index, 'webhook'], 'is not a URL');
  }
  for (const [index, { watch, compare, threshold, scorer_id }] of (file.monitors ?? []).entries()) {
    if (watch === 'score_mean' && scorer_id === undefined)
      return fault(['monitors', index, 'scorer_id'], 'is missing: watch score_mean needs it');
    if (watch !== 'score_mean' && scorer_id !== undefined)
      return fault(['monitors', index, 'scorer_id'], 'is read by watch score_mean alone');
    // A divergence has no threshold in the unit of its measure, so there it may be left out.
    if (watch !== 'step_count_divergence') {
      if (compare === undefined) return fault(['monitors', index, 'compare'], 'is missing');
      if (threshold === undefined) return fault(['monitors', index, 'threshold'], 'is missing');
    }
  }
  const { redaction, forward, judge } = file;
  if ((redaction?.hash_identifiers ?? []).length > 0 && redaction?.hash_key === undefined)
    return fault(['redaction', 'hash_key'], 'is missing: hash_identifiers needs it');
  if (forward !== undefined && parseHttpUrl(forward.endpoint) === undefined)
    return fault(['forward', 'endpoint'], 'is not a URL');
  for (const [name, header] of Object.entries(forward?.headers ?? {}))
    if (!HEADER_VALUE.test(header)) return fault(['forward', 'headers', name], NO_HEADER);
  if (judge !== undefined && parseHttpUrl(judge.endpoint) === undefined)
    return fault(['judge', 'endpoint'], 'is not a URL');
  if (!HEADER_VALUE.test(judge?.api_key ?? '')) return fault(['judge', 'api_key'], NO_HEADER);
  for (const id of Object.keys(judge?.criteria ?? {}))
    if (findBuiltIn(id) !== undefined)
      return fault(['judge', 'criteria', id], 'is the id of a built-in scorer; choose another');
  return undefined;
};

/** Compiled at the first file: a start without one compiles nothing. That the schema is one of its dialect, a test says. */
const compileValidator = (): ValidateFunction =>
  new Ajv2020({ verbose: true, strict: true, strictTypes: false, validateSchema: false }).compile(configSchema);
let validator: ValidateFunction | undefined;

/**
 * Reads the config file: JSON, of the shape of `spec/config.schema.json`, with nothing unknown in it.
 * @returns the file as it stands, or the first thing that is wrong with it
 */
export const parseConfigFile = (
  text: string,
): { readonly ok: true; readonly value: ConfigFile } | { readonly ok: false; readonly fault: ConfigFault } => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    // The parser's message repeats a piece of the file, which may be a key; only the position is safe to show.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const line = position === undefined ? undefined : text.slice(0, Number(position)).split('\n').length;
    return {
      ok: false,
      fault: { path: '', problem: `is not valid JSON${line === undefined ? '' : ` (line ${line})`}` },
    };
  }
  const validate = (validator ??= compileValidator());
  if (!validate(parsed)) {
    const error = validate.errors?.[0];
    if (error === undefined) throw new Error('the validator refused a file without a reason');
    return { ok: false, fault: faultOf(error, parsed) };
  }
  const file = parsed as ConfigFile;
  const fault = findJoinedFault(file);
  return fault === undefined ? { ok: true, value: file } : { ok: false, fault };
};
