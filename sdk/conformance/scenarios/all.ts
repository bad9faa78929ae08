import type { Scenario } from '../kit/scenario.ts';
import { settingsScenarios } from './settings.ts';

/** Every scenario, by its number. */
export const scenarios: readonly Scenario[] = [...settingsScenarios].toSorted((a, b) => a.number - b.number);
