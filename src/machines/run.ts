import { type AnyStateMachine, assign, setup, type SnapshotFrom } from 'xstate';
import { type Definition, type Delivery, type Target } from '../model/definition/definition.ts';
import { type ErrorRoute, type StepError, takesError } from '../model/definition/step-error.ts';
import {
  addUsage,
  noUsage,
  type JournalKind,
  type RunError,
  type RunStatus,
  type RunUsage,
  type UnixMs,
} from '../model/run.ts';
import { type Action, FAILED, journal, stepNode, wait, type Way } from './run-phases.ts';

/**
 * Where a run is within a step. Every kind opens; what follows depends on the kind. `asking` and `held` are those of a task that has keys.
 */
export type Phase = 'opening' | 'asking' | 'held' | 'queued' | 'leased' | 'backoff' | 'waiting' | 'routing' | 'ending';

/** What a run remembers beside its place. Small and bounded by the definition: payloads live in rows of their own. */
export type RunContext = {
  /** Entries into steps of every kind. */
  readonly stepCount: number;
  /** Entries by step; a step that was never entered is absent. */
  readonly visits: { readonly [stepId: string]: number };
  /** Leases of this visit. */
  readonly attempt: number;
  /** Retryable failures and timeouts of this visit: what `max_attempts` bounds. */
  readonly failures: number;
  /** Leases of this visit whose worker fell silent. */
  readonly orphans: number;
  /** When the step was entered. */
  readonly enteredAt?: UnixMs;
  /** Since when the step could be offered; kept by an offer that goes back. */
  readonly queuedAt?: UnixMs;
  readonly leaseId?: string | undefined;
  /** Of the wait that is open: expanded once, when it opened. Where the step waits for any of several, the key of each. */
  readonly waitKey?: string | readonly string[] | undefined;
  /** When the timer of the present phase is due; `null` is never. */
  readonly dueAt?: UnixMs | null | undefined;
  readonly children?: { readonly total: number; readonly started: number; readonly finished: number } | undefined;
  readonly usage: RunUsage;
  /** Of the tasks that have limits of their own, over all their visits. Absent before the first attempt of one has ended. */
  readonly totals?: { readonly [stepId: string]: TaskTotal };
  /** Waits, sleeps and backoffs so far. Absent where a release began to count that did not know of earlier ones. */
  readonly waits?: number;
  /** Set while the run is paused. It still stands where it stood: a leased step goes on, and all else rests there. */
  readonly paused?: Pause | undefined;
  /** Of a paused run, the step that it left last: what `succeed` reads when it is opened. */
  readonly cameFrom?: string | undefined;
  /** Of a paused run, where the event that came leads by itself. */
  readonly wayOn?: Target | undefined;
  /** The error that was last handed to `on_error`, then the one that the run failed with. */
  readonly error?: RunError;
};

/** What the attempts of one task came to, in all its visits. */
export type TaskTotal = { readonly attempts: number; readonly usage: RunUsage };

/** What the attempts of a task came to so far. Own properties alone: a step may be called `constructor`. */
export const totalOf = ({ totals }: Pick<RunContext, 'totals'>, step: string): TaskTotal =>
  (totals !== undefined && Object.hasOwn(totals, step) ? totals[step] : undefined) ?? { attempts: 0, usage: noUsage };

/** Who paused a run: somebody who named it, or its parent, which was paused. */
export type PausedBy = 'call' | 'parent';
export type Pause = { readonly at: UnixMs; readonly by: PausedBy; readonly reason?: string };

/** Where a restarted run begins, and what it remembers of the run before it. */
export type RestartPoint = {
  readonly step: string;
  /** Entries by step before that. */
  readonly visits: RunContext['visits'];
  /** The error that had been handed to `on_error` last. */
  readonly error?: RunError;
};

/** Entries into a step so far. Own properties alone: a step may be called `constructor`. */
export const entriesOf = (visits: RunContext['visits'], step: string): number =>
  Object.hasOwn(visits, step) ? (visits[step] ?? 0) : 0;

/** The visit that a step is in. A step that a run stands in was entered. */
export const visitOf = ({ visits }: Pick<RunContext, 'visits'>, step: string): number =>
  Math.max(1, entriesOf(visits, step));

/** What the service reports of a lease's end beside the outcome: priced and counted before it comes here. */
export type UsageDelta = RunUsage;

/**
 * Everything that moves a run. Conditions, templates, prices, times and chance were evaluated before: an event holds plain
 * data, so the journal can be folded again without them.
 */
