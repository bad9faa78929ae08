import { hasEnded } from '../../model/run.ts';
import type { EventMessage } from '../event/messages.ts';
import type { Message } from '../kernel/message.ts';
import type { RunMessage } from '../run/messages.ts';
import type { RunActor } from '../run/run-state.ts';
import type { BulkAction } from './messages.ts';

/** A run that has ended refuses it. */
const steer =
  (kind: 'pause' | 'resume') =>
  ({ record: { runId } }: RunActor, { reason }: { readonly reason?: string }): Message => {
    const body: RunMessage = { kind, ...(reason === undefined ? {} : { reason }) };
    return { type: 'run', id: runId, body };
  };

/** What a turn can do by itself: what a restart begins with is read before its turn (`restart-slices.ts`). */
export type TurnAction = Exclude<BulkAction, { readonly action: 'restart' }>;
type Of<A extends TurnAction['action']> = TurnAction & { readonly action: A };

/**
 * The message by which a run takes each action: that of the call for one run, so that both decide alike. Nothing where the single call would
 * answer without doing anything.
 */
const messages: {
  readonly [A in TurnAction['action']]: (run: RunActor, work: Of<A>, keyPrefix: string) => Message | undefined;
} = {
  cancel: ({ record: { runId, status } }, { reason }) => {
    if (hasEnded(status)) return undefined;
    const body: RunMessage = { kind: 'cancel', ...(reason === undefined ? {} : { reason }) };
    return { type: 'run', id: runId, body };
  },
  pause: steer('pause'),
  resume: steer('resume'),
  signal: ({ record: { runId, project } }, { event, payload }, keyPrefix) => {
    const body: EventMessage = {
      kind: 'signal',
      runId,
      reach: [project],
      event,
      payload,
      eventId: `${keyPrefix}${runId}`,
    };
    return { type: 'event', id: project, body };
  },
};

export const messageOf = (run: RunActor, work: TurnAction, keyPrefix: string): Message | undefined =>
  (messages[work.action] as (run: RunActor, work: TurnAction, keyPrefix: string) => Message | undefined)(
    run,
    work,
    keyPrefix,
  );
