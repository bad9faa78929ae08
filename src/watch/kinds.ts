import type { AnyStateMachine } from 'xstate';
import { MONITOR_MACHINE_VERSION, monitorMachine } from '../machines/monitor.ts';
import { SLO_MACHINE_VERSION, sloMachine } from '../machines/slo.ts';
import type { UnixMs } from '../model/run.ts';
import type { Monitor, MonitorReading, ReportedCondition, Slo, SloReading, WatchType } from '../model/watch.ts';
import { describeMonitor, describeSlo, monitorReport, sloReport, type WatchReport } from './report.ts';

/** What differs between monitors and SLOs. */
export type WatchKind<Definition, Reading> = {
  readonly type: WatchType;
  readonly machine: AnyStateMachine;
  readonly machineVersion: number;
  /** The part of a definition that the machine is born with. */
  readonly ruleOf: (definition: Definition) => object;
  readonly describe: (definition: Definition, reading: Reading) => string;
  readonly reportOf: (
    definition: Definition,
    reading: Reading,
    condition: ReportedCondition,
    at: UnixMs,
  ) => WatchReport;
};

export const monitorKind: WatchKind<Monitor, MonitorReading> = {
  type: 'monitor',
  machine: monitorMachine,
  machineVersion: MONITOR_MACHINE_VERSION,
  ruleOf: ({ compare, threshold, minSamples }) => ({ compare, threshold, minSamples }),
  describe: describeMonitor,
  reportOf: monitorReport,
};

export const sloKind: WatchKind<Slo, SloReading> = {
  type: 'slo',
  machine: sloMachine,
  machineVersion: SLO_MACHINE_VERSION,
  ruleOf: ({ objective, minSamples }) => ({ objective, minSamples }),
  describe: describeSlo,
  reportOf: sloReport,
};
