import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FEWEST_PEERS, runRepetition, stepCountDivergence } from '../../src/watch/shapes.ts';
import { aShape } from './watch-harness.ts';

const counts = (...steps: number[]) => steps.map((stepCount) => aShape({ stepCount }));

describe('step_count_divergence: runs with an unusual step count for their definition', () => {
  it.each([
    ['the same count in every run', [4, 4, 4, 4, 4], 0],
    ['one step more than always is usual', [4, 4, 4, 4, 5], 0],
    ['two more are not', [4, 4, 4, 4, 6], 0.2],
    ['two fewer are not', [4, 4, 4, 4, 2], 0.2],
    ['a spread of one step allows 3 x 1.4826 steps: 4 away is usual', [9, 10, 11, 9, 10, 11, 14], 0],
    ['and 5 away is not', [9, 10, 11, 9, 10, 11, 15], 1 / 7],
    ['a loop that ran wild does not carry its measure away with it', [4, 4, 4, 4, 4, 4, 4, 500, 900, 700], 0.3],
  ])('%s', (_name, steps, value) =>
    expect(stepCountDivergence(counts(...steps))).toEqual({ value, samples: steps.length }),
  );

  it('each definition and version of an owner is judged by itself', () =>
    expect(
      stepCountDivergence([
        ...counts(4, 4, 4, 4, 4),
        ...counts(40, 40, 40, 40, 40).map((shape) => ({ ...shape, definitionId: 'index' })),
        ...counts(7, 7, 7, 7, 7).map((shape) => ({ ...shape, definitionVersion: 2 })),
        ...counts(70, 70, 70, 70, 70).map((shape) => ({ ...shape, definitionOwner: 'p' })),
      ]),
    ).toEqual({ value: 0, samples: 20 }));

  it('fewer than five of a definition and version are not judged, and not counted as samples', () => {
    const few = counts(4, 4, 4, 400);
    expect(few.length).toBe(FEWEST_PEERS - 1);
    expect(stepCountDivergence(few)).toEqual({
      samples: 0,
      note: '4 runs have fewer than 5 of their definition and version and were not judged',
    });
    const others = counts(9, 9, 9, 9, 9).map((shape) => ({ ...shape, definitionId: 'index' }));
    expect(stepCountDivergence([...few, ...others])).toMatchObject({ value: 0, samples: 5 });
  });

  it('no runs have no value', () => expect(stepCountDivergence([])).toEqual({ samples: 0 }));

  it('is a share of what was judged, whatever the order', () =>
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 40 }), (steps) => {
        const { value, samples } = stepCountDivergence(counts(...steps));
        if (value === undefined) expect([samples, steps.length < FEWEST_PEERS]).toEqual([0, true]);
        else expect(value >= 0 && value < 1).toBe(true);
        expect(stepCountDivergence(counts(...steps.toReversed()))).toEqual(stepCountDivergence(counts(...steps)));
      }),
    ));
});

describe('run_repetition: mean over window runs of the maximum attempts any one node made', () => {
  const tries = (...attempts: number[]) => attempts.map((maxStepAttempts) => ({ maxStepAttempts }));
  it.each([
    ['1 means no node ran twice', [1, 1, 1], 1],
    ['a node that ran five times in one of four runs', [1, 1, 1, 5], 2],
    ['a run whose nodes needed no worker repeated none', [0, 1], 1],
  ])('%s', (_name, attempts, value) =>
    expect(runRepetition(tries(...attempts))).toEqual({ value, samples: attempts.length }),
  );
  it('no runs have no value', () => expect(runRepetition([])).toEqual({ samples: 0 }));
});
