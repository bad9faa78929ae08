import { readFileSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

/** Why a library does not pass a scenario, by the name of the scenario. */
export type Exclusions = ReadonlyMap<string, string>;

type Row = { readonly scenario?: unknown; readonly reason?: unknown };

/** @throws Error that names what is wrong with the text */
export const parseExclusions = (text: string, scenarios: readonly Scenario[]): Exclusions => {
  const rows: unknown = JSON.parse(text);
  if (!Array.isArray(rows)) throw new Error('exclusions are a list of {"scenario", "reason"}');
  const names = new Set(scenarios.map(({ name }) => name));
  const found = new Map<string, string>();
  for (const { scenario, reason } of rows as Row[]) {
    if (typeof scenario !== 'string' || !names.has(scenario))
      throw new Error(`there is no scenario ${JSON.stringify(scenario)}`);
    if (typeof reason !== 'string' || reason.trim() === '')
      throw new Error(`the exclusion of ${scenario} has no reason`);
    found.set(scenario, reason);
  }
  return found;
};

export const readExclusions = (path: string, scenarios: readonly Scenario[]): Exclusions =>
  parseExclusions(readFileSync(path, 'utf8'), scenarios);
