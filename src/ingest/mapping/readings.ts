import type { Json, JsonObject } from '../../model/json.ts';
import type { Correlation, Cost, SpanKind, Usage } from '../../model/span.ts';
import { type MutableJsonObject, newAttributes, newJsonObject, setMember } from '../json-object.ts';
import { kindRules, kindsByName, MCP_TOOL_METHOD, EXECUTE_TOOL, OPERATION } from './kind-rules.ts';
import {
  type AttributeKey,
  type EvaluationPart,
  fieldCount,
  fieldIndex,
  type IndexedPart,
  type KindTarget,
  lateTargets,
  type Target,
  UNREAD,
} from './key.ts';
import { parsePython, readMember, readShape } from './read-value.ts';
import type { ScopedEmitter } from './table.ts';
import { spanKinds } from '../../model/span.ts';

const INPUT = fieldIndex.input;
const OUTPUT = fieldIndex.output;
const FIRST_CORRELATION = fieldIndex.project;
const LAST_CORRELATION = fieldIndex.tags;
const OPERATION_RULE = kindRules.findIndex((rule) => rule.key === OPERATION && rule.specified);
const namedKinds: ReadonlySet<string> = new Set(spanKinds);

/** Old spellings of `gen_ai.system` and the names that the conventions gave them since. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['az.ai.inference', 'azure.ai.inference'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['gemini', 'gcp.gemini'],
  ['xai', 'x_ai'],
]);

export const providerNamed = (name: string): string => providerNames.get(name) ?? name;

/** The fields of the resource of a group of signals, read once for the group. */
export type ResourceReadings = {
  readonly names: readonly string[];
  readonly values: readonly Json[];
  readonly read: readonly (Json | undefined)[];
  readonly ranks: Int32Array;
};

/** The value that Python printed, where the text is one; else the text. */
const asPrinted = (value: Json): Json =>
  typeof value === 'string' && (value.startsWith('{') || value.startsWith('[')) ? (parsePython(value) ?? value) : value;

/** What a row reads from the value of its attribute; `undefined` where the value is not of its shape. */
export const valueOf = (target: Pick<Target, 'members' | 'shape'>, value: Json): Json | undefined => {
  const member = target.members === undefined ? value : readMember(value, target.members);
  return member === undefined ? undefined : readShape(target.shape, member);
};

/** Reads the attributes of a resource. */
export const readResource = (keys: readonly AttributeKey[], values: readonly Json[]): ResourceReadings => {
  const read = new Array<Json | undefined>(fieldCount).fill(undefined);
  const ranks = new Int32Array(fieldCount).fill(UNREAD);
  keys.forEach((key, position) => {
    for (const target of key.resource) {
      const value = values[position];
      if (value === undefined || target.rank > (ranks[target.field] ?? 0)) continue;
      const usable = valueOf(target, value);
      if (usable === undefined) continue;
      read[target.field] = usable;
      ranks[target.field] = target.rank;
    }
  });
  return { names: keys.map((key) => key.name), values, read, ranks };
};

/** What a payload was lifted to, and from where. */
export type Lifted = { readonly value: Json; readonly attribute?: string };

/** What the attributes of one span or log record say. */
export type Readings = {
  /** Begins the next signal, under the resource and scope set before. */
  begin(): void;
  useResource(resource: ResourceReadings): void;
  /** Attributes of the scope, which stand between the signal's own and its resource's. */
  useScope(names: readonly string[], values: readonly Json[], emitter: ScopedEmitter | undefined): void;
  /** Reads one attribute: keeps it, and lifts what the table reads from it. A name given twice counts the last time. */
  attribute(key: AttributeKey, value: Json): void;
  /** Puts an attribute beside those that were sent. */
  addAttribute(name: string, value: Json): void;
  text(field: number): string | undefined;
  /** The same, looked for in the rows that are read last. */
  lateText(field: number): string | undefined;
  provider(): string | undefined;
  kind(name: string): SpanKind;
  usage(): Usage | undefined;
  carriedCost(): Cost | undefined;
  isAggregate(): boolean;
  correlation(defaultProject: string): Correlation;
  payload(field: number): Lifted | undefined;
  /** True where the value of a text field comes from a row of the specification. */
  isSpecified(field: number): boolean;
  evaluationParts(): readonly { readonly part: EvaluationPart; readonly value: Json }[];
  /** The attribute map in two parts, without the payloads lifted out of it. Call last. @see Span */
  attributes(): { readonly own: MutableJsonObject; readonly shared: JsonObject | undefined };
  /** The attribute map as it was sent, for signals that have no payload fields. */
  wholeAttributes(): MutableJsonObject;
};

