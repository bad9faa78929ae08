import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import definitionSchema from '../../../spec/definition.schema.json' with { type: 'json' };
import type { Failure, Result } from '../failure.ts';
import type { Json } from '../json.ts';
import { parseTimestamp } from '../time.ts';
import { parseCondition } from './condition.ts';
import {
  type Concurrency,
  type Definition,
  definitionBounds,
  definitionDefaults,
  type Rate,
  type Retry,
  type Step,
  type TaskLimits,
} from './definition.ts';
import {
  type ConcurrencyDocument,
  type DefinitionDocument,
  documentLeadsOn,
  type RateDocument,
  type RetryDocument,
  type StepDocument,
  type TaskDocument,
} from './document.ts';
import { type Fault, faultOfValidation } from './fault.ts';
import { branchesOf, findGraphFaults } from './graph.ts';
import { compileInputSchema } from './input-schema/compile.ts';
import { findPathFault } from './path.ts';
import { parseTemplate, type Template } from './template.ts';

/** A definition that was refused. `message` names the faults too; at most `FAULTS_NAMED` of them, and how many more. */
export type DefinitionFailure = Failure & { readonly code: 'definition_invalid'; readonly faults: readonly Fault[] };

const FAULTS_NAMED = 100;

/** Compiled at the first definition: a start without one compiles nothing. That the schema is one of its dialect, a test says. */
const compileShape = (): ValidateFunction<DefinitionDocument> =>
  new Ajv2020({
    allErrors: true,
    verbose: true,
    discriminator: true,
    allowUnionTypes: true,
    strictRequired: false,
    validateSchema: false,
  }).compile<DefinitionDocument>(definitionSchema);
let compiledShape: ValidateFunction<DefinitionDocument> | undefined;

/** Refuses what is too large or not JSON before anything walks it with recursion. */
const findBoundFault = (document: unknown): Fault | undefined => {
  let characters = 0;
  const open: { value: unknown; depth: number }[] = [{ value: document, depth: 1 }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at;
    if (depth > definitionBounds.documentDepth)
      return { path: '', message: `nests deeper than ${definitionBounds.documentDepth} levels` };
    characters += typeof value === 'string' ? value.length + 2 : 5;
    if (value !== null && typeof value === 'object') {
      for (const [key, inner] of Object.entries(value)) {
        if (key === '__proto__') return { path: '', message: 'the key "__proto__" is not allowed anywhere' };
        characters += Array.isArray(value) ? 1 : key.length + 3;
        open.push({ value: inner, depth: depth + 1 });
      }
    } else if (!['string', 'number', 'boolean'].includes(typeof value) && value !== null)
      return { path: '', message: `holds a ${typeof value}, which is not JSON` };
    if (characters > definitionBounds.documentCharacters)
      return { path: '', message: `is larger than ${definitionBounds.documentCharacters} characters` };
  }
  return undefined;
};

/** What a key may read: it is expanded before the run has done anything, and is the same for every attempt. */
const KEY_ROOTS: ReadonlySet<string> = new Set(['input', 'correlation']);

/**
 * Checks the keys of a definition or of a task.
 * @param holder what may hold `concurrency` and `rate`
 * @param at its path; empty for the definition
 */
const findKeyFaults = (
  holder: Pick<DefinitionDocument, 'concurrency' | 'rate'>,
  at: string,
  isSound: (field: string) => boolean,
): Fault[] =>
  (['concurrency', 'rate'] as const).flatMap((field) => {
    const limited = holder[field];
    if (limited === undefined || !isSound(field)) return [];
    const path = `${at}${field}.key`;
    const parsed = parseTemplate(limited.key);
    if (!parsed.ok) return [{ path, message: parsed.message }];
    return parsed.value.reads.flatMap((read) => {
      const root = String(read[0]);
      if (KEY_ROOTS.has(root)) return [];
      return [{ path, message: `\${${read.join('.')}} is not readable in a key: it reads input and correlation` }];
    });
  });

/** Parses the template in a field, and names what is wrong with it. */
type ParseField = (name: string, source: Json | undefined, items: 'no items' | 'items') => Template | undefined;

const findAwaitedFaults = (
  { any = [] }: Extract<StepDocument, { kind: 'wait_event' }>,
  at: string,
  template: ParseField,
): Fault[] => {
  const lines = new Map<string, number>();
  return any.flatMap(({ event, key = '' }, line): Fault[] => {
    template(`any[${line}].key`, key, 'no items');
    // Equal templates always come to equal keys.
    const written = JSON.stringify([event, key]);
    const first = lines.get(written);
    if (first === undefined) lines.set(written, line);
    return first === undefined
      ? []
      : [{ path: `${at}.any[${line}]`, message: `waits for the same event and key as any[${first}]` }];
  });
};

