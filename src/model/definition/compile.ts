import type { Json } from '../json.ts';
import { type Condition, evaluate, parseCondition } from './condition.ts';
import { type Branch, type Definition, leadsOn, type Step, type Target } from './definition.ts';
import type { ExpressionScope } from './expression-scope.ts';
import { type Evaluated, expressionError } from './step-error.ts';
import { type Parsed, parseTemplate, type Template } from './template.ts';

export type CompiledBranch = { readonly when?: Condition; readonly to: Target };

/** A step with its expressions ready to be evaluated. A template is there exactly when the step has that field. */
export type CompiledStep<S extends Step = Step> = {
  readonly step: S;
  readonly input?: Template;
  readonly output?: Template;
  /** Of the events that a step waits for, one each. */
  readonly keys?: readonly Template[];
  readonly sleepUntil?: Template;
  readonly forEach?: Template;
  readonly message?: Template;
  readonly concurrencyKey?: Template;
  readonly rateKey?: Template;
  /** Empty for the steps that end the run. */
  readonly next: readonly CompiledBranch[];
};

export type CompiledDefinition = {
  readonly definition: Definition;
  readonly first: CompiledStep;
  readonly steps: ReadonlyMap<string, CompiledStep>;
  /** Template of the output of a run that ends by `end`. */
  readonly output?: Template;
  /** Keys of the run itself. */
  readonly concurrencyKey?: Template;
  readonly rateKey?: Template;
};

const must = <T>(parsed: Parsed<T>, where: string): T => {
  if (!parsed.ok) throw new Error(`${where} was accepted at register and cannot be parsed now: ${parsed.message}`);
  return parsed.value;
};

const compileStep = (step: Step): CompiledStep => {
  const template = <K extends string>(name: K, source: Json | undefined): { readonly [N in K]?: Template } => {
    if (source === undefined) return {};
    return { [name]: must(parseTemplate(source), `${step.id}.${name}`) } as { [N in K]: Template };
  };
  const branch = ({ when, to }: Branch): CompiledBranch =>
    when === undefined ? { to } : { when: must(parseCondition(when), `${step.id}.next`), to };
  return {
    step,
    next: leadsOn(step) ? step.next.map(branch) : [],
    ...template('input', 'input' in step ? step.input : undefined),
    ...template('output', step.kind === 'succeed' ? step.output : undefined),
    ...(step.kind === 'wait_event'
      ? { keys: step.awaited.map(({ key }) => must(parseTemplate(key), `${step.id}.key`)) }
      : {}),
    ...template('sleepUntil', step.kind === 'sleep' ? step.sleepUntil : undefined),
    ...template('forEach', step.kind === 'child' ? step.forEach : undefined),
    ...template('message', step.kind === 'fail' ? step.message : undefined),
    ...template('concurrencyKey', step.kind === 'task' ? step.concurrency?.key : undefined),
    ...template('rateKey', step.kind === 'task' ? step.rate?.key : undefined),
  };
};

/**
 * Makes a definition ready to run: every template and condition parsed.
 * @throws Error on an expression that cannot be parsed: `parseDefinition` refuses it, so this release is stricter than the
 * one that accepted the definition
 */
export const compileDefinition = (definition: Definition): CompiledDefinition => {
  const compiled = definition.steps.map(compileStep);
  const [first] = compiled;
  if (first === undefined) throw new Error(`definition ${definition.id} has no step`);
  const { output, concurrency, rate } = definition;
  return {
    definition,
    first,
    steps: new Map(compiled.map((step) => [step.step.id, step])),
    ...(output === undefined ? {} : { output: must(parseTemplate(output), 'output') }),
    ...(concurrency === undefined ? {} : { concurrencyKey: must(parseTemplate(concurrency.key), 'concurrency.key') }),
    ...(rate === undefined ? {} : { rateKey: must(parseTemplate(rate.key), 'rate.key') }),
  };
};

/**
 * Where a run goes after a step that ended well: the first branch without a condition, or whose condition is true.
 * @param branches the `next` of the compiled step
 * @param scope as it is after the step, its output and its state patch included
 * @returns a step id or `end`; an error of class `expression` when a condition fails, or when no branch was taken
 * @see Interface decisions, "9. Durable runs": "where no match fails the run with class `expression`"
 */
export const resolveNext = (branches: readonly CompiledBranch[], scope: ExpressionScope): Evaluated<Target> => {
  for (const { when, to } of branches) {
    if (when === undefined) return { ok: true, value: to };
    const decided = evaluate(when, scope);
    if (!decided.ok) return decided;
    if (decided.value) return { ok: true, value: to };
  }
  return expressionError(`no branch of next was taken: all ${branches.length} conditions are false`);
};
