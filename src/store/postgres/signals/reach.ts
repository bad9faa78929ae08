import type { ProjectReach } from '../../../model/scope.ts';
import { isStorable } from '../../signals/storable.ts';
import { textArray } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';

/** The condition that a project `p` is in reach, and what it binds at `$place`. */
export const inReach = (reach: ProjectReach, place: number): readonly [sql: string, values: Bound[]] =>
  reach === 'all' ? ['true', []] : [`p.name = ANY ($${place}::text[])`, [textArray(reach.filter(isStorable))]];

/** Numbers of the projects that a query reaches; a project without any signal has none. */
export const projectNumbers = async (ask: Ask, reach: ProjectReach): Promise<number[]> => {
  const [reached, values] = inReach(reach, 1);
  const found = await ask<[number]>(`SELECT p.project FROM projects AS p WHERE ${reached} ORDER BY p.project`, values);
  return found.map(([project]) => project);
};
