import { assign, setup, type SnapshotFrom } from 'xstate';
import type { UnixMs } from '../model/run.ts';
import type { Firing, FiringRecord, Overlap, SkipReason } from '../model/schedule/schedule.ts';
import type { Migration } from './persisted.ts';

/** Firings that are remembered to be shown. */
export const FIRINGS_KEPT = 10;
/** Open runs that are remembered. Only `allow` ever has more than one; of more the oldest are forgotten. */
export const RUNNING_KEPT = 100;

export type ScheduleContext = {
  readonly overlap: Overlap;
  /** The next nominal time, and when it fires. Absent when none will come; while paused, the first that was not dealt with. */
  readonly nextAt?: UnixMs | undefined;
  readonly dueAt?: UnixMs | undefined;
  /** Runs that it started and that have not ended, oldest first. */
  readonly running: readonly string[];
  /** The firing that waits for the end of the run before it. */
  readonly waiting?: Firing | undefined;
  /** The last ones, oldest first. */
  readonly firings: readonly FiringRecord[];
  readonly started: number;
  readonly skipped: number;
  readonly pausedAt?: UnixMs | undefined;
};

export type ScheduleEvent =
  /** A nominal time or a trigger is to start a run. */
  | { readonly type: 'schedule.fired'; readonly at: UnixMs; readonly firing: Firing }
  /** From the host: the run was started in this turn. */
  | { readonly type: 'firing.started'; readonly at: UnixMs; readonly firing: Firing; readonly runId: string }
  /** From the host: no run is started, for this reason. */
  | {
      readonly type: 'firing.skipped';
      readonly at: UnixMs;
      readonly firing: Firing;
      readonly reason: SkipReason;
      readonly runId?: string;
    }
  | { readonly type: 'run.ended'; readonly at: UnixMs; readonly runId: string }
  /** From the host, which computes times: what comes next. */
  | { readonly type: 'schedule.planned'; readonly nextAt?: UnixMs; readonly dueAt?: UnixMs }
  | { readonly type: 'schedule.paused'; readonly at: UnixMs }
  | { readonly type: 'schedule.resumed'; readonly at: UnixMs }
  | { readonly type: 'schedule.changed'; readonly overlap: Overlap };

export const SCHEDULE_MACHINE_VERSION = 1;
/** From the version they start from. None yet: version 1 is the first. */
export const scheduleMigrations: ReadonlyMap<number, Migration> = new Map();

const isLastOpen = ({ running }: ScheduleContext, event: ScheduleEvent): boolean =>
  event.type === 'run.ended' && running.every((runId) => runId === event.runId);

/**
 * The life of a schedule. It decides what a firing does while a run of it is open, and remembers what became of the last ones. When
 * it fires is computed by its host and handed in.
 * @see Interface decisions, section 13, "Schedules"
 */
