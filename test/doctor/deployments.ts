import type { Deployment, RunReads, SignalReads } from '../../src/cli/doctor/deployment.ts';
import { examine } from '../../src/cli/doctor/examine.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { readSettings, type Settings } from '../../src/cli/settings.ts';
import { createAuthenticator } from '../../src/http/access/auth.ts';
import { type UnixNano, unixNanoFromMillis } from '../../src/model/time.ts';
import type { ProjectSummary, StoredSpan } from '../../src/store/signals/query.ts';

/** 2026-11-20T09:00:00Z. */
export const NOW: UnixNano = unixNanoFromMillis(Date.UTC(2026, 10, 20, 9));
export const SECOND: UnixNano = 1_000_000_000n;
export const DAY: UnixNano = 86_400n * SECOND;

/** The settings that flags and a config file make. */
export const settingsOf = (flags: Record<string, string[]> = {}, config: object = {}): Settings => {
  const result = readSettings({
    given: { ...flags, 'config-file': ['f'] },
    environment: {},
    readTextFile: () => JSON.stringify(config),
  });
  if (!result.ok) throw new Error(result.problem);
  return result.value;
};

export const aProject = (given: Partial<ProjectSummary> = {}): ProjectSummary => ({
  project: 'default',
  traceCount: 1,
  firstSeen: NOW - DAY,
  lastSeen: NOW - SECOND,
  ...given,
});

export const aSpan = (given: Partial<StoredSpan> = {}): StoredSpan => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  name: 'chat',
  kind: 'model_generation',
  status: 'ok',
  startTime: NOW - SECOND,
  isEvent: false,
  receivedAt: NOW - SECOND,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...given,
});

/** A store that holds these projects and spans; spans answer every question about their project, kind and window. */
export const signalsOf = (projects: readonly ProjectSummary[], spans: readonly StoredSpan[] = []): SignalReads => ({
  listProjects: async () => ({ items: projects }),
  listScores: async () => ({ items: [] }),
  listSpans: async ({ projects: reach, kind, from, order, limit }) => ({
    items: spans
      .filter(({ correlation }) => reach === 'all' || reach.includes(correlation.project))
      .filter((span) => kind === undefined || span.kind === kind)
      .filter(({ startTime }) => from === undefined || startTime >= from)
      .toSorted((a, b) => (a.startTime < b.startTime ? -1 : 1) * (order === 'asc' ? 1 : -1))
      .slice(0, limit),
  }),
});

export const runsOf = (given: Partial<RunReads> = {}): RunReads => ({
  counts: async () => ({ definitionVersions: 1, openRuns: 0, quarantined: 0 }),
  stuckRuns: async () => [],
  stalledKeys: async () => [],
  idleSchedules: async () => [],
  pausedWork: async () => [],
  pinnedVersions: async () => [],
  workers: async () => [],
  newestChange: async () => undefined,
  ...given,
});

export type Given = Omit<Partial<Deployment>, 'settings' | 'signals' | 'runs'> & {
  readonly flags?: Record<string, string[]>;
  readonly config?: object;
  readonly signals?: SignalReads;
  readonly runs?: RunReads;
};

/** A deployment where nothing is wrong but what the test says. */
export const aDeployment = ({ flags = {}, config = {}, signals, runs, ...given }: Given = {}): Deployment => {
  const settings = settingsOf(flags, config);
  return {
    settings,
    refusedSamples: [],
    scopes: createAuthenticator({
      topLevel: settings.keys,
      projects: Object.fromEntries(Object.entries(settings.projects).map(([name, block]) => [name, block.keys])),
    }).describeScopes(),
    signals: { findings: [], reads: signals ?? signalsOf([aProject()], [aSpan()]) },
    runs: { findings: [], reads: runs ?? runsOf() },
    offline: true,
    windowDays: 7,
    now: NOW,
    ...given,
  };
};

/** What one group says, as `level: message -> mend`. */
export const said = async (group: string, given: Given | Deployment = {}): Promise<string[]> => {
  const deployment = 'settings' in given ? given : aDeployment(given);
  const { groups } = await examine(deployment, true);
  const findings = groups.find((one) => one.group === group)?.findings as readonly Finding[] | undefined;
  if (findings === undefined) throw new Error(`there is no group ${group}`);
  return findings.map(
    (finding) => `${finding.level}: ${finding.message}${'mend' in finding ? ` -> ${finding.mend}` : ''}`,
  );
};
