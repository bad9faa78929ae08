import type { components } from '../api/types.ts';

type Whoami = components['schemas']['Whoami'];
type Scope = components['schemas']['Scope'];

/** @param project the project of what is acted on; without one, any that the key reaches will do */
export const mayUse = ({ scopes, grants }: Whoami, scope: Scope, project?: string): boolean => {
  if (!scopes.includes(scope)) return false;
  const reach = grants[scope];
  return reach === undefined || project === undefined || reach.includes('*') || reach.includes(project);
};

/** What a scope allows, and which other keys have it too. */
export type ScopeRow = {
  readonly scope: Scope;
  readonly allows: string;
  readonly inherited: string;
};

/** @see Interface specification, "Authentication" */
export const scopeRows: readonly ScopeRow[] = [
  { scope: 'ingest', allows: 'send signals', inherited: 'no other key' },
  { scope: 'read', allows: 'read signals and runs', inherited: 'no other key' },
  { scope: 'write', allows: 'write scores, feedback, datasets and views', inherited: 'no other key' },
  {
    scope: 'admin',
    allows: 'delete and erase, doctor, audit, refusals',
    inherited: 'read keys, while no admin key is set',
  },
  {
    scope: 'execute',
    allows: 'start, signal, pause and cancel runs; definitions and schedules',
    inherited: 'admin keys; write keys, while no execute key is set',
  },
  {
    scope: 'worker',
    allows: 'register, claim steps and report them',
    inherited: 'admin keys; write keys, while no worker key is set',
  },
];

/** The projects in which a key has a scope: `all`, their names, or nothing where it does not have it. */
export const projectsOf = ({ scopes, projects, grants }: Whoami, scope: Scope): string | undefined => {
  if (!scopes.includes(scope)) return undefined;
  const reach = grants[scope] ?? projects;
  return reach.includes('*') ? 'all' : reach.join(', ');
};
