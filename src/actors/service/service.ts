import type { RestartSlices } from '../bulk/restart-slices.ts';
import type { UnixMs } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { PausedDefinitions } from '../definition/paused-definitions.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { LeaseWatch } from '../lease/deadlines.ts';
import type { Programs } from '../run/program.ts';
import type { UpkeepMessage } from '../upkeep-actor.ts';
import type { Dispatcher } from '../workers/dispatcher.ts';
import type { LiveWorkers } from '../workers/live-workers.ts';
import type { WorkerRegistry } from '../workers/registry.ts';
import { type ActorSource, createActorDirectory } from './actor-directory.ts';
import { createRunAdministration } from './administration.ts';
import { createReading } from './reading.ts';
import { createRestarts } from './restarts.ts';
import type { Calls } from './calls.ts';
import { createDefinitionCommands } from './definition-commands.ts';
import { createDefinitionQueries } from './definition-queries.ts';
import { createEventQueries } from './event-queries.ts';
import type { Followers } from './follow-journal.ts';
import { createLimitQueries } from './limit-queries.ts';
import { createMachineDirectory } from './machine-directory.ts';
import { createRunCommands } from './run-commands.ts';
import { createRunQueries } from './run-queries.ts';
import { createBulkCommands } from './bulk-commands.ts';
import { createScheduleCommands } from './schedule-commands.ts';
import { createScheduleQueries } from './schedule-queries.ts';
import type { LeaseTimes, RunsService } from './runs-service.ts';
import { createStalledRuns } from './stalled-runs.ts';
import type { StoredRuns } from './stored-runs.ts';
import { createWorkerCommands } from './worker-commands.ts';
import { createWorkerQueries } from './worker-queries.ts';
import type { Damaged } from '../run/quarantined.ts';

/** Puts the service together of its parts, a file each. */
export const createService = (host: {
  readonly store: RunStore;
  readonly kernel: Kernel;
  readonly calls: Calls;
  readonly upkeep: (body: UpkeepMessage) => Promise<unknown>;
  readonly programs: Programs;
  readonly storedRuns: StoredRuns;
  readonly followers: Followers;
  readonly damaged: (damage: Damaged) => void;
  readonly dispatcher: Dispatcher;
  readonly registry: WorkerRegistry;
  readonly leases: LeaseWatch;
  readonly liveWorkers: LiveWorkers;
  readonly pausedDefinitions: PausedDefinitions;
  readonly restartSlices: Pick<RestartSlices, 'halt'>;
  readonly now: () => UnixMs;
  readonly wallOf: (steady: UnixMs) => UnixMs;
  readonly newId: () => string;
  readonly steady: () => UnixMs;
  readonly defer: (callback: () => void) => void;
  readonly leaseTimes: LeaseTimes;
  readonly actors: readonly ActorSource[];
  readonly flushOutbox: () => Promise<void>;
  readonly closing: AbortSignal;
  /** Of leases memory knows those of its own kernel: none, where the store is only read. */
  readonly moves: boolean;
}): Omit<RunsService, 'close'> => ({
  ...createWorkerCommands(host),
  ...createRunCommands({ ...host, reading: createReading(host.damaged), restarts: createRestarts(host) }),
  ...createRunQueries({ ...host, reading: createReading(host.damaged) }),
  ...createEventQueries(host),
  ...createBulkCommands(host),
  ...createScheduleCommands(host),
  ...createScheduleQueries(host),
  ...createDefinitionCommands(host),
  ...createDefinitionQueries(host),
  ...createWorkerQueries({ ...host, held: host.moves ? host.leases.held : undefined }),
  ...createLimitQueries(host),
  ...createStalledRuns(host),
  ...createActorDirectory(host.actors),
  ...createMachineDirectory(host.store, host.programs),
  ...createRunAdministration(host),
  ping: () => host.store.ping(),
});
