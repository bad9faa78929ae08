import type { AnyStateMachine } from 'xstate';
import { LEASE_MACHINE_VERSION, leaseMachine } from './lease.ts';
import { MONITOR_MACHINE_VERSION, monitorMachine } from './monitor.ts';
import { SLO_MACHINE_VERSION, sloMachine } from './slo.ts';

/** A statechart and the version of its snapshots. Its id is the name under which it is shown. */
export type VersionedMachine = { readonly machine: AnyStateMachine; readonly version: number };

/** The service's own statecharts, by name. Those of runs are compiled from definitions. */
export const ownMachines: readonly VersionedMachine[] = [
  { machine: leaseMachine, version: LEASE_MACHINE_VERSION },
  { machine: monitorMachine, version: MONITOR_MACHINE_VERSION },
  { machine: sloMachine, version: SLO_MACHINE_VERSION },
];
