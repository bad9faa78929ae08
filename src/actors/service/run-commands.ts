import { reaches } from '../../model/scope.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { EventMessage } from '../event/messages.ts';
import type { RunMessage, Started, StartMessage } from '../run/messages.ts';
import { forbidden, notFound } from '../run/run-failures.ts';
import { attempt, type Calls } from './calls.ts';
import { runOfRows } from './run-views.ts';
import type { RunCommands } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';

/** What moves runs from outside: starts, cancels and events. */
export const createRunCommands = (host: {
  readonly calls: Calls;
  readonly store: Pick<RunStore, 'findRun'>;
  readonly storedRuns: Pick<StoredRuns, 'visible'>;
}): RunCommands => {
  const { ask } = host.calls;
  return {
    startRun: async (request) => {
      if (!reaches(request.reach, request.project)) return forbidden(request.project);
      const body: StartMessage = {
        definitionId: request.definitionId,
        input: request.input,
        correlation: request.correlation ?? {},
        ...(request.definitionVersion === undefined ? {} : { definitionVersion: request.definitionVersion }),
        ...(request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey }),
      };
      const started = await ask<Started>({ type: 'start', id: request.project, body });
      if (!started.ok) return started;
      const { value } = started;
      if ('run' in value) return { ok: true, value: { run: value.run, created: true } };
      return attempt(async () => {
        const rows = await host.store.findRun(value.existing);
        return rows === undefined
          ? notFound('run', value.existing)
          : { ok: true, value: { run: runOfRows(rows), created: false } };
      });
    },

    cancelRun: ({ runId, reason, reach }) => {
      const body: RunMessage = { kind: 'cancel', reach, ...(reason === undefined ? {} : { reason }) };
      return ask({ type: 'run', id: runId, body }, { always: true });
    },

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
        return ask({ type: 'event', id: run.value.project, body });
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
      return ask({ type: 'event', id: project, body });
    },
  };
};
