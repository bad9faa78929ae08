import type { Route } from '../route.ts';
import { apiOperations } from './contract.ts';

/** `/v1/api/traces/:trace_id` as the document spells it: `/v1/api/traces/{trace_id}`. */
const inDocumentSpelling = (path: string): string => path.replace(/:([A-Za-z_]+)/g, '{$1}');

/**
 * Compares routes and document.
 * @returns one line a fault: `routes` that the document does not describe as they are, `operations` that no route serves
 */
export const findRouteFaults = (
  routes: readonly Route[],
): { readonly routes: string[]; readonly operations: string[] } => {
  const operations = apiOperations();
  const faults: string[] = [];
  const served = new Set<string>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    const operation = operations.get(route.operationId);
    if (route.scope === undefined) faults.push(`${name} declares no scope`);
    if (operation === undefined) {
      faults.push(`${name} names the operation "${route.operationId}", which spec/openapi.yaml does not have`);
      continue;
    }
    if (served.has(route.operationId))
      faults.push(`${name} serves "${route.operationId}", which another route serves already`);
    served.add(route.operationId);
    const path = inDocumentSpelling(route.path);
    if (operation.method !== route.method || operation.path !== path)
      faults.push(
        `${name} serves "${route.operationId}", which is ${operation.method} ${operation.path} in spec/openapi.yaml`,
      );
    if (operation.scope !== route.scope)
      faults.push(`${name} declares the scope ${route.scope}, spec/openapi.yaml says ${operation.scope}`);
    if (operation.takesBody !== (route.body !== undefined))
      faults.push(`${name} and spec/openapi.yaml disagree on whether there is a body`);
  }
  return {
    routes: faults,
    operations: [...operations.values()]
      .filter((operation) => !served.has(operation.operationId))
      .map((operation) => `${operation.method} ${operation.path} ("${operation.operationId}") has no route`),
  };
};
