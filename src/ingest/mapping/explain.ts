import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../model/json.ts';
import type { Correlation, Cost, Span, Usage } from '../../model/span.ts';
import { attributeKey, fieldIndex, lateTargets } from './key.ts';
import { kindRules, NAMED_KIND } from './kind-rules.ts';
import { kindOfValue, providerNamed, valueOf } from './readings.ts';
import { type Field, fields, type Row } from './table.ts';

/** The part of a stored span that an explanation looks at. */
export type Explained = Pick<
  Span,
  | 'kind'
  | 'model'
  | 'provider'
  | 'entityName'
  | 'usage'
  | 'cost'
  | 'error'
  | 'correlation'
  | 'input'
  | 'output'
  | 'attributes'
>;

/** Where one field came from. */
export type FieldSource = {
  /** The field as the interface names it: `usage.input_tokens`. */
  readonly field: string;
  /** The attribute that set it; of many parts `llm.input_messages.*`. */
  readonly attribute: string;
  /** Whose convention the row of the mapping table is. */
  readonly emitter: string;
  /** Attributes that the table would have read, had this one not come before them. */
  readonly insteadOf: readonly string[];
};

export type Explanation = {
  readonly fields: readonly FieldSource[];
  /** Fields that have a value which no kept attribute gave: it came with the span itself, from its events, or was computed. */
  readonly unexplained: readonly string[];
  /** Attributes that no row of the table reads. They are kept, and that is all. */
  readonly unmapped: readonly string[];
};

type Reading = { readonly path: string; readonly stored: (span: Explained) => Json | undefined };

const usage = (path: string, name: 'inputTokens' | 'outputTokens' | 'totalTokens'): Reading => ({
  path: `usage.${path}`,
  stored: (span) => span.usage?.[name],
});
const input = (path: string, name: keyof NonNullable<Usage['inputDetails']>): Reading => ({
  path: `usage.input_details.${path}`,
  stored: (span) => span.usage?.inputDetails?.[name],
});
const output = (path: string, name: keyof NonNullable<Usage['outputDetails']>): Reading => ({
  path: `usage.output_details.${path}`,
  stored: (span) => span.usage?.outputDetails?.[name],
});
/** What the price book computed was in no attribute. */
const cost = (path: string, name: 'totalCost' | 'inputCost' | 'outputCost'): Reading => ({
  path: `cost.${path}`,
  stored: ({ cost: stored }: { cost?: Cost }) => (stored?.priceBookId === undefined ? stored?.[name] : undefined),
});
const correlation = (path: string, name: keyof Correlation): Reading => ({
  path: `correlation.${path}`,
  stored: (span) => span.correlation[name],
});
const error = (name: 'message' | 'type' | 'stack'): Reading => ({
  path: `error.${name}`,
  stored: (span) => span.error?.[name],
});

/** Where the value of a field of the mapping table stands in a span. */
const readings = {
  model: { path: 'model', stored: (span) => span.model },
  provider: { path: 'provider', stored: (span) => span.provider },
  input: { path: 'input', stored: (span) => span.input },
  output: { path: 'output', stored: (span) => span.output },
  // They become the first message of the input, and no field of their own.
  systemInstructions: { path: 'input', stored: () => undefined },
  entityName: { path: 'entity_name', stored: (span) => span.entityName },
  toolName: { path: 'entity_name', stored: (span) => span.entityName },
  inputTokens: usage('input_tokens', 'inputTokens'),
  outputTokens: usage('output_tokens', 'outputTokens'),
  totalTokens: usage('total_tokens', 'totalTokens'),
  cacheRead: input('cache_read', 'cacheRead'),
  cacheWrite: input('cache_write', 'cacheWrite'),
  cacheWrite5m: input('cache_write_5m', 'cacheWrite5m'),
  cacheWrite1h: input('cache_write_1h', 'cacheWrite1h'),
  inputAudio: input('audio', 'audio'),
  inputText: input('text', 'text'),
  reasoning: output('reasoning', 'reasoning'),
  outputAudio: output('audio', 'audio'),
  outputText: output('text', 'text'),
  totalCost: cost('total_cost', 'totalCost'),
  inputCost: cost('input_cost', 'inputCost'),
  outputCost: cost('output_cost', 'outputCost'),
  project: correlation('project', 'project'),
  environment: correlation('environment', 'environment'),
  serviceName: correlation('service_name', 'serviceName'),
  serviceVersion: correlation('service_version', 'serviceVersion'),
  sessionId: correlation('session_id', 'sessionId'),
  threadId: correlation('thread_id', 'threadId'),
  userId: correlation('user_id', 'userId'),
  requestId: correlation('request_id', 'requestId'),
  release: correlation('release', 'release'),
  runId: correlation('run_id', 'runId'),
  resourceId: correlation('resource_id', 'resourceId'),
  experimentId: correlation('experiment_id', 'experimentId'),
  tags: correlation('tags', 'tags'),
  errorMessage: error('message'),
  errorType: error('type'),
  errorStack: error('stack'),
} as const satisfies Record<Field, Reading>;

