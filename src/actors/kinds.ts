import { checkInput as checkInputOf } from '../model/definition/input-schema/check-input.ts';
import type { Result } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import type { ReportedUsage } from '../model/run.ts';
import type { Cost } from '../model/span.ts';
import { definitionActor } from './definition/definition-actor.ts';
import { createEventActor } from './event/event-actor.ts';
import type { Message } from './kernel/message.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import { createLeaseActors } from './lease/lease-actor.ts';
import type { RunMessage } from './run/messages.ts';
import type { Program, Programs } from './run/program.ts';
import { createRunActors } from './run/run-actor.ts';
import { createStartActor } from './run/start-actor.ts';
import type { ActorKind } from './runs-kernel.ts';
import type { Followers } from './service/follow-journal.ts';
import { upkeepActor } from './upkeep-actor.ts';
import type { Dispatcher } from './workers/dispatcher.ts';
import { createWorkerActors } from './workers/worker-actor.ts';

/** Every kind of actor whose changes the kernel commits. */
export const createKinds = (host: {
  readonly programs: Programs;
  readonly nextOutboxNo: () => number;
  readonly nextOrder: () => number;
  readonly dispatcher: Pick<Dispatcher, 'ready' | 'unservable'>;
  readonly followers: Pick<Followers, 'wake'>;
  readonly leases: Pick<LeaseWatch, 'watch' | 'unwatch'>;
  readonly leaseTtlMs: number;
  readonly reclaimWindowMs: number;
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  /** Rows were committed to the outbox. */
  readonly outboxed: () => void;
  /** What follows at once, in a commit of its own. It may get lost: a timer row stands for it. */
  readonly send: (message: Message) => void;
}): readonly ActorKind[] => {
  const { programs, nextOutboxNo, nextOrder, outboxed, dispatcher, leases } = host;
  const checkInput = (program: Program, input: Json): Result<Json | undefined> =>
    checkInputOf(program.definition, input);
  return [
    createRunActors({
      programs,
      checkInput,
      nextOutboxNo,
      nextOrder,
      outboxed,
      ready: dispatcher.ready,
      due: ({ runId, name, dueAt }) => {
        const body: RunMessage = { kind: 'timer', name, dueAt };
        host.send({ type: 'run', id: runId, body });
      },
      journalled: host.followers.wake,
    }),
    createLeaseActors({
      programs,
      leaseTtlMs: host.leaseTtlMs,
      reclaimWindowMs: host.reclaimWindowMs,
      nextOutboxNo,
      outboxed,
      price: host.price,
      watch: leases.watch,
      unwatch: leases.unwatch,
      unservable: dispatcher.unservable,
    }),
    createEventActor({ programs, nextOrder }),
    createStartActor({ programs, checkInput }),
    createWorkerActors(),
    definitionActor,
    upkeepActor,
  ];
};
