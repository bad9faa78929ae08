import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { judgeMutants, slimMutants } from '../../sdk/conformance/mutants/run.ts';
import { type Mutant, mutants } from '../../sdk/conformance/mutants/typescript.ts';
import { scenarios } from '../../sdk/conformance/scenarios/all.ts';

// All of them: node sdk/conformance/mutants/run.ts
describe('the conformance kit', () => {
  it('catches each fault that is planted into the library for TypeScript', async () => {
    const verdicts = await judgeMutants(slimMutants);
    expect(verdicts.length).toBeGreaterThan(8);
    const missed = verdicts.filter(({ missedBy }) => missedBy.length > 0);
    expect(missed.map(({ mutant, missedBy, text }) => `${mutant.fault}: ${missedBy.join(', ')}\n${text}`)).toEqual([]);
  });

  it('finds the place of each fault exactly once', () => {
    const folder = new URL('../../sdk/typescript/', import.meta.url);
    const places = ({ file, find }: Mutant): number =>
      readFileSync(new URL(file, folder), 'utf8').split(find).length - 1;
    expect(mutants.filter((mutant) => places(mutant) !== 1).map(({ fault }) => fault)).toEqual([]);
  });

  it('has scenarios of all the names that mutants give, and each number once', () => {
    const names = scenarios.map(({ name }) => name);
    expect(mutants.flatMap(({ caughtBy }) => caughtBy).filter((name) => !names.includes(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    expect(scenarios.map(({ number }) => number)).toEqual(scenarios.map((_scenario, index) => index + 1));
  });
});
