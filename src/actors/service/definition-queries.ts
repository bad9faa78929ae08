import { ownedId, SERVICE } from '../../model/definition/owner.ts';
import { Unloadable } from '../../machines/persisted.ts';
import type { JsonObject } from '../../model/json.ts';
import { pageOf } from '../../model/page.ts';
import { reaches } from '../../model/scope.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import type { PausedDefinitions } from '../definition/paused-definitions.ts';
import { ownerOfRead } from '../definition/owner.ts';
import type { LiveWorkers } from '../workers/live-workers.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import type { DefinitionQueries, DefinitionVersion } from './runs-service.ts';

/** @throws Unloadable for a damaged row: the answer is a conflict that says so */
const documentOf = ({ id, version, document }: DefinitionRecord): JsonObject => {
  try {
    return JSON.parse(document) as JsonObject;
  } catch {
    throw new Unloadable(`definition ${id} version ${version} cannot be read: the row is damaged`);
  }
};

const versionOf = (record: DefinitionRecord): DefinitionVersion => ({
  owner: record.owner,
  id: record.id,
  version: record.version,
  createdAt: record.createdAt,
  document: documentOf(record),
});

/** A version that this owner stored, else that of the service. */
export const findVersion = async (
  store: Pick<RunStore, 'load'>,
  named: { readonly owner: string; readonly id: string; readonly version: number },
): Promise<DefinitionRecord | undefined> => {
  const [own, ofService] = await store.load([
    { kind: 'definition', ...named },
    { kind: 'definition', ...named, owner: SERVICE },
  ]);
  return (own ?? ofService) as DefinitionRecord | undefined;
};

/** What is asked about stored definitions. @see Interface decisions, section 12, "Definitions have an owner" */
export const createDefinitionQueries = ({
  store,
  liveWorkers,
  pausedDefinitions,
}: {
  readonly store: Pick<RunStore, 'load' | 'listDefinitions' | 'definitionVersions'>;
  readonly liveWorkers: Pick<LiveWorkers, 'all'>;
  readonly pausedDefinitions: Pick<PausedDefinitions, 'find'>;
}): DefinitionQueries => ({
  listDefinitions: ({ reach, limit, after }) =>
    attempt(async () => {
      const records = await store.listDefinitions({
        reach,
        limit: limit + 1,
        ...(after === undefined ? {} : { after: { id: String(after[0]), owner: String(after[1] ?? SERVICE) } }),
      });
      return { ok: true, value: pageOf(records.map(versionOf), limit, (last) => [last.id, last.owner]) };
    }),

  getDefinition: ({ reach, project, id }) =>
    attempt(async () => {
      const meant = ownerOfRead(reach, project);
      if (!meant.ok) return meant;
      const [found] = await store.load([{ kind: 'latest', owner: meant.value, id }]);
      if (found === undefined) return notFound('definition', id);
      const { owner } = found as DefinitionRecord;
      const shown = project === undefined ? reach : [project];
      const versions = await store.definitionVersions(owner, id, shown);
      const latest = versions.at(-1);
      if (latest === undefined) return notFound('definition', id);
      const pause = pausedDefinitions.find(ownedId(owner, id));
      const live = (await liveWorkers.all()).filter(
        (worker) => worker.owner === owner && (worker.project === undefined || reaches(shown, worker.project)),
      );
      return {
        ok: true,
        value: {
          owner,
          id,
          ...(pause === undefined ? {} : { pause }),
          versions: versions.map(({ version, createdAt, openRuns }) => ({
            version,
            createdAt,
            openRuns,
            workers: live.filter(({ definitions }) =>
              definitions.some((held) => held.id === id && held.version === version),
            ).length,
          })),
          latest: documentOf(latest),
        },
      };
    }),

  getDefinitionVersion: ({ reach, project, id, version }) =>
    attempt(async () => {
      const owner = ownerOfRead(reach, project);
      if (!owner.ok) return owner;
      const found = await findVersion(store, { owner: owner.value, id, version });
      return found === undefined
        ? notFound('definition', `${id} version ${version}`)
        : { ok: true, value: versionOf(found) };
    }),
});
