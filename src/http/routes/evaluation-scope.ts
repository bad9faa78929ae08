import { Refusal } from '../../model/failure.ts';
import { isTraceId } from '../../model/ids.ts';
import { ownProject, type ProjectReach, reaches } from '../../model/scope.ts';
import { projectsOf } from '../lists/listing.ts';
import type { Caller } from '../route.ts';

/**
 * The project that a record is written to.
 * @param asked the `project` of the body; else the default one, or the first that a project key reaches
 * @throws Refusal `forbidden` on `project` when the key does not reach it
 */
export const projectToWrite = (
  { reach }: Pick<Caller, 'reach'>,
  asked: string | undefined,
  defaultProject: string,
): string => {
  const project = asked ?? ownProject(reach, defaultProject);
  if (reaches(reach, project)) return project;
  throw new Refusal({
    code: 'forbidden',
    message: `this key does not reach project ${JSON.stringify(project)}`,
    field: 'project',
  });
};

/** Where a stored record is looked for: by its id wherever the key reaches, by its name as lists do. */
export const lookupReach = (
  caller: Pick<Caller, 'reach'>,
  asked: string | undefined,
  defaultProject: string,
): { readonly byId: ProjectReach; readonly byName: ProjectReach } => {
  const byName = projectsOf(caller, asked, defaultProject);
  return { byId: asked === undefined ? caller.reach : byName, byName };
};

/** @throws Refusal `invalid_id` on the first text that is no trace id */
export const checkTraceIds = (traceIds: readonly string[], field: string): void => {
  const at = traceIds.findIndex((traceId) => !isTraceId(traceId));
  if (at === -1) return;
  throw new Refusal({
    code: 'invalid_id',
    message: `\`${field}[${at}]\` must be 32 lowercase hex characters that are not all zero; it is ${JSON.stringify((traceIds[at] ?? '').slice(0, 64))}`,
    field,
  });
};
