import { reaches } from '../model/scope.ts';
import type { ActorSource } from '../actors/service/actor-directory.ts';
import { forbidden, notFound } from '../actors/run/run-failures.ts';
import type { ActorSummary } from '../actors/service/runs-service.ts';
import type { WatchActorView, Watchers } from './watchers.ts';

const summaryOf = ({
  project: _project,
  machineVersion: _v,
  context: _c,
  mailbox: _m,
  ...summary
}: WatchActorView): ActorSummary => summary;

/** Monitors and SLOs in the list of actors, by id. @see Interface decisions, "10. Actors and machines, for debugging" */
export const createWatchActors = (watchers: Pick<Watchers, 'actors' | 'actorAt'>): readonly ActorSource[] =>
  (['monitor', 'slo'] as const).map((type) => {
    const actors = () => watchers.actors().filter((actor) => actor.type === type);
    return {
      type,
      list: async ({ reach, status, limit, after = '' }) =>
        actors()
          .filter(
            (actor) =>
              actor.id > after && reaches(reach, actor.project) && (status === undefined || actor.status === status),
          )
          .slice(0, limit)
          .map(summaryOf),
      get: async ({ id, reach, atSeq }) => {
        const found = actors().find((actor) => actor.id === id);
        if (found === undefined) return notFound('actor', `${type}/${id}`);
        if (!reaches(reach, found.project)) return forbidden(found.project);
        const shown = atSeq === undefined ? found : await watchers.actorAt(type, id, atSeq);
        if (shown === undefined) return notFound('journal entry', `${atSeq} of ${type} ${id}`);
        const { project: _project, ...snapshot } = shown;
        return { ok: true, value: snapshot };
      },
    };
  });
