import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
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
import { createFaultList, type Fault, type FaultList, type ReportFault } from './fault.ts';
import { branchesOf, checkGraph } from './graph.ts';
import { compileInputSchema } from './input-schema/compile.ts';
import { findPathFault } from './path.ts';
import { parseTemplate, type Template } from './template.ts';

/** A definition that was refused. `message` names the faults too; at most `FAULTS_NAMED` of them, and how many more. */
export type DefinitionFailure = Failure & {
  readonly code: 'definition_invalid';
  /** At most `FAULTS_LISTED`, and then one more that says how many it leaves out. */
  readonly faults: readonly Fault[];
  /** Those that `faults` leaves out included. */
  readonly faultCount: number;
};

const FAULTS_NAMED = 100;

/**
 * Makes the generated code add the errors of a referred schema to those before, where it copies all of them: at each line of a
 * list of many bad ones, the time would be quadratic in their number.
 */
const addErrorsInPlace = (code: string): string =>
  code.replaceAll(/vErrors\.concat\((\w+)\.errors\)/g, '$1.errors.reduce((all, one) => (all.push(one), all), vErrors)');

/** Compiled at the first definition: a start without one compiles nothing. That the schema is one of its dialect, a test says. */
const compileShape = (): ValidateFunction<DefinitionDocument> =>
  new Ajv2020({
    allErrors: true,
    verbose: true,
    discriminator: true,
    allowUnionTypes: true,
    strictRequired: false,
    validateSchema: false,
    code: { process: addErrorsInPlace },
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
const checkKeys = (
  holder: Pick<DefinitionDocument, 'concurrency' | 'rate'>,
  at: string,
  isSound: (field: string) => boolean,
  report: ReportFault,
): void => {
  for (const field of ['concurrency', 'rate'] as const) {
    const limited = holder[field];
    if (limited === undefined || !isSound(field)) continue;
    const path = `${at}${field}.key`;
    const parsed = parseTemplate(limited.key);
    if (!parsed.ok) {
      report({ path, message: parsed.message });
      continue;
    }
    for (const read of parsed.value.reads)
      if (!KEY_ROOTS.has(String(read[0])))
        report({ path, message: `\${${read.join('.')}} is not readable in a key: it reads input and correlation` });
  }
};

/** Parses the template in a field, and names what is wrong with it. */
type ParseField = (name: string, source: Json | undefined, items: 'no items' | 'items') => Template | undefined;

const checkAwaited = (
  { any = [] }: Extract<StepDocument, { kind: 'wait_event' }>,
  at: string,
  template: ParseField,
  report: ReportFault,
): void => {
  for (const [line, { key = '' }] of any.entries()) template(`any[${line}].key`, key, 'no items');
  const lines = new Map<string, number>();
  for (const [line, { event, key = '' }] of any.entries()) {
    // Equal templates always come to equal keys.
    const written = JSON.stringify([event, key]);
    const first = lines.get(written);
    if (first === undefined) lines.set(written, line);
    else report({ path: `${at}.any[${line}]`, message: `waits for the same event and key as any[${first}]` });
  }
};

/**
 * Checks every expression of one step, and the rules that a schema cannot say.
 * @param isSound whether a field of the step has the right shape; what has not is named already, and not looked at
 */
const checkStep = (
  step: StepDocument,
  at: string,
  stepIds: ReadonlySet<string>,
  isSound: (field: string) => boolean,
  report: ReportFault,
): void => {
  const template: ParseField = (name, source, items) => {
    if (source === undefined || !isSound(name)) return undefined;
    const path = `${at}.${name}`;
    const parsed = parseTemplate(source);
    if (!parsed.ok) {
      report({ path, message: parsed.message });
      return undefined;
    }
    for (const read of parsed.value.reads) {
      const fault = findPathFault(read, stepIds);
      if (fault !== undefined) report({ path, message: fault });
      else if (read[0] === 'item' && items === 'no items')
        report({ path, message: '${item} is readable only in the input of a child step with for_each' });
    }
    return parsed.value;
  };
  switch (step.kind) {
    case 'task':
      template('input', step.input, 'no items');
      checkKeys(step, `${at}.`, isSound, report);
      if (isSound('concurrency') && step.concurrency?.on_limit === 'cancel_oldest')
        report({
          path: `${at}.concurrency.on_limit`,
          message: 'cancel_oldest is not for a task: it cancels runs, and a step cannot be cancelled alone',
        });
      break;
    case 'wait_event':
      if ((step.event === undefined) === (step.any === undefined))
        report({ path: at, message: 'a wait_event has exactly one of event and any' });
      if (step.any !== undefined && step.key !== undefined)
        report({ path: `${at}.key`, message: 'goes with event: each line of any has a key of its own' });
      template('key', step.key, 'no items');
      if (isSound('any')) checkAwaited(step, at, template, report);
      break;
    case 'sleep': {
      if ((step.sleep_ms === undefined) === (step.sleep_until === undefined))
        report({ path: at, message: 'a sleep has exactly one of sleep_ms and sleep_until' });
      const until = template('sleep_until', step.sleep_until, 'no items');
      if (until?.reads.length === 0 && parseTimestamp(step.sleep_until ?? '') === undefined)
        report({
          path: `${at}.sleep_until`,
          message: `${JSON.stringify(step.sleep_until)} is not an RFC 3339 timestamp`,
        });
      break;
    }
    case 'child': {
      const list = template('for_each', step.for_each, 'no items');
      if (list?.root.kind === 'text' || (list?.root.kind === 'literal' && !Array.isArray(list.root.value)))
        report({ path: `${at}.for_each`, message: 'is a list, or one ${path} alone that gives a list' });
      if (
        isSound('for_each') &&
        Array.isArray(step.for_each) &&
        step.for_each.length > definitionBounds.itemsPerForEach
      )
        report({
          path: `${at}.for_each`,
          message: `has ${step.for_each.length} items, more than ${definitionBounds.itemsPerForEach}`,
        });
      if (step.on_item_error !== undefined && step.for_each === undefined)
        report({ path: `${at}.on_item_error`, message: 'goes with for_each: without it there are no items' });
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
      if (!parsed.ok) report({ path, message: parsed.message });
      else
        for (const read of parsed.value.reads) {
          const fault = findPathFault(read, stepIds);
          if (fault !== undefined) report({ path, message: fault });
        }
    });
  }
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

/** The start of a JSON pointer, as far as to a field of a step, or to a member of the document. */
const PLACE = /^\/steps\/\d+\/[^/]+|^\/[^/]+/;

/**
 * The fields of steps, and the members of the document, in which something is wrong. A set, because it is asked for each field of
 * each step, and there may be an error for each line of one.
 */
const misshapenOf = (errors: readonly ErrorObject[]): ReadonlySet<string> =>
  new Set(errors.map(({ instancePath }) => PLACE.exec(instancePath)?.[0] ?? ''));

const check = (document: unknown, inputSchema: 'judged' | 'taken', faults: FaultList): void => {
  const { report } = faults;
  const bound = findBoundFault(document);
  if (bound !== undefined) {
    report(bound);
    return;
  }
  const shape = (compiledShape ??= compileShape());
  shape(document);
  const errors = shape.errors ?? [];
  faults.reportErrors(errors);
  if (!isRecord(document)) return;

  const misshapen = misshapenOf(errors);
  if (inputSchema === 'judged' && document['input_schema'] !== undefined && !misshapen.has('/input_schema')) {
    const compiled = compileInputSchema(document['input_schema'] as Json);
    if (!compiled.ok) report({ path: 'input_schema', message: compiled.message });
  }
  checkKeys(document, '', (field) => !misshapen.has(`/${field}`), report);
  const { steps } = document;
  if (!Array.isArray(steps) || errors.some((error) => error.instancePath === '/steps')) return;

  const ids = steps.flatMap((step: unknown) => (isRecord(step) && typeof step['id'] === 'string' ? [step['id']] : []));
  const stepIds = new Set(ids);
  steps.forEach((step: unknown, index) => {
    const isSound = (field: string): boolean => !misshapen.has(`/steps/${index}/${field}`);
    if (hasKnownKind(step)) checkStep(step, `steps[${index}]`, stepIds, isSound, report);
  });
  if (document['output'] !== undefined) {
    const parsed = parseTemplate(document['output'] as Json);
    if (!parsed.ok) report({ path: 'output', message: parsed.message });
    else
      for (const read of parsed.value.reads) {
        const fault = read[0] === 'item' ? '${item} is not readable here' : findPathFault(read, stepIds);
        if (fault !== undefined) report({ path: 'output', message: fault });
      }
  }
  const hasPlace = (step: unknown, index: number): step is StepDocument =>
    hasKnownKind(step) &&
    typeof step.id === 'string' &&
    ['id', 'next', 'on_error', 'any'].every((field) => !misshapen.has(`/steps/${index}/${field}`));
  if (steps.every(hasPlace)) checkGraph(steps, report);
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

const refusal = (document: unknown, faults: readonly Fault[], faultCount: number): DefinitionFailure => {
  const id = isRecord(document) && typeof document['id'] === 'string' ? ` ${document['id'].slice(0, 64)}` : '';
  const named = faults
    .slice(0, FAULTS_NAMED)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = faultCount > named.length ? `; and ${faultCount - named.length} more` : '';
  const count = faultCount === 1 ? 'one fault' : `${faultCount} faults`;
  const [only] = faults;
  return {
    code: 'definition_invalid',
    message: `definition${id} has ${count}: ${named.join('; ')}${more}`,
    ...(faultCount === 1 && only !== undefined && only.path !== '' ? { field: only.path } : {}),
    faults,
    faultCount,
  };
};

/**
 * Parses and checks a definition, whole: its shape, its graph, its templates, its conditions, its input schema.
 * @param json any value; nothing about it is trusted
 * @returns the definition with every default filled in, frozen, sharing nothing with `json`; or its faults at once, each
 * with its path, the first `FAULTS_LISTED` of them. Where the id, the kind or a way on of a step has the wrong shape, the graph is not judged: it is not known yet
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export const parseDefinition = (json: unknown): Result<Definition, DefinitionFailure> => parse(json, 'judged');

/**
 * Parses a definition that was accepted when it was registered, maybe by an earlier release. Its input schema is not checked
 * again: runs under way no longer use it, and the start of a run reports what is wrong with it.
 */
export const parseStoredDefinition = (json: unknown): Result<Definition, DefinitionFailure> => parse(json, 'taken');

const parse = (json: unknown, inputSchema: 'judged' | 'taken'): Result<Definition, DefinitionFailure> => {
  const faults = createFaultList();
  check(json, inputSchema, faults);
  if (faults.count() > 0) return { ok: false, failure: refusal(json, faults.list(), faults.count()) };
  return { ok: true, value: definitionOf(structuredClone(json as DefinitionDocument)) };
};
