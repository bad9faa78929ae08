import type { Row } from '../../signals/rows/columns.ts';
import type { Ask } from '../connection.ts';
import { type Columns, insertInto, unnest } from '../insert.ts';

/** Numbers of projects that are known to be committed. */
export type ProjectNumbers = Map<string, number>;

/** Puts the numbers of projects in the place of their names, and gives new ones a number. */
export const numberProjects = async (
  ask: Ask,
  known: ProjectNumbers,
  wanted: Iterable<string>,
): Promise<ProjectNumbers> => {
  const unknown = [...new Set(wanted)].filter((name) => !known.has(name)).sort();
  if (unknown.length === 0) return known;
  const named: Columns = [['name', 'text']];
  const rows = unknown.map((name): Row => [name]);
  await ask(...insertInto('projects', named, rows, 'ON CONFLICT (name) DO NOTHING'));
  const { sql, values } = unnest(named, rows);
  const found = await ask<[string, number]>(
    `SELECT p.name, p.project FROM ${sql} AS n (name) JOIN projects AS p ON p.name = n.name`,
    values,
  );
  return new Map([...known, ...found]);
};

/**
 * The number of a project, which is made when it is new, and a lock on its records until the transaction ends: what is unique or
 * counted within a project is decided by one at a time.
 */
export const lockProject = async (ask: Ask, name: string): Promise<number> => {
  await ask('INSERT INTO projects (name) VALUES ($1) ON CONFLICT (name) DO NOTHING', [name]);
  const [[number] = []] = await ask<[number]>('SELECT project FROM projects WHERE name = $1 FOR UPDATE', [name]);
  if (number === undefined) throw new Error('a project that was just added is missing');
  return number;
};
