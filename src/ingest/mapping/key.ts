import type { SpanKind } from '../../model/span.ts';
import { checkName } from '../json-object.ts';
import {
  type Field,
  fieldShapes,
  fields,
  isSpecified,
  type Row,
  rows,
  type ScopedEmitter,
  type Shape,
} from './table.ts';
import { AGGREGATED_USAGE, aggregates, kindRules, MCP_METHOD, NAMED_KIND, OPERATION } from './kind-rules.ts';

/** One place that an attribute may be read into: the lower the rank, the earlier its row. */
export type Target = {
  readonly field: number;
  readonly shape: Shape;
  readonly rank: number;
  readonly members: readonly (readonly string[])[] | undefined;
  readonly only: ScopedEmitter | undefined;
  readonly row: Row;
};

/** An attribute of the form `<prefix><index>.<name>`: one member of one object of an array. */
export type IndexedPart = {
  readonly field: number;
  readonly rank: number;
  readonly index: number;
  readonly name: string;
  readonly row: Row;
};

/** What one kind rule makes of one attribute. */
export type KindTarget = {
  readonly rank: number;
  readonly specified: boolean;
  readonly always: SpanKind | undefined;
  readonly kinds: ReadonlyMap<string, SpanKind>;
  readonly suffixes: readonly (readonly [string, SpanKind])[];
};

/** Everything the table knows about one attribute name, found once and kept. */
export type AttributeKey = {
  readonly name: string;
  /** True when no row, kind rule or evaluation reads this attribute: it is kept, and that is all. */
  readonly plain: boolean;
  readonly span: readonly Target[];
  readonly resource: readonly Target[];
  readonly part: IndexedPart | undefined;
  readonly kinds: readonly KindTarget[];
  readonly namesKind: boolean;
  /** Values of this attribute that mark an aggregate. */
  readonly aggregates: ReadonlySet<string> | undefined;
  readonly marksAggregate: boolean;
  readonly isOperation: boolean;
  readonly isMcpMethod: boolean;
  readonly marksProvider: boolean;
  readonly evaluation: EvaluationPart | undefined;
  /** LiteLLM writes the objects under this name as Python prints them. */
  readonly isPrintedByPython: boolean;
};

/** One member of an annotation or evaluation that OpenInference writes as indexed attributes. */
export type EvaluationPart = { readonly id: string; readonly target: 'span' | 'trace'; readonly name: string };

export const fieldIndex = Object.fromEntries(fields.map((field, index) => [field, index])) as Record<Field, number>;
export const fieldCount = fields.length;

/** A rank that no row has: nothing was read yet. */
export const UNREAD = 0x7fffffff;
/** Resource rows come after the span rows of their group; appended rows come after all specified ones. */
const RESOURCE_RANK = 10_000;
const APPENDED_RANK = 20_000;

/** The names of metadata that OpenInference lets a judge attach to a span or to its trace. */
const EVALUATION = /^(trace\.)?(annotations|evaluations)\.(\d{1,4})\.(?:annotation|evaluation)\.([a-z_]+)$/;
/** @see LiteLLM, `integrations/opentelemetry.py`: the raw request and answer of a provider, and the call's metadata */
const PRINTED_BY_PYTHON =
  /^(?:metadata\.|llm\.[a-z_]{1,40}\.(?:messages|choices|usage|content|tools|user|extra_body|system)$)/;
const INDEXED_PART = /^(\d{1,6})\.(.+)$/;
/** Attribute names beyond this length are nobody's convention: they are kept but not remembered. */
const LONGEST_REMEMBERED_NAME = 128;
const MOST_REMEMBERED_NAMES = 8192;

const spanTargets = new Map<string, Target[]>();
const resourceTargets = new Map<string, Target[]>();
const indexedRows: { row: Row & { indexed: NonNullable<Row['indexed']> }; rank: number }[] = [];

const addTo = (map: Map<string, Target[]>, key: string, target: Target): void => {
  const list = map.get(key);
  if (list === undefined) map.set(key, [target]);
  else list.push(target);
};

/** A field that is looked for once more when the span ends. */
export type LateTarget = Pick<Target, 'field' | 'shape' | 'members' | 'row'> & { readonly key: string };
export const lateTargets: readonly LateTarget[] = rows.flatMap((row) =>
  row.late === true
    ? row.keys.map((key) => ({
        key,
        field: fieldIndex[row.field],
        shape: fieldShapes[row.field],
        members: row.members,
        row,
      }))
    : [],
);

