import { assign, setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import type { Delivery } from '../model/definition/definition.ts';
import type { AttemptStatus, UnixMs } from '../model/run.ts';

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

export type LeaseEvent =
  /** A worker took the step out of the queue. */
  | { readonly type: 'lease.offered'; readonly delivery: Delivery; readonly expiresAt: UnixMs }
  | { readonly type: 'lease.started'; readonly expiresAt: UnixMs }
  | { readonly type: 'lease.beat'; readonly expiresAt: UnixMs }
  | { readonly type: 'lease.completed' }
  | { readonly type: 'lease.failed' }
  | { readonly type: 'lease.refused' }
  /** Never started in time, or its claimer went away. */
  | { readonly type: 'lease.lapsed' }
  /** No heartbeat within the ttl. */
  | { readonly type: 'lease.expired'; readonly expiresAt: UnixMs }
  /** The reclaim window is over. */
  | { readonly type: 'lease.reclaimed' }
  /** The step's `timeout_ms` is over. */
  | { readonly type: 'lease.timed_out' }
  /** The run ended under it. */
  | { readonly type: 'lease.cancelled' };

export const LEASE_MACHINE_VERSION = 1;

export const leaseMachine = setup({
  types: { context: {} as LeaseContext, events: {} as LeaseEvent },
  guards: {
    /** An `at_most_once` body that was never declared may not report: nobody could say whether it ran. */
    mayReport: ({ context }) => context.delivery === 'at_least_once' || context.bodyRan,
  },
  actions: {
    takeOffer: assign(({ context, event }) =>
      event.type === 'lease.offered'
        ? { delivery: event.delivery, bodyRan: false, expiresAt: event.expiresAt }
        : context,
    ),
    declareRunning: assign({ bodyRan: true }),
    extend: assign({ expiresAt: ({ context, event }) => ('expiresAt' in event ? event.expiresAt : context.expiresAt) }),
    // Intents: the host makes rows and messages of them.
    journal: (_args, _params: { readonly kind: string }) => {},
    completeStep: () => {},
    failStep: () => {},
    requeueStep: () => {},
    orphanStep: () => {},
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
      on: {
        'lease.started': {
          target: 'running',
          actions: ['declareRunning', 'extend', { type: 'journal', params: { kind: 'step.started' } }],
        },
        'lease.beat': { actions: 'acknowledge' },
        'lease.completed': { guard: 'mayReport', target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { guard: 'mayReport', target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'lease.lapsed': { target: 'lapsed', actions: 'requeueStep' },
        'lease.cancelled': 'cancelled',
      },
    },
    running: {
      description: 'The body runs; heartbeats extend the lease.',
      on: {
        'lease.started': { actions: 'extend' },
        'lease.beat': { actions: 'extend' },
        'lease.completed': { target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'lease.expired': {
          target: 'orphaned',
          actions: ['extend', { type: 'journal', params: { kind: 'step.orphaned' } }],
        },
        'lease.timed_out': { target: 'timed_out', actions: 'failStep' },
        'lease.cancelled': 'cancelled',
      },
    },
    orphaned: {
      description: "Nothing was heard within the ttl. Still its worker's until the reclaim window ends.",
      on: {
        'lease.started': { target: 'running', actions: 'extend' },
        'lease.beat': { target: 'running', actions: 'extend' },
        'lease.completed': { target: 'succeeded', actions: 'completeStep' },
        'lease.failed': { target: 'failed', actions: 'failStep' },
        'lease.refused': { target: 'unservable', actions: 'failStep' },
        'lease.reclaimed': { target: 'reclaimed', actions: 'orphanStep' },
        'lease.timed_out': { target: 'timed_out', actions: 'failStep' },
        'lease.cancelled': 'cancelled',
      },
    },
    succeeded: { type: 'final', entry: 'recordSpan', description: 'Its complete was taken.' },
    failed: { type: 'final', entry: 'recordSpan', description: 'Its fail was taken.' },
    unservable: {
      type: 'final',
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
export type LeaseState = LeaseSnapshot['value'];

/** The states in which a lease lives: nobody else can be offered the step. */
export const isLive = (state: LeaseState): boolean =>
  state === 'offered' || state === 'running' || state === 'orphaned';

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

export type WorkerVerb = 'started' | 'heartbeat' | 'complete' | 'fail';
export type LeaseRefusal = 'already_applied' | 'run_terminal' | 'fenced' | 'not_started';

/**
 * Whether a worker's call on a lease is refused, and why; the reasons are tried in the specified order.
 * @param call `unservable`: the call is a fail of that class, which an offered lease takes in both delivery modes
 * @see Interface decisions, "Worker protocol": "The refusals are tried in this order"
 */
export const refuse = (
  state: LeaseState,
  context: Pick<LeaseContext, 'delivery' | 'bodyRan'>,
  call: {
    readonly verb: WorkerVerb;
    readonly isHolder: boolean;
    readonly runHasEnded: boolean;
    readonly unservable: boolean;
  },
): LeaseRefusal | undefined => {
  const endedByItsWorker = state === 'succeeded' || state === 'failed' || state === 'unservable';
  if (call.isHolder && endedByItsWorker) return 'already_applied';
  if (call.runHasEnded) return 'run_terminal';
  if (!call.isHolder || !isLive(state)) return 'fenced';
  const reports = call.verb === 'complete' || (call.verb === 'fail' && !call.unservable);
  if (reports && context.delivery === 'at_most_once' && !context.bodyRan) return 'not_started';
  return undefined;
};
