import { type DefinitionOwner, SERVICE } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import { forbidden } from '../run/run-failures.ts';

/**
 * Who owns the definitions that a call stores: the service where its key reaches all projects, else a project of the key.
 * @param project as the call names it; needed where the key has several
 * @see Interface decisions, section 12, "Definitions have an owner"
 */
export const ownerOfStored = (reach: ProjectReach, project: string | undefined): Result<DefinitionOwner> => {
  if (project !== undefined && !reaches(reach, project)) return forbidden(project, 'project');
  if (reach === 'all') return { ok: true, value: SERVICE };
  const owner = project ?? (reach.length === 1 ? reach[0] : undefined);
  if (owner !== undefined) return { ok: true, value: owner };
  return {
    ok: false,
    failure: {
      code: 'invalid_parameter',
      message: 'this key has several projects: name the one that owns the definitions in `project`',
      field: 'project',
    },
  };
};

/**
 * Whose definition a call pauses or resumes: that of the project which it names, else what `ownerOfStored` says.
 * @see Interface decisions, section 13, "Pause"
 */
export const ownerOfPaused = (reach: ProjectReach, project: string | undefined): Result<DefinitionOwner> =>
  project !== undefined && reaches(reach, project) ? { ok: true, value: project } : ownerOfStored(reach, project);

/**
 * Whose definition a read means that names an id: as a start in that project would. Without a project, that of a key which has
 * one, else the service.
 */
export const ownerOfRead = (reach: ProjectReach, project: string | undefined): Result<DefinitionOwner> => {
  if (project !== undefined)
    return reaches(reach, project) ? { ok: true, value: project } : forbidden(project, 'project');
  const [only = SERVICE, ...others] = reach === 'all' ? [] : reach;
  return { ok: true, value: others.length === 0 ? only : SERVICE };
};