rows.forEach((row, position) => {
  if (row.late === true) return;
  const base = (isSpecified(row) ? 0 : APPENDED_RANK) + position * 16;
  const target = (rank: number): Target => ({
    field: fieldIndex[row.field],
    shape: fieldShapes[row.field],
    rank,
    members: row.members,
    only: row.only,
    row,
  });
  row.keys.forEach((key, offset) => {
    if (row.at !== 'resource') addTo(spanTargets, key, target(base + offset));
    if (row.at !== 'span') addTo(resourceTargets, key, target(base + offset + RESOURCE_RANK));
  });
  if (row.indexed !== undefined) indexedRows.push({ row: { ...row, indexed: row.indexed }, rank: base });
});

const kindTargets = new Map<string, KindTarget[]>();
kindRules.forEach((rule, rank) => {
  const { reads } = rule;
  const list = kindTargets.get(rule.key) ?? [];
  list.push({
    rank,
    specified: rule.specified,
    always: reads.by === 'presence' ? reads.kind : undefined,
    kinds: new Map(reads.by === 'value' ? Object.entries(reads.kinds) : []),
    suffixes: reads.by === 'value' ? Object.entries(reads.suffixes ?? {}) : [],
  });
  kindTargets.set(rule.key, list);
});

const NO_TARGETS: readonly Target[] = [];
const NO_KINDS: readonly KindTarget[] = [];

const findPart = (name: string): IndexedPart | undefined => {
  for (const { row, rank } of indexedRows) {
    const { prefix, strip } = row.indexed;
    if (!name.startsWith(prefix)) continue;
    const match = INDEXED_PART.exec(name.slice(prefix.length));
    const rest = match?.[2];
    if (rest === undefined) continue;
    return {
      field: fieldIndex[row.field],
      rank,
      index: Number(match?.[1]),
      name: rest.startsWith(strip) ? rest.slice(strip.length) : rest,
      row,
    };
  }
  return undefined;
};

const findEvaluation = (name: string): EvaluationPart | undefined => {
  const match = EVALUATION.exec(name);
  if (match === null) return undefined;
  return {
    id: `${match[1] ?? ''}${match[2]}.${match[3]}`,
    target: match[1] === undefined ? 'span' : 'trace',
    name: match[4] ?? '',
  };
};

const describe = (name: string): AttributeKey => {
  const span = spanTargets.get(name) ?? NO_TARGETS;
  const resource = resourceTargets.get(name) ?? NO_TARGETS;
  const kinds = kindTargets.get(name) ?? NO_KINDS;
  const part = findPart(name);
  const evaluation = findEvaluation(name);
  const namesKind = name === NAMED_KIND;
  const aggregateValues = Object.hasOwn(aggregates, name) ? aggregates[name] : undefined;
  const marksAggregate = name.startsWith(AGGREGATED_USAGE);
  const marksProvider = name === 'gen_ai.provider.name';
  const isPrintedByPython = PRINTED_BY_PYTHON.test(name);
  return {
    name,
    plain:
      span.length === 0 &&
      kinds.length === 0 &&
      part === undefined &&
      evaluation === undefined &&
      aggregateValues === undefined &&
      !namesKind &&
      !marksAggregate &&
      !marksProvider &&
      !isPrintedByPython,
    span,
    resource,
    part,
    kinds,
    namesKind,
    aggregates: aggregateValues === undefined ? undefined : new Set(aggregateValues),
    marksAggregate,
    isOperation: name === OPERATION,
    isMcpMethod: name === MCP_METHOD,
    marksProvider,
    evaluation,
    isPrintedByPython,
  };
};

const known = new Map<string, AttributeKey>();

/**
 * What the table knows of an attribute name. Names are remembered, up to a bound: a sender that invents names costs time
 * in proportion to what it sends, and no memory.
 * @throws Refusal `payload_too_large` for a name that is too long
 */
export const attributeKey = (name: string): AttributeKey => {
  const found = known.get(name);
  if (found !== undefined) return found;
  checkName(name);
  if (known.size >= MOST_REMEMBERED_NAMES || name.length > LONGEST_REMEMBERED_NAME) return describe(name);
  // As a property name the string is interned by the engine, so that every later use of it is a pointer comparison.
  const [interned = name] = Object.keys({ [name]: true });
  const key = describe(interned);
  known.set(interned, key);
  return key;
};

// The names of the table are known from the start, so that no flood of invented names can keep them out.
for (const name of [...spanTargets.keys(), ...resourceTargets.keys(), ...kindTargets.keys()]) attributeKey(name);
