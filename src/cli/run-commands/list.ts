import type { components, operations } from '../../model/generated/openapi.ts';
import type { Moments } from '../moments.ts';
import { jsonText, printable } from '../printable.ts';
import { table } from '../table.ts';
import { printed, type ShowIo, withDaemon } from '../with-daemon.ts';

type Schemas = components['schemas'];
export type RunSummary = Schemas['RunSummary'];
export type RunFilters = NonNullable<operations['listRuns']['parameters']['query']>;

/** Of an error's message, in a list. */
const MOST_CHARACTERS = 80;

const queuedReasons: Record<Schemas['QueuedReason'], string> = {
  no_worker: 'no worker serves it',
  version_missing: 'no worker serves this version',
  workers_busy: 'workers are busy',
  definition_paused: 'its definition is paused',
  concurrency_key: 'its key is held',
  rate: 'its rate has no room',
};
/** Why a run is queued, in words; the reason as it stands where a newer service has another. */
export const queuedText = (reason: string): string =>
  Object.entries(queuedReasons).find(([known]) => known === reason)?.[1] ?? printable(reason.replaceAll('_', ' '));

/** `class (code): message`. */
export const errorText = (
  { class: kind, code, message }: Pick<Schemas['RunError'], 'class' | 'code' | 'message'>,
  most: number,
): string =>
  `${printable(kind, 80)}${code === undefined ? '' : ` (${printable(code, 80)})`}: ${printable(message, most)}`;

const noteOf = ({ fault, queued_reason: reason, error, parent_run_id: parent }: RunSummary): string =>
  [
    ...(fault === undefined ? [] : [`quarantined: ${printable(fault, MOST_CHARACTERS)}`]),
    ...(reason === undefined ? [] : [queuedText(reason)]),
    ...(error === undefined ? [] : [errorText(error, MOST_CHARACTERS)]),
    ...(parent === undefined ? [] : [`child of ${printable(parent)}`]),
  ].join('; ');

/** The rows of a page of runs. @param withProject a column for it, where several may be listed */
export const runTable = (runs: readonly RunSummary[], moments: Moments, withProject: boolean): string =>
  table([
    ['RUN', ...(withProject ? ['PROJECT'] : []), 'DEFINITION', 'STATUS', 'STEP', 'STARTED', 'UPDATED', 'NOTE'],
    ...runs.map((run) => [
      printable(run.run_id),
      ...(withProject ? [printable(run.project)] : []),
      `${printable(run.definition_id)}@${run.definition_version}`,
      run.status,
      printable(run.cursor ?? '-'),
      moments.at(run.created_at),
      moments.distance(run.updated_at),
      noteOf(run),
    ]),
  ]);

/** @returns the words behind a page that has a next one */
export const moreText = (shown: number, cursor: string | undefined): string =>
  cursor === undefined
    ? ''
    : `${shown} are shown, and there are more: raise --limit (up to 1000), or go on with --cursor ${printable(cursor)}\n`;

/** `svc runs`: one page of runs, newest-updated first. @returns the exit status */
export const listRuns = (io: ShowIo, filters: RunFilters): Promise<number> =>
  withDaemon(io, async (client) => {
    const page = await client.get<{ readonly runs: readonly RunSummary[]; readonly next_cursor?: string }>(
      '/v1/api/runs',
      filters,
    );
    if (io.json) return printed(io, `${jsonText(page, 2)}\n`);
    const { runs, next_cursor: cursor } = page;
    if (runs.length === 0) return printed(io, 'No run matches.\n');
    const rows = runTable(runs, io.moments(), new Set(runs.map(({ project }) => project)).size > 1);
    return printed(io, rows + moreText(runs.length, cursor));
  });
