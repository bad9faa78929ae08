import type { Result } from '../../model/failure.ts';
import { pageOf } from '../../model/page.ts';
import { notFound, type Refused } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import type { ActorDirectory, ActorSnapshot, ActorStatus, ActorSummary, Asking } from './runs-service.ts';

/** Where the actors of one type are found. */
export type ActorSource = {
  readonly type: string;
  /** Always in the same order, from behind the actor `after`; only those that the caller may see. */
  readonly list: (
    query: Asking & { readonly status?: ActorStatus; readonly limit: number; readonly after?: string },
  ) => Promise<readonly ActorSummary[]>;
  readonly get: (request: Asking & { readonly id: string; readonly atSeq?: number }) => Promise<Result<ActorSnapshot>>;
};

/** For the actors that have no journal. */
export const refusedAtSeq: Refused = {
  ok: false,
  failure: {
    code: 'invalid_parameter',
    message: 'at_seq is for runs, their leases, monitors and SLOs: others have no journal',
    field: 'at_seq',
  },
};

/** Shows actors of several types as one list, in the order of their sources. */
export const createActorDirectory = (sources: readonly ActorSource[]): ActorDirectory => ({
  listActors: ({ type, reach, status, limit, after }) =>
    attempt(async () => {
      const found: ActorSummary[] = [];
      const [afterType, afterId] = after ?? [];
      const from = afterType === undefined ? 0 : sources.findIndex((source) => source.type === afterType);
      for (const source of sources.slice(Math.max(0, from))) {
        if (type !== undefined && source.type !== type) continue;
        const rows = await source.list({
          reach,
          limit: limit + 1 - found.length,
          ...(status === undefined ? {} : { status }),
          ...(source.type === afterType ? { after: String(afterId) } : {}),
        });
        found.push(...rows);
        if (found.length > limit) break;
      }
      return { ok: true, value: pageOf(found, limit, (last) => [last.type, last.id]) };
    }),

  getActor: ({ type, ...request }) =>
    attempt(async () => {
      const source = sources.find((candidate) => candidate.type === type);
      return source === undefined ? notFound('actor', `${type}/${request.id}`) : source.get(request);
    }),
});
