import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL, aDefinition, createHarness, must, tasks } from '../actors/run-harness.ts';

type Command =
  | { readonly kind: 'start'; readonly customer: string; readonly priority: number }
  | { readonly kind: 'cancel'; readonly at: number }
  | { readonly kind: 'pass'; readonly ms: number };
type Limits = { readonly holders: number; readonly starts: number | undefined };

const WINDOW_MS = 5000;
const customer = fc.constantFrom('ada', 'bob', 'eve');
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('start' as const), customer, priority: fc.constantFrom(-1, 0, 0, 5) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), at: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 1000, 3000, 5001) }) },
);

type Modelled = {
  readonly no: number;
  readonly customer: string;
  readonly priority: number;
  state: 'waits' | 'holds' | 'over';
};

/** Keys as one would explain them: of all that wait and could go, the best goes, until none can. */
const createModel = ({ holders, starts }: Limits) => {
  const runs: Modelled[] = [];
  let began: number[] = [];
  let now = 0;
  const mayGo = ({ customer: of }: Modelled): boolean =>
    runs.filter((one) => one.state === 'holds' && one.customer === of).length < holders &&
    (starts === undefined || began.filter((at) => now - at <= WINDOW_MS).length < starts);
  const settle = (): void => {
    for (;;) {
      const [best] = runs
        .filter((one) => one.state === 'waits' && mayGo(one))
        .toSorted((a, b) => b.priority - a.priority || a.no - b.no);
      if (best === undefined) return;
      best.state = 'holds';
      began = [...began, now];
    }
  };
  return {
    runs,
    take: (one: Command): void => {
      if (one.kind === 'start')
        runs.push({ no: runs.length, customer: one.customer, priority: one.priority, state: 'waits' });
      else if (one.kind === 'cancel') {
        const run = runs[one.at];
        if (run !== undefined) run.state = 'over';
      } else now += one.ms;
      settle();
    },
  };
};

it.each<Limits>([
  { holders: 1, starts: undefined },
  { holders: 2, starts: undefined },
  { holders: 100, starts: 2 },
  { holders: 1, starts: 2 },
])('runs are let in as a naive model lets them in: %o', async (limits) => {
  let waited = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', tasks('one'), {
            concurrency: { key: '${input.customer}', limit: limits.holders },
            ...(limits.starts === undefined ? {} : { rate: { key: 'all', limit: limits.starts, per_ms: WINDOW_MS } }),
          }),
        ],
      });
      const model = createModel(limits);
      const ids: string[] = [];
      for (const one of commands) {
        model.take(one);
        if (one.kind === 'start')
          ids.push((await service.start('flow', { customer: one.customer }, { priority: one.priority })).runId);
        else if (one.kind === 'cancel') {
          const runId = ids[one.at];
          if (runId !== undefined) must(await service.runs.cancelRun({ ...ALL, runId }));
        } else service.time.advance(one.ms);
        await service.runs.tick();
        const seen: string[] = [];
        for (const runId of ids) {
          const { status, cursor } = await service.detail(runId);
          seen.push(status === 'cancelled' ? 'over' : cursor === undefined ? 'waits' : 'holds');
        }
        expect(seen).toEqual(model.runs.map(({ state }) => state));
        waited += seen.filter((state) => state === 'waits').length;
      }
      expect(service.faults).toEqual([]);
    }),
    { numRuns: 30 },
  );
  expect(waited).toBeGreaterThan(0);
});
