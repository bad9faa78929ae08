import type { JsonObject } from '../../model/json.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import { badCursor, notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import { page } from './page.ts';
import { listMark, readCursor, writeCursor } from './page-cursor.ts';
import type { DefinitionQueries, DefinitionVersion } from './runs-service.ts';

const versionOf = (record: DefinitionRecord): DefinitionVersion => ({
  id: record.id,
  version: record.version,
  createdAt: record.createdAt,
  document: JSON.parse(record.document) as JsonObject,
});

/** What is asked about the definitions that workers registered. */
export const createDefinitionQueries = (
  store: Pick<RunStore, 'load' | 'listDefinitions' | 'definitionVersions'>,
): DefinitionQueries => ({
  listDefinitions: ({ limit, cursor }) =>
    attempt(async () => {
      const mark = listMark('definitions', []);
      const after = cursor === undefined ? undefined : readCursor(cursor, mark);
      if (cursor !== undefined && after === undefined) return badCursor;
      const records = await store.listDefinitions(after?.[0], limit + 1);
      return { ok: true, value: page(records.map(versionOf), limit, (last) => writeCursor(mark, [last.id])) };
    }),

  getDefinition: (id) =>
    attempt(async () => {
      const versions = await store.definitionVersions(id);
      const latest = versions.at(-1);
      if (latest === undefined) return notFound('definition', id);
      return {
        ok: true,
        value: {
          id,
          versions: versions.map(({ version, createdAt, openRuns, workers: held }) => ({
            version,
            createdAt,
            openRuns,
            workers: held,
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
