/**
 * What `/metrics` exposes, since the process started. The composition root makes one object and hands it to all code
 * that counts. @see Interface specification, "Operational endpoints"
 */
export type Counters = {
  signalsAccepted: number;
  signalsRejected: number;
  batchesDuplicate: number;
  tracesSampledOut: number;
  signalsOverQuota: number;
  signalsUnbounded: number;
  ingestRequests: number;
  queryRequests: number;
  requestErrors: number;
  /** Signals written whose times are in another unit than nanoseconds, or too early, or the wrong way round. */
  timesInSeconds: number;
  timesInMilliseconds: number;
  timesInMicroseconds: number;
  timesBefore2000: number;
  endsBeforeStart: number;
  auditWriteFailures: number;
  /** Accepted spans that forwarding could not deliver. */
  forwardDropped: number;
  /** Transitions of monitors and SLOs that the runs store did not take in time. */
  watchTransitionsDropped: number;
  /** Runs that were quarantined: this release cannot load them, or a row of them is damaged. */
  runsQuarantined: number;
  /** Reads refused because the answers under way filled their room. */
  answersRefused: number;
  /** Connections cut because their reader took nothing, or too little, of what waited for it. */
  slowReadersCut: number;
  /** Connections closed as they came, because there was no room for them. */
  connectionsRefused: number;
  /** Connections cut while they were idle, to make room for others. */
  idleConnectionsCut: number;
};

export const createCounters = (): Counters => ({
  signalsAccepted: 0,
  signalsRejected: 0,
  batchesDuplicate: 0,
  tracesSampledOut: 0,
  signalsOverQuota: 0,
  signalsUnbounded: 0,
  ingestRequests: 0,
  queryRequests: 0,
  requestErrors: 0,
  timesInSeconds: 0,
  timesInMilliseconds: 0,
  timesInMicroseconds: 0,
  timesBefore2000: 0,
  endsBeforeStart: 0,
  auditWriteFailures: 0,
  forwardDropped: 0,
  watchTransitionsDropped: 0,
  runsQuarantined: 0,
  answersRefused: 0,
  slowReadersCut: 0,
  connectionsRefused: 0,
  idleConnectionsCut: 0,
});
