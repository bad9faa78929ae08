import { setup } from 'xstate';

/** What holds of the claims now: none waits, some wait, or some are in a commit that gives them something. */
export type DispatcherEvent =
  | { readonly type: 'claims.none' }
  | { readonly type: 'claims.waiting' }
  | { readonly type: 'offers.made' };

export const DISPATCHER_MACHINE_VERSION = 1;

/** The life of the dispatcher, which matches claims with runnable steps. @see Interface decisions, "Worker protocol" */
export const dispatcherMachine = setup({
  types: { events: {} as DispatcherEvent },
}).createMachine({
  id: 'dispatcher',
  initial: 'idle',
  context: {},
  states: {
    idle: {
      description: 'No claim waits.',
      on: { 'claims.waiting': 'waiting', 'offers.made': 'matching' },
    },
    waiting: {
      description: 'Claims wait, and there is no step that they may have.',
      on: { 'claims.none': 'idle', 'offers.made': 'matching' },
    },
    matching: {
      description: 'Claims get steps in the commit in hand; they are answered when it has landed.',
      on: { 'claims.none': 'idle', 'claims.waiting': 'waiting' },
    },
  },
});
