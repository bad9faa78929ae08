import type { ActorSnapshot, ActorSummary, MachineInfo } from '../../actors/service/runs-service.ts';
import type { components } from '../../model/generated/openapi.ts';
import { instantIfKnown, instantToWire } from './instant.ts';

type Schemas = components['schemas'];

/** @see Interface decisions, "10. Actors and machines, for debugging" */
export const actorToWire = (actor: ActorSummary): Schemas['Actor'] => ({
  type: actor.type,
  id: actor.id,
  machine: actor.machine,
  value: actor.value,
  status: actor.status,
  version: actor.version,
  updated_at: instantToWire(actor.updatedAt),
});

export const snapshotToWire = (actor: ActorSnapshot): Schemas['ActorSnapshot'] =>
  ({
    ...actorToWire(actor),
    machine_version: actor.machineVersion,
    run_id: actor.runId,
    last_heartbeat_at: instantIfKnown(actor.lastHeartbeatAt),
    context: actor.context,
    mailbox: actor.mailbox,
    fault: actor.fault,
  }) as Schemas['ActorSnapshot'];

export const machineToWire = ({ name, version, states, project }: MachineInfo): Schemas['Machine'] => ({
  name,
  version,
  states,
  ...(project === undefined ? {} : { project }),
});
