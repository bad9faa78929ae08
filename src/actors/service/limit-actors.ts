import { limitMachine } from '../../machines/limit.ts';
import type { Json } from '../../model/json.ts';
import type { UnixMs, WaitingFor } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import { roomAt, startsWithin } from '../../model/start-window.ts';
import type { LimitPlace, LimitRecord, RunRecord, RunStore } from '../../store/runs/run-store.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { faultOfLimit } from '../limit/limit-state.ts';
import { notFound, outOfReach } from '../run/run-failures.ts';
import { type ActorSource, refusedAtSeq } from './actor-directory.ts';
import type { ActorSummary } from './runs-service.ts';

/** Holders, and those who wait, that are shown of one key. */
export const MOST_SHOWN = 100;

export type Clocks = {
  readonly steady: () => UnixMs;
  /** What the wall clock will show at a time of the steady one. */
  readonly wallOf: (steady: UnixMs) => UnixMs;
};

/** When a rate next has room, by the wall clock; absent where it has room, or is no rate. */
export const nextAtOf = (
  { starts, limit, perMs }: LimitRecord,
  { steady, wallOf }: Clocks,
): { readonly nextAt?: UnixMs } => {
  if (perMs === undefined) return {};
  const at = roomAt(startsWithin(starts, perMs, steady()), limit, perMs);
  return at === undefined ? {} : { nextAt: wallOf(at) };
};

const summaryOf = (record: LimitRecord): ActorSummary => ({
  type: 'limit',
  id: record.limitId,
  machine: limitMachine.id,
  value: record.state,
  status: faultOfLimit(record) === undefined ? 'active' : 'quarantined',
  version: record.version,
  updatedAt: record.updatedAt,
});

const placeOf = ({ runId, stepId, priority, since }: LimitPlace): Json => ({
  runId,
  ...(stepId === undefined ? {} : { stepId }),
  priority,
  since,
});

const contextOf = (
  record: LimitRecord,
  holders: readonly LimitPlace[],
  line: readonly LimitPlace[],
  clocks: Clocks,
): Json => ({
  project: record.project,
  definitionId: record.definitionId,
  definitionVersion: record.definitionVersion,
  ...(record.stepId === undefined ? {} : { stepId: record.stepId }),
  kind: record.kind,
  key: record.key,
  limit: record.limit,
  ...(record.perMs === undefined ? {} : { perMs: record.perMs }),
  used: record.used,
  waiting: record.waiting,
  lines: record.lines,
  movedAt: record.movedAt,
  ...nextAtOf(record, clocks),
  holders: holders.map(placeOf),
  line: line.map(placeOf),
});

/** Keys in use as actors: each is a row, with the first of those who hold it and of those who wait. */
export const createLimitSource = (
  host: Clocks & {
    readonly store: Pick<RunStore, 'listLimits' | 'findLimit'>;
    readonly mailbox: Kernel['mailbox'];
  },
): ActorSource => ({
  type: 'limit',
  list: async ({ reach, status, limit, after }) => {
    if (status === 'done') return [];
    const found: ActorSummary[] = [];
    for (let from = after; ; ) {
      const records = await host.store.listLimits({ reach, limit, ...(from === undefined ? {} : { after: from }) });
      const page = records.map(summaryOf);
      found.push(...page.filter((one) => status === undefined || one.status === status));
      from = records.at(-1)?.limitId;
      if (records.length < limit || found.length >= limit) return found.slice(0, limit);
    }
  },
  get: async ({ id, reach, atSeq }) => {
    if (atSeq !== undefined) return refusedAtSeq;
    const mailbox = host.mailbox({ type: 'limit', id });
    const rows = await host.store.findLimit(id, MOST_SHOWN);
    if (rows === undefined) return notFound('limit', id);
    const { record, holders, line } = rows;
    if (!reaches(reach, record.project)) return outOfReach('limit');
    const context = contextOf(record, holders, line, host);
    const fault = faultOfLimit(record);
    const { machineVersion } = record;
    return {
      ok: true,
      value: { ...summaryOf(record), machineVersion, context, mailbox, ...(fault === undefined ? {} : { fault }) },
    };
  },
});

/** For which key a run waits, or the task that it is at; `undefined` where it waits for none. */
export const createWaitingFor =
  (host: Clocks & { readonly store: Pick<RunStore, 'whereWaits'> }) =>
  async ({ places }: Pick<RunRecord, 'places'>): Promise<WaitingFor | undefined> => {
    const waiting = [places?.step, places?.run].find((place) => place?.lineId !== undefined);
    const found = waiting === undefined ? undefined : await host.store.whereWaits(waiting.order, MOST_SHOWN);
    if (found === undefined) return undefined;
    const { record, position, holders } = found;
    return {
      limitId: record.limitId,
      key: record.key,
      position,
      holders: holders.map(({ runId }) => runId),
      ...nextAtOf(record, host),
    };
  };
