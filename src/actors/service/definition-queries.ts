import type { JsonObject } from '../../model/json.ts';
import { pageOf } from '../../model/page.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import type { LiveWorkers } from '../workers/live-workers.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import type { DefinitionQueries, DefinitionVersion } from './runs-service.ts';

const versionOf = (record: DefinitionRecord): DefinitionVersion => ({
  id: record.id,
  version: record.version,
  createdAt: record.createdAt,
  document: JSON.parse(record.document) as JsonObject,
});

/** What is asked about the definitions that workers registered. */
export const createDefinitionQueries = ({
  store,
  liveWorkers,
}: {
  readonly store: Pick<RunStore, 'load' | 'listDefinitions' | 'definitionVersions'>;
  readonly liveWorkers: Pick<LiveWorkers, 'all'>;
}): DefinitionQueries => ({
  listDefinitions: ({ limit, after }) =>
    attempt(async () => {
      const records = await store.listDefinitions(after === undefined ? undefined : String(after[0]), limit + 1);
      return { ok: true, value: pageOf(records.map(versionOf), limit, (last) => [last.id]) };
    }),

  getDefinition: (id) =>
    attempt(async () => {
      const versions = await store.definitionVersions(id);
      const latest = versions.at(-1);
      if (latest === undefined) return notFound('definition', id);
      const live = await liveWorkers.all();
      return {
        ok: true,
        value: {
          id,
          versions: versions.map(({ version, createdAt, openRuns }) => ({
            version,
            createdAt,
            openRuns,
            workers: live.filter(({ definitions }) =>
              definitions.some((held) => held.id === id && held.version === version),
            ).length,
          })),
          latest: JSON.parse(latest.document) as JsonObject,
        },
      };
    }),

  getDefinitionVersion: (id, version) =>
    attempt(async () => {
      const [found] = await store.load([{ kind: 'definition', id, version }]);
      return found === undefined
        ? notFound('definition', `${id} version ${version}`)
        : { ok: true, value: versionOf(found as DefinitionRecord) };
    }),
});