/**
 * Checks every expression of one step, and the rules that a schema cannot say.
 * @param isSound whether a field of the step has the right shape; what has not is named already, and not looked at
 */
const findStepFaults = (
  step: StepDocument,
  at: string,
  stepIds: ReadonlySet<string>,
  isSound: (field: string) => boolean,
): Fault[] => {
  const faults: Fault[] = [];
  const template: ParseField = (name, source, items) => {
    if (source === undefined || !isSound(name)) return undefined;
    const path = `${at}.${name}`;
    const parsed = parseTemplate(source);
    if (!parsed.ok) {
      faults.push({ path, message: parsed.message });
      return undefined;
    }
    for (const read of parsed.value.reads) {
      const fault = findPathFault(read, stepIds);
      if (fault !== undefined) faults.push({ path, message: fault });
      else if (read[0] === 'item' && items === 'no items')
        faults.push({ path, message: '${item} is readable only in the input of a child step with for_each' });
    }
    return parsed.value;
  };
  switch (step.kind) {
    case 'task':
      template('input', step.input, 'no items');
      faults.push(...findKeyFaults(step, `${at}.`, isSound));
      if (isSound('concurrency') && step.concurrency?.on_limit === 'cancel_oldest')
        faults.push({
          path: `${at}.concurrency.on_limit`,
          message: 'cancel_oldest is not for a task: it cancels runs, and a step cannot be cancelled alone',
        });
      break;
    case 'wait_event':
      if ((step.event === undefined) === (step.any === undefined))
        faults.push({ path: at, message: 'a wait_event has exactly one of event and any' });
      if (step.any !== undefined && step.key !== undefined)
        faults.push({ path: `${at}.key`, message: 'goes with event: each line of any has a key of its own' });
      template('key', step.key, 'no items');
      if (isSound('any')) faults.push(...findAwaitedFaults(step, at, template));
      break;
    case 'sleep': {
      if ((step.sleep_ms === undefined) === (step.sleep_until === undefined))
        faults.push({ path: at, message: 'a sleep has exactly one of sleep_ms and sleep_until' });
      const until = template('sleep_until', step.sleep_until, 'no items');
      if (until?.reads.length === 0 && parseTimestamp(step.sleep_until ?? '') === undefined)
        faults.push({
          path: `${at}.sleep_until`,
          message: `${JSON.stringify(step.sleep_until)} is not an RFC 3339 timestamp`,
        });
      break;
    }
    case 'child': {
      const list = template('for_each', step.for_each, 'no items');
      if (list?.root.kind === 'text' || (list?.root.kind === 'literal' && !Array.isArray(list.root.value)))
        faults.push({ path: `${at}.for_each`, message: 'is a list, or one ${path} alone that gives a list' });
      if (
        isSound('for_each') &&
        Array.isArray(step.for_each) &&
        step.for_each.length > definitionBounds.itemsPerForEach
      )
        faults.push({
          path: `${at}.for_each`,
          message: `has ${step.for_each.length} items, more than ${definitionBounds.itemsPerForEach}`,
        });
      if (step.on_item_error !== undefined && step.for_each === undefined)
        faults.push({ path: `${at}.on_item_error`, message: 'goes with for_each: without it there are no items' });
      template('input', step.input, step.for_each === undefined ? 'no items' : 'items');
      break;
    }
    case 'succeed':
      template('output', step.output, 'no items');
      break;
    case 'fail':
      template('message', step.message, 'no items');
      break;
    default:
      step satisfies never;
  }
  if (documentLeadsOn(step) && isSound('next') && typeof step.next === 'object') {
    step.next.forEach((branch, line) => {
      if (branch.when === undefined) return;
      const path = `${at}.next[${line}].when`;
      const parsed = parseCondition(branch.when);
      if (!parsed.ok) faults.push({ path, message: parsed.message });
      else
        for (const read of parsed.value.reads) {
          const fault = findPathFault(read, stepIds);
          if (fault !== undefined) faults.push({ path, message: fault });
        }
    });
  }
  return faults;
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const stepKinds = {
  task: true,
  wait_event: true,
  sleep: true,
  child: true,
  succeed: true,
  fail: true,
} as const satisfies Record<StepDocument['kind'], true>;

const hasKnownKind = (step: unknown): step is StepDocument =>
  isRecord(step) && typeof step['kind'] === 'string' && Object.hasOwn(stepKinds, step['kind']);

const findFaults = (document: unknown, inputSchema: 'judged' | 'taken'): Fault[] => {
  const bound = findBoundFault(document);
  if (bound !== undefined) return [bound];
  const shape = (compiledShape ??= compileShape());
  shape(document);
  const errors = shape.errors ?? [];
  const faults = errors.map(faultOfValidation);
  if (!isRecord(document)) return faults;

  const misshapen = (pointer: string): boolean =>
    errors.some((error) => error.instancePath === pointer || error.instancePath.startsWith(`${pointer}/`));
  if (inputSchema === 'judged' && document['input_schema'] !== undefined && !misshapen('/input_schema')) {
    const compiled = compileInputSchema(document['input_schema'] as Json);
    if (!compiled.ok) faults.push({ path: 'input_schema', message: compiled.message });
  }
  faults.push(...findKeyFaults(document, '', (field) => !misshapen(`/${field}`)));
  const { steps } = document;
  if (!Array.isArray(steps) || errors.some((error) => error.instancePath === '/steps')) return faults;

  const ids = steps.flatMap((step: unknown) => (isRecord(step) && typeof step['id'] === 'string' ? [step['id']] : []));
  const stepIds = new Set(ids);
  steps.forEach((step: unknown, index) => {
    const isSound = (field: string): boolean => !misshapen(`/steps/${index}/${field}`);
    if (hasKnownKind(step)) faults.push(...findStepFaults(step, `steps[${index}]`, stepIds, isSound));
  });
  if (document['output'] !== undefined) {
    const parsed = parseTemplate(document['output'] as Json);
    if (!parsed.ok) faults.push({ path: 'output', message: parsed.message });
    else
      for (const read of parsed.value.reads) {
        const fault = read[0] === 'item' ? '${item} is not readable here' : findPathFault(read, stepIds);
        if (fault !== undefined) faults.push({ path: 'output', message: fault });
      }
  }
  const hasPlace = (step: unknown, index: number): step is StepDocument =>
    hasKnownKind(step) &&
    typeof step.id === 'string' &&
    ['id', 'next', 'on_error', 'any'].every((field) => !misshapen(`/steps/${index}/${field}`));
  if (steps.every(hasPlace)) faults.push(...findGraphFaults(steps));
  return faults;
};

const retryOf = (documents: readonly (RetryDocument | undefined)[]): Retry => {
  const merged: RetryDocument = Object.assign({}, ...documents);
  const fallback = definitionDefaults.retry;
  return {
    maxAttempts: merged.max_attempts ?? fallback.maxAttempts,
    backoffMs: merged.backoff_ms ?? fallback.backoffMs,
    multiplier: merged.multiplier ?? fallback.multiplier,
    maxBackoffMs: merged.max_backoff_ms ?? fallback.maxBackoffMs,
    jitter: merged.jitter ?? fallback.jitter,
  };
};

const taskLimitsOf = ({
  max_attempts_total: maxAttemptsTotal,
  max_cost_usd: maxCostUsd,
}: NonNullable<TaskDocument['limits']>): TaskLimits => ({
  ...(maxAttemptsTotal === undefined ? {} : { maxAttemptsTotal }),
  ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
});

type Limited = { readonly concurrency?: Concurrency; readonly rate?: Rate };
const limitedOf = ({ concurrency, rate }: { concurrency?: ConcurrencyDocument; rate?: RateDocument }): Limited => ({
  ...(concurrency === undefined
    ? {}
    : {
        concurrency: {
          key: concurrency.key,
          limit: concurrency.limit,
          onLimit: concurrency.on_limit ?? definitionDefaults.onLimit,
        },
      }),
  ...(rate === undefined ? {} : { rate: { key: rate.key, limit: rate.limit, perMs: rate.per_ms } }),
});

const stepOf = (step: StepDocument, following: string | undefined, defaults: RetryDocument | undefined): Step => {
  if (!documentLeadsOn(step)) return step;
  const onward = { id: step.id, next: branchesOf(step, following), onError: step.on_error ?? [] };
  switch (step.kind) {
    case 'task': {
      const delivery = step.delivery ?? definitionDefaults.delivery;
      const retry = retryOf([defaults, step.retry]);
      return {
        ...onward,
        kind: 'task',
        ...(step.input === undefined ? {} : { input: step.input }),
        delivery,
        ...(step.timeout_ms === undefined ? {} : { timeoutMs: step.timeout_ms }),
        retry: delivery === 'at_most_once' ? { ...retry, maxAttempts: 1 } : retry,
        ...(step.limits === undefined ? {} : { limits: taskLimitsOf(step.limits) }),
        ...limitedOf(step),
      };
    }
    case 'wait_event':
      return {
        ...onward,
        kind: 'wait_event',
        awaited:
          step.any === undefined
            ? [{ event: step.event ?? '', key: step.key ?? '' }]
            : step.any.map(({ key = '', ...awaited }) => ({ ...awaited, key })),
        acceptParked: step.accept_parked ?? definitionDefaults.acceptParked,
        ...(step.timeout_ms === undefined ? {} : { timeoutMs: step.timeout_ms }),
        onTimeout: step.on_timeout ?? definitionDefaults.onTimeout,
      };
    case 'sleep':
      return {
        ...onward,
        kind: 'sleep',
        ...(step.sleep_ms === undefined ? {} : { sleepMs: step.sleep_ms }),
        ...(step.sleep_until === undefined ? {} : { sleepUntil: step.sleep_until }),
      };
    case 'child':
      return {
        ...onward,
        kind: 'child',
        definition: step.definition,
        ...(step.for_each === undefined ? {} : { forEach: step.for_each }),
        ...(step.input === undefined ? {} : { input: step.input }),
        maxParallel: step.max_parallel ?? definitionDefaults.maxParallel,
        onItemError: step.on_item_error ?? definitionDefaults.onItemError,
      };
    default:
      return step satisfies never;
  }
};

const deepFreeze = <T>(value: T): T => {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
};

const definitionOf = (document: DefinitionDocument): Definition => {
  const { limits } = document;
  return deepFreeze({
    id: document.id,
    version: document.version,
    ...(document.input_schema === undefined ? {} : { inputSchema: document.input_schema }),
    limits: {
      maxSteps: limits?.max_steps ?? definitionDefaults.maxSteps,
      ...(limits?.run_timeout_ms === undefined ? {} : { runTimeoutMs: limits.run_timeout_ms }),
      ...(limits?.max_cost_usd === undefined ? {} : { maxCostUsd: limits.max_cost_usd }),
    },
    ...limitedOf(document),
    ...(document.output === undefined ? {} : { output: document.output }),
    steps: document.steps.map((step, index) => stepOf(step, document.steps[index + 1]?.id, document.defaults?.retry)),
  });
};

/** A validator may come to one fault by two ways. */
const eachOnce = (faults: readonly Fault[]): readonly Fault[] => [
  ...new Map(faults.map((fault) => [`${fault.path}: ${fault.message}`, fault])).values(),
];

const refusal = (document: unknown, faults: readonly Fault[]): DefinitionFailure => {
  const id = isRecord(document) && typeof document['id'] === 'string' ? ` ${document['id'].slice(0, 64)}` : '';
  const named = faults
    .slice(0, FAULTS_NAMED)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = faults.length > named.length ? `; and ${faults.length - named.length} more` : '';
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  const [only] = faults;
  return {
    code: 'definition_invalid',
    message: `definition${id} has ${count}: ${named.join('; ')}${more}`,
    ...(faults.length === 1 && only !== undefined && only.path !== '' ? { field: only.path } : {}),
    faults,
  };
};

/**
 * Parses and checks a definition, whole: its shape, its graph, its templates, its conditions, its input schema.
 * @param json any value; nothing about it is trusted
 * @returns the definition with every default filled in, frozen, sharing nothing with `json`; or every fault at once, each
 * with its path. Where the id, the kind or a way on of a step has the wrong shape, the graph is not judged: it is not known yet
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export const parseDefinition = (json: unknown): Result<Definition, DefinitionFailure> => parse(json, 'judged');

/**
 * Parses a definition that was accepted when it was registered, maybe by an earlier release. Its input schema is not checked
 * again: runs under way no longer use it, and the start of a run reports what is wrong with it.
 */
export const parseStoredDefinition = (json: unknown): Result<Definition, DefinitionFailure> => parse(json, 'taken');

const parse = (json: unknown, inputSchema: 'judged' | 'taken'): Result<Definition, DefinitionFailure> => {
  const faults = eachOnce(findFaults(json, inputSchema));
  if (faults.length > 0) return { ok: false, failure: refusal(json, faults) };
  return { ok: true, value: definitionOf(structuredClone(json as DefinitionDocument)) };
};
