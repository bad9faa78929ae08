import type { Scenario } from '../kit/scenario.ts';
import { clientScenarios } from './client.ts';
import { instrumentationScenarios } from './instrumentation.ts';
import { settingsScenarios } from './settings.ts';
import { workerScenarios } from './worker.ts';

/** Every scenario, by its number. */
export const scenarios: readonly Scenario[] = [
  ...settingsScenarios,
  ...instrumentationScenarios,
  ...clientScenarios,
  ...workerScenarios,
].toSorted((a, b) => a.number - b.number);
