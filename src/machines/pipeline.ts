import { setup } from 'xstate';

export type PipelineEvent =
  | { readonly type: 'request.entered' }
  /** A request found no room between arrival and answer. */
  | { readonly type: 'request.refused' }
  /** Nobody has been inside for a while. */
  | { readonly type: 'requests.none' }
  | { readonly type: 'drain.began' }
  | { readonly type: 'drain.ended' };

export const PIPELINE_MACHINE_VERSION = 1;

/** The life of the ingest pipeline. */
export const pipelineMachine = setup({
  types: { events: {} as PipelineEvent },
}).createMachine({
  id: 'pipeline',
  initial: 'idle',
  context: {},
  states: {
    idle: {
      description: 'No request is on its way, nor was a moment ago.',
      on: { 'request.entered': 'accepting', 'request.refused': 'full', 'drain.began': 'draining' },
    },
    accepting: {
      description: 'Requests are on their way to the store, and there is room for more.',
      on: { 'request.refused': 'full', 'requests.none': 'idle', 'drain.began': 'draining' },
    },
    full: {
      description: 'The request that came last found no room and was refused with 429. Ends when one is let in.',
      on: { 'request.entered': 'accepting', 'requests.none': 'idle', 'drain.began': 'draining' },
    },
    draining: {
      description: 'The service stops: what was let in is written.',
      on: { 'drain.ended': 'closed' },
    },
    closed: { type: 'final', description: 'Everything that was let in is written.' },
  },
});
