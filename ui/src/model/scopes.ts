import type { components } from '../api/types.ts';

type Whoami = components['schemas']['Whoami'];
type Scope = components['schemas']['Scope'];

/** @param project the project of what is acted on; without one, any that the key reaches will do */
export const mayUse = ({ scopes, grants }: Whoami, scope: Scope, project?: string): boolean => {
  if (!scopes.includes(scope)) return false;
  const reach = grants[scope];
  return reach === undefined || project === undefined || reach.includes('*') || reach.includes(project);
};
