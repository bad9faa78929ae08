import { hasEnded, type Run, type RunStatus } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { EventMessage } from '../event/messages.ts';
import type { RestartMessage, RunMessage, Started, StartMessage } from '../run/messages.ts';
import { forbidden, notFound } from '../run/run-failures.ts';
import type { LiveWorkers } from '../workers/live-workers.ts';
import { attempt, callerOfProject, type Calls } from './calls.ts';
import type { Followers } from './follow-journal.ts';
import { runOfRows, withReason } from './run-views.ts';
import type { Reading } from './reading.ts';
import type { Restarts } from './restarts.ts';
import type { RunCommands } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';

/** What moves runs from outside: starts, cancels and events. */
export const createRunCommands = (host: {
  readonly calls: Calls;
  readonly store: Pick<RunStore, 'findRun'>;
  readonly storedRuns: Pick<StoredRuns, 'recordOf' | 'visible'>;
  readonly followers: Pick<Followers, 'mayAwaitEnd' | 'untilEnded'>;
  readonly liveWorkers: Pick<LiveWorkers, 'queuedReasons'>;
  readonly restarts: Restarts;
  readonly reading: Reading;
}): RunCommands => {
  const { ask, askAlways } = host.calls;
  const { followers } = host;

  const read = async (runId: string): Promise<Run | undefined> => {
    const rows = await host.store.findRun(runId);
    return rows && withReason(runOfRows(rows), await host.liveWorkers.queuedReasons([rows.stored.record]));
  };

  /** The run as it ended, or as it is when the wait is over. Whatever becomes of the wait, the run is stored. */
  const afterWait = async (
    run: Run,
    waitMs: number,
    signal: AbortSignal | undefined,
    look: () => Promise<RunStatus | undefined>,
  ): Promise<Run> => {
    if (waitMs === 0 || hasEnded(run.status) || !followers.mayAwaitEnd()) return run;
    try {
      return (await followers.untilEnded(run.runId, waitMs, signal, look)) ?? (await read(run.runId)) ?? run;
    } catch (error) {
      if (error instanceof StoreUnavailable) return run;
      throw error;
    }
  };

  return {
    startRun: async (request, signal) => {
      if (!reaches(request.reach, request.project)) return forbidden(request.project);
      const body: StartMessage = {
        definitionId: request.definitionId,
        input: request.input,
        correlation: request.correlation ?? {},
        ...(request.definitionVersion === undefined ? {} : { definitionVersion: request.definitionVersion }),
        ...(request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey }),
        ...(request.startAt === undefined ? {} : { startAt: request.startAt }),
        ...(request.priority === undefined ? {} : { priority: request.priority }),
      };
      const started = await ask<Started>(callerOfProject(request.project), {
        type: 'start',
        id: request.project,
        body,
      });
      if (!started.ok) return started;
      const { value } = started;
      const { waitMs = 0 } = request;
      if ('run' in value) {
        // No commit lands between the answer to the start and the wait: the run is as it was answered.
        const look = (): Promise<RunStatus> => Promise.resolve(value.run.status);
        return { ok: true, value: { run: await afterWait(value.run, waitMs, signal, look), created: true } };
      }
      return attempt(async () => {
        const rows = await host.store.findRun(value.existing);
        if (rows === undefined) return notFound('run', value.existing);
        const run = runOfRows(rows);
        const look = async (): Promise<RunStatus | undefined> => (await host.storedRuns.recordOf(run.runId))?.status;
        return { ok: true, value: { run: await afterWait(run, waitMs, signal, look), created: false } };
      });
    },

    restartRun: (request) =>
      host.reading<{ run: Run; created: boolean }>(async () => {
        const record = await host.storedRuns.visible(request.runId, request.reach);
        if (!record.ok) return record;
        const planned = await host.restarts(record.value, request);
        if (!planned.ok) return planned;
        const body: RestartMessage = {
          ...planned.value,
          ...(request.definitionVersion === undefined ? {} : { definitionVersion: request.definitionVersion }),
          ...(request.input === undefined ? {} : { input: request.input }),
          ...(request.statePatch === undefined ? {} : { statePatch: request.statePatch }),
          ...(request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey }),
        };
        const { project } = record.value;
        const restarted = await ask<Started>(callerOfProject(project), { type: 'restart', id: project, body });
        if (!restarted.ok) return restarted;
        if ('run' in restarted.value) return { ok: true, value: { run: restarted.value.run, created: true } };
        const { existing } = restarted.value;
        const run = await read(existing);
        return run === undefined ? notFound('run', existing) : { ok: true, value: { run, created: false } };
      }),

    cancelRun: ({ runId, reason, reach }) => {
      const body: RunMessage = { kind: 'cancel', reach, ...(reason === undefined ? {} : { reason }) };
      return askAlways({ type: 'run', id: runId, body });
    },

    pauseRun: ({ runId, reason, reach }) => {
      const body: RunMessage = { kind: 'pause', reach, ...(reason === undefined ? {} : { reason }) };
      return askAlways({ type: 'run', id: runId, body });
    },

    resumeRun: ({ runId, reason, reach }) =>
      attempt(async () => {
        const run = await host.storedRuns.visible(runId, reach);
        if (!run.ok) return run;
        const body: RunMessage = { kind: 'resume', reach, ...(reason === undefined ? {} : { reason }) };
        return ask<Run>(callerOfProject(run.value.project), { type: 'run', id: runId, body });
      }),

    signalRun: ({ runId, reach, event, payload, eventId }) =>
      attempt(async () => {
        const run = await host.storedRuns.visible(runId, reach);
        if (!run.ok) return run;
        const body: EventMessage = {
          kind: 'signal',
          runId,
          reach,
          event,
          payload,
          ...(eventId === undefined ? {} : { eventId }),
        };
        return ask(callerOfProject(run.value.project), { type: 'event', id: run.value.project, body });
      }),

    publishEvent: async ({ reach, project, event, key, payload, eventId }) => {
      if (!reaches(reach, project)) return forbidden(project);
      const body: EventMessage = {
        kind: 'publish',
        event,
        key,
        payload,
        ...(eventId === undefined ? {} : { eventId }),
      };
      return ask(callerOfProject(project), { type: 'event', id: project, body });
    },
  };
};
