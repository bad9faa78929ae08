import { formatTimestamp } from '../../model/time.ts';
import type { Position, ProjectSummary } from '../../store/signals/query.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { version } from '../version.ts';
import { examineClock } from './clock.ts';
import { type Deployment, type Look, NANOS_PER_DAY, type SignalReads } from './deployment.ts';
import { type DoctorReport, type Finding, fault } from './finding.ts';
import { examineForwarding } from './forwarding.ts';
import { examineIdentity } from './identity.ts';
import { examineJudge } from './judge.ts';
import { examineKeys } from './keys.ts';
import { examineLimits } from './limits.ts';
import { examineMonitors } from './monitors.ts';
import { examinePricing } from './pricing.ts';
import { examineProjects } from './projects.ts';
import { examineRetention } from './retention.ts';
import { examineRuns } from './runs.ts';

/** The twelve groups, in the order in which they are evaluated. @see Interface specification, "Deployment check" */
const groups = {
  storage: ({ signals }) => signals.findings,
  runs: examineRuns,
  keys: examineKeys,
  identity: examineIdentity,
  projects: examineProjects,
  retention: examineRetention,
  limits: examineLimits,
  forwarding: (look) => examineForwarding(look),
  judge: examineJudge,
  monitors: examineMonitors,
  clock: examineClock,
  pricing: examinePricing,
} as const satisfies Record<string, (look: Look) => readonly Finding[] | Promise<readonly Finding[]>>;

const MOST_PROJECTS = 10_000;
const PAGE = 1000;

const listProjects = async (reads: SignalReads): Promise<readonly ProjectSummary[]> => {
  const found: ProjectSummary[] = [];
  let after: Position | undefined;
  do {
    const page = await reads.listProjects({ projects: 'all', limit: PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined && found.length < MOST_PROJECTS);
  return found;
};

/**
 * Examines a deployment, group by group.
 * @returns the report; a store that fails half way is a fault of the group that met it
 */
export const examine = async (deployment: Deployment, readOnly: boolean): Promise<DoctorReport> => {
  let projects: Promise<readonly ProjectSummary[]> | undefined;
  const look: Look = {
    ...deployment,
    from: deployment.now - BigInt(deployment.windowDays) * NANOS_PER_DAY,
    projects: (reads) => (projects ??= listProjects(reads)),
  };
  const report: { group: keyof typeof groups; findings: readonly Finding[] }[] = [];
  const summary = { ok: 0, skipped: 0, warning: 0, fault: 0 };
  for (const group of Object.keys(groups) as (keyof typeof groups)[]) {
    let findings: readonly Finding[];
    try {
      findings = await groups[group](look);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      findings = [fault(`could not be checked: ${error.message}`, 'mend what storage says, then ask again')];
    }
    for (const { level } of findings) summary[level] += 1;
    report.push({ group, findings });
  }
  return {
    checked_at: formatTimestamp(deployment.now),
    version,
    window_days: deployment.windowDays,
    offline: deployment.offline,
    read_only: readOnly,
    groups: report,
    summary,
  };
};
