import { reaches } from '../../model/scope.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { checkDefinitions } from '../definition/check-definitions.ts';
import type { DefinitionMessage } from '../definition/definition-actor.ts';
import { forbidden } from '../run/run-failures.ts';
import { attempt, type Calls } from './calls.ts';
import type { DefinitionCommands, GivenDefinitions } from './runs-service.ts';

/** Definitions that come without a worker. @see Interface decisions, "Definitions without a worker" */
export const createDefinitionCommands = (host: {
  readonly calls: Calls;
  readonly store: Pick<RunStore, 'load'>;
  readonly defer: (callback: () => void) => void;
}): DefinitionCommands => {
  const refusalOf = ({ project, reach }: GivenDefinitions) =>
    project === undefined || reaches(reach, project) ? undefined : forbidden(project, 'project');
  const deferred = (): Promise<void> =>
    new Promise((resolve) => {
      host.defer(resolve);
    });
  return {
    storeDefinitions: async (request) => {
      const refused = refusalOf(request);
      if (refused !== undefined) return refused;
      const body: DefinitionMessage = { documents: request.definitions };
      return host.calls.ask({ type: 'definition', id: '', body });
    },

    checkDefinitions: (request) =>
      attempt(async () => {
        const refused = refusalOf(request);
        if (refused !== undefined) return refused;
        return { ok: true, value: await checkDefinitions(host.store, request.definitions, deferred) };
      }),
  };
};
