import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RunningRuns } from '../../src/actors/start.ts';
import { type CatchUp, type Overlap, overlaps } from '../../src/model/schedule/schedule.ts';
import { ALL, aDefinition, createHarness, must, tasks } from '../actors/run-harness.ts';

const MINUTE = 60_000;
/** How often the service looks. */
const LOOK_MS = 5000;
const GRACE_MS = 10_000;
const WINDOW_MS = 5 * MINUTE;
const SHOWN = 10;

type Command =
  | { readonly kind: 'pause' | 'resume' | 'trigger' | 'restart' }
  /** One of the open runs ends. */
  | { readonly kind: 'end'; readonly at: number }
  | { readonly kind: 'pass'; readonly ms: number }
  /** The service is not there for so long. */
  | { readonly kind: 'away'; readonly ms: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(LOOK_MS, 30_000, 95_000) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), at: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('away' as const), ms: fc.constantFrom(LOOK_MS, 70_000, 8 * MINUTE) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('trigger' as const, 'restart' as const) }) },
);

type Outcome = 'started' | 'overlap' | 'missed' | 'paused' | 'catch_up_window';
/** A nominal time in minutes after the schedule was made, or a trigger. */
type Firing = number | 'trigger';

/** A schedule of one time a minute, as one would explain it. Runs are numbered as they are started, and stay open until they are ended. */
const createModel = (overlap: Overlap, catchUp: CatchUp) => {
  const open: number[] = [];
  const records: [Firing, Outcome][] = [];
  let now = 0;
  let runs = 0;
  let next = 1;
  let isPaused = false;
  let waiting: Firing | undefined;

  const start = (firing: Firing): void => {
    open.push(runs);
    runs += 1;
    records.push([firing, 'started']);
  };
  const fire = (firing: Firing): void => {
    if (overlap === 'allow' || (open.length === 0 && waiting === undefined)) return start(firing);
    if (overlap === 'cancel_running') {
      open.length = 0;
      return start(firing);
    }
    if (overlap === 'queue' && waiting === undefined) waiting = firing;
    else records.push([firing, 'overlap']);
    return undefined;
  };
  const startWaiting = (): void => {
    if (waiting === undefined || open.length > 0 || (isPaused && waiting !== 'trigger')) return;
    start(waiting);
    waiting = undefined;
  };
  const reach = (graceMs: number, because: 'missed' | 'paused'): void => {
    const last = Math.floor(now / MINUTE);
    for (; next <= last; next += 1) {
      const at = next * MINUTE;
      const isMissed = now - at > graceMs;
      if (!isMissed || (catchUp === 'last' && next === last) || (catchUp === 'all' && at >= now - WINDOW_MS))
        fire(next);
      else records.push([next, catchUp === 'all' ? 'catch_up_window' : because]);
    }
  };
  return {
    open,
    state: () => ({
      status: isPaused ? 'paused' : 'active',
      open: [...open],
      waiting,
      runs,
      skipped: records.filter(([, outcome]) => outcome !== 'started').length,
      firings: records.slice(-SHOWN),
    }),
    records,
    take: (one: Command): void => {
      switch (one.kind) {
        case 'pause':
          isPaused = true;
          return;
        case 'resume':
          if (!isPaused) return;
          isPaused = false;
          startWaiting();
          reach(0, 'paused');
          return;
        case 'trigger':
          return fire('trigger');
        case 'end':
          if (open[one.at] !== undefined) open.splice(one.at, 1);
          startWaiting();
          return;
        case 'pass':
          for (let left = one.ms; left > 0; left -= LOOK_MS) {
            now += LOOK_MS;
            if (!isPaused) reach(GRACE_MS, 'missed');
          }
          return;
        case 'away':
          now += one.ms;
          if (!isPaused) reach(GRACE_MS, 'missed');
          return;
        case 'restart':
          return;
        default:
          one satisfies never;
      }
    },
  };
};

const seen = new Set<string>();

