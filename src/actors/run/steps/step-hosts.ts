import type { CompiledStep } from '../../../model/definition/compile.ts';
import type { Step } from '../../../model/definition/definition.ts';
import { childHost } from './child.ts';
import { failHost, succeedHost } from './end.ts';
import { sleepHost } from './sleep.ts';
import type { EffectHost, StepHost } from './step-host.ts';
import { taskHost } from './task.ts';
import { waitEventHost } from './wait-event.ts';

type StepKind = Step['kind'];

/** One row a kind of step. */
const stepHosts: { readonly [K in StepKind]: StepHost<Extract<Step, { kind: K }>> } = {
  task: taskHost,
  wait_event: waitEventHost,
  sleep: sleepHost,
  child: childHost,
  succeed: succeedHost,
  fail: failHost,
};

/** The host of a step. It fits: the table holds for each kind the host of just that kind. */
export const hostOf = <S extends Step>({ step }: Pick<CompiledStep<S>, 'step'>): StepHost<S> =>
  stepHosts[step.kind] as unknown as StepHost<S>;

/** The actions of the machine that one kind of step alone has. */
export const stepEffects: ReadonlyMap<string, EffectHost> = new Map(
  Object.values(stepHosts).flatMap(({ effects }) => Object.entries(effects ?? {})),
);