export type RunEvent =
  /**
   * `startAt` is given where it lies ahead. `held`: the run may not enter its first step yet; the host says why. `restart`: the run goes on
   * from a step of a run before it.
   */
  | {
      readonly type: 'run.started';
      readonly at: UnixMs;
      readonly startAt?: UnixMs;
      readonly held?: true;
      readonly restart?: RestartPoint;
    }
  /** What held the run back is gone. `restartAt`: the step from which it goes on, where that is not the first. */
  | { readonly type: 'run.admitted'; readonly at: UnixMs; readonly restartAt?: string }
  /** The step is ready: its templates were filled in. `total` counts the children of a `child` step. */
  | {
      readonly type: 'step.opened';
      readonly at: UnixMs;
      readonly dueAt?: UnixMs | null;
      readonly key?: string | readonly string[];
      readonly total?: number;
    }
  /** The keys of the step have no room: it waits. */
  | { readonly type: 'step.held'; readonly at: UnixMs }
  /** It has a place of each of its keys. */
  | { readonly type: 'step.admitted'; readonly at: UnixMs }
  | { readonly type: 'step.offered'; readonly at: UnixMs; readonly leaseId: string; readonly workerId: string }
  | { readonly type: 'step.completed'; readonly at: UnixMs; readonly leaseId: string; readonly usage?: UsageDelta }
  /** A lease failed, or the service could not open or leave the step. */
  | {
      readonly type: 'step.failed';
      readonly at: UnixMs;
      readonly error: StepError;
      readonly leaseId?: string;
      readonly bodyRan?: boolean;
      readonly retryAt?: UnixMs;
      readonly usage?: UsageDelta;
    }
  /** The offer went back to the queue. */
  | { readonly type: 'step.lapsed'; readonly at: UnixMs; readonly leaseId: string }
  /** The reclaim window of an orphan is over. */
  | {
      readonly type: 'step.orphaned';
      readonly at: UnixMs;
      readonly error: StepError;
      readonly leaseId: string;
      readonly bodyRan: boolean;
    }
  | { readonly type: 'route.taken'; readonly at: UnixMs; readonly to: Target }
  /** `held` as of `run.started`: the start that was waited for has come. */
  | { readonly type: 'timer.due'; readonly at: UnixMs; readonly error?: StepError; readonly held?: true }
  /** `to`: where the event leads by itself, past the branches of its step. */
  | {
      readonly type: 'event.delivered';
      readonly at: UnixMs;
      readonly event: string;
      readonly key: string;
      readonly to?: Target;
    }
  | {
      readonly type: 'child.finished';
      readonly at: UnixMs;
      readonly runId: string;
      readonly index: number;
      readonly status: RunStatus;
      /** The failure of the step; absent where the child fails no step. */
      readonly error?: StepError;
      /** The failure of the child itself. */
      readonly cause?: RunError;
    }
  /** The host has started so many further children, as many as `childrenToStart` says or fewer. */
  | { readonly type: 'children.started'; readonly at: UnixMs; readonly count: number }
  /** From now on nothing is opened, offered or due. Taken again by a run that its parent paused and that now is paused by name. */
  | { readonly type: 'run.paused'; readonly at: UnixMs; readonly by: PausedBy; readonly reason?: string }
  /** What was kept while the run was paused acts. */
  | { readonly type: 'run.unpaused'; readonly at: UnixMs; readonly reason?: string }
  | { readonly type: 'run.succeeded'; readonly at: UnixMs }
  | { readonly type: 'run.failed'; readonly at: UnixMs; readonly error: RunError }
  | { readonly type: 'run.cancelled'; readonly at: UnixMs; readonly reason?: string };

/**
 * The version of what `compileRun` makes of a definition. It goes up when stored snapshots no longer mean what they meant, and a
 * migration then carries them over; what is merely added leaves it. Journals are read as their release meant them
 * (`actors/run/replay.ts`). @see `machines/persisted.ts`
 */
export const RUN_MACHINE_VERSION = 1;

/** The timer of a run that begins later. */
export const START_TIMER = 'start_at';

/** The guard of the ways by which a restarted run begins at one of its steps. */
export const RESTARTS_AT = 'restartsAt';

/** How many children the step wants started beside those that run: as many as may run at once. */
export const childrenToStart = (
  { total, started, finished }: NonNullable<RunContext['children']>,
  maxParallel: number,
): number => Math.max(0, Math.min(total, finished + maxParallel) - started);

const mayRunAgain = (delivery: Delivery, event: RunEvent): boolean =>
  delivery === 'at_least_once' || ('bodyRan' in event && !event.bodyRan);
