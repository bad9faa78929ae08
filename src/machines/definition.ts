import { assign, setup, type SnapshotFrom } from 'xstate';
import type { UnixMs } from '../model/run.ts';
import type { Migration } from './persisted.ts';

export type DefinitionContext = { readonly pausedAt?: UnixMs | undefined; readonly reason?: string | undefined };

export type DefinitionEvent =
  | { readonly type: 'definition.paused'; readonly at: UnixMs; readonly reason?: string }
  | { readonly type: 'definition.resumed'; readonly at: UnixMs };

export const DEFINITION_MACHINE_VERSION = 1;
/** From the version they start from. None yet: version 1 is the first. */
export const definitionMigrations: ReadonlyMap<number, Migration> = new Map();

const notPaused: DefinitionContext = {};

/** Whether runs of a definition, in whatever version, begin and are offered. @see Interface decisions, section 13, "Pause" */
export const definitionMachine = setup({
  types: { context: notPaused, events: {} as DefinitionEvent },
  actions: {
    notePause: assign(({ event }) =>
      event.type === 'definition.paused' ? { pausedAt: event.at, reason: event.reason } : {},
    ),
    endPause: assign({ pausedAt: undefined, reason: undefined }),
  },
}).createMachine({
  id: 'definition',
  initial: 'active',
  context: notPaused,
  states: {
    active: {
      description: 'Runs begin, and their steps are offered.',
      on: { 'definition.paused': { target: 'paused', actions: ['notePause'] } },
    },
    paused: {
      description: 'Starts are taken and stay queued; no step of its runs is offered.',
      on: { 'definition.resumed': { target: 'active', actions: ['endPause'] } },
    },
  },
});
export type DefinitionSnapshot = SnapshotFrom<typeof definitionMachine>;
