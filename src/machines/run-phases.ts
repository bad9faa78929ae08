import {
  type ChildStep,
  END,
  type FailStep,
  leadsOn,
  type Step,
  type SucceedStep,
  type TaskStep,
  type Target,
  targetsOf,
} from '../model/definition/definition.ts';
import type { ErrorRoute } from '../model/definition/step-error.ts';
import type { JournalKind } from '../model/run.ts';

// The phases of each kind of step, as configuration of the run machine. Guards and actions are named here, and say in `run.ts` what they do.

/** The timer that goes on starting children where one commit could not take them all. */
export const MORE_CHILDREN = 'children';

/** The tenth orphan of a visit is the last. @see Interface decisions, "Fine print" */
export const MAX_ORPHANS = 10;

/** One transition as configuration: names and static parameters only, so that the whole machine is JSON. */
export type Way = {
  readonly target?: string;
  readonly guard?: { readonly type: string; readonly params?: object } | string;
  readonly actions?: readonly Action[];
  readonly reenter?: boolean;
};
export type Action = string | { readonly type: string; readonly params: object };

export const journal = (kind: JournalKind): Action => ({ type: 'journal', params: { kind } });
/** The run begins to wait: for an event, a sleep, its next try or its children. */
export const wait: readonly Action[] = ['countWait', journal('run.waiting')];
const SUCCEEDED = '#run.succeeded';
export const FAILED = '#run.failed';

/** A step's own node, or its last phase where the run is to end. */
const node = (from: string, to: Target): string => (to === END ? `#run.active.${from}.ending` : `#run.active.${to}`);

const errorWays = (stepId: string, routes: readonly ErrorRoute[], actions: readonly Action[]): readonly Way[] => {
  const remember: Action = { type: 'rememberError', params: { step: stepId } };
  return [
    ...routes.map((route): Way => {
      const { class: errorClass, code } = route;
      const params = {
        ...(errorClass === undefined ? {} : { class: errorClass }),
        ...(code === undefined ? {} : { code }),
      };
      return {
        guard: { type: 'matchesError', params },
        target: node(stepId, route.to),
        actions: [...actions, remember],
        // The end is a phase of the step itself: entering the step again for it would count another visit.
        ...(route.to === END ? {} : { reenter: true }),
      };
    }),
    { target: FAILED, actions: [...actions, remember] },
  ];
};

/** The ways on from a step that ended well, one for each place that its branches name. */
const routingPhase = (step: Exclude<Step, SucceedStep | FailStep>) => ({
  description: 'The step ended well; its branches are read.',
  entry: ['route'],
  on: {
    'route.taken': targetsOf(step).map(
      (to): Way => ({ guard: { type: 'goesTo', params: { to } }, target: node(step.id, to), reenter: true }),
    ),
  },
});

const endingPhase = {
  description: 'The run ends here; its output is made.',
  entry: ['conclude'],
  on: { 'run.succeeded': SUCCEEDED },
} as const;

/** A task whose attempts hold a key asks for a place before each of them, and gives it back at its end. */
const taskPhases = (step: TaskStep): object => {
  const { delivery } = step;
  const { maxAttempts } = step.retry;
  const isKeyed = step.concurrency !== undefined || step.rate !== undefined;
  const inTotal: readonly Action[] =
    step.limits === undefined ? [] : [{ type: 'countAttempt', params: { step: step.id } }];
  const noteEnd: readonly Action[] = ['forgetLease', 'countUsage', ...inTotal];
  const noteOrphan: readonly Action[] = ['forgetLease', 'countOrphan', ...inTotal];
  /** The attempt is over; one that goes back to the queue keeps its place. */
  const free: readonly Action[] = isKeyed ? ['freePlace'] : [];
  const again = (...actions: readonly Action[]): Way =>
    isKeyed ? { target: 'asking', actions } : { target: 'queued', actions };
  /** A step joins the queue when it is admitted. */
  const join: readonly Action[] = isKeyed ? [] : ['joinQueue'];
  return {
    opening: { entry: ['open'], on: { 'step.opened': again(...join) } },
    ...(isKeyed
      ? {
          asking: {
            description: 'Its keys are asked for a place.',
            entry: ['askPlace'],
            on: {
              'step.admitted': { target: 'queued', actions: ['joinQueue'] },
              'step.held': { target: 'held', actions: [journal('run.held')] },
            },
          },
          held: {
            description: 'Waits in line for its keys.',
            on: { 'step.admitted': { target: 'queued', actions: ['joinQueue', journal('run.admitted')] } },
          },
        }
      : {}),
    queued: {
      description: 'Runnable: the next worker that serves this definition is offered it.',
      on: {
        'step.offered': { target: 'leased', actions: ['takeLease', journal('step.leased')] },
        // It waited for a worker so long that the start which it took counts no more.
        ...(step.rate === undefined ? {} : { 'step.held': { target: 'held', actions: [journal('run.held')] } }),
      },
    },
    leased: {
      description: "One worker holds it. How the lease itself stands is the lease machine's matter.",
      on: {
        'step.completed': { target: 'routing', actions: [...noteEnd, ...free, journal('step.finished')] },
        'step.failed': [
          {
            guard: { type: 'mayServeElsewhere', params: { delivery } },
            target: 'queued',
            actions: [...noteEnd, journal('step.requeued')],
          },
          {
            guard: { type: 'mayWaitForRate', params: { delivery } },
            target: 'backoff',
            actions: [...noteEnd, ...free, 'setDue', journal('step.failed'), ...wait],
          },
          {
            guard: { type: 'mayRetryAtOnce', params: { delivery, maxAttempts } },
            ...again(...noteEnd, ...free, 'countFailure', ...join, journal('step.failed'), journal('step.requeued')),
          },
          {
            guard: { type: 'mayRetry', params: { delivery, maxAttempts } },
            target: 'backoff',
            actions: [...noteEnd, ...free, 'countFailure', 'setDue', journal('step.failed'), ...wait],
          },
          ...errorWays(step.id, step.onError, [...noteEnd, ...free, journal('step.failed')]),
        ],
        'step.lapsed': { target: 'queued', actions: ['forgetLease', journal('step.requeued')] },
        'step.orphaned': [
          {
            guard: { type: 'mayReclaim', params: { delivery, maxOrphans: MAX_ORPHANS } },
            ...again(...noteOrphan, ...free, ...join, journal('step.requeued')),
          },
          ...errorWays(step.id, step.onError, [...noteOrphan, ...free, journal('step.failed')]),
        ],
      },
    },
    backoff: {
      description: 'Waits for its next try.',
      entry: [{ type: 'schedule', params: { timer: 'backoff' } }],
      exit: [{ type: 'unschedule', params: { timer: 'backoff' } }, 'clearDue'],
      on: { 'timer.due': again(...join, journal('step.requeued')) },
    },
    routing: routingPhase(step),
    ending: endingPhase,
  };
};

