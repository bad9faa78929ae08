import { assign, setup, type SnapshotFrom } from 'xstate';
import type { Migration } from './persisted.ts';

/**
 * One key in use. A key of a concurrency has holders, a key of a rate has starts that still count; both are *used* places.
 * @see Interface decisions, section 13, "Keys in a definition"
 */
export type LimitContext = {
  /** Places there are. */
  readonly limit: number;
  /** Places that are taken: holders, or starts that still count. May pass the limit where a new version lowered it. */
  readonly used: number;
  /** Runs that wait and need this key, be it for another key that they need as well. */
  readonly waiting: number;
  /** Lines of runs that wait for a place here. Runs that need the same keys stand in one line. */
  readonly lines: number;
};

export type LimitEvent =
  /** A run took a place. `used` is what is taken then. */
  | { readonly type: 'place.taken'; readonly used: number }
  /** A holder ended, or starts left the window. */
  | { readonly type: 'place.freed'; readonly used: number }
  /** A run joined a line; `opens` where it is the first of a line that waits for a place here. */
  | { readonly type: 'run.joined'; readonly opens: boolean }
  /** A run left its line, admitted or not; `closes` where that was the last of a line that waits for a place here. */
  | { readonly type: 'run.left'; readonly closes: boolean }
  /** A line waits for a place here, or for another key from now on. */
  | { readonly type: 'line.parked' }
  | { readonly type: 'line.moved' }
  /** A later version of the definition has another limit. */
  | { readonly type: 'limit.set'; readonly limit: number };

/**
 * The version of this machine. It goes up when stored states or columns no longer mean what they meant, and a migration then
 * carries them over. @see `machines/persisted.ts`
 */
export const LIMIT_MACHINE_VERSION = 1;

/** From the version they start from. None yet: version 1 is the first. */
export const limitMigrations: ReadonlyMap<number, Migration> = new Map();

const counted = (context: LimitContext, event: LimitEvent): LimitContext => {
  switch (event.type) {
    case 'place.taken':
    case 'place.freed':
      return { ...context, used: event.used };
    case 'run.joined':
      return { ...context, waiting: context.waiting + 1, lines: context.lines + (event.opens ? 1 : 0) };
    case 'run.left':
      return { ...context, waiting: context.waiting - 1, lines: context.lines - (event.closes ? 1 : 0) };
    case 'line.parked':
      return { ...context, lines: context.lines + 1 };
    case 'line.moved':
      return { ...context, lines: context.lines - 1 };
    case 'limit.set':
      return { ...context, limit: event.limit };
    default:
      return event satisfies never;
  }
};

const limitSetup = setup({
  types: { context: {} as LimitContext, events: {} as LimitEvent },
  guards: {
    isLeft: ({ context, event }) => {
      const { used, waiting } = counted(context, event);
      return used === 0 && waiting === 0;
    },
    isTaken: ({ context, event }) => {
      const { used, limit } = counted(context, event);
      return used >= limit;
    },
    mayAdmit: ({ context, event }) => counted(context, event).lines > 0,
  },
  actions: { count: assign(({ context, event }) => counted(context, event)) },
});

const next = [
  { guard: 'isLeft', target: 'gone', actions: 'count' },
  { guard: 'isTaken', target: 'full', actions: 'count' },
  { guard: 'mayAdmit', target: 'admitting', actions: 'count' },
  { target: 'free', actions: 'count' },
] as const;
const onAny = {
  'place.taken': next,
  'place.freed': next,
  'run.joined': next,
  'run.left': next,
  'line.parked': next,
  'line.moved': next,
  'limit.set': next,
} as const;

export const limitMachine = limitSetup.createMachine({
  id: 'limit',
  description: 'One key in use: who holds it, how many began in its window, and who waits for it.',
  initial: 'unused',
  context: { limit: 0, used: 0, waiting: 0, lines: 0 },
  states: {
    unused: {
      description: 'Before its first run. Never stored.',
      on: { 'limit.set': { target: 'free', actions: 'count' } },
    },
    free: { description: 'There is a place, and nobody waits for it.', on: onAny },
    full: { description: 'Every place is taken: who comes now waits, or is refused.', on: onAny },
    admitting: { description: 'There is a place, and the first in line is admitted next.', on: onAny },
    gone: { description: 'Nobody holds it, nobody waits, no start counts. Its row goes.', type: 'final' },
  },
});

export type LimitSnapshot = SnapshotFrom<typeof limitMachine>;
/** The states that are stored. */
export type LimitState = 'free' | 'full' | 'admitting';
