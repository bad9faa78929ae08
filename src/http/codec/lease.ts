import type { LeaseInfo, LeaseTimes, Registration, WorkerInfo } from '../../actors/service/runs-service.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { Lease, ReportedUsage } from '../../model/run.ts';
import { instantIfKnown, instantToWire } from './instant.ts';

type Schemas = components['schemas'];

/** A lease as its worker gets it. @see Interface decisions, "Worker protocol", Lease */
export const leaseToWire = (lease: Lease): Schemas['Lease'] =>
  ({
    lease_id: lease.leaseId,
    run_id: lease.runId,
    project: lease.project,
    definition_id: lease.definitionId,
    definition_version: lease.definitionVersion,
    step_id: lease.stepId,
    visit: lease.visit,
    attempt: lease.attempt,
    delivery: lease.delivery,
    input: lease.input,
    steps: lease.steps,
    state: lease.state,
    correlation: lease.correlation,
    step_key: lease.stepKey,
    trace_id: lease.traceId,
    span_id: lease.spanId,
    lease_expires_at: instantToWire(lease.leaseExpiresAt),
    deadline_at: instantIfKnown(lease.deadlineAt),
    last_details: lease.lastDetails,
  }) as Schemas['Lease'];

/** A lease as operators see it. */
export const leaseInfoToWire = (lease: LeaseInfo): Schemas['LiveLease'] =>
  ({
    lease_id: lease.leaseId,
    run_id: lease.runId,
    project: lease.project,
    definition_id: lease.definitionId,
    definition_version: lease.definitionVersion,
    step_id: lease.stepId,
    visit: lease.visit,
    attempt: lease.attempt,
    status: lease.status,
    worker_id: lease.workerId,
    offered_at: instantToWire(lease.offeredAt),
    started_at: instantIfKnown(lease.startedAt),
    last_heartbeat_at: instantIfKnown(lease.lastHeartbeatAt),
    lease_expires_at: instantToWire(lease.leaseExpiresAt),
  }) as Schemas['LiveLease'];

export const leaseTimesToWire = (times: LeaseTimes) => ({
  offer_ttl_ms: times.offerTtlMs,
  lease_ttl_ms: times.leaseTtlMs,
  heartbeat_ms: times.heartbeatMs,
  reclaim_window_ms: times.reclaimWindowMs,
});

export const registrationToWire = (registration: Registration): Schemas['Registration'] => ({
  worker_id: registration.workerId,
  lease_ttl_ms: registration.leaseTtlMs,
  heartbeat_ms: registration.heartbeatMs,
  definitions: registration.definitions,
});

export const workerToWire = (worker: WorkerInfo): Schemas['Worker'] =>
  ({
    worker_id: worker.workerId,
    name: worker.name,
    version: worker.version,
    project: worker.project,
    concurrency: worker.concurrency,
    definitions: worker.definitions,
    last_seen_at: instantToWire(worker.lastSeenAt),
    leases: worker.leases,
  }) as Schemas['Worker'];

type WireUsage = Schemas['ReportedUsage'];

/** The members that a report has, under our names; what it leaves out stays unknown. */
const present = <T extends object>(members: { [K in keyof T]?: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

const reportOfWire = (usage: WireUsage): ReportedUsage => {
  const { input_details: input, output_details: output } = usage;
  return present<ReportedUsage>({
    model: usage.model,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    totalTokens: usage.total_tokens,
    inputDetails:
      input &&
      present<NonNullable<ReportedUsage['inputDetails']>>({
        cacheRead: input.cache_read,
        cacheWrite: input.cache_write,
        cacheWrite5m: input.cache_write_5m,
        cacheWrite1h: input.cache_write_1h,
        audio: input.audio,
        text: input.text,
      }),
    outputDetails:
      output &&
      present<NonNullable<ReportedUsage['outputDetails']>>({
        reasoning: output.reasoning,
        audio: output.audio,
        text: output.text,
      }),
    cost: usage.cost,
    record: usage.record === true ? true : undefined,
  });
};

/** The usage of a report: one, or a list of them; its schema has been checked. */
export const usageOfWire = (usage: unknown): { readonly usage?: readonly ReportedUsage[] } =>
  usage === undefined ? {} : { usage: ([usage].flat() as WireUsage[]).map(reportOfWire) };
