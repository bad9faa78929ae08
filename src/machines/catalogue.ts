import { BULK_MACHINE_VERSION, bulkMachine } from './bulk.ts';
import { DEFINITION_MACHINE_VERSION, definitionMachine } from './definition.ts';
import { DISPATCHER_MACHINE_VERSION, dispatcherMachine } from './dispatcher.ts';
import { LEASE_MACHINE_VERSION, leaseMachine } from './lease.ts';
import { LIMIT_MACHINE_VERSION, limitMachine } from './limit.ts';
import { MONITOR_MACHINE_VERSION, monitorMachine } from './monitor.ts';
import { OUTBOX_MACHINE_VERSION, outboxMachine } from './outbox.ts';
import { PIPELINE_MACHINE_VERSION, pipelineMachine } from './pipeline.ts';
import type { VersionedMachine } from './persisted.ts';
import { SCHEDULE_MACHINE_VERSION, scheduleMachine } from './schedule.ts';
import { SLO_MACHINE_VERSION, sloMachine } from './slo.ts';
import { TIMER_MACHINE_VERSION, timerMachine } from './timer.ts';

/** The service's own statecharts, by name. Those of runs are compiled from definitions. */
export const ownMachines: readonly VersionedMachine[] = [
  { machine: bulkMachine, version: BULK_MACHINE_VERSION },
  { machine: definitionMachine, version: DEFINITION_MACHINE_VERSION },
  { machine: dispatcherMachine, version: DISPATCHER_MACHINE_VERSION },
  { machine: leaseMachine, version: LEASE_MACHINE_VERSION },
  { machine: limitMachine, version: LIMIT_MACHINE_VERSION },
  { machine: monitorMachine, version: MONITOR_MACHINE_VERSION },
  { machine: outboxMachine, version: OUTBOX_MACHINE_VERSION },
  { machine: pipelineMachine, version: PIPELINE_MACHINE_VERSION },
  { machine: scheduleMachine, version: SCHEDULE_MACHINE_VERSION },
  { machine: sloMachine, version: SLO_MACHINE_VERSION },
  { machine: timerMachine, version: TIMER_MACHINE_VERSION },
];
