import { type BulkEvent, bulkMachine } from '../../machines/bulk.ts';
import { Unloadable } from '../../machines/persisted.ts';
import { initialSnapshot, step, take } from '../../machines/transition.ts';
import type { Result } from '../../model/failure.ts';
import type { UnixMs } from '../../model/run.ts';
import { type ActorRecord, clearTimerRow } from '../../store/runs/run-store.ts';
import type { CarriedOver } from '../carried-over.ts';
import type { Programs } from '../run/program.ts';
import { Quarantined } from '../run/quarantined.ts';
import { notFound } from '../run/run-failures.ts';
import { readRun } from '../run/run-state.ts';
import { countdown } from '../run/timer-rows.ts';
import type { ActorKind, Turn } from '../runs-kernel.ts';
import { messageOf } from './actions.ts';
import {
  begunBefore,
  type BulkActor,
  bulkSlot,
  bulkView,
  keyPrefixOf,
  matchingRunsSlot,
  reviveBulk,
} from './bulk-state.ts';
import type { BegunBulk, BulkMessage, BulkSlice } from './messages.ts';
import type { RestartSlices } from './restart-slices.ts';

/** The name of its timer. */
const TIMER = 'bulk';
/** Rows that one slice looks at. Each that matches is a turn of a run in the same commit. */
const SLICE_ROWS = 100;
/** One that has ended can be looked at for so long. */
const BULK_KEPT_MS = 24 * 60 * 60 * 1000;
/** The project of one over several projects: no key of a project reaches it. */
const SEVERAL = '*';

