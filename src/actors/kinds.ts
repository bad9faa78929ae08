import { checkInput as checkInputOf } from '../model/definition/input-schema/check-input.ts';
import type { Result } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import type { ReportedUsage } from '../model/run.ts';
import type { Cost } from '../model/span.ts';
import { createBulkActors } from './bulk/bulk-actor.ts';
import type { RestartSlices } from './bulk/restart-slices.ts';
import type { CarriedOver } from './carried-over.ts';
import { createDefinitionActors } from './definition/definition-actor.ts';
import type { PausedDefinitions } from './definition/paused-definitions.ts';
import { createEventActor } from './event/event-actor.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import { createLeaseActors } from './lease/lease-actor.ts';
import type { KeysInUse } from './limit/keys-in-use.ts';
import { createLimitActors } from './limit/limit-actor.ts';
import type { LimitHost } from './limit/limit-state.ts';
import type { Program, Programs } from './run/program.ts';
import { createRestartActor } from './run/restart-actor.ts';
import { createRunActors } from './run/run-actor.ts';
import { createStartActor } from './run/start-actor.ts';
import type { ActorKind } from './runs-kernel.ts';
import { createScheduleActors } from './schedule/schedule-actor.ts';
import type { Followers } from './service/follow-journal.ts';
import { upkeepActor } from './upkeep-actor.ts';
import type { Dispatcher } from './workers/dispatcher.ts';
import { createWorkerActors } from './workers/worker-actor.ts';

/** Every kind of actor whose changes the kernel commits. */
export const createKinds = (host: {
  readonly programs: Programs;
  readonly nextOutboxNo: () => number;
  readonly orderIsBack: (order: number) => void;
  readonly queueTime: () => number;
  readonly dispatcher: Pick<Dispatcher, 'ready' | 'unservable'>;
  readonly followers: Pick<Followers, 'wake'>;
  readonly leases: Pick<LeaseWatch, 'watch' | 'unwatch'>;
  readonly pausedDefinitions: Pick<PausedDefinitions, 'set' | 'holds'>;
  readonly definitionResumed: (definition: string) => void;
  readonly maxDescendants: number;
  readonly leaseTtlMs: number;
  readonly reclaimWindowMs: number;
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  readonly quarantined: (runId: string, fault: string) => void;
  readonly scheduleQuarantined: (scheduleId: string, fault: string) => void;
  /** Rows were committed to the outbox. */
  readonly outboxed: () => void;
  readonly carriedOver: Pick<CarriedOver, 'add' | 'addFirst'>;
  /** Restarts the runs of bulk actions. */
  readonly restarts: Pick<RestartSlices, 'take'>;
  /** What keys need. */
  readonly limits: LimitHost;
  readonly keysInUse: Pick<KeysInUse, 'actor'>;
}): readonly ActorKind[] => {
  const { programs, nextOutboxNo, limits, outboxed, dispatcher, leases } = host;
  const checkInput = (program: Program, input: Json): Result<Json | undefined> =>
    checkInputOf(program.definition, input);
  return [
    createRunActors({
      programs,
      checkInput,
      isDefinitionPaused: host.pausedDefinitions.holds,
      maxDescendants: host.maxDescendants,
      nextOutboxNo,
      ...limits,
      orderIsBack: host.orderIsBack,
      queueTime: host.queueTime,
      outboxed,
      quarantined: host.quarantined,
      ready: dispatcher.ready,
      carriedOver: host.carriedOver,
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
    createEventActor({ programs, nextOrder: limits.nextOrder }),
    createStartActor({ programs, checkInput, ...limits }),
    createRestartActor({ programs, checkInput, ...limits }),
    createBulkActors({
      programs,
      carriedOver: host.carriedOver,
      restarts: host.restarts,
    }),
    createScheduleActors({
      programs,
      checkInput,
      ...limits,
      quarantined: host.scheduleQuarantined,
    }),
    createLimitActors({ programs, ...limits }),
    host.keysInUse.actor,
    createWorkerActors(),
    createDefinitionActors({ paused: host.pausedDefinitions, resumed: host.definitionResumed }),
    upkeepActor,
  ];
};
