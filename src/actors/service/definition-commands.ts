import type { RunStore } from '../../store/runs/run-store.ts';
import { checkDefinitions } from '../definition/check-definitions.ts';
import type { DefinitionMessage } from '../definition/definition-actor.ts';
import { ownerOfStored } from '../definition/owner.ts';
import { attempt, callerOfOwner, type Calls } from './calls.ts';
import type { DefinitionCommands } from './runs-service.ts';

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
  return {
    storeDefinitions: async (request) => {
      const owner = ownerOfStored(request.reach, request.project);
      if (!owner.ok) return owner;
      const body: DefinitionMessage = { owner: owner.value, documents: request.definitions };
      return host.calls.ask(callerOfOwner(owner.value), { type: 'definition', id: '', body });
    },

    checkDefinitions: (request) =>
      attempt(async () => {
        const owner = ownerOfStored(request.reach, request.project);
        if (!owner.ok) return owner;
        return { ok: true, value: await checkDefinitions(host.store, owner.value, request.definitions, deferred) };
      }),
  };
};