/** One attribute that a row of the table could read. */
type Candidate = {
  readonly attribute: string;
  readonly rank: number;
  readonly row: Row;
  readonly value: Json | undefined;
};

/** The last of all: a row that is read when no other gave the field. */
const LATE = Number.MAX_SAFE_INTEGER;

const candidatesOf = (attributes: Explained['attributes']): ReadonlyMap<number, readonly Candidate[]> => {
  const found = new Map<number, Candidate[]>();
  const add = (field: number, candidate: Candidate): void => {
    const list = found.get(field);
    if (list === undefined) found.set(field, [candidate]);
    else list.push(candidate);
  };
  for (const [attribute, value] of Object.entries(attributes)) {
    const key = attributeKey(attribute);
    // What the resource said stands beside the span's own attributes: which of the two it was is not kept.
    for (const target of [...key.span, ...key.resource]) {
      const usable = valueOf(target, value);
      if (usable !== undefined) add(target.field, { attribute, rank: target.rank, row: target.row, value: usable });
    }
    if (key.part !== undefined)
      add(key.part.field, {
        attribute: `${key.part.row.indexed?.prefix ?? ''}*`,
        rank: key.part.rank,
        row: key.part.row,
        value: undefined,
      });
  }
  for (const target of lateTargets) {
    const value = Object.hasOwn(attributes, target.key) ? attributes[target.key] : undefined;
    const usable = value === undefined ? undefined : valueOf(target, value);
    if (usable !== undefined) add(target.field, { attribute: target.key, rank: LATE, row: target.row, value: usable });
  }
  for (const list of found.values()) list.sort((a, b) => a.rank - b.rank);
  return found;
};

/** A payload is the very value of its attribute; what else is read from one is compared as a value. */
const isSame = (field: Field, stored: Json, candidate: Candidate, attributes: Explained['attributes']): boolean => {
  const { value } = candidate;
  if (value === undefined) return false;
  if (field === 'input' || field === 'output') return stored === attributes[candidate.attribute];
  if (field === 'provider' && typeof value === 'string') return stored === providerNamed(value);
  return isDeepStrictEqual(stored, value);
};

const sourceOfKind = ({ kind, attributes }: Explained): FieldSource | undefined => {
  if (attributes[NAMED_KIND] === kind)
    return { field: 'kind', attribute: NAMED_KIND, emitter: 'interface specification', insteadOf: [] };
  const gives = Object.entries(attributes)
    .flatMap(([attribute, value]) =>
      attributeKey(attribute)
        .kinds.filter((rule) => kindOfValue(rule, value) === kind)
        .map((rule) => ({ attribute, rule })),
    )
    .sort((a, b) => Number(b.rule.specified) - Number(a.rule.specified) || a.rule.rank - b.rule.rank);
  const [first, ...others] = gives;
  if (first === undefined) return undefined;
  return {
    field: 'kind',
    attribute: first.attribute,
    emitter: kindRules[first.rule.rank]?.emitter ?? '',
    insteadOf: [...new Set(others.map(({ attribute }) => attribute))].filter((name) => name !== first.attribute),
  };
};

/**
 * Tells of a stored span which attribute set which field, by the rows that ingest reads attributes with: the first row, in their order,
 * that reads the stored value from the kept attributes. A span that came natively may name an attribute that only repeats its field.
 * @see Interface specification, "OTLP attribute mapping"
 */
export const explainSpan = (span: Explained): Explanation => {
  const { attributes } = span;
  const candidates = candidatesOf(attributes);
  const sources: FieldSource[] = [];
  const explained = new Set<string>();
  const valued = new Set<string>();
  const kind = sourceOfKind(span);
  if (kind !== undefined) sources.push(kind);
  for (const field of fields) {
    const { path, stored } = readings[field];
    const value = stored(span);
    if (value === undefined || explained.has(path)) continue;
    valued.add(path);
    const list = candidates.get(fieldIndex[field]) ?? [];
    const chosen =
      list.find((candidate) => isSame(field, value, candidate, attributes)) ??
      // An assembled payload is no single attribute's.
      list.find((candidate) => candidate.row.indexed !== undefined);
    if (chosen === undefined) continue;
    explained.add(path);
    const others = new Set(list.map(({ attribute }) => attribute));
    others.delete(chosen.attribute);
    sources.push({ field: path, attribute: chosen.attribute, emitter: chosen.row.emitter, insteadOf: [...others] });
  }
  const unmapped = Object.keys(attributes).filter((name) => {
    const key = attributeKey(name);
    return key.plain && key.resource.length === 0;
  });
  return { fields: sources, unexplained: [...valued].filter((path) => !explained.has(path)), unmapped };
};
