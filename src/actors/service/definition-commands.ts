import { ownedId } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { checkDefinitions } from '../definition/check-definitions.ts';
import type { DefinitionMessage } from '../definition/definition-actor.ts';
import { ownerOfPaused, ownerOfStored } from '../definition/owner.ts';
import { attempt, callerOfOwner, type Calls } from './calls.ts';
import type { DefinitionCommands, DefinitionState, PausedDefinition } from './runs-service.ts';

/** Definitions that come without a worker. @see Interface decisions, "Definitions without a worker" */
export const createDefinitionCommands = (host: {
  readonly calls: Calls;
  readonly store: Pick<RunStore, 'load'>;
  readonly defer: (callback: () => void) => void;
}): DefinitionCommands => {
  const deferred = (): Promise<void> =>
    new Promise((resolve) => {
      host.defer(resolve);
    });
  const change = async (
    kind: 'pause' | 'resume',
    { reach, project, id, reason }: PausedDefinition,
  ): Promise<Result<DefinitionState>> => {
    const owner = ownerOfPaused(reach, project);
    if (!owner.ok) return owner;
    const body: DefinitionMessage = { kind, ...(reason === undefined ? {} : { reason }) };
    const message = { type: 'definition', id: ownedId(owner.value, id), body };
    return kind === 'pause' ? host.calls.askAlways(message) : host.calls.ask(callerOfOwner(owner.value), message);
  };
  return {
    storeDefinitions: async (request) => {
      const owner = ownerOfStored(request.reach, request.project);
      if (!owner.ok) return owner;
      const body: DefinitionMessage = { kind: 'store', owner: owner.value, documents: request.definitions };
      return host.calls.ask(callerOfOwner(owner.value), { type: 'definition', id: '', body });
    },

    pauseDefinition: (request) => change('pause', request),
    resumeDefinition: (request) => change('resume', request),

    checkDefinitions: (request) =>
      attempt(async () => {
        const owner = ownerOfStored(request.reach, request.project);
        if (!owner.ok) return owner;
        return { ok: true, value: await checkDefinitions(host.store, owner.value, request.definitions, deferred) };
      }),
  };
};
