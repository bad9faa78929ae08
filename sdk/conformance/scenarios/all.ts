import type { Scenario } from '../kit/scenario.ts';
import { clientAnswersScenarios } from './client-answers.ts';
import { clientFollowingScenarios } from './client-following.ts';
import { clientRunsScenarios } from './client-runs.ts';
import { instrumentationDeliveryScenarios } from './instrumentation-delivery.ts';
import { instrumentationSignalsScenarios } from './instrumentation-signals.ts';
import { settingsScenarios } from './settings.ts';
import { workerBodiesScenarios } from './worker-bodies.ts';
import { workerCallsScenarios } from './worker-calls.ts';
import { workerLifeScenarios } from './worker-life.ts';

/** Every scenario, by its number. */
export const scenarios: readonly Scenario[] = [
  ...settingsScenarios,
  ...instrumentationSignalsScenarios,
  ...instrumentationDeliveryScenarios,
  ...clientRunsScenarios,
  ...clientFollowingScenarios,
  ...clientAnswersScenarios,
  ...workerCallsScenarios,
  ...workerBodiesScenarios,
  ...workerLifeScenarios,
].toSorted((a, b) => a.number - b.number);