const isDueAtOnce = (event: RunEvent): boolean =>
  event.type === 'step.failed' && (event.retryAt ?? event.at) <= event.at;
const errorOf = (event: RunEvent): StepError | undefined => ('error' in event ? event.error : undefined);

const restartedAt = (event: RunEvent): string | undefined => {
  if (event.type === 'run.started') return event.restart?.step;
  return event.type === 'run.admitted' ? event.restartAt : undefined;
};

const freshVisit = { attempt: 0, failures: 0, orphans: 0 } as const;

const runSetup = setup({
  types: { context: {} as RunContext, events: {} as RunEvent },
  guards: {
    beginsLater: ({ event }) => event.type === 'run.started' && event.startAt !== undefined,
    beginsAtFirst: ({ event }) => restartedAt(event) === undefined,
    restartsAt: ({ event }, params: { readonly step: string }) => restartedAt(event) === params.step,
    isHeldBack: ({ event }) => (event.type === 'run.started' || event.type === 'timer.due') && event.held === true,
    goesTo: ({ event }, params: { readonly to: Target }) => event.type === 'route.taken' && event.to === params.to,
    matchesError: ({ event }, params: Omit<ErrorRoute, 'to'>) => {
      const error = errorOf(event);
      return error !== undefined && takesError(params, error);
    },
    /** The worker does not hold the definition: another may. Spends nothing. */
    mayServeElsewhere: ({ event }, params: { readonly delivery: Delivery }) =>
      errorOf(event)?.class === 'unservable' && mayRunAgain(params.delivery, event),
    /** Retried when the other side allows it. Spends nothing. */
    mayWaitForRate: ({ event }, params: { readonly delivery: Delivery }) =>
      errorOf(event)?.class === 'rate_limited' && mayRunAgain(params.delivery, event),
    mayRetry: ({ context, event }, params: { readonly delivery: Delivery; readonly maxAttempts: number }) => {
      const errorClass = errorOf(event)?.class;
      return (
        (errorClass === 'retryable' || errorClass === 'timeout') &&
        context.failures + 1 < params.maxAttempts &&
        mayRunAgain(params.delivery, event)
      );
    },
    mayRetryAtOnce: ({ context, event }, params: { readonly delivery: Delivery; readonly maxAttempts: number }) => {
      const errorClass = errorOf(event)?.class;
      return (
        (errorClass === 'retryable' || errorClass === 'timeout') &&
        context.failures + 1 < params.maxAttempts &&
        mayRunAgain(params.delivery, event) &&
        isDueAtOnce(event)
      );
    },
    mayReclaim: ({ context, event }, params: { readonly delivery: Delivery; readonly maxOrphans: number }) =>
      context.orphans + 1 < params.maxOrphans && mayRunAgain(params.delivery, event),
    hasNoChildren: ({ event }) => event.type === 'step.opened' && event.total === 0,
    childFailed: ({ event }) => event.type === 'child.finished' && event.status !== 'succeeded',
    isPaused: ({ context }) => context.paused !== undefined,
    isLastChild: ({ context }) => (context.children?.finished ?? 0) + 1 >= (context.children?.total ?? 0),
  },
  actions: {
    enterStep: assign(({ context, event }, params: { readonly step: string }) => ({
      ...freshVisit,
      enteredAt: event.at,
      stepCount: context.stepCount + 1,
      visits: { ...context.visits, [params.step]: entriesOf(context.visits, params.step) + 1 },
    })),
    leaveStep: assign(({ context }, params: { readonly step: string }) =>
      context.paused === undefined ? {} : { cameFrom: params.step },
    ),
    notePause: assign(({ context, event }) => {
      if (event.type !== 'run.paused') return {};
      const { by, reason } = event;
      return { paused: { at: context.paused?.at ?? event.at, by, ...(reason === undefined ? {} : { reason }) } };
    }),
    keepWay: assign(({ context, event }) =>
      context.paused !== undefined && event.type === 'event.delivered' && event.to !== undefined
        ? { wayOn: event.to }
        : {},
    ),
    endPause: assign({ paused: undefined, cameFrom: undefined, wayOn: undefined }),
    joinQueue: assign({ queuedAt: ({ event }) => event.at }),
    takeLease: assign(({ context, event }) =>
      event.type === 'step.offered' ? { leaseId: event.leaseId, attempt: context.attempt + 1 } : {},
    ),
    forgetLease: assign({ leaseId: undefined }),
    countUsage: assign(({ context, event }) => {
      const usage = 'usage' in event ? event.usage : undefined;
      return usage === undefined ? {} : { usage: addUsage(context.usage, usage) };
    }),
    /** An attempt ended. One that its worker could not serve cost nothing; what it reported counts all the same. */
    countAttempt: assign(({ context, event }, params: { readonly step: string }) => {
      const { attempts, usage } = totalOf(context, params.step);
      const reported = 'usage' in event ? event.usage : undefined;
      const total = {
        attempts: errorOf(event)?.class === 'unservable' ? attempts : attempts + 1,
        usage: reported === undefined ? usage : addUsage(usage, reported),
      };
      return { totals: { ...context.totals, [params.step]: total } };
    }),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    countWait: assign({ waits: ({ context }) => (context.waits ?? 0) + 1 }),
    countOrphan: assign({ orphans: ({ context }) => context.orphans + 1 }),
    setDue: assign(({ event }) => {
      if (event.type === 'step.opened') return { dueAt: event.dueAt };
      if (event.type === 'run.started') return { dueAt: event.startAt };
      return event.type === 'step.failed' ? { dueAt: event.retryAt ?? event.at } : {};
    }),
    clearDue: assign({ dueAt: undefined }),
    setKey: assign(({ event }) => (event.type === 'step.opened' ? { waitKey: event.key } : {})),
    clearKey: assign({ waitKey: undefined }),
    expectChildren: assign({
      children: ({ event }) => ({
        total: event.type === 'step.opened' ? (event.total ?? 0) : 0,
        started: 0,
        finished: 0,
      }),
    }),
    /** What the host could not start yet is due at once: the next timer goes on. */
    countStarted: assign(({ context, event }, params: { readonly maxParallel: number }) => {
      if (context.children === undefined || event.type !== 'children.started') return {};
      const children = { ...context.children, started: context.children.started + event.count };
      const dueAt = childrenToStart(children, params.maxParallel) > 0 ? event.at : undefined;
      return { children, ...(dueAt === context.dueAt ? {} : { dueAt }) };
    }),
    countChild: assign(({ context }) => {
      const { children } = context;
      return children === undefined ? {} : { children: { ...children, finished: children.finished + 1 } };
    }),
    forgetChildren: assign({ children: undefined }),
    rememberError: assign(({ event }, params: { readonly step: string }) => {
      const error = errorOf(event);
      return error === undefined ? {} : { error: { ...error, stepId: params.step } };
    }),
    failRun: assign(({ event }) => (event.type === 'run.failed' ? { error: event.error } : {})),
    takeOver: assign(({ event }) => {
      if (event.type !== 'run.started' || event.restart === undefined) return {};
      const { visits, error } = event.restart;
      return { visits, ...(error === undefined ? {} : { error }) };
    }),
    // Intents: the host makes rows and messages of them.
    journal: (_args, _params: { readonly kind: JournalKind }) => {},
    open: () => {},
    route: () => {},
    conclude: () => {},
    schedule: (_args, _params: { readonly timer: string }) => {},
    unschedule: (_args, _params: { readonly timer: string }) => {},
    askPlace: () => {},
    freePlace: () => {},
    openWait: () => {},
    closeWait: () => {},
    dropLease: () => {},
    startChildren: () => {},
    cancelChildren: () => {},
    finish: () => {},
    rest: () => {},
    goOn: () => {},
  },
});

