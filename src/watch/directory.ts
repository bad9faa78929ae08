import { drawMachine } from '../machines/mermaid.ts';
import type { Result } from '../model/failure.ts';
import { reaches } from '../model/scope.ts';
import { listMark, readCursor, writeCursor } from '../actors/service/page-cursor.ts';
import { forbidden, notFound } from '../actors/run/run-failures.ts';
import type { ActorSummary, Page, RunsService } from '../actors/service/runs-service.ts';
import type { WatchActorView, Watchers } from './watchers.ts';

/** Actors and machines, as debugging sees them. @see Interface decisions, "10. Actors and machines, for debugging" */
export type ActorDirectory = Pick<
  RunsService,
  'listActors' | 'getActor' | 'listMachines' | 'getMachine' | 'getMachineDiagram'
>;

const summaryOf = ({
  project: _project,
  machineVersion: _v,
  context: _c,
  mailbox: _m,
  ...summary
}: WatchActorView): ActorSummary => summary;

/**
 * Shows monitors and SLOs beside runs and leases: first in lists, since they are few.
 * @param runs with `--runs-data off` a service without runs
 */
export const createActorDirectory = (watchers: Watchers, runs: ActorDirectory): ActorDirectory => {
  const machine = (name: string) => watchers.machines.find((known) => known.name === name);

  return {
    listActors: async (query): Promise<Result<Page<ActorSummary>>> => {
      const { type, status, reach, limit, cursor } = query;
      const mark = listMark('watch', [type, status]);
      const after = cursor === undefined ? undefined : readCursor(cursor, mark);
      // Not one of these pages: one of the runs, who refuse what is none of theirs either.
      if (cursor !== undefined && after === undefined) return runs.listActors(query);

      const all = watchers
        .actors()
        .filter(
          (actor) =>
            reaches(reach, actor.project) &&
            (type === undefined || actor.type === type) &&
            (status === undefined || actor.status === status),
        );
      const isAfter = ({ type: kind, id }: WatchActorView): boolean =>
        after === undefined || `${kind}/${id}` > after.join('/');
      const own = all.filter(isAfter);
      const items = own.slice(0, limit).map(summaryOf);
      const last = items.at(-1);
      const next = last === undefined ? {} : { nextCursor: writeCursor(mark, [last.type, last.id]) };
      if (own.length > limit) return { ok: true, value: { items, ...next } };
      if (type === 'monitor' || type === 'slo') return { ok: true, value: { items } };

      const { cursor: _cursor, ...first } = query;
      const room = limit - items.length;
      // A full page still has to say whether anything follows.
      const rest = await runs.listActors({ ...first, limit: Math.max(1, room) });
      if (!rest.ok) return rest;
      if (room === 0) return { ok: true, value: rest.value.items.length === 0 ? { items } : { items, ...next } };
      return { ok: true, value: { ...rest.value, items: [...items, ...rest.value.items] } };
    },

    getActor: async (request) => {
      const { type, id, reach, atSeq } = request;
      if (type !== 'monitor' && type !== 'slo') return runs.getActor(request);
      const found = watchers.actors().find((actor) => actor.type === type && actor.id === id);
      if (found === undefined) return notFound('actor', `${type}/${id}`);
      if (!reaches(reach, found.project)) return forbidden(found.project);
      if (atSeq !== undefined)
        return {
          ok: false,
          failure: {
            code: 'invalid_parameter',
            message: 'at_seq is for runs: a run alone has a journal',
            field: 'at_seq',
          },
        };
      const { project: _project, ...snapshot } = found;
      return { ok: true, value: snapshot };
    },

    listMachines: async () => {
      const rest = await runs.listMachines();
      if (!rest.ok) return rest;
      return {
        ok: true,
        value: [...watchers.machines.map(({ config: _config, ...info }) => info), ...rest.value],
      };
    },
    getMachine: async (name) => {
      const own = machine(name);
      if (own !== undefined) return { ok: true, value: own };
      return runs.getMachine(name);
    },
    getMachineDiagram: async (name) => {
      const own = machine(name);
      if (own !== undefined) return { ok: true, value: drawMachine(name, own.config) };
      return runs.getMachineDiagram(name);
    },
  };
};
