import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../model/failure.ts';
import { newRecordId } from '../../model/ids.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { captureRuns } from '../../scoring/capture.ts';
import type { Written } from '../../scoring/redact-item.ts';
import type { Dataset, NewDatasetItem } from '../../store/signals/evaluation.ts';
import { captureToWire, datasetToWire, itemToWire } from '../codec/evaluation.ts';
import type { BodyOf, PathOf, QueryOf } from '../contract/contract.ts';
import { type CursorBinding, readCursor, writeCursor } from '../lists/cursor.ts';
import { checkTraceIds, lookupReach, projectToWrite } from './evaluation-scope.ts';
import { type Listing, listingOf } from '../lists/listing.ts';
import { listed } from '../lists/read-on.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

export type EvaluationDeps = Pick<QueryDeps, 'store' | 'defaultProject' | 'clock'> & {
  /** Takes secrets out of what clients write. */
  readonly redactRecord: (record: Written) => Written;
};

/** Absent and empty ask for an id of ours. */
export const idOrNew = (id: string | undefined): string => (id === undefined || id === '' ? newRecordId() : id);

/** Sets of cases. @see Interface specification, "Query API: datasets, experiments"; Interface decisions, section 6 */
export const datasetRoutes = ({ store, defaultProject, clock, redactRecord }: EvaluationDeps): Route[] => {
  const gone = (reference: string): Refusal =>
    new Refusal({
      code: 'not_found',
      message: `no dataset ${JSON.stringify(reference)} is stored where this call looks; name its project by \`project\``,
    });

  /** The dataset that the path names. @throws Refusal `not_found`, `forbidden` */
  const datasetOf = async (request: FastifyRequest): Promise<Dataset> => {
    const { dataset: reference } = request.params as PathOf<'getDataset'>;
    const { project } = request.query as QueryOf<'getDataset'>;
    if (project !== undefined) request.audit.projects = [project];
    const { byId, byName } = lookupReach(request.caller, project, defaultProject);
    const dataset = await store.findDataset(reference, byId, byName);
    if (dataset === undefined) throw gone(reference);
    request.audit.projects = [dataset.project];
    return dataset;
  };

  /** A case as it will be stored. @throws Refusal `invalid_id` on `source_trace_id` */
  const caseOf = (body: BodyOf<'replaceDatasetItem'>, itemId: string): NewDatasetItem => {
    const sourceTraceId = body.source_trace_id;
    if (sourceTraceId !== undefined) checkTraceIds([sourceTraceId], 'source_trace_id');
    const { input, expected, metadata } = redactRecord({
      input: body.input as Json,
      ...(body.expected === undefined || body.expected === null ? {} : { expected: body.expected as Json }),
      ...(body.metadata === undefined ? {} : { metadata: body.metadata as JsonObject }),
    });
    return {
      itemId,
      input: input ?? null,
      ...(expected === undefined ? {} : { expected }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(sourceTraceId === undefined ? {} : { sourceTraceId }),
      createdAt: clock(),
    };
  };

  /** Stores a case. @returns it as stored, which is older than what was sent when it replaces another */
  const put = async (dataset: Dataset, item: NewDatasetItem) => {
    if ((await store.putItems(dataset, [item])) === 'no_dataset') throw gone(dataset.datasetId);
    const stored = await store.findItem(dataset, item.itemId);
    return itemToWire(stored ?? { ...item, datasetId: dataset.datasetId });
  };

  const noItem = (itemId: string): Refusal =>
    new Refusal({ code: 'not_found', message: `the dataset has no item ${JSON.stringify(itemId)}` });

  return [
    {
      method: 'GET',
      path: '/v1/api/datasets',
      scope: 'read',
      operationId: 'listDatasets',
      surface: 'query',
      handler: async (request) => {
        const listing = listingOf(request, 'listDatasets', defaultProject, clock);
        return listed(
          request,
          'datasets',
          listing,
          (paging) => store.listDatasets({ ...paging, ...listing.window }),
          datasetToWire,
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/api/datasets',
      scope: 'write',
      operationId: 'createDataset',
      surface: 'query',
      body: 'typed',
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'createDataset'>;
        const project = projectToWrite(request.caller, body.project, defaultProject);
        const { input: description } = redactRecord(body.description === undefined ? {} : { input: body.description });
        const stored = await store.putDataset({
          datasetId: idOrNew(body.dataset_id),
          name: body.name,
          project,
          ...(typeof description === 'string' ? { description } : {}),
          createdAt: clock(),
        });
        if (stored === undefined)
          throw new Refusal({
            code: 'conflict',
            message: `project ${JSON.stringify(project)} has another dataset named ${JSON.stringify(body.name)}; choose another name, or send its dataset_id to replace it`,
            field: 'name',
          });
        reply.code(201);
        return datasetToWire(stored);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/datasets/:dataset',
      scope: 'read',
      operationId: 'getDataset',
      surface: 'query',
      handler: async (request) => datasetToWire(await datasetOf(request)),
    },
    {
      method: 'DELETE',
      path: '/v1/api/datasets/:dataset',
      scope: 'write',
      operationId: 'deleteDataset',
      surface: 'query',
      audit: 'delete_dataset',
      handler: async (request) => {
        const dataset = await datasetOf(request);
        const { deleted, pending } = await store.deleteDataset(dataset);
        if (deleted === 0) throw gone(dataset.datasetId);
        return { deleted: true, deletes_pending: pending };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/datasets/:dataset/items',
      scope: 'read',
      operationId: 'listDatasetItems',
      surface: 'query',
      audit: 'list_dataset_items',
      handler: async (request) => {
        const query = request.query as QueryOf<'listDatasetItems'>;
        const dataset = await datasetOf(request);
        const { project, datasetId } = dataset;
        const binding: CursorBinding = { operation: 'listDatasetItems', projects: [project], query: { datasetId } };
        const after = query.cursor === undefined ? undefined : readCursor(binding, query.cursor).position;
        const paging = { limit: query.limit ?? 50, ...(after === undefined ? {} : { after }) };
        const cursorAfter: Listing['cursorAfter'] = ({ next }) =>
          next === undefined ? undefined : writeCursor(binding, { position: next, now: clock() });
        return listed(request, 'items', { paging, cursorAfter }, (part) => store.listItems(dataset, part), itemToWire);
      },
    },
    {
      method: 'POST',
      path: '/v1/api/datasets/:dataset/items',
      scope: 'write',
      operationId: 'createDatasetItem',
      surface: 'query',
      body: 'typed',
      handler: async (request, reply) => {
        const { item_id: itemId, ...body } = request.body as BodyOf<'createDatasetItem'>;
        const dataset = await datasetOf(request);
        const stored = await put(dataset, caseOf(body, idOrNew(itemId)));
        reply.code(201);
        return stored;
      },
    },
    {
      method: 'PUT',
      path: '/v1/api/datasets/:dataset/items/:item',
      scope: 'write',
      operationId: 'replaceDatasetItem',
      surface: 'query',
      body: 'typed',
      handler: async (request) => {
        const { item: itemId } = request.params as PathOf<'replaceDatasetItem'>;
        const dataset = await datasetOf(request);
        const item = caseOf(request.body as BodyOf<'replaceDatasetItem'>, itemId);
        if ((await store.findItem(dataset, itemId)) === undefined) throw noItem(itemId);
        return put(dataset, item);
      },
    },
    {
      method: 'DELETE',
      path: '/v1/api/datasets/:dataset/items/:item',
      scope: 'write',
      operationId: 'deleteDatasetItem',
      surface: 'query',
      audit: 'delete_dataset_item',
      handler: async (request) => {
        const { item: itemId } = request.params as PathOf<'deleteDatasetItem'>;
        const { deleted, pending } = await store.deleteItem(await datasetOf(request), itemId);
        if (deleted === 0) throw noItem(itemId);
        return { deleted: true, deletes_pending: pending };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/datasets/:dataset/capture',
      scope: 'write',
      operationId: 'captureRuns',
      surface: 'query',
      body: 'typed',
      audit: 'capture_runs',
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'captureRuns'>;
        checkTraceIds(body.trace_ids, 'trace_ids');
        const dataset = await datasetOf(request);
        const report = await captureRuns(store, dataset, body.trace_ids, body.use_output_as_expected ?? false, clock);
        if (report === undefined) throw gone(dataset.datasetId);
        reply.code(201);
        return captureToWire(report);
      },
    },
  ];
};
