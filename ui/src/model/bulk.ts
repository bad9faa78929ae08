import type { components, QueryOf } from '../api/types.ts';

type RunFilter = components['schemas']['RunFilter'];

/**
 * The filter of an action on all runs that a list holds.
 * @param query of the list
 * @returns nothing where no filter narrows the list: nobody acts on every run of a project by a click
 */
export const bulkFilterOf = (query: QueryOf<'listRuns'>): RunFilter | undefined => {
  const {
    project,
    status,
    definition_id,
    user_id,
    session_id,
    parent_run_id,
    restarted_from,
    waiting_on,
    from,
    to,
    'correlation.environment': environment,
  } = query ?? {};
  const members = {
    status,
    definition_id,
    user_id,
    session_id,
    parent_run_id,
    restarted_from,
    waiting_on,
    from,
    to,
    correlation: environment === undefined ? undefined : { environment },
  };
  const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as RunFilter;
  if (Object.keys(given).length === 0) return undefined;
  return { ...given, ...(project === undefined ? {} : { project }) };
};
