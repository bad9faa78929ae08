import type { LimitDetail, LimitInfo, LimitPlaceInfo } from '../../actors/service/runs-service.ts';
import type { components } from '../../model/generated/openapi.ts';
import { instantIfKnown, instantToWire } from './instant.ts';

type Schemas = components['schemas'];

/** A concurrency or rate key in use. */
export const limitToWire = (limit: LimitInfo): Schemas['LimitKey'] =>
  ({
    limit_id: limit.limitId,
    kind: limit.kind,
    project: limit.project,
    definition_id: limit.definitionId,
    definition_version: limit.definitionVersion,
    step_id: limit.stepId,
    key: limit.key,
    limit: limit.limit,
    per_ms: limit.perMs,
    used: limit.used,
    waiting: limit.waiting,
    moved_at: instantToWire(limit.movedAt),
    next_at: instantIfKnown(limit.nextAt),
  }) as Schemas['LimitKey'];

const placeToWire = (place: LimitPlaceInfo): Schemas['LimitPlace'] =>
  ({
    run_id: place.runId,
    step_id: place.stepId,
    priority: place.priority,
    since: instantToWire(place.since),
  }) as Schemas['LimitPlace'];

export const limitDetailToWire = (limit: LimitDetail): Schemas['LimitKeyDetail'] => ({
  ...limitToWire(limit),
  holders: limit.holders.map(placeToWire),
  line: limit.line.map(placeToWire),
});
