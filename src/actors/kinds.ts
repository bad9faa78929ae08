import { checkInput as checkInputOf } from '../model/definition/input-schema/check-input.ts';
import type { Result } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import type { ReportedUsage, UnixMs } from '../model/run.ts';
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
  readonly steady: () => UnixMs;
  readonly queueTime: () => number;
  readonly dispatcher: Pick<Dispatcher, 'ready' | 'unservable'>;
  readonly followers: Pick<Followers, 'wake'>;
  readonly leases: Pick<LeaseWatch, 'watch' | 'unwatch'>;
  readonly maxDescendants: number;
  readonly leaseTtlMs: number;
  readonly reclaimWindowMs: number;
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  /** Rows were committed to the outbox. */
  readonly outboxed: () => void;
  /** What follows at once, in a commit of its own. It may get lost: a timer row stands for it. */
  readonly send: (message: Message) => Promise<unknown>;
}): readonly ActorKind[] => {
  const { programs, nextOutboxNo, nextOrder, outboxed, dispatcher, leases } = host;
  const checkInput = (program: Program, input: Json): Result<Json | undefined> =>
    checkInputOf(program.definition, input);
  /** Timers whose message is on its way, and when those are due that came due again before it was taken. */
  const onTheirWay = new Set<string>();
  const dueAgain = new Map<string, number>();
  const fire = (runId: string, name: string, dueAt: number): void => {
    const timer = `${runId}/${name}`;
    // A commit without room sends a timer on to the next. Each second adds a look at the same row: one message a timer is enough.
    if (onTheirWay.has(timer)) {
      dueAgain.set(timer, dueAt);
      return;
    }
    onTheirWay.add(timer);
    const body: RunMessage = { kind: 'timer', name, dueAt };
    void host.send({ type: 'run', id: runId, body }).finally(() => {
      onTheirWay.delete(timer);
      const again = dueAgain.get(timer);
      dueAgain.delete(timer);
      if (again !== undefined) fire(runId, name, again);
    });
  };
  return [
    createRunActors({
      programs,
      checkInput,
      maxDescendants: host.maxDescendants,
      nextOutboxNo,
      nextOrder,
      steady: host.steady,
      queueTime: host.queueTime,
      outboxed,
      ready: dispatcher.ready,
      due: ({ runId, name, dueAt }) => fire(runId, name, dueAt),
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
