import { assign, setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import type { Delivery } from '../model/definition/definition.ts';
import type { StepError } from '../model/definition/step-error.ts';
import type { AttemptStatus, UnixMs } from '../model/run.ts';
import type { Migration } from './persisted.ts';
import { type Step, take } from './transition.ts';

/**
 * The life of one lease: one attempt, held by one worker for a bounded time.
 * @see Interface specification, "States and transitions", "Lease / attempt"
 */
export type LeaseContext = {
  readonly delivery: Delivery;
  /** The body was declared running at least once. */
  readonly bodyRan: boolean;
  /** When the present state ends by itself: the offer lapses, the lease expires, the reclaim window closes. */
  readonly expiresAt: UnixMs;
};

/** What a worker says of its lease. */
export type WorkerEvent =
  | { readonly type: 'lease.started'; readonly expiresAt: UnixMs }
  | { readonly type: 'lease.beat'; readonly expiresAt: UnixMs }
  | { readonly type: 'lease.completed' }
  | { readonly type: 'lease.failed' }
  /** A fail of class `unservable`: the worker does not hold the definition, version or step. */
  | { readonly type: 'lease.refused' };

export type LeaseEvent =
  /** A worker took the step out of the queue. */
  | { readonly type: 'lease.offered'; readonly delivery: Delivery; readonly expiresAt: UnixMs }
  | WorkerEvent
  /** The offer's claimer went away before it had the answer. */
  | { readonly type: 'lease.given_back' }
  /**
   * The deadline of the present state is reached. The state says what that means: an offer lapses, a running lease becomes
   * an orphan, and an orphan is reclaimed.
   */
  | {
      readonly type: 'deadline.due';
      /** Which deadline was reached. If it was extended meanwhile, nothing follows. */
      readonly dueAt: UnixMs;
      /** When the reclaim window closes, if one opens now. */
      readonly reclaimAt: UnixMs;
    }
  /** The step's `timeout_ms` is over. */
  | { readonly type: 'lease.timed_out' }
  /** The run ended under it. */
  | { readonly type: 'lease.cancelled' };

/**
 * The version of this machine. It goes up when stored states or columns no longer mean what they meant, and a migration then
 * carries them over; what is merely added leaves it. @see `machines/persisted.ts`
 */
export const LEASE_MACHINE_VERSION = 1;

/** From the version they start from. None yet: version 1 is the first. */
export const leaseMigrations: ReadonlyMap<number, Migration> = new Map();

const timedOut: StepError = { class: 'timeout', message: 'the body ran longer than timeout_ms of its step' };
const reclaimed: StepError = { class: 'orphaned', message: 'the worker fell silent and its lease was reclaimed' };

export const leaseMachine = setup({
  types: {
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
    /** `live`: nobody else can be offered the step. `reported`: ended by a call of its own worker. */
    tags: {} as 'live' | 'reported',
  },
  guards: {
    /** An `at_most_once` body that was never declared may not report: it would be unknown whether it ran. */
    mayReport: ({ context }) => context.delivery === 'at_least_once' || context.bodyRan,
    /** The deadline that was reached is still the one of the present state. */
    deadlineStands: ({ context, event }) => event.type === 'deadline.due' && event.dueAt === context.expiresAt,
  },
  actions: {
    takeOffer: assign(({ context, event }) =>
      event.type === 'lease.offered'
        ? { delivery: event.delivery, bodyRan: false, expiresAt: event.expiresAt }
        : context,
    ),
    declareRunning: assign({ bodyRan: true }),
    extend: assign({ expiresAt: ({ context, event }) => ('expiresAt' in event ? event.expiresAt : context.expiresAt) }),
    openReclaimWindow: assign({
      expiresAt: ({ context, event }) => (event.type === 'deadline.due' ? event.reclaimAt : context.expiresAt),
    }),
    // Intents: the host makes rows and messages of them. Where no worker says why an attempt failed, the intent does.
    journal: (_args, _params: { readonly kind: 'step.started' | 'step.orphaned' }) => {},
    completeStep: () => {},
    failStep: (_args, _params?: { readonly error: StepError }) => {},
    requeueStep: () => {},
    orphanStep: (_args, _params: { readonly error: StepError }) => {},
    acknowledge: () => {},
    recordSpan: () => {},
  },
}).createMachine({
  id: 'lease',
  initial: 'unissued',
  context: { delivery: 'at_least_once', bodyRan: false, expiresAt: 0 },
  states: {
    unissued: {
      description: 'Before a worker claimed the step. Never stored.',
      on: { 'lease.offered': { target: 'offered', actions: 'takeOffer' } },
    },
    offered: {
      description: 'A worker holds the step; its body is not declared running.',
      tags: 'live',
      on: {
        'lease.started': {
          target: 'running',
          actions: ['declareRunning', 'extend', { type: 'journal', params: { kind: 'step.started' } }],
        },
        'lease.beat': { actions: 'acknowledge' },
        'lease.completed': { guard: 'mayReport', target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { guard: 'mayReport', target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'deadline.due': { guard: 'deadlineStands', target: 'lapsed', actions: 'requeueStep' },
        'lease.given_back': { target: 'lapsed', actions: 'requeueStep' },
        'lease.cancelled': 'cancelled',
      },
    },
    running: {
      description: 'The body runs; heartbeats extend the lease.',
      tags: 'live',
      on: {
        'lease.started': { actions: 'extend' },
        'lease.beat': { actions: 'extend' },
        'lease.completed': { target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'deadline.due': {
          guard: 'deadlineStands',
          target: 'orphaned',
          actions: ['openReclaimWindow', { type: 'journal', params: { kind: 'step.orphaned' } }],
        },
        'lease.timed_out': { target: 'timed_out', actions: { type: 'failStep', params: { error: timedOut } } },
        'lease.cancelled': 'cancelled',
      },
    },
    orphaned: {
      description: "No heartbeat came within the ttl. Still its worker's until the reclaim window ends.",
      tags: 'live',
      on: {
        'lease.started': { target: 'running', actions: 'extend' },
        'lease.beat': { target: 'running', actions: 'extend' },
        'lease.completed': { target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'deadline.due': {
          guard: 'deadlineStands',
          target: 'reclaimed',
          actions: { type: 'orphanStep', params: { error: reclaimed } },
        },
        'lease.timed_out': { target: 'timed_out', actions: { type: 'failStep', params: { error: timedOut } } },
        'lease.cancelled': 'cancelled',
      },
    },
    succeeded: { type: 'final', tags: 'reported', entry: 'recordSpan', description: 'Its complete was taken.' },
    failed: { type: 'final', tags: 'reported', entry: 'recordSpan', description: 'Its fail was taken.' },
    unservable: {
      type: 'final',
      tags: 'reported',
      entry: 'recordSpan',
      description: 'Its worker does not hold the definition, version or step.',
    },
    timed_out: { type: 'final', entry: 'recordSpan', description: 'The body ran longer than the step allows.' },
    lapsed: { type: 'final', entry: 'recordSpan', description: 'Never started in time; the body never ran.' },
    reclaimed: { type: 'final', entry: 'recordSpan', description: 'An orphan whose reclaim window is over.' },
    cancelled: { type: 'final', entry: 'recordSpan', description: 'The run ended first.' },
  },
});

export type LeaseSnapshot = SnapshotFrom<typeof leaseMachine>;
export type LeaseStep = Step<typeof leaseMachine>;
export type LeaseState = LeaseSnapshot['value'];

const statesTagged = (tag: 'live' | 'reported'): ReadonlySet<string> =>
  new Set(Object.values(leaseMachine.states).flatMap(({ key, tags }) => (tags.includes(tag) ? [key] : [])));
const liveStates = statesTagged('live');
const reportedStates = statesTagged('reported');

/** Whether nobody else can be offered the step. */
export const isLive = (state: LeaseState): boolean => liveStates.has(state);

/** The status under which an attempt is shown. A reclaimed orphan stays `orphaned`; a timeout is a failure. */
export const attemptStatus = (state: LeaseState): AttemptStatus => {
  switch (state) {
    case 'unissued':
    case 'offered':
      return 'offered';
    case 'reclaimed':
      return 'orphaned';
    case 'timed_out':
      return 'failed';
    default:
      return state;
  }
};

export type LeaseRefusal = 'already_applied' | 'run_terminal' | 'fenced' | 'not_started';

/**
 * What becomes of a worker's call on a lease: the transition that the chart has for it, or why it is refused. The reasons are
 * tried in the specified order. The chart alone says whether a state takes the call.
 * @see Interface decisions, "Worker protocol": "The refusals are tried in this order"
 */
export const takeCall = (
  snapshot: LeaseSnapshot,
  event: WorkerEvent,
  caller: { readonly isHolder: boolean; readonly runHasEnded: boolean },
): { readonly taken: LeaseStep } | { readonly refusal: LeaseRefusal } => {
  if (caller.isHolder && reportedStates.has(snapshot.value)) return { refusal: 'already_applied' };
  if (caller.runHasEnded) return { refusal: 'run_terminal' };
  if (!caller.isHolder) return { refusal: 'fenced' };
  const taken = take(leaseMachine, snapshot, event);
  if (taken !== undefined) return { taken };
  // A lease that ended takes no call. A live one holds back a report of a body that was never declared running.
  return { refusal: isLive(snapshot.value) ? 'not_started' : 'fenced' };
};