it.each(overlaps)(
  'a schedule fires as a naive model fires it, whatever pauses, restarts and ends: overlap %s',
  async (overlap) => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<CatchUp>('none', 'last', 'all'),
        fc.constantFrom('queue', 'reject'),
        fc.array(command, { minLength: 25, maxLength: 40 }),
        async (catchUp, onLimit, commands) => {
          // A run that begins before the one that it follows has ended finds its key taken: it waits, or is refused.
          const concurrency = { key: 'all', limit: 1, on_limit: overlap === 'allow' ? 'queue' : onLimit };
          const keyed = aDefinition('flow', tasks('one'), { concurrency });
          const service = await createHarness({ definitions: [keyed] });
          const { time } = service;
          const origin = time.now();
          const named = { ...ALL, project: 'p', id: 'minutely' };
          let runs: RunningRuns = service.runs;
          must(
            await runs.createSchedule({
              ...named,
              given: { definitionId: 'flow', everyMs: MINUTE, overlap, catchUp, catchUpWindowMs: WINDOW_MS },
            }),
          );
          const model = createModel(overlap, catchUp);
          const ids: string[] = [];
          const act = async (one: Command): Promise<void> => {
            switch (one.kind) {
              case 'pause':
                must(await runs.pauseSchedule(named));
                return;
              case 'resume':
                must(await runs.resumeSchedule(named));
                return;
              case 'trigger':
                must(await runs.triggerSchedule(named));
                return;
              case 'end': {
                const runId = ids[model.open[one.at] ?? -1];
                if (runId !== undefined) must(await runs.cancelRun({ ...ALL, runId }));
                return;
              }
              case 'pass':
                for (let left = one.ms; left > 0; left -= LOOK_MS) {
                  time.advance(LOOK_MS);
                  await runs.tick();
                }
                return;
              case 'away':
                time.advance(one.ms);
                runs = await service.reopen();
                await runs.tick();
                return;
              case 'restart':
                runs = await service.reopen();
                return;
              default:
                one satisfies never;
            }
          };
          for (const one of commands) {
            // Two lives of a service never write beside each other.
            if (one.kind === 'away' || one.kind === 'restart') await runs.tick();
            await act(one);
            model.take(one);
            const view = must(await runs.getSchedule(named));
            const { items } = must(await runs.listRuns({ ...ALL, reach: ['p'], limit: 1000 }));
            // Those that are new, in the order of their ids.
            const fresh = items.map(({ runId }) => runId).filter((runId) => !ids.includes(runId));
            ids.push(...fresh.toSorted((a, b) => (a < b ? -1 : 1)));
            const isOpen = (runId: string): boolean =>
              items.some((run) => run.runId === runId && run.status !== 'cancelled');
            const nominal = (firing: { readonly nominalAt: number; readonly triggerId?: string }): Firing =>
              firing.triggerId === undefined ? (firing.nominalAt - origin) / MINUTE : 'trigger';
            expect(
              {
                status: view.status,
                open: [...ids.keys()].filter((at) => isOpen(ids[at] ?? '')),
                waiting: view.waiting && nominal(view.waiting),
                runs: view.started,
                skipped: view.skipped,
                firings: view.firings
                  .toReversed()
                  .map((firing) => [nominal(firing), firing.outcome === 'started' ? 'started' : firing.reason]),
              },
              JSON.stringify(one),
            ).toEqual(model.state());
            expect(ids).toHaveLength(view.started);
            expect(view.running).toEqual(model.open.map((at) => ids[at]));
            if (overlap !== 'allow')
              for (const runId of fresh) expect(await service.kinds(runId)).not.toContain('run.held');
          }
          for (const [firing, outcome] of model.records)
            seen.add(`${overlap} ${firing === 'trigger' ? 'trigger' : 'time'} ${outcome}`);
          expect(service.faults).toEqual([]);
        },
      ),
      { seed: 20_261_120, numRuns: 30 },
    );
  },
);

it('the histories above have seen each outcome of each overlap', () => {
  const outcomes = overlaps.flatMap((overlap) =>
    [
      'trigger started',
      'time started',
      'time missed',
      'time paused',
      'time catch_up_window',
      ...(overlap === 'skip' || overlap === 'queue' ? ['time overlap', 'trigger overlap'] : []),
    ].map((outcome) => `${overlap} ${outcome}`),
  );
  expect(outcomes.filter((outcome) => !seen.has(outcome))).toEqual([]);
});
