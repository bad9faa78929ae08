import { type ProjectReach, reaches } from '../../../model/scope.ts';
import { isStorable } from '../../signals/storable.ts';
import type { Binding } from '../binding.ts';

/** No project has this name: what `doctor` writes to try the store is in no list. */
export const NO_PROJECT = '';

/** The condition that a row is of a project in reach. @param row how the statement names the row, as in `t.`; empty where it has no name */
export const inReach = (reach: ProjectReach, { bind }: Binding, row = ''): string =>
  reach === 'all'
    ? `${row}project <> '${NO_PROJECT}'`
    : `${row}project IN ${bind(
        reach.filter((project) => isStorable(project) && project !== NO_PROJECT),
        'Array(String)',
      )}`;

/** The same of a project that was read. */
export const isInReach = (reach: ProjectReach, project: string): boolean =>
  project !== NO_PROJECT && reaches(reach, project);