/** Actions on many runs: each slice is one commit, which counts what became of its runs. */
export const createBulkActors = (host: {
  readonly programs: Programs;
  readonly carriedOver: Pick<CarriedOver, 'add'>;
  readonly restarts: Pick<RestartSlices, 'take'>;
}): ActorKind => {
  const setTimer = (turn: Turn, id: string, dueAt: UnixMs): void => {
    turn.rows.timersSet.push(countdown(turn, { runId: id, name: TIMER }, dueAt));
  };

  /** Takes an event, writes what it left, and sets the timer that it asks for. */
  const move = (turn: Turn, actor: BulkActor, event: BulkEvent): BulkActor => {
    const { next: snapshot, effects } = step(bulkMachine, actor.snapshot, event);
    const { id } = actor.record;
    const record: ActorRecord = {
      ...actor.record,
      status: snapshot.value === 'running' ? 'active' : 'done',
      updatedAt: turn.at,
    };
    const moved: BulkActor = { ...actor, record, snapshot };
    turn.write(bulkSlot, id, moved);
    for (const { type } of effects)
      switch (type) {
        case 'goOn': {
          setTimer(turn, id, turn.at);
          const timer = { runId: id, name: TIMER, dueAt: turn.at, project: record.project, traceId: id };
          // The row is for a restart: the next slice follows this commit.
          turn.after(() => host.carriedOver.add(timer));
          break;
        }
        case 'expire':
          setTimer(turn, id, turn.at + BULK_KEPT_MS);
          break;
        default:
          throw new Error(`the bulk machine wants "${type}", which nobody does`);
      }
    return moved;
  };

  const begin = (turn: Turn, id: string, { spec, count }: BulkMessage & { kind: 'begin' }): Result<BegunBulk> => {
    const { keyed } = spec;
    if (keyed !== undefined) {
      const found = turn.read(bulkSlot, id);
      if (found !== undefined) return begunBefore(reviveBulk(found), keyed.digest);
    }
    const { reach } = spec.filter;
    const [only = SEVERAL, ...others] = reach === 'all' ? [] : reach;
    const record: ActorRecord = {
      type: 'bulk',
      id,
      project: others.length === 0 ? only : SEVERAL,
      document: JSON.stringify(spec),
      snapshot: '',
      status: 'active',
      version: 0,
      createdAt: turn.at,
      updatedAt: turn.at,
    };
    const actor = { record, spec, snapshot: initialSnapshot(bulkMachine) };
    move(turn, actor, { type: 'bulk.begun', at: turn.at, count });
    return { ok: true, value: { bulkId: id, begun: true, count, sample: keyed?.sample ?? [] } };
  };

  const takeSlice = (turn: Turn, actor: BulkActor): void => {
    const { id } = actor.record;
    const { after } = actor.snapshot.context;
    const { filter: query, work } = actor.spec;
    const keyPrefix = keyPrefixOf(actor);
    if (work.action === 'restart') {
      // The row of the timer stays: it hands the slice over again where nobody says what became of it.
      turn.after(() => host.restarts.take({ bulkId: id, keyPrefix, filter: query, after }));
      return;
    }
    const { runIds, upTo } = turn.read(matchingRunsSlot, { bulkId: id, query, after, scan: SLICE_ROWS });
    const slice: BulkSlice = { replies: [], refused: 0 };
    for (const runId of runIds) {
      const apply: BulkMessage = { kind: 'apply', runId, slice };
      turn.tell({ type: 'bulk', id }, apply);
    }
    turn.conclude(() => {
      const done = slice.replies.filter((reply) => (reply() as Result<unknown>).ok).length;
      move(turn, actor, {
        type: 'slice.taken',
        at: turn.at,
        done,
        refused: slice.refused + slice.replies.length - done,
        ...(upTo === undefined ? {} : { after: upTo }),
      });
    });
  };

  /** A message of its own for each run, so that one load serves all that they lack. */
  const apply = (turn: Turn, actor: BulkActor, { runId, slice }: BulkMessage & { kind: 'apply' }): void => {
    try {
      const run = readRun(turn, host.programs, runId);
      if (run === undefined) return; // erased since
      const { work } = actor.spec;
      const message = work.action === 'restart' ? undefined : messageOf(run, work, keyPrefixOf(actor));
      if (message === undefined) slice.refused += 1;
      else slice.replies.push(turn.ask(message, message.body));
    } catch (error) {
      if (!(error instanceof Quarantined)) throw error;
      slice.refused += 1;
    }
  };

  const takeRestarted = (turn: Turn, actor: BulkActor, body: BulkMessage & { kind: 'restarted' }): void => {
    const { from, done, refused, upTo: after } = body;
    if (actor.snapshot.value !== 'running' || actor.snapshot.context.after !== from) return;
    move(turn, actor, { type: 'slice.taken', at: turn.at, done, refused, ...(after === undefined ? {} : { after }) });
  };

  const remove = (turn: Turn, id: string): void => {
    turn.write(bulkSlot, id, undefined);
    clearTimerRow(turn.rows, { runId: id, name: TIMER });
  };

  const takeTimer = (turn: Turn, actor: BulkActor, { dueAt }: BulkMessage & { kind: 'timer' }): void => {
    const { value, context } = actor.snapshot;
    if (value === 'running') return takeSlice(turn, actor);
    // A timer of a slice that was read before the last one: the row is now that of the end.
    return context.endedAt !== undefined && dueAt === context.endedAt + BULK_KEPT_MS
      ? remove(turn, actor.record.id)
      : undefined;
  };

  /** Nobody can go on with it: it can be looked at for a while, then it goes. */
  const quarantine = (turn: Turn, id: string, error: Unloadable): void => {
    const record = turn.read(bulkSlot, id);
    if (record === undefined || 'spec' in record) return;
    if (record.fault === undefined) {
      turn.write(bulkSlot, id, { ...record, fault: error.message, version: record.version + 1 } satisfies ActorRecord);
      setTimer(turn, id, turn.at + BULK_KEPT_MS);
    } else remove(turn, id);
  };

  const receive = (turn: Turn, id: string, body: BulkMessage): unknown => {
    if (body.kind === 'begin') return begin(turn, id, body);
    const found = turn.read(bulkSlot, id);
    if (found === undefined) {
      if (body.kind === 'timer') clearTimerRow(turn.rows, { runId: id, name: TIMER });
      return notFound('bulk', id);
    }
    const actor = reviveBulk(found);
    switch (body.kind) {
      case 'timer':
        return takeTimer(turn, actor, body);
      case 'apply':
        return apply(turn, actor, body);
      case 'restarted':
        return takeRestarted(turn, actor, body);
      case 'stop': {
        const stopped: BulkEvent = { type: 'bulk.stopped', at: turn.at };
        const mayStop = take(bulkMachine, actor.snapshot, stopped) !== undefined;
        return { ok: true, value: bulkView(mayStop ? move(turn, actor, stopped) : actor) };
      }
      default:
        return body satisfies never;
    }
  };

  return {
    type: 'bulk',
    receive: (turn, id, message) => {
      const body = message as BulkMessage;
      try {
        return receive(turn, id, body);
      } catch (error) {
        if (!(error instanceof Unloadable) || body.kind !== 'timer') throw error;
        quarantine(turn, id, error);
        return undefined;
      }
    },
  };
};
