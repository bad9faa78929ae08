import { assign, setup, type SnapshotFrom } from 'xstate';
import type { UnixMs } from '../model/run.ts';
import type { Migration } from './persisted.ts';

export type BulkContext = {
  /** Runs that matched when it was asked for. */
  readonly count: number;
  readonly done: number;
  /** Runs that did not take the action. */
  readonly refused: number;
  /** The last run that was looked at: the next slice begins beyond it. */
  readonly after: string;
  readonly startedAt: UnixMs;
  readonly endedAt?: UnixMs;
};
export type BulkEvent =
  | { readonly type: 'bulk.begun'; readonly at: UnixMs; readonly count: number }
  /** One slice was taken in this commit. Without `after` it was the last. */
  | {
      readonly type: 'slice.taken';
      readonly at: UnixMs;
      readonly done: number;
      readonly refused: number;
      readonly after?: string;
    }
  | { readonly type: 'bulk.stopped'; readonly at: UnixMs };

export const BULK_MACHINE_VERSION = 1;
/** From the version they start from. None yet: version 1 is the first. */
export const bulkMigrations: ReadonlyMap<number, Migration> = new Map();

/**
 * The life of an action on many runs: slice by slice, each in a commit of its own.
 * @see Interface decisions, section 13, "Many at once"
 */
export const bulkMachine = setup({
  types: { context: {} as BulkContext, events: {} as BulkEvent },
  guards: { isLast: ({ event }) => event.type === 'slice.taken' && event.after === undefined },
  actions: {
    begin: assign(({ event }) => (event.type === 'bulk.begun' ? { count: event.count, startedAt: event.at } : {})),
    countSlice: assign(({ context, event }) =>
      event.type === 'slice.taken'
        ? {
            done: context.done + event.done,
            refused: context.refused + event.refused,
            ...(event.after === undefined ? {} : { after: event.after }),
          }
        : {},
    ),
    noteEnd: assign(({ event }) => ({ endedAt: event.at })),
    // Intents: the host sets the timer of the next slice, and the one by which what has ended goes.
    goOn: () => {},
    expire: () => {},
  },
}).createMachine({
  id: 'bulk',
  initial: 'asked',
  context: { count: 0, done: 0, refused: 0, after: '', startedAt: 0 },
  states: {
    asked: {
      description: 'Before its runs were counted. Never stored.',
      on: { 'bulk.begun': { target: 'running', actions: ['begin', 'goOn'] } },
    },
    running: {
      description: 'Slices are taken, one a commit.',
      on: {
        'slice.taken': [
          { guard: 'isLast', target: 'done', actions: ['countSlice', 'noteEnd', 'expire'] },
          { actions: ['countSlice', 'goOn'] },
        ],
        'bulk.stopped': { target: 'stopped', actions: ['noteEnd', 'expire'] },
      },
    },
    done: { type: 'final', description: 'Every run that matched was looked at.' },
    stopped: { type: 'final', description: 'A call ended it; what was done stays done.' },
  },
});

export type BulkSnapshot = SnapshotFrom<typeof bulkMachine>;
