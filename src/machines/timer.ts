import { assign, setup } from 'xstate';
import type { FaultNote } from '../model/failure.ts';
import type { UnixMs } from '../model/run.ts';

/** What one look at the deadlines did. */
export type TimerTurn = {
  readonly at: UnixMs;
  readonly durationMs: number;
  /** Timers of runs that became messages, taken or not. */
  readonly timers: number;
  /** Leases past a deadline. */
  readonly leases: number;
};
type TimerContext = {
  /** Turns in a row that failed. */
  readonly failures: number;
  readonly lastTurn?: TimerTurn;
  readonly lastFault?: FaultNote;
};
type TimerEvent =
  | { readonly type: 'turn.began' }
  | { readonly type: 'turn.ended'; readonly turn: TimerTurn }
  | { readonly type: 'turn.failed'; readonly fault: FaultNote };

export const TIMER_MACHINE_VERSION = 1;

/** The life of the timer: each second it makes messages of what is due. */
export const timerMachine = setup({
  types: { context: {} as TimerContext, events: {} as TimerEvent },
  actions: {
    noteTurn: assign(({ event }) => (event.type === 'turn.ended' ? { lastTurn: event.turn, failures: 0 } : {})),
    noteFault: assign(({ context, event }) =>
      event.type === 'turn.failed' ? { lastFault: event.fault, failures: context.failures + 1 } : {},
    ),
  },
}).createMachine({
  id: 'timer',
  initial: 'idle',
  context: { failures: 0 },
  states: {
    idle: {
      description: 'Nothing is looked at until the next second.',
      on: { 'turn.began': 'firing' },
    },
    firing: {
      description: 'What is due goes to its actors; their turns are awaited.',
      on: {
        'turn.ended': { target: 'idle', actions: 'noteTurn' },
        'turn.failed': { target: 'idle', actions: 'noteFault' },
      },
    },
  },
});
