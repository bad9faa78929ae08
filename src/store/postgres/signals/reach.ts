import type { ProjectReach } from '../../../model/scope.ts';
import { textArray } from '../arrays.ts';
import type { Bound } from '../connection.ts';

/** The condition that a project `p` is in reach, and what it binds at `$place`. PostgreSQL takes no U+0000, which no name holds. */
export const inReach = (reach: ProjectReach, place: number): readonly [sql: string, values: Bound[]] =>
  reach === 'all'
    ? ['true', []]
    : [`p.name = ANY ($${place}::text[])`, [textArray(reach.filter((name) => !name.includes('\0')))]];
