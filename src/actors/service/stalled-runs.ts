import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { JournalEntry, UnixMs } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { RunRecord, RunStore } from '../../store/runs/run-store.ts';
import { type Damaged, readable } from '../run/quarantined.ts';
import { entriesOf } from '../run/replay.ts';
import { notFound, outOfReach } from '../run/run-failures.ts';
import { contextOf } from '../run/stored-context.ts';
import { attempt } from './calls.ts';
import { listedRun } from './run-views.ts';
import type { StalledRun, StalledRunQueries } from './runs-service.ts';

/** Above this share of the finished visits of a step, one that is still open is late. */
const USUAL_SHARE = 0.95;
/** A usual time is known from so many finished visits. */
const LEAST_VISITS = 10;

/** Open runs that are looked at, and definitions whose usual times are found for one call. */
const MOST_OPEN = 500;
const MOST_DEFINITIONS = 20;
/** Of a project, the ended runs among which those of a definition are looked for; of a definition, those whose journals are read. */
const MOST_ENDED = 1_000;
const MOST_JOURNALS = 30;
const ENDED_WITHIN_MS = 30 * 24 * 3_600_000;
/** Most of a journal that is read: its first rows. */
const JOURNAL_ROWS = 200;
const JOURNAL_BYTES = 256 * 1024;
/** How long what was found is used again. */
const KEPT_MS = 60_000;
const MOST_KEPT = 200;

/** What the visits of a step took: the share that is usual, of so many. */
export type StepTime = { readonly usualMs: number; readonly visits: number };

/** What the visits of each step took that ended as usual: left for another step, or for the success of the run. */
export const finishedVisits = (
  entries: readonly JournalEntry[],
): readonly { readonly step: string; readonly tookMs: number }[] => {
  const finished: { step: string; tookMs: number }[] = [];
  let open: { readonly step: string; readonly at: UnixMs } | undefined;
  for (const { kind, at, stepId, data } of entries) {
    const isLeft = kind === 'cursor.moved' || (kind === 'run.finished' && data['status'] === 'succeeded');
    if (isLeft && open !== undefined) finished.push({ step: open.step, tookMs: Math.max(0, at - open.at) });
    // How long somebody paused a run says nothing of its step.
    if (kind === 'run.paused') open = undefined;
    if (kind === 'cursor.moved') open = stepId === undefined ? undefined : { step: stepId, at };
  }
  return finished;
};

/** What is usual of each step that was left often enough. */
export const stepTimesOf = (
  visits: readonly { readonly step: string; readonly tookMs: number }[],
): ReadonlyMap<string, StepTime> =>
  new Map(
    [...Map.groupBy(visits, ({ step }) => step)].flatMap(([step, of]): [string, StepTime][] => {
      if (of.length < LEAST_VISITS) return [];
      const inOrder = of.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
      return [[step, { usualMs: inOrder[Math.ceil(of.length * USUAL_SHARE) - 1] ?? 0, visits: of.length }]];
    }),
  );

type Of = {
  readonly project: string;
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  readonly definitionVersion: number;
};
const keyOf = (of: Of): string =>
  JSON.stringify([of.project, of.definitionOwner, of.definitionId, of.definitionVersion]);

/** Runs whose step is open for longer than is usual. All that is read for it is bounded, and kept for a minute. */
export const createStalledRuns = (host: {
  readonly store: Pick<RunStore, 'findRun' | 'openRuns' | 'runShapes' | 'journal'>;
  readonly now: () => UnixMs;
  readonly damaged: (damage: Damaged) => void;
}): StalledRunQueries => {
  const { store, now } = host;
  const kept = new Map<string, { readonly at: UnixMs; readonly times: ReadonlyMap<string, StepTime> }>();

  const read = async (of: Of): Promise<ReadonlyMap<string, StepTime>> => {
    const shapes = await store.runShapes(of.project, now() - ENDED_WITHIN_MS, now() + 1, MOST_ENDED);
    const ended = shapes.filter(
      ({ definitionOwner, definitionId, definitionVersion }) =>
        keyOf({ project: of.project, definitionOwner, definitionId, definitionVersion }) === keyOf(of),
    );
    const visits: { readonly step: string; readonly tookMs: number }[] = [];
    for (const { runId } of ended.slice(0, MOST_JOURNALS)) {
      const rows = await store.journal(runId, -1, JOURNAL_ROWS, JOURNAL_BYTES);
      visits.push(...finishedVisits(readable(() => rows.flatMap(entriesOf), host.damaged) ?? []));
    }
    return stepTimesOf(visits);
  };

  /** The usual times of a definition; `undefined` where they are not kept and no more may be read. */
  const timesOf = async (of: Of, mayRead: boolean): Promise<ReadonlyMap<string, StepTime> | undefined> => {
    const key = keyOf(of);
    const held = kept.get(key);
    if (held !== undefined && now() - held.at < KEPT_MS) return held.times;
    if (!mayRead) return undefined;
    const times = await read(of);
    kept.delete(key);
    kept.set(key, { at: now(), times });
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST_KEPT) break;
      kept.delete(oldest);
    }
    return times;
  };

  const stalledAmong = async (
    records: readonly RunRecord[],
  ): Promise<{ readonly runs: StalledRun[]; readonly isCut: boolean }> => {
    const runs: StalledRun[] = [];
    const looked = new Set<string>();
    let isCut = false;
    for (const record of records) {
      const { enteredAt } = contextOf(record);
      if (record.cursor === undefined || enteredAt === undefined || record.fault !== undefined) continue;
      const key = keyOf(record);
      const times = await timesOf(record, looked.has(key) || looked.size < MOST_DEFINITIONS);
      looked.add(key);
      if (times === undefined) {
        isCut = true;
        continue;
      }
      const time = times.get(record.cursor);
      if (time === undefined || now() - enteredAt <= time.usualMs) continue;
      runs.push({ ...listedRun(record, host.damaged), enteredAt, ...time });
    }
    return { runs, isCut };
  };

  return {
    listStalledRuns: ({ reach, runId, limit }) =>
      attempt(async () => {
        if (runId !== undefined) {
          const record = (await store.findRun(runId))?.stored.record;
          if (record === undefined) return notFound('run', runId);
          if (!reaches(reach, record.project)) return outOfReach('run');
          const isOpen = record.endedAt === undefined && record.status !== 'paused';
          return { ok: true, value: await stalledAmong(isOpen ? [record] : []) };
        }
        const open = await store.openRuns(reach, MOST_OPEN + 1);
        const { runs, isCut } = await stalledAmong(open.slice(0, MOST_OPEN));
        return {
          ok: true,
          value: { runs: runs.slice(0, limit), isCut: isCut || open.length > MOST_OPEN || runs.length > limit },
        };
      }),
  };
};
