/** What a key may do. @see Interface specification, "Authentication" */
export const scopes = ['ingest', 'read', 'write', 'admin', 'execute', 'worker'] as const;
export type Scope = (typeof scopes)[number];

/** Which projects a caller, or a query, may touch: all of them, or only those named. */
export type ProjectReach = 'all' | readonly string[];

export const reaches = (reach: ProjectReach, project: string): boolean => reach === 'all' || reach.includes(project);

/** True when the first reaches everything that the second does. */
export const covers = (reach: ProjectReach, other: ProjectReach): boolean =>
  reach === 'all' || (other !== 'all' && other.every((project) => reach.includes(project)));

/** The project of a call that names none: the service's standard one, or, out of reach of that, the first within reach. */
export const ownProject = (reach: ProjectReach, standard: string): string =>
  reaches(reach, standard) ? standard : (reach[0] ?? standard);
