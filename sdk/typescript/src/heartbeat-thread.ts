// Body of the thread that sends declarations and heartbeats for leases whose own did not come: a body blocks the thread of all bodies.
import { workerData } from 'node:worker_threads';
import { heldLeasesIn } from './held-leases.ts';
import { createHttp } from './http.ts';
import { createStepCalls } from './step-calls.ts';
import type { HeartbeatThreadData } from './standby-heart.ts';

const { memory, heartbeatMs, leaseTtlMs, workerId, service } = workerData as HeartbeatThreadData;
const leases = heldLeasesIn(memory);
const calls = createStepCalls({ http: createHttp(service), workerId, claims: () => false, onLeases: () => {} });
const body = JSON.stringify({ worker_id: workerId });

/** A lease's own heart has so much more than its time, that two hearts do not beat side by side where processors are busy. */
const LATE_MS = Math.max(heartbeatMs / 4, 250);
/** In good time all the same. */
const silentMs = Math.min(heartbeatMs + LATE_MS, leaseTtlMs / 2);
/** A body that blocks its thread before its declaration left has it sent from here, long before the offer is over. */
const UNDECLARED_MS = 300;
const LOOK_MS = 100;
setInterval(() => {
  leases.forEachSilent({ beatMs: silentMs, declareMs: UNDECLARED_MS }, (leaseId, isDeclared, note) => {
    note(isDeclared);
    const verb = isDeclared ? 'heartbeat' : 'started';
    // What is refused, the lease's own calls find out when its thread is free again.
    calls.make({ verb, leaseId, body, timeoutMs: Math.ceil(leaseTtlMs / 3) }).then(
      () => note(true),
      () => {},
    );
  });
}, LOOK_MS);