const FIRST_APPENDED_RANK = 20_000;

const unquoted = (text: string): string =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;

/** The kind that a rule makes of the value of its attribute. */
export const kindOfValue = (rule: KindTarget, value: Json): SpanKind | undefined =>
  rule.always ?? (typeof value === 'string' && value !== '' ? kindBy(rule, unquoted(value)) : undefined);

const kindBy = (rule: KindTarget, text: string): SpanKind | undefined => {
  const kind = rule.kinds.get(text);
  if (kind !== undefined) return kind;
  for (const [suffix, suffixKind] of rule.suffixes) if (text.endsWith(suffix)) return suffixKind;
  return undefined;
};

const assemble = (parts: readonly { part: IndexedPart; value: Json }[]): Json => {
  const elements = new Map<number, MutableJsonObject>();
  for (const { part, value } of parts) {
    const element = elements.get(part.index) ?? newJsonObject();
    element[part.name] = value;
    elements.set(part.index, element);
  }
  return [...elements].sort(([a], [b]) => a - b).map(([, element]) => element);
};

/**
 * Puts system instructions in front of the messages they belong to. Two texts stay one text, two structures one structure.
 * @returns `undefined` where the two do not fit together: then the messages alone are the input
 */
const withInstructions = (instructions: Json, messages: Json): Json | undefined => {
  if (typeof messages === 'string') {
    const text = typeof instructions === 'string' ? instructions : JSON.stringify(instructions);
    const list = messages.trimStart();
    if (!list.startsWith('[')) return undefined;
    const parts = text.trimStart().startsWith('[') ? text : JSON.stringify([{ type: 'text', content: text }]);
    const rest = list.slice(1).trimStart();
    return `[{"role":"system","parts":${parts}}${rest.startsWith(']') ? '' : ','}${rest}`;
  }
  if (!Array.isArray(messages)) return undefined;
  const parts = Array.isArray(instructions) ? instructions : [{ type: 'text', content: instructions }];
  return [{ role: 'system', parts }, ...messages];
};

/** Characters at the start of a payload that are searched for the mark of a serialised constructor. */
const MARKED_WITHIN = 2000;
const CONSTRUCTOR_MARK = /"lc":\s?1,\s?"type":\s?"constructor"/;

/**
 * True of the text of a LangChain object: the arguments of its constructor, nested, where the messages are a member of a
 * member. The same messages beside it, as indexed attributes, are what a reader wants.
 */
const isSerialisedConstructor = (value: Json | undefined): boolean =>
  typeof value === 'string' && CONSTRUCTOR_MARK.test(value.slice(0, MARKED_WITHIN));

/**
 * A reader of attributes, used for one signal after another. All state of a signal is in flat arrays that are cleared
 * by `begin`, because this runs some twenty times per span.
 */