const firstStep = ({ steps }: Definition): string => `#run.active.${steps[0]?.id}`;

/** To the first step, or for a restarted run to any: one way each, so that the chart says where a run can begin. */
const beginningWays = (definition: Definition, actions: readonly Action[]): readonly Way[] => [
  { guard: 'beginsAtFirst', target: firstStep(definition), actions },
  ...definition.steps.map(
    ({ id }): Way => ({
      guard: { type: RESTARTS_AT, params: { step: id } },
      target: `#run.active.${id}`,
      actions: [...actions, 'takeOver'],
    }),
  ),
];

/**
 * A pause is a part of the context, beside the place: a paused run stands where it stood, and where its leased step leads it. As a state it
 * would leave the place, and end waits and leases that must go on; as a parallel region it would change what every stored
 * snapshot says, and take the plans from every transition (`plan.ts`).
 */
const pausing = {
  'run.paused': { description: 'Rests where it stands.', actions: ['notePause', journal('run.paused'), 'rest'] },
  'run.unpaused': {
    description: 'What was kept acts.',
    guard: 'isPaused',
    actions: [journal('run.unpaused'), 'endPause', 'goOn'],
  },
} as const;

/** Ends that come from outside, of a run that has not entered a step. */
const endsBeforeSteps = {
  'run.failed': { target: FAILED, actions: ['failRun'] },
  'run.cancelled': '#run.cancelled',
} as const;

