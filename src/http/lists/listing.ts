import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../model/failure.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import { MAX_UNIX_NANO, parseTimeParameter, type UnixNano } from '../../model/time.ts';
import type { Paging, Position, Window } from '../../store/signals/query.ts';
import { withPlus } from '../contract/contract.ts';
import { type CursorBinding, readCursor, writeCursor } from './cursor.ts';
import type { Caller } from '../route.ts';

/** Every project, as a parameter and in audit rows. */
const ALL_PROJECTS = '*';

/**
 * The projects that a list answers for.
 * @param asked the parameter `project`
 * @param defaultProject the daemon's `--project`
 * @throws Refusal `forbidden` on `project` when the key does not reach what was asked for
 * @see Interface decisions, "1. Conventions", "3. Keys and scopes"
 */
export const projectsOf = (
  caller: Pick<Caller, 'reach'>,
  asked: string | undefined,
  defaultProject: string,
): ProjectReach => {
  const { reach } = caller;
  if (asked === undefined) return reach === 'all' ? [defaultProject] : reach;
  if (asked === ALL_PROJECTS) {
    if (reach === 'all') return 'all';
    throw new Refusal({
      code: 'forbidden',
      message: 'this key does not reach all projects; leave `project` out to read those it reaches',
      field: 'project',
    });
  }
  if (reaches(reach, asked)) return [asked];
  throw new Refusal({
    code: 'forbidden',
    message: `this key does not reach project ${JSON.stringify(asked)}`,
    field: 'project',
  });
};

/** Project names as the audit keeps them. */
export const auditedProjects = (projects: ProjectReach): readonly string[] =>
  projects === 'all' ? [ALL_PROJECTS] : projects;

/** The nearest time that a store can hold: what lies beyond is before, or after, everything that is stored. */
export const withinStoredTimes = (time: UnixNano): UnixNano =>
  time > MAX_UNIX_NANO ? MAX_UNIX_NANO : time < -MAX_UNIX_NANO ? -MAX_UNIX_NANO : time;

/**
 * Reads `from` and `to`.
 * @throws Refusal `invalid_parameter` on `from` when it is after `to`
 */
export const windowOf = (query: { readonly from?: string; readonly to?: string }, now: UnixNano): Window => {
  const read = (text: string | undefined): UnixNano | undefined => {
    const time = text === undefined ? undefined : parseTimeParameter(withPlus(text), now);
    return time === undefined ? undefined : withinStoredTimes(time);
  };
  const from = read(query.from);
  const to = read(query.to);
  if (from !== undefined && to !== undefined && from > to)
    throw new Refusal({ code: 'invalid_parameter', message: '`from` is after `to`', field: 'from' });
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};

/**
 * What a row of a list is expected to weigh in the answer before any is read, and all of them at the most: what a list then holds is
 * known piece by piece.
 */
export const ROW_BYTES = 4 * 1024;
export const LIST_BYTES = 1024 * 1024;

/** What every list takes from its request. */
export type Listing = {
  readonly paging: Paging;
  readonly window: Window;
  /** The cursor of the page after this one, where there is one. */
  readonly cursorAfter: (page: { readonly next?: Position }) => string | undefined;
};

type ListQuery = {
  readonly project?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly from?: string;
  readonly to?: string;
};

/**
 * Reads what all lists have in common: projects, window, page. The projects go to the request's audit note. A page after
 * the first counts relative times from the moment of the first, so that its window does not move.
 * @throws Refusal `forbidden` on `project`, `invalid_parameter` on `cursor` or `from`, `overloaded` without room for the answer
 */
export const listingOf = (
  request: FastifyRequest,
  operation: string,
  defaultProject: string,
  clock: () => UnixNano,
  projectsFor: typeof projectsOf = projectsOf,
): Listing => {
  const query = request.query as ListQuery;
  if (query.project !== undefined) request.audit.projects = [query.project];
  const projects = projectsFor(request.caller, query.project, defaultProject);
  request.audit.projects = auditedProjects(projects);
  const binding: CursorBinding = { operation, projects, query };
  const continuation = query.cursor === undefined ? undefined : readCursor(binding, query.cursor);
  const now = continuation?.now ?? clock();
  if (query.limit === undefined) throw new Error(`the document gives ${operation} no default limit`);
  request.answer.expect(Math.min(query.limit * ROW_BYTES, LIST_BYTES));
  return {
    paging: { projects, limit: query.limit, ...(continuation === undefined ? {} : { after: continuation.position }) },
    window: windowOf(query, now),
    cursorAfter: (page) => (page.next === undefined ? undefined : writeCursor(binding, { position: page.next, now })),
  };
};

/** A list's answer; `next_cursor` is absent on the last page. */
export const pageBody = <T>(
  name: string,
  items: Iterable<T>,
  cursor: string | undefined,
): Record<string, Iterable<T> | string | undefined> => ({ [name]: items, next_cursor: cursor });

/** The fields that have a value: an absent filter is no filter. */
export const given = <T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
