import type { Place, RunContext, RunEvent } from '../../../machines/run.ts';
import type { CompiledStep } from '../../../model/definition/compile.ts';
import type { Step } from '../../../model/definition/definition.ts';
import type { JsonObject } from '../../../model/json.ts';
import type { Turn } from '../../runs-kernel.ts';
import type { RunHost } from '../host.ts';
import type { RunActor } from '../run-state.ts';
import type { Work } from '../work.ts';

/** What made the machine want something: the event that it took, and the run before it. */
export type Moment = { readonly event: RunEvent; readonly from: Place; readonly before: RunContext };

/** Makes rows and messages of what the machine wants. The run stands where the event has brought it. */
export type EffectHost = (work: Work, moment: Moment, params: unknown) => void;

/** What a step of one kind does beside the machine. One file a kind, and one row of `stepHosts`. */
export type StepHost<S extends Step = Step> = {
  /** What the step needs before it can be entered: fills in its templates, and says with which event the machine goes on. */
  open(work: Work, compiled: CompiledStep<S>): RunEvent;
  /** Its phase in which nothing but a timer, an event or a child moves it; absent where it never waits. */
  readonly wait?: StepWait<S>;
  /** The actions of the machine that are of this kind alone, by their name. */
  readonly effects?: Readonly<Record<string, EffectHost>>;
};

export type StepWait<S extends Step = Step> = {
  /** The name of its timer, in the machine and in the row. */
  readonly timer: string;
  /** The timer is due at a time of the wall clock that somebody named, and not after some time. */
  namesTime?(compiled: CompiledStep<S>): boolean;
  /** The timer is due when it is set: it does not wait for the next second, but follows the commit. */
  readonly followsCommit?: true;
  /** False when this commit takes no more of what the timer sets off: it is due again after the commit. */
  hasRoom?(turn: Turn): boolean;
  /** What happens when the timer is due. */
  due(work: Work, compiled: CompiledStep<S>): RunEvent;
  /** Why the run waits, in its journal. */
  readonly reason: string;
  /** For what it waits, in its journal. */
  details?(step: S, context: RunContext): JsonObject;
  /** The run was quarantined while it waited, and is released: what may have come meanwhile. */
  released?(host: RunHost, turn: Turn, run: RunActor, step: S): void;
};