/** The machine's configuration for a definition: plain JSON, the same for the same definition. */
export const runConfig = (definition: Definition): object => ({
  id: 'run',
  description: `Runs of ${definition.id} version ${definition.version}.`,
  initial: 'created',
  context: { stepCount: 0, visits: {}, ...freshVisit, usage: noUsage, waits: 0 },
  states: {
    created: {
      on: {
        'run.started': [
          { guard: 'beginsLater', target: '#run.scheduled', actions: ['setDue', journal('run.started'), ...wait] },
          {
            guard: 'isHeldBack',
            target: '#run.held',
            actions: [journal('run.started'), journal('run.held'), 'takeOver'],
          },
          ...beginningWays(definition, [journal('run.started')]),
        ],
      },
    },
    scheduled: {
      description: 'Waits for its `start_at`.',
      entry: [{ type: 'schedule', params: { timer: START_TIMER } }],
      exit: [{ type: 'unschedule', params: { timer: START_TIMER } }, 'clearDue'],
      on: {
        'timer.due': [
          { guard: 'isHeldBack', target: '#run.held', actions: [journal('run.resumed'), journal('run.held')] },
          { target: firstStep(definition), actions: [journal('run.resumed')] },
        ],
        ...pausing,
        ...endsBeforeSteps,
      },
    },
    held: {
      description: 'Could begin, and waits to be admitted to its first step.',
      on: {
        'run.admitted': beginningWays(definition, [journal('run.admitted')]),
        ...pausing,
        ...endsBeforeSteps,
      },
    },
    active: {
      initial: definition.steps[0]?.id,
      on: {
        'run.failed': { target: FAILED, actions: ['dropLease', 'forgetLease', 'failRun'] },
        'run.cancelled': { target: '#run.cancelled', actions: ['dropLease', 'forgetLease'] },
        ...pausing,
      },
      states: Object.fromEntries(definition.steps.map((step) => [step.id, stepNode(step)])),
    },
    succeeded: { type: 'final', entry: [journal('run.finished'), 'finish'] },
    failed: { type: 'final', entry: [journal('run.finished'), 'finish'] },
    cancelled: { type: 'final', entry: [journal('run.finished'), 'finish'] },
  },
});

/**
 * Compiles a definition to its machine: each step is a state, its phases are sub-states, and the cursor of a run is the
 * value of its snapshot. @see Interface specification, "States and transitions", "Run"
 */
export const compileRun = (definition: Definition): RunMachine =>
  runSetup.createMachine(runConfig(definition) as unknown as Parameters<typeof runSetup.createMachine>[0]);

export type RunSnapshot = Omit<SnapshotFrom<AnyStateMachine>, 'context' | 'value'> & {
  readonly value: unknown;
  readonly context: RunContext;
};
export type RunMachine = AnyStateMachine;

/** Where a run stands: before its first step, in a phase of a step, or at an end. */
export type Place =
  | { readonly at: 'created' }
  | { readonly at: 'scheduled' }
  | { readonly at: 'held' }
  | { readonly at: 'step'; readonly step: string; readonly phase: Phase }
  | { readonly at: 'end'; readonly status: 'succeeded' | 'failed' | 'cancelled' };

/** Reads the place out of a snapshot's value. */
export const placeOf = (value: unknown): Place => {
  if (value === 'created' || value === 'scheduled' || value === 'held') return { at: value };
  if (value === 'succeeded' || value === 'failed' || value === 'cancelled') return { at: 'end', status: value };
  const active = (value as { readonly active: Readonly<Record<string, Phase>> }).active;
  for (const stepId in active) return { at: 'step', step: stepId, phase: active[stepId] ?? 'opening' };
  throw new Error(`not a place of a run: ${JSON.stringify(value)}`);
};

/** The status under which a run is shown. @see Interface decisions, "Run" and section 13, "Pause" */
export const statusOf = ({ value, context }: Pick<RunSnapshot, 'value' | 'context'>): RunStatus => {
  const place = placeOf(value);
  if (place.at === 'end') return place.status;
  if (context.paused !== undefined) return 'paused';
  if (place.at === 'scheduled') return 'scheduled';
  if (place.at === 'created' || place.at === 'held') return 'queued';
  if (place.phase === 'queued' || place.phase === 'held') return 'queued';
  return place.phase === 'leased' ? 'running' : 'waiting';
};
