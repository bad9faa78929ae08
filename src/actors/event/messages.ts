import type { Json } from '../../model/json.ts';
import type { ProjectReach } from '../../model/scope.ts';

/** What the actor takes that brings events to runs. */
export type EventMessage =
  | {
      readonly kind: 'publish';
      readonly event: string;
      readonly key: string;
      readonly payload: Json;
      readonly eventId?: string;
    }
  | {
      readonly kind: 'signal';
      readonly runId: string;
      readonly event: string;
      readonly payload: Json;
      readonly eventId?: string;
      readonly reach: ProjectReach;
    };
