import { readFileSync } from 'node:fs';
import type { Definition, Lease, TaskStep } from './generated/wire.ts';
import type { StepContext } from './step-context.ts';

/** What the prior steps of the run gave, by step id. */
export type PriorSteps = { readonly [stepId: string]: Lease['steps'][string] | undefined };

/**
 * What serves one step: it gets its context, its rendered input and the outputs of the steps before it, and returns the
 * output of the step. Annotate `input` with the type that the definition gives it. It may run more than once, unless the
 * step's delivery is `at_most_once`.
 *
 * Raise `RetryableError` to be tried again, `StepFailure` for a class of your own; anything else is fatal.
 */
export type StepBody = {
  // A method, so that `input` may be annotated with any type: it is JSON that the definition shaped, not this library.
  body(context: StepContext, input: unknown, steps: PriorSteps): unknown;
}['body'];

type TaskIds<D extends Definition> = Extract<D['steps'][number], TaskStep>['id'];

/** Names a type, without a value: `type<Ticket>()`. */
export type Typed<T> = { readonly typed?: T };
export const type = <T>(): Typed<T> => ({});

/** A definition and the bodies of its tasks. */
export type Workflow<Input = unknown> = {
  readonly definition: Definition;
  readonly bodies: Readonly<Record<string, StepBody | undefined>>;
  /** What `start` takes. */
  readonly input?: Typed<Input>;
};

/**
 * Binds a definition to the bodies that serve its tasks. A task without a body, or a body without a task, does not
 * compile, and is refused at run time too.
 *
 * @example
 * const refund = defineWorkflow({
 *   definition: { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task', input: { amount: '${input.amount}' } }] },
 *   input: type<{ amount: number }>(),
 *   bodies: { pay: async (context, input: { amount: number }) => bank.pay(input.amount, context.stepKey) },
 * });
 */
export const defineWorkflow = <const D extends Definition, Input = unknown>(workflow: {
  readonly definition: D;
  readonly bodies: { readonly [Id in TaskIds<D>]: StepBody };
  /** What `start` takes. */
  readonly input?: Typed<Input>;
}): Workflow<Input> => {
  const tasks = new Set<string>(
    workflow.definition.steps.filter((step) => step.kind === 'task').map((step) => step.id),
  );
  const bodies = new Set(Object.keys(workflow.bodies));
  const without = [...tasks].filter((id) => !bodies.has(id));
  const strangers = [...bodies].filter((id) => !tasks.has(id));
  const name = `workflow ${workflow.definition.id} version ${workflow.definition.version}`;
  if (without.length > 0) throw new TypeError(`${name} has no body for: ${without.join(', ')}`);
  if (strangers.length > 0) throw new TypeError(`${name} has bodies for no task of it: ${strangers.join(', ')}`);
  return workflow;
};

/**
 * Reads a definition from a file of JSON, such as one that workers in several languages register. The service checks it when it is
 * registered; here only what this library reads of it must be there.
 * @throws TypeError when it has no `id`, `version` and `steps`; SyntaxError when it is not JSON; the error of the system when it cannot be read
 */
export const loadDefinition = (file: string | URL): Definition => {
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const { id, version, steps } = Object(parsed) as { readonly [name: string]: unknown };
  if (typeof id !== 'string' || typeof version !== 'number' || !Array.isArray(steps))
    throw new TypeError(`${String(file)} holds no definition: it has no id, version and steps`);
  return parsed as Definition;
};
