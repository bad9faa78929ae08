/** In which order test files begin: long ones first, so that none of them is left running alone at the end. */
import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first: those that wait for processes and browsers, then those that compute. The size
 * of a file says little about its time, and a fresh checkout knows no durations of a run before.
 */
export const longest: readonly string[] = [
  'ui/test/browser/every-page.test.ts',
  'test/sdk/conformance.process.test.ts',
  'test/crash/runs-shared-loop.test.ts',
  'test/faults/promises.process.test.ts',
  'test/clients/python.test.ts',
  'test/crash/runs-kill-loop.test.ts',
  'test/cli/migrate/migrate.process.test.ts',
  'test/clients/exporters.test.ts',
  'test/store/clickhouse/contract.process.test.ts',
  'test/faults/runs-power-cut.process.test.ts',
  'test/crash/kill-loop.test.ts',
  'test/sdk/runs.process.test.ts',
  'test/crash/postgres.process.test.ts',
  'test/faults/canary.process.test.ts',
  'test/cli/sharded-runs.process.test.ts',
  'test/sdk/python.process.test.ts',
  'test/faults/disk-faults.process.test.ts',
  'ui/test/browser/live-runs.test.ts',
  'test/store/postgres/contract.process.test.ts',
  'test/sdk/languages.process.test.ts',
  'test/conformance/odd-values.test.ts',
  'test/store/postgres/writing.process.test.ts',
  'test/store/clickhouse/server.process.test.ts',
  'test/sdk/go.process.test.ts',
  'test/faults/power-cut.process.test.ts',
  'test/runs/damaged-rows.process.test.ts',
  'test/cli/serve.process.test.ts',
  'test/faults/full-disk-start.process.test.ts',
  'test/crash/clickhouse.process.test.ts',
  'ui/test/browser/machines.test.ts',
  'ui/test/browser/foreign-pages.test.ts',
  'test/cli/migrate/columnar.process.test.ts',
  'ui/test/browser/runs.test.ts',
  'test/store/sqlite/signals-kill.process.test.ts',
  'ui/test/browser/run-views.test.ts',
  'test/runs/daemon.process.test.ts',
  'ui/test/browser/hostile.test.ts',
  'test/faults/slow-readers.process.test.ts',
  'test/faults/clock-jumps.process.test.ts',
  'test/faults/idle-connections.process.test.ts',
  'test/cli/shared-runs.process.test.ts',
  'test/doctor/doctor.process.test.ts',
  'test/cli/mcp.process.test.ts',
  'test/faults/damaged-files.process.test.ts',
  'test/conformance/grpc.test.ts',
  'test/store/postgres/runs-contract.process.test.ts',
  'test/crash/audit.process.test.ts',
  'test/conformance/process.test.ts',
  'test/sdk/mutants.process.test.ts',
  'test/examples/worker-in-python.process.test.ts',
  'test/doctor/database.process.test.ts',
  'ui/test/browser/shell.test.ts',
  'test/store/postgres/connections.process.test.ts',
  'test/doctor/files.process.test.ts',
  'ui/test/browser/views.test.ts',
  'ui/test/browser/selection.test.ts',
  'test/http/routes/monitors.process.test.ts',
  'ui/test/browser/watch.test.ts',
  'test/store/postgres/records.process.test.ts',
  'test/http/routes/ingest-memory.process.test.ts',
  'test/clients/javascript.test.ts',
  'test/doctor/damage.process.test.ts',
  'test/store/clickhouse/upkeep.process.test.ts',
  'test/conformance/query.test.ts',
  'test/store/postgres/reading.process.test.ts',
  'test/store/postgres/alike.process.test.ts',
  'test/examples/refund-agent.process.test.ts',
  'ui/test/browser/system.test.ts',
  'test/store/postgres/runs.process.test.ts',
  'test/faults/wide-tree.process.test.ts',
  'test/sdk/cpp.process.test.ts',
  'test/conformance/keys.test.ts',
  'ui/test/browser/trace-list.test.ts',
  'test/conformance/bad-inputs/bad-inputs.test.ts',
  'test/faults/cutting-proxy.process.test.ts',
  'test/store/postgres/sharing.process.test.ts',
  'test/faults/run-bomb.process.test.ts',
  'test/store/sqlite/signals-contract.test.ts',
  'test/simulation/simulation.test.ts',
  'test/actors/run/steps/child.test.ts',
  'test/http/runs/endpoints.test.ts',
  'test/oracle/differential.test.ts',
  'test/watch/watchers.test.ts',
  'test/http/routes/hostile-bodies.test.ts',
  'test/http/routes/traces.test.ts',
  'test/http/routes/scoring.test.ts',
];

/** What the order looks at. */
export type Begun = {
  /** From the root. */
  readonly file: string;
  /** Of one group all files are done before the next begins. */
  readonly group: number;
  /** The project, where its files share what they have loaded: they follow one another. */
  readonly sharing: string | undefined;
  readonly bytes: number;
};

const rankOf = (file: string): number => {
  const rank = longest.indexOf(file);
  return rank === -1 ? longest.length : rank;
};

/** @returns below zero where `one` begins before `other` */
export const compareBegun = (one: Begun, other: Begun): number =>
  one.group - other.group ||
  (one.sharing ?? '').localeCompare(other.sharing ?? '') ||
  rankOf(one.file) - rankOf(other.file) ||
  other.bytes - one.bytes ||
  one.file.localeCompare(other.file);

export class LongestFirst extends BaseSequencer {
  override sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const all = specs.map((spec) => {
      const { config, name } = spec.project;
      const begun: Begun = {
        file: relative(this.ctx.config.root, spec.moduleId).replaceAll('\\', '/'),
        group: config.sequence.groupOrder,
        sharing: config.isolate ? undefined : name,
        bytes: statSync(spec.moduleId).size,
      };
      return { spec, begun };
    });
    return Promise.resolve(all.toSorted((a, b) => compareBegun(a.begun, b.begun)).map(({ spec }) => spec));
  }
}
