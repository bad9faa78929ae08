import { randomBytes } from 'node:crypto';
import { daemonsStarting, type OwnService, startService, type Services } from '../opposite/daemon.ts';
import { startFakeService } from '../opposite/scripted.ts';
import type { Exclusions } from './exclusions.ts';
import { type Fixture, startFixture } from './fixture.ts';
import { Skipped, until } from './judging.ts';
import type { Scenario, World } from './scenario.ts';

/** `excluded`: failed, as an exclusion says; `needlessly excluded`: passed in spite of one. */
export type Outcome = {
  readonly scenario: Scenario;
  readonly state: 'passed' | 'failed' | 'skipped' | 'excluded' | 'needlessly excluded';
  /** Why it did not pass. */
  readonly message?: string;
  readonly ms: number;
};

const SCENARIO_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 100;
/** A fixture whose standard input has ended, ends within this. */
const ENDS_WITHIN_MS = 2000;
const MESSAGE_SHOWN = 3000;
const STDERR_SHOWN = 2000;

type Ending = () => Promise<void>;

const endFixture = async (fixture: Fixture): Promise<void> => {
  fixture.hangUp();
  const killing = setTimeout(() => fixture.kill('SIGKILL'), ENDS_WITHIN_MS);
  await fixture.exited;
  clearTimeout(killing);
};

const describeFailure = (error: unknown, fixtures: readonly Fixture[]): string => {
  const printed = fixtures
    .map((fixture) => fixture.stderr().trim())
    .filter((text) => text !== '')
    .map((text) => `\nstandard error of the fixture:\n${text.slice(-STDERR_SHOWN)}`);
  const message = error instanceof Error ? error.message : String(error);
  return `${message.slice(0, MESSAGE_SHOWN)}${printed.join('')}`;
};

/** Plays one scenario, and ends all that it started. */
const playOne = async (
  scenario: Scenario,
  command: readonly [string, ...string[]],
  services: Services,
): Promise<Outcome> => {
  const startedAt = performance.now();
  const endings: Ending[] = [];
  const fixtures: Fixture[] = [];
  let over = false;
  /** What is started after the scenario was cut off ends at once. */
  const ending = async (end: Ending): Promise<void> => {
    if (over) await end();
    else endings.push(end);
  };
  const mark = randomBytes(4).toString('hex');
  const world: World = {
    fixture: async (env = {}) => {
      const fixture = await startFixture(command, env);
      fixtures.push(fixture);
      await ending(() => endFixture(fixture));
      const missing = (scenario.needs ?? []).filter((need) => !fixture.hello.capabilities.includes(need));
      if (missing.length > 0) throw new Skipped(`${fixture.hello.language} has no ${missing.join(', ')}`);
      return fixture;
    },
    scripted: async (options) => {
      const service = await startFakeService(options);
      await ending(() => service.stop());
      return {
        ...service,
        seen: (verb: string, count?: number) =>
          until(`call to ${verb}, number ${count ?? 1}`, undefined, () => service.callsTo(verb)[(count ?? 1) - 1]),
      };
    },
    service: async (kind = 'calm') => {
      const service = await services[kind]();
      await ending(() => service.proxy.stop());
      return service;
    },
    ownService: async (...flags) => {
      const service: OwnService = await startService(flags);
      await ending(() => service.stop());
      return service;
    },
    unique: (name) => `${name}-${mark}`,
  };
  const outcome = (state: Outcome['state'], message?: string): Outcome => ({
    scenario,
    state,
    ms: performance.now() - startedAt,
    ...(message === undefined ? {} : { message }),
  });

  let cutOff: NodeJS.Timeout | undefined;
  let spentMs = 0;
  try {
    await Promise.race([
      scenario.play(world),
      new Promise<never>((_resolve, reject) => {
        cutOff = setInterval(() => {
          if (daemonsStarting() === 0) spentMs += LOOK_EVERY_MS;
          if (spentMs >= SCENARIO_LIMIT_MS) reject(new Error(`not over after ${SCENARIO_LIMIT_MS} ms`));
        }, LOOK_EVERY_MS);
      }),
    ]);
    const stray = fixtures.flatMap((fixture) => fixture.strayLines);
    if (stray.length > 0) return outcome('failed', `on standard output, no line of the protocol: ${stray[0]}`);
    return outcome('passed');
  } catch (error) {
    if (error instanceof Skipped) return outcome('skipped', error.message);
    return outcome('failed', describeFailure(error, fixtures));
  } finally {
    clearInterval(cutOff);
    over = true;
    // Fixtures before the services that they talk to.
    // oxlint-disable-next-line eslint/no-await-in-loop
    for (const end of endings.toReversed()) await end().catch(() => {});
  }
};

const judged = (outcome: Outcome, reason: string | undefined): Outcome => {
  if (reason === undefined) return outcome;
  if (outcome.state === 'failed') return { ...outcome, state: 'excluded', message: reason };
  if (outcome.state !== 'passed') return outcome;
  return { ...outcome, state: 'needlessly excluded', message: `it passes, and is excluded: ${reason}` };
};

/**
 * Plays scenarios, several at a time.
 * @param onOutcome called for each as it ends
 * @returns the outcomes, in the order of the scenarios
 */
export const playAll = async (
  scenarios: readonly Scenario[],
  options: {
    readonly command: readonly [string, ...string[]];
    readonly services: Services;
    readonly exclusions: Exclusions;
    readonly jobs: number;
    readonly onOutcome: (outcome: Outcome) => void;
  },
): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  const waiting = scenarios.entries();
  const lane = async (): Promise<void> => {
    for (const [at, scenario] of waiting) {
      // oxlint-disable-next-line eslint/no-await-in-loop
      const played = await playOne(scenario, options.command, options.services);
      const outcome = judged(played, options.exclusions.get(scenario.name));
      outcomes[at] = outcome;
      options.onOutcome(outcome);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, lane));
  return outcomes;
};