const phases = (step: Step): object => {
  switch (step.kind) {
    case 'task':
      return taskPhases(step);
    case 'wait_event':
      return {
        opening: {
          entry: ['open'],
          on: {
            'step.opened': { target: 'waiting', actions: ['setDue', 'setKey', ...wait] },
            'event.delivered': { target: 'routing', actions: [journal('event.delivered')] },
          },
        },
        waiting: {
          description:
            step.awaited.length > 1
              ? 'Open for the first of several events, each of a name and key.'
              : 'Open for an event of its name and key.',
          entry: ['openWait', { type: 'schedule', params: { timer: 'wait' } }],
          exit: ['closeWait', { type: 'unschedule', params: { timer: 'wait' } }, 'clearDue', 'clearKey'],
          on: {
            'event.delivered': {
              target: 'routing',
              actions: ['keepWay', journal('event.delivered'), journal('run.resumed')],
            },
            'timer.due':
              step.onTimeout === 'continue'
                ? { target: 'routing', actions: [journal('run.resumed')] }
                : errorWays(step.id, step.onError, [journal('run.resumed'), journal('step.failed')]),
          },
        },
        routing: routingPhase(step),
        ending: endingPhase,
      };
    case 'sleep':
      return {
        opening: {
          entry: ['open'],
          on: { 'step.opened': { target: 'waiting', actions: ['setDue', ...wait] } },
        },
        waiting: {
          description: 'Asleep until its timer is due.',
          entry: [{ type: 'schedule', params: { timer: 'sleep' } }],
          exit: [{ type: 'unschedule', params: { timer: 'sleep' } }, 'clearDue'],
          on: { 'timer.due': { target: 'routing', actions: [journal('run.resumed')] } },
        },
        routing: routingPhase(step),
        ending: endingPhase,
      };
    case 'child': {
      const forgetMore: Action = { type: 'unschedule', params: { timer: MORE_CHILDREN } };
      const noteStarted: readonly Action[] = [
        forgetMore,
        { type: 'countStarted', params: { maxParallel: step.maxParallel } },
        { type: 'schedule', params: { timer: MORE_CHILDREN } },
      ];
      return {
        opening: {
          entry: ['open'],
          on: {
            'step.opened': [
              { guard: 'hasNoChildren', target: 'routing' },
              { target: 'waiting', actions: ['expectChildren', ...wait] },
            ],
          },
        },
        waiting: {
          description: 'Children run; the step ends when all of them have.',
          entry: ['startChildren'],
          exit: ['cancelChildren', 'forgetChildren', forgetMore, 'clearDue'],
          on: {
            'child.finished': [
              ...(step.onItemError === 'collect' ? [] : childFailedWays(step)),
              {
                guard: 'isLastChild',
                target: 'routing',
                actions: ['countChild', journal('child.finished'), journal('run.resumed')],
              },
              { actions: ['countChild', journal('child.finished'), 'startChildren'] },
            ],
            'children.started': { actions: noteStarted },
            'timer.due': { actions: ['startChildren'] },
          },
        },
        routing: routingPhase(step),
        ending: endingPhase,
      };
    }
    case 'succeed':
      return { opening: { entry: ['open'], on: { 'run.succeeded': SUCCEEDED } } };
    case 'fail':
      return { opening: { entry: ['open'] } };
    default:
      return step satisfies never;
  }
};

/** The ways of a step that a failed child fails. */
const childFailedWays = ({ id, onError }: ChildStep): readonly Way[] =>
  errorWays(id, onError, ['countChild', journal('child.finished'), journal('run.resumed'), journal('step.failed')]).map(
    (way): Way => ({ ...way, guard: childFailedAnd(way.guard) }),
  );

/** A child that ended well carries no error, so a guard on its class or code is enough; the last way needs one of its own. */
const childFailedAnd = (guard: Way['guard']): NonNullable<Way['guard']> => guard ?? 'childFailed';

/** A step as a state, its phases below it. */
export const stepNode = (step: Step): object => ({
  meta: { step: step.id, kind: step.kind },
  entry: [{ type: 'enterStep', params: { step: step.id } }, journal('cursor.moved')],
  exit: [{ type: 'leaveStep', params: { step: step.id } }],
  initial: 'opening',
  states: phases(step),
  on: { 'step.failed': errorWays(step.id, leadsOn(step) ? step.onError : [], [journal('step.failed')]) },
});