export const createReadings = (): Readings => {
  const read = new Array<Json | undefined>(fieldCount).fill(undefined);
  const ranks = new Int32Array(fieldCount).fill(UNREAD);
  let resource: ResourceReadings = readResource([], []);
  let scopeNames: readonly string[] = [];
  let scopeValues: readonly Json[] = [];
  let scopeEmitter: ScopedEmitter | undefined;
  /** What resource and scope say together, if they say anything; put together for the first signal below them. */
  let shared: JsonObject | undefined;
  let isSharedKnown = false;
  let map = newAttributes();
  let inputName = '';
  let outputName = '';
  let parts: { part: IndexedPart; value: Json }[] = [];
  let evaluations: { part: EvaluationPart; value: Json }[] = [];
  let namedKind: SpanKind | undefined;
  let specifiedKind: SpanKind = 'generic';
  let specifiedRank = UNREAD;
  let appendedKind: SpanKind | undefined;
  let appendedRank = UNREAD;
  let aggregate = false;
  let executesTool = false;
  let hasOperation = false;
  let callsMcpTool = false;
  let hasProvider = false;
  let correlates = false;
  let sharedCorrelation: Correlation | undefined;

  const readKinds = (key: AttributeKey, value: Json): void => {
    for (const rule of key.kinds) {
      let kind = rule.always;
      if (kind === undefined) {
        if (typeof value !== 'string' || value === '') continue;
        kind = kindBy(rule, unquoted(value));
      }
      if (rule.specified) {
        // An unlisted value of a specified rule is `generic`, and ends the specified rules.
        if (rule.rank < specifiedRank) {
          specifiedRank = rule.rank;
          specifiedKind = kind ?? 'generic';
        }
      } else if (kind !== undefined && rule.rank < appendedRank) {
        appendedRank = rule.rank;
        appendedKind = kind;
      }
    }
    if (key.isMcpMethod) callsMcpTool = value === MCP_TOOL_METHOD;
    else if (key.isOperation) {
      executesTool = value === EXECUTE_TOOL;
      hasOperation = true;
    }
  };

  const lift = (field: number, name: string, value: Json): void => {
    const held = field === INPUT ? inputName : outputName;
    const displaced = read[field];
    if (displaced !== undefined && held !== name) map[held] = displaced;
    read[field] = value;
    if (field === INPUT) inputName = name;
    else outputName = name;
  };

  const putBack = (field: number): void => {
    const value = read[field];
    if (value !== undefined) map[field === INPUT ? inputName : outputName] = value;
  };

  const partsOf = (field: number, first: boolean): { part: IndexedPart; value: Json }[] => {
    let rank = UNREAD;
    for (const { part } of parts) if (part.field === field && part.rank < rank) rank = part.rank;
    if (!first && rank >= (ranks[field] ?? UNREAD)) return [];
    return parts.filter(({ part }) => part.field === field && part.rank === rank);
  };

  const fieldText = (field: number): string | undefined => (read[field] ?? resource.read[field]) as string | undefined;
  const own = (field: number): Json | undefined => {
    const value = read[field];
    if (value === undefined) return resource.read[field];
    return (ranks[field] ?? UNREAD) <= (resource.ranks[field] ?? UNREAD) ? value : resource.read[field];
  };
  const count = (field: number): number | undefined => read[field] as number | undefined;

  const sharedNow = (): JsonObject | undefined => {
    if (isSharedKnown) return shared;
    isSharedKnown = true;
    const { names, values } = resource;
    if (names.length + scopeNames.length === 0) return (shared = undefined);
    const together = newAttributes();
    for (let i = 0; i < names.length; i++) together[names[i] as string] = values[i] as Json;
    for (let i = 0; i < scopeNames.length; i++) together[scopeNames[i] as string] = scopeValues[i] as Json;
    return (shared = together);
  };
  const attributeNow = (name: string): Json | undefined => (name in map ? map[name] : sharedNow()?.[name]);
  const whole = (): MutableJsonObject => {
    const beside = sharedNow();
    return beside === undefined ? map : Object.assign(newAttributes(), beside, map);
  };

  const buildCorrelation = (defaultProject: string): Correlation => {
    const correlation: { -readonly [K in keyof Correlation]: Correlation[K] } = {
      project: (own(fieldIndex.project) as string | undefined) ?? defaultProject,
    };
    const environment = own(fieldIndex.environment) as string | undefined;
    const serviceName = own(fieldIndex.serviceName) as string | undefined;
    const serviceVersion = own(fieldIndex.serviceVersion) as string | undefined;
    const sessionId = own(fieldIndex.sessionId) as string | undefined;
    const threadId = own(fieldIndex.threadId) as string | undefined;
    const userId = own(fieldIndex.userId) as string | undefined;
    const requestId = own(fieldIndex.requestId) as string | undefined;
    const release = own(fieldIndex.release) as string | undefined;
    const runId = own(fieldIndex.runId) as string | undefined;
    const resourceId = own(fieldIndex.resourceId) as string | undefined;
    const experimentId = own(fieldIndex.experimentId) as string | undefined;
    const tags = own(fieldIndex.tags) as readonly string[] | undefined;
    if (environment !== undefined) correlation.environment = environment;
    if (serviceName !== undefined) correlation.serviceName = serviceName;
    if (serviceVersion !== undefined) correlation.serviceVersion = serviceVersion;
    if (sessionId !== undefined) correlation.sessionId = sessionId;
    if (threadId !== undefined) correlation.threadId = threadId;
    if (userId !== undefined) correlation.userId = userId;
    if (requestId !== undefined) correlation.requestId = requestId;
    if (release !== undefined) correlation.release = release;
    if (runId !== undefined) correlation.runId = runId;
    if (resourceId !== undefined) correlation.resourceId = resourceId;
    if (experimentId !== undefined) correlation.experimentId = experimentId;
    if (tags !== undefined) correlation.tags = tags;
    return correlation;
  };

  return {
    useResource: (next) => {
      resource = next;
      sharedCorrelation = undefined;
      isSharedKnown = false;
    },
    useScope: (names, values, emitter) => {
      scopeNames = names;
      scopeValues = values;
      scopeEmitter = emitter;
      isSharedKnown = false;
    },
    begin: () => {
      read.fill(undefined);
      ranks.fill(UNREAD);
      map = newAttributes();
      if (parts.length > 0) parts = [];
      if (evaluations.length > 0) evaluations = [];
      namedKind = undefined;
      specifiedKind = 'generic';
      specifiedRank = UNREAD;
      appendedKind = undefined;
      appendedRank = UNREAD;
      aggregate = false;
      executesTool = false;
      hasOperation = false;
      callsMcpTool = false;
      hasProvider = false;
      correlates = false;
    },
    attribute: (key, given) => {
      if (key.plain) {
        setMember(map, key.name, given);
        return;
      }
      // Kept as the value that it is: redaction judges its members, as it could not those of a text in another notation.
      const value = key.isPrintedByPython ? asPrinted(given) : given;
      let kept = true;
      const targets = key.span;
      for (let i = 0; i < targets.length; i++) {
        const target = targets[i] as Target;
        const { field } = target;
        if (target.rank > (ranks[field] as number)) continue;
        if (target.only !== undefined && target.only !== scopeEmitter) continue;
        const usable = valueOf(target, value);
        if (usable === undefined) continue;
        ranks[field] = target.rank;
        if (field === INPUT || field === OUTPUT) {
          lift(field, key.name, value);
          kept = false;
        } else {
          read[field] = usable;
          if (field >= FIRST_CORRELATION && field <= LAST_CORRELATION) correlates = true;
        }
      }
      if (kept) setMember(map, key.name, value);
      if (key.kinds.length > 0) readKinds(key, value);
      if (key.part !== undefined) parts.push({ part: key.part, value });
      if (key.evaluation !== undefined) evaluations.push({ part: key.evaluation, value });
      if (key.namesKind && typeof value === 'string' && namedKinds.has(value)) namedKind = value as SpanKind;
      if (key.aggregates?.has(value as string) === true || key.marksAggregate) aggregate = true;
      if (key.marksProvider) hasProvider = true;
    },
    addAttribute: (name, value) => {
      map[name] = value;
    },
    text: fieldText,
    lateText: (field) => {
      const found = fieldText(field);
      if (found !== undefined) return found;
      for (const target of lateTargets) {
        if (target.field !== field) continue;
        const value = target.key === inputName ? read[INPUT] : attributeNow(target.key);
        const member = value === undefined ? undefined : readMember(value, target.members ?? []);
        const usable = member === undefined ? undefined : readShape(target.shape, member);
        if (usable !== undefined) return usable as string;
      }
      return undefined;
    },
    provider: () => {
      const provider = fieldText(fieldIndex.provider);
      return provider === undefined ? undefined : providerNamed(provider);
    },
    isSpecified: (field) => (ranks[field] ?? UNREAD) < FIRST_APPENDED_RANK,
    kind: (name) => {
      if (namedKind !== undefined) return namedKind;
      if (specifiedKind !== 'generic')
        return specifiedRank === OPERATION_RULE && executesTool && callsMcpTool ? 'mcp_tool_call' : specifiedKind;
      if (appendedKind !== undefined) return appendedKind;
      // A provider alone says little: agents and tools carry it too.
      if (hasProvider && (hasOperation || read[fieldIndex.model] !== undefined)) return 'model_generation';
      return (Object.hasOwn(kindsByName, name) ? kindsByName[name] : undefined) ?? 'generic';
    },
    usage: () => {
      const inputTokens = count(fieldIndex.inputTokens);
      const outputTokens = count(fieldIndex.outputTokens);
      const totalTokens = count(fieldIndex.totalTokens);
      if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined) return undefined;
      const usage: { -readonly [K in keyof Usage]: Usage[K] } = {};
      if (inputTokens !== undefined) usage.inputTokens = inputTokens;
      if (outputTokens !== undefined) usage.outputTokens = outputTokens;
      if (totalTokens !== undefined) usage.totalTokens = totalTokens;
      const cacheRead = count(fieldIndex.cacheRead);
      const cacheWrite = count(fieldIndex.cacheWrite);
      const cacheWrite5m = count(fieldIndex.cacheWrite5m);
      const cacheWrite1h = count(fieldIndex.cacheWrite1h);
      const audio = count(fieldIndex.inputAudio);
      // Claude Code counts cached tokens apart from its input tokens. All of its input is then plain text, and saying so
      // as the text count gives each meter its own tokens without changing the count that was sent.
      const text = count(fieldIndex.inputText) ?? (scopeEmitter === 'claude_code' ? inputTokens : undefined);
      const input: { -readonly [K in keyof NonNullable<Usage['inputDetails']>]: number } = {};
      let hasInput = false;
      if (cacheRead !== undefined) hasInput = (input.cacheRead = cacheRead) >= 0;
      if (cacheWrite !== undefined) hasInput = (input.cacheWrite = cacheWrite) >= 0;
      if (cacheWrite5m !== undefined) hasInput = (input.cacheWrite5m = cacheWrite5m) >= 0;
      if (cacheWrite1h !== undefined) hasInput = (input.cacheWrite1h = cacheWrite1h) >= 0;
      if (audio !== undefined) hasInput = (input.audio = audio) >= 0;
      if (text !== undefined) hasInput = (input.text = text) >= 0;
      if (hasInput) usage.inputDetails = input;
      const reasoning = count(fieldIndex.reasoning);
      const outputAudio = count(fieldIndex.outputAudio);
      const outputText = count(fieldIndex.outputText);
      if (reasoning !== undefined || outputAudio !== undefined || outputText !== undefined)
        usage.outputDetails = {
          ...(reasoning !== undefined && { reasoning }),
          ...(outputAudio !== undefined && { audio: outputAudio }),
          ...(outputText !== undefined && { text: outputText }),
        };
      return usage;
    },
    carriedCost: () => {
      const inputCost = count(fieldIndex.inputCost);
      const outputCost = count(fieldIndex.outputCost);
      const totalCost =
        count(fieldIndex.totalCost) ??
        (inputCost === undefined && outputCost === undefined ? undefined : (inputCost ?? 0) + (outputCost ?? 0));
      if (totalCost === undefined) return undefined;
      return {
        totalCost,
        ...(inputCost !== undefined && { inputCost }),
        ...(outputCost !== undefined && { outputCost }),
        currency: 'USD',
        isEstimated: false,
      };
    },
    isAggregate: () => aggregate,
    correlation: (defaultProject) => {
      if (correlates) return buildCorrelation(defaultProject);
      sharedCorrelation ??= buildCorrelation(defaultProject);
      return sharedCorrelation;
    },
    payload: (field) => {
      if (parts.length > 0) {
        const indexed = partsOf(field, isSerialisedConstructor(read[field]));
        if (indexed.length > 0) {
          putBack(field);
          return { value: assemble(indexed) };
        }
      }
      const value = read[field];
      if (value === undefined) return undefined;
      const attribute = field === INPUT ? inputName : outputName;
      const instructions = read[fieldIndex.systemInstructions];
      if (instructions !== undefined && attribute === 'gen_ai.input.messages') {
        const whole = withInstructions(instructions, value);
        if (whole !== undefined) {
          putBack(field);
          return { value: whole };
        }
      }
      return { value, attribute };
    },
    evaluationParts: () => evaluations,
    attributes: () => {
      const beside = sharedNow();
      if (beside !== undefined) for (const name in map) if (name in beside) return { own: whole(), shared: undefined };
      return { own: map, shared: beside };
    },
    wholeAttributes: () => {
      putBack(INPUT);
      putBack(OUTPUT);
      return whole();
    },
  };
};