export const scheduleMachine = setup({
  types: { context: {} as ScheduleContext, events: {} as ScheduleEvent },
  guards: {
    mayStart: ({ context }) =>
      context.overlap === 'allow' || (context.running.length === 0 && context.waiting === undefined),
    mayCancel: ({ context }) => context.overlap === 'cancel_running',
    mayWait: ({ context }) => context.overlap === 'queue' && context.waiting === undefined,
    mayStartWaiting: ({ context, event }) => context.waiting !== undefined && isLastOpen(context, event),
    /** A trigger works while the schedule is paused; a nominal time waits for the end of the pause. */
    mayStartWaitingTrigger: ({ context, event }) =>
      context.waiting?.triggerId !== undefined && isLastOpen(context, event),
    hasFreeWaiting: ({ context }) => context.waiting !== undefined && context.running.length === 0,
    hasNext: ({ event }) => event.type === 'schedule.planned' && event.nextAt !== undefined,
  },
  actions: {
    plan: assign(({ event }) =>
      event.type === 'schedule.planned' ? { nextAt: event.nextAt, dueAt: event.dueAt } : {},
    ),
    keepWaiting: assign(({ event }) => (event.type === 'schedule.fired' ? { waiting: event.firing } : {})),
    dropWaiting: assign({ waiting: undefined }),
    noteStarted: assign(({ context, event }) => {
      if (event.type !== 'firing.started') return {};
      const { at, firing, runId } = event;
      return {
        running: [...context.running, runId].slice(-RUNNING_KEPT),
        started: context.started + 1,
        firings: remembered(context, { ...firing, outcome: 'started', firedAt: at, runId }),
      };
    }),
    noteSkipped: assign(({ context, event }) => {
      if (event.type !== 'firing.skipped') return {};
      const { at, firing, reason, runId } = event;
      return {
        skipped: context.skipped + 1,
        firings: remembered(context, {
          ...firing,
          outcome: 'skipped',
          at,
          reason,
          ...(runId === undefined ? {} : { runId }),
        }),
      };
    }),
    skipForOverlap: assign(({ context, event }) => {
      if (event.type !== 'schedule.fired') return {};
      const { at, firing } = event;
      return {
        skipped: context.skipped + 1,
        firings: remembered(context, { ...firing, outcome: 'skipped', at, reason: 'overlap' }),
      };
    }),
    forgetRun: assign(({ context, event }) =>
      event.type === 'run.ended' ? { running: context.running.filter((runId) => runId !== event.runId) } : {},
    ),
    notePause: assign(({ event }) => (event.type === 'schedule.paused' ? { pausedAt: event.at } : {})),
    forgetPause: assign({ pausedAt: undefined }),
    setOverlap: assign(({ event }) => (event.type === 'schedule.changed' ? { overlap: event.overlap } : {})),
    // Intents: the host starts the run of the firing at hand, or of the one that waited, and cancels those that are open.
    startRun: () => {},
    startWaiting: () => {},
    cancelRunning: () => {},
  },
}).createMachine({
  id: 'schedule',
  initial: 'active',
  context: { overlap: 'skip', running: [], firings: [], started: 0, skipped: 0 },
  on: {
    'firing.started': { actions: 'noteStarted' },
    'firing.skipped': { actions: 'noteSkipped' },
    'schedule.changed': { actions: 'setOverlap' },
  },
  states: {
    active: {
      description: 'Its times fire.',
      on: {
        'schedule.fired': [
          { guard: 'mayStart', actions: 'startRun' },
          { guard: 'mayCancel', actions: ['cancelRunning', 'startRun'] },
          { guard: 'mayWait', actions: 'keepWaiting' },
          { actions: 'skipForOverlap' },
        ],
        'run.ended': [
          { guard: 'mayStartWaiting', actions: ['forgetRun', 'startWaiting', 'dropWaiting'] },
          { actions: 'forgetRun' },
        ],
        'schedule.planned': [
          { guard: 'hasNext', actions: 'plan' },
          { target: 'ended', actions: 'plan' },
        ],
        'schedule.paused': { target: 'paused', actions: 'notePause' },
      },
    },
    paused: {
      description: 'Its times are missed; a trigger still works.',
      on: {
        'schedule.fired': [
          { guard: 'mayStart', actions: 'startRun' },
          { guard: 'mayCancel', actions: ['cancelRunning', 'startRun'] },
          { guard: 'mayWait', actions: 'keepWaiting' },
          { actions: 'skipForOverlap' },
        ],
        'run.ended': [
          { guard: 'mayStartWaitingTrigger', actions: ['forgetRun', 'startWaiting', 'dropWaiting'] },
          { actions: 'forgetRun' },
        ],
        'schedule.planned': { actions: 'plan' },
        'schedule.resumed': [
          { guard: 'hasFreeWaiting', target: 'active', actions: ['forgetPause', 'startWaiting', 'dropWaiting'] },
          { target: 'active', actions: 'forgetPause' },
        ],
      },
    },
    ended: {
      description: 'No time will come any more. What it started goes on; a change that gives it times makes it active.',
      on: {
        'run.ended': [
          { guard: 'mayStartWaiting', actions: ['forgetRun', 'startWaiting', 'dropWaiting'] },
          { actions: 'forgetRun' },
        ],
        'schedule.planned': { guard: 'hasNext', target: 'active', actions: 'plan' },
      },
    },
  },
});

const remembered = ({ firings }: ScheduleContext, record: FiringRecord): readonly FiringRecord[] =>
  [...firings, record].slice(-FIRINGS_KEPT);

export type ScheduleSnapshot = SnapshotFrom<typeof scheduleMachine>;
