import type { Result } from '../../model/failure.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import type { DefinitionRecord, RunRecord, RunStore, StoredRun } from '../../store/runs/run-store.ts';
import type { PinnedDefinition, Program, Programs } from '../run/program.ts';
import { forbidden, notFound, outOfReach } from '../run/run-failures.ts';

/** The row of a run, where the caller may see it, and its program: several queries start here. */
export const createStoredRuns = (store: Pick<RunStore, 'load'>, programs: Programs) => {
  const recordOf = async (runId: string): Promise<RunRecord | undefined> => {
    const [found] = await store.load([{ kind: 'run', runId }]);
    return (found as StoredRun | undefined)?.record;
  };
  return {
    recordOf,
    /** The row of a run that the caller may see. */
    visible: async (runId: string, reach: ProjectReach): Promise<Result<RunRecord>> => {
      const record = await recordOf(runId);
      if (record === undefined) return notFound('run', runId);
      return reaches(reach, record.project) ? { ok: true, value: record } : outOfReach('run');
    },
    programOf: async (pinned: PinnedDefinition): Promise<Program | undefined> => {
      const { definitionOwner: owner, definitionId: id, definitionVersion: version } = pinned;
      const [found] = await store.load([{ kind: 'definition', owner, id, version }]);
      return found === undefined ? undefined : programs(found as DefinitionRecord);
    },
  };
};
export type StoredRuns = ReturnType<typeof createStoredRuns>;

/** The projects that a list answers for: the one asked for, else all that the caller reaches. */
export const within = (project: string | undefined, reach: ProjectReach): Result<ProjectReach> => {
  if (project === undefined) return { ok: true, value: reach };
  return reaches(reach, project) ? { ok: true, value: [project] } : forbidden(project);
};
