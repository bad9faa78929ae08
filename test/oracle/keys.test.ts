import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL, aDefinition, createHarness, tasks } from '../actors/run-harness.ts';

/** Calls that name a run. */
type Call = 'cancel' | 'pause' | 'resume' | 'restart';
type Command =
  | { readonly kind: 'start'; readonly customer: string; readonly priority: number }
  | { readonly kind: Call; readonly at: number }
  | { readonly kind: 'pass'; readonly ms: number };
type Limits = { readonly holders: number; readonly starts: number | undefined };

const WINDOW_MS = 5000;
const customer = fc.constantFrom('ada', 'ada', 'bob');
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('start' as const), customer, priority: fc.constantFrom(-1, 0, 0, 5) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), at: fc.nat(6) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pause' as const), at: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('resume' as const), at: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), at: fc.nat(6) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 1000, 3000, 5001) }) },
);

type Modelled = {
  readonly customer: string;
  readonly priority: number;
  /** `asks_later`: it was paused when its turn came, and left the line. */
  state: 'waits' | 'asks_later' | 'holds' | 'over';
  isPaused: boolean;
  /** Whether it has been at its step: what it can be restarted from. */
  wasThere: boolean;
  /** Its age in the line. */
  order: number;
};

/** Keys as one would explain them: of all that wait and could go, the best goes, until none can. A paused one leaves the line instead. */
const createModel = ({ holders, starts }: Limits) => {
  const runs: Modelled[] = [];
  let began: number[] = [];
  let now = 0;
  let orders = 0;
  const mayGo = ({ customer: of }: Modelled): boolean =>
    runs.filter((one) => one.state === 'holds' && one.customer === of).length < holders &&
    (starts === undefined || began.filter((at) => now - at <= WINDOW_MS).length < starts);
  const settle = (): void => {
    for (;;) {
      const [best] = runs
        .filter((one) => one.state === 'waits' && mayGo(one))
        .toSorted((a, b) => b.priority - a.priority || a.order - b.order);
      if (best === undefined) return;
      if (best.isPaused) {
        best.state = 'asks_later';
        continue;
      }
      best.state = 'holds';
      best.wasThere = true;
      began = [...began, now];
    }
  };
  const add = ({ customer: of, priority }: Pick<Modelled, 'customer' | 'priority'>): void => {
    runs.push({ customer: of, priority, state: 'waits', isPaused: false, wasThere: false, order: (orders += 1) });
  };
  /** @returns whether the call is taken */
  const steer = (kind: Call, run: Modelled): boolean => {
    if (kind === 'restart') {
      if (run.state !== 'over' || !run.wasThere) return false;
      add(run);
      return true;
    }
    if (run.state === 'over') return kind === 'cancel';
    if (kind === 'cancel') run.state = 'over';
    else run.isPaused = kind === 'pause';
    if (kind === 'resume' && run.state === 'asks_later') {
      run.state = 'waits';
      run.order = orders += 1;
    }
    return true;
  };
  return {
    runs,
    /** @returns whether the call is taken */
    take: (one: Command): boolean => {
      let isTaken = true;
      if (one.kind === 'start') add(one);
      else if (one.kind === 'pass') now += one.ms;
      else {
        const run = runs[one.at];
        isTaken = run !== undefined && steer(one.kind, run);
      }
      settle();
      return isTaken;
    },
  };
};

it.each<Limits>([
  { holders: 1, starts: undefined },
  { holders: 2, starts: undefined },
  { holders: 100, starts: 2 },
  { holders: 1, starts: 2 },
])('runs are let in as a naive model lets them in: %o', async (limits) => {
  const seen = { waits: 0, asks_later: 0, holds: 0, over: 0, restart: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 25, maxLength: 40 }), async (commands) => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', tasks('one'), {
            concurrency: { key: '${input.customer}', limit: limits.holders },
            ...(limits.starts === undefined ? {} : { rate: { key: 'all', limit: limits.starts, per_ms: WINDOW_MS } }),
          }),
        ],
      });
      const { runs } = service;
      const model = createModel(limits);
      const ids: string[] = [];
      const steer = async (kind: Call, runId: string): Promise<boolean> => {
        switch (kind) {
          case 'cancel':
            return (await runs.cancelRun({ ...ALL, runId })).ok;
          case 'pause':
            return (await runs.pauseRun({ ...ALL, runId })).ok;
          case 'resume':
            return (await runs.resumeRun({ ...ALL, runId })).ok;
          case 'restart': {
            const again = await runs.restartRun({ ...ALL, runId, fromStep: 'one' });
            if (again.ok) ids.push(again.value.run.runId);
            return again.ok;
          }
          default:
            return kind satisfies never;
        }
      };
      for (const one of commands) {
        const isTaken = model.take(one);
        if (one.kind === 'start')
          ids.push((await service.start('flow', { customer: one.customer }, { priority: one.priority })).runId);
        else if (one.kind === 'pass') service.time.advance(one.ms);
        else {
          const runId = ids[one.at];
          if (runId !== undefined) expect(await steer(one.kind, runId), JSON.stringify(one)).toBe(isTaken);
          if (one.kind === 'restart' && isTaken) seen.restart += 1;
        }
        await runs.tick();
        const states: string[] = [];
        for (const runId of ids) {
          const { status, cursor } = await service.detail(runId);
          states.push(status === 'cancelled' ? 'over' : cursor === undefined ? 'waits' : 'holds');
        }
        expect(states).toEqual(model.runs.map(({ state }) => (state === 'asks_later' ? 'waits' : state)));
        for (const { state } of model.runs) seen[state] += 1;
      }
      expect(service.faults).toEqual([]);
    }),
    { numRuns: 60 },
  );
  expect(Object.entries(seen).filter(([, times]) => times === 0)).toEqual([]);
});
