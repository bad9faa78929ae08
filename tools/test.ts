/**
 * The complete suite, as `npm test`: the checks, the installs of real clients and servers, every test once, and one last line.
 * `npm test -- --sdk go,python` judges the client libraries of these languages alone, not of all.
 */
import { startVitest } from 'vitest/node';
import { runChecks } from './check.ts';
import { startInstallingClients } from './clients.ts';
import { SDK_VARIABLE } from './sdk.ts';
import { durationLine, type TestOutcome, tally, tallyLine } from './tally.ts';

// In a process of its own: the checks block this one.
const startedAt = performance.now();
const installing = startInstallingClients();
const checked = runChecks();
const notInstalled = await installing;
const readyAt = performance.now();

const filters = process.argv.slice(2);
const sdk = filters.indexOf('--sdk');
if (sdk !== -1) {
  const [, named] = filters.splice(sdk, 2);
  if (named === undefined) throw new Error('--sdk names the languages to judge: --sdk go,python');
  process.env[SDK_VARIABLE] = named;
}
const vitest = await startVitest('test', filters, { watch: false, run: true, reporters: ['default'] });
const outcomes: TestOutcome[] = [];
// What failed before the tests is named again at the end: thousands of lines lie between.
const broken = [
  ...checked.failed.map((title) => `the check of ${title}`),
  ...notInstalled.map((folder) => `what test/${folder} needs could not be installed`),
];
for (const module of vitest.state.getTestModules()) {
  if (module.errors().length > 0) broken.push(`${module.relativeModuleId} could not be run`);
  for (const suite of module.children.allSuites())
    if (suite.errors().length > 0) broken.push(`set-up of ${suite.fullName} in ${module.relativeModuleId}`);
  for (const test of module.children.allTests()) {
    const result = test.result();
    const note = result.state === 'skipped' ? result.note : undefined;
    outcomes.push({ name: `${module.relativeModuleId} > ${test.fullName}`, state: result.state, note });
  }
}
for (const error of vitest.state.getUnhandledErrors())
  broken.push(`an error nobody caught: ${error instanceof Error ? error.message : JSON.stringify(error)}`);
if (outcomes.length === 0) broken.push('no test was found');
await vitest.close();
const testedAt = performance.now();

const run = tally(outcomes, broken);
for (const remark of run.remarks) console.log(remark);
const total = { passed: run.passed + checked.passed, failed: run.failed, skipped: run.skipped };
console.log(durationLine({ 'checks and installs': readyAt - startedAt, tests: testedAt - readyAt }));
console.log(tallyLine(total));
process.exit(total.failed === 0 ? 0 : 1);
