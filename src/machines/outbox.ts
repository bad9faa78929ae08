import { assign, setup } from 'xstate';
import type { FaultNote } from '../model/failure.ts';
import type { UnixMs } from '../model/run.ts';

/** What one drain of the outbox sent. */
export type OutboxTurn = { readonly at: UnixMs; readonly durationMs: number; readonly rows: number };
type OutboxContext = {
  readonly lastTurn?: OutboxTurn;
  /** Failures since a drain last ended well. */
  readonly failures: number;
  readonly lastFault?: FaultNote;
  /** When it tries again. */
  readonly retryAt?: UnixMs | undefined;
};
type OutboxEvent =
  | { readonly type: 'rows.written' }
  | { readonly type: 'turn.began' }
  | { readonly type: 'turn.ended'; readonly turn: OutboxTurn }
  | { readonly type: 'turn.failed'; readonly fault: FaultNote; readonly retryAt: UnixMs };

export const OUTBOX_MACHINE_VERSION = 1;

/** The life of the outbox, which brings the spans of runs into the trace store. */
export const outboxMachine = setup({
  types: { context: {} as OutboxContext, events: {} as OutboxEvent },
  actions: {
    noteTurn: assign(({ event }) => (event.type === 'turn.ended' ? { lastTurn: event.turn, failures: 0 } : {})),
    noteFailure: assign(({ context, event }) =>
      event.type === 'turn.failed'
        ? { failures: context.failures + 1, lastFault: event.fault, retryAt: event.retryAt }
        : {},
    ),
    forgetRetry: assign({ retryAt: undefined }),
  },
}).createMachine({
  id: 'outbox',
  initial: 'idle',
  context: { failures: 0 },
  states: {
    idle: {
      description: 'Every span that was committed is in the trace store.',
      on: { 'rows.written': 'gathering', 'turn.began': 'sending' },
    },
    gathering: {
      description: 'Spans wait a moment for others: one batch for many.',
      on: { 'turn.began': 'sending' },
    },
    sending: {
      description: 'A batch is on its way into the trace store; its rows go when it is there.',
      on: {
        'turn.ended': { target: 'idle', actions: 'noteTurn' },
        'turn.failed': { target: 'backing_off', actions: 'noteFailure' },
      },
    },
    backing_off: {
      description: 'The last batch could not be written. It is sent again later, after ever longer rests.',
      exit: 'forgetRetry',
      on: { 'turn.began': 'sending' },
    },
  },
});
