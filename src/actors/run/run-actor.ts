import { reaches } from '../../model/scope.ts';
import { clearTimerRow } from '../../store/runs/run-store.ts';
import type { ActorKind, Turn } from '../runs-kernel.ts';
import { admit, admitTask } from './admission.ts';
import { begin } from './begin.ts';
import { cancelRun } from './cancel.ts';
import { startStep } from './keyed.ts';
import type { RunHost } from './host.ts';
import type { RunMessage } from './messages.ts';
import { followIfLoadable, pauseRun, resumeRun } from './pause.ts';
import { cancelQuarantined, quarantine, release } from './quarantine.ts';
import { Quarantined } from './quarantined.ts';
import { isOfferable } from './queue-place.ts';
import { readDocuments } from './run-documents.ts';
import { hasEndedAs, notFound, outOfReach } from './run-failures.ts';
import { isOpen, noteEntry, readRun, type RunActor } from './run-state.ts';
import { viewOf } from './run-view.ts';
import { advance } from './settle.ts';
import { takeSpending } from './spending.ts';
import { awaitsChild, takeChildsEnd } from './steps/child.ts';
import { holdsLease, offerTask, takeReport } from './steps/task.ts';
import { isWaitingFor, takeDelivery } from './steps/wait-event.ts';
import { takeTimer } from './timers.ts';

/** Messages that a run takes once it is there. */
type OwnMessage = Exclude<RunMessage, { kind: 'start' | 'spent' | 'follow' | 'quarantine' | 'release' }>;

/** Runs: each message moves the machine of one run by an event, or leaves it where it is. */
export const createRunActors = (host: RunHost): ActorKind => {
  const receive = (turn: Turn, run: RunActor, body: OwnMessage): unknown => {
    const { runId, project } = run.record;
    switch (body.kind) {
      case 'admit':
        if (body.stepId === undefined) admit(host, turn, run, body.inTurn);
        else admitTask(host, turn, run, body.stepId, body.inTurn);
        return undefined;
      case 'offer':
        if (!isOfferable(run.snapshot)) return body.stale();
        advance(host, turn, run, (work) => startStep(work) ?? offerTask(work, body));
        return undefined;
      case 'completed':
      case 'failed':
      case 'lapsed':
      case 'orphaned':
        if (!holdsLease(run, body.leaseId)) throw new Error(`run ${runId} does not hold lease ${body.leaseId}`);
        advance(host, turn, run, (work) => takeReport(work, body));
        return undefined;
      case 'note':
        noteEntry(turn, run, body.entry);
        turn.after(() => {
          host.journalled(runId, { status: run.record.status, entries: [{ seq: run.nextSeq, ...body.entry }] });
        });
        return undefined;
      case 'timer':
        return takeTimer(host, turn, run, body);
      case 'deliver':
        if (!isWaitingFor(run, body.event, body.key)) return false;
        advance(host, turn, run, (work) => takeDelivery(work, body));
        return true;
      case 'child':
        if (awaitsChild(run, body)) advance(host, turn, run, (work) => takeChildsEnd(work, body));
        return undefined;
      case 'cancel': {
        if (body.reach !== undefined && !reaches(body.reach, project)) return outOfReach('run');
        const cancelled = cancelRun(host, turn, run, body.reason);
        return () => {
          const now = readRun(turn, host.programs, runId) ?? cancelled;
          return { ok: true, value: viewOf(now, readDocuments(turn, now)) };
        };
      }
      case 'pause':
      case 'resume': {
        if (body.reach !== undefined && !reaches(body.reach, project)) return outOfReach('run');
        if (!isOpen(run)) return hasEndedAs(run.record);
        const left = body.kind === 'pause' ? pauseRun(host, turn, run, body) : resumeRun(host, turn, run, body.reason);
        return () => {
          const now = readRun(turn, host.programs, runId) ?? left;
          return { ok: true, value: viewOf(now, readDocuments(turn, now)) };
        };
      }
      default:
        return body satisfies never;
    }
  };

  return {
    type: 'run',
    receive: (turn, runId, message) => {
      const body = message as RunMessage;
      switch (body.kind) {
        case 'start':
          return begin(host, turn, runId, body);
        case 'spent':
          return takeSpending(host, turn, runId, body.usage);
        case 'follow':
          return followIfLoadable(host, turn, runId);
        case 'quarantine':
          return quarantine(host, turn, runId, body.damage);
        case 'release':
          return release(host, turn, runId);
        default: {
          let run: RunActor | undefined;
          try {
            run = readRun(turn, host.programs, runId);
          } catch (error) {
            const reach = body.kind === 'cancel' ? body.reach : undefined;
            if (reach === undefined || !(error instanceof Quarantined) || error.runId !== runId) throw error;
            return cancelQuarantined(host, turn, error, reach);
          }
          if (run !== undefined) return receive(turn, run, body);
          if (body.kind === 'offer') return body.stale();
          if (body.kind === 'timer') clearTimerRow(turn.rows, { runId, name: body.name });
          return notFound('run', runId);
        }
      }
    },
  };
};
