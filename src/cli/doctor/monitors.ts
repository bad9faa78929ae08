import { formatTimestamp } from '../../model/time.ts';
import { BLOCKED_ADDRESS, blockedHostOf } from '../../ingest/outbound.ts';
import type { ProjectSummary } from '../../store/signals/query.ts';
import type { Monitor, Slo } from '../settings.ts';
import { isBlindToSilence } from '../watch.ts';
import type { Look, SignalReads } from './deployment.ts';
import { counted, type Finding, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';

const readsRuns = ({ watch }: Monitor): boolean => watch === 'step_count_divergence' || watch === 'run_repetition';

/** Whether the project has lately sent what an evaluation would read. */
const examineProject = (
  what: string,
  project: string,
  stored: readonly ProjectSummary[],
  { from, windowDays }: Look,
): Finding => {
  const found = stored.find((one) => one.project === project);
  if (found?.lastSeen === undefined)
    return warning(
      `${what} reads project ${quoted(project)}, which holds no trace: it will never report`,
      'correct its project in the config file, or send traces to that project',
    );
  if (found.lastSeen < from)
    return warning(
      `${what} reads project ${quoted(project)}, whose last trace is of ${formatTimestamp(found.lastSeen).slice(0, 10)}, more than ${counted(windowDays, 'day')} ago: it stays silent`,
      'check the senders of that project',
    );
  return ok(`${what} reads project ${quoted(project)}`);
};

const examineScores = async (
  monitor: Monitor & { readonly scorer_id: string },
  what: string,
  reads: SignalReads,
  { from, windowDays }: Look,
): Promise<Finding> => {
  const { project, scorer_id: scorerId } = monitor;
  const { items } = await reads.listScores({ projects: [project], scorerId, from, limit: 1 });
  if (items.length > 0) return ok(`${what} reads scores of ${quoted(scorerId)} in project ${quoted(project)}`);
  return warning(
    `${what} reads scores of ${quoted(scorerId)} in project ${quoted(project)}, which has none of the last ${counted(windowDays, 'day')}: it stays silent`,
    'correct scorer_id or project in the config file, or have that scorer run',
  );
};

/** A report that would be refused at its one attempt; a host that is a name is looked up only then. */
const examineWebhook = (what: string, webhook: string | undefined): Finding[] => {
  const host = webhook === undefined ? undefined : blockedHostOf(new URL(webhook));
  if (host === undefined) return [];
  return [warning(`${what} reports to ${host}, ${BLOCKED_ADDRESS}`, 'correct its webhook in the config file')];
};

/** Monitors and objectives, and whether the signals they read are there. @see Interface specification, "Monitor and SLO" */
export const examineMonitors = async (look: Look): Promise<Finding[]> => {
  const { settings, signals, runs } = look;
  const { monitors, slos } = settings;
  if (monitors.length + slos.length === 0) return [skipped('the config file has no monitors and no objectives')];

  const stored = 'reads' in signals ? await look.projects(signals.reads) : [];
  const onSignals = async (what: string, examine: (reads: SignalReads) => Finding | Promise<Finding>) =>
    'reads' in signals ? examine(signals.reads) : skipped(`${what}: ${signals.unread}`);

  const examineMonitor = async (monitor: Monitor): Promise<Finding> => {
    const { id, watch, project, enabled } = monitor;
    const what = `monitor ${quoted(id)} (${watch})`;
    if (!enabled) return skipped(`${what} is disabled`);
    if (readsRuns(monitor)) {
      if (settings.runsData === undefined)
        return warning(
          `${what} reads durable runs, which are off: it will never report`,
          'set --runs-data to a path, or disable the monitor',
        );
      return 'reads' in runs
        ? ok(`${what} reads durable runs of ${quoted(project)}`)
        : skipped(`${what}: ${runs.unread}`);
    }
    const { scorer_id: scorerId } = monitor;
    if (watch === 'score_mean' && scorerId !== undefined)
      return onSignals(what, (reads) => examineScores({ ...monitor, scorer_id: scorerId }, what, reads, look));
    const found = await onSignals(what, () => examineProject(what, project, stored, look));
    if (found.level !== 'ok' || !isBlindToSilence(monitor)) return found;
    return warning(
      `${what} does not see a window with fewer than its min_samples ${monitor.min_samples} runs, which is silence: it will not report that nothing arrives`,
      'set its min_samples to 0 in the config file',
    );
  };
  const examineSlo = ({ id, project, objective }: Slo): Promise<Finding> => {
    const what = `objective ${quoted(id)} (${objective})`;
    return onSignals(what, () => examineProject(what, project, stored, look));
  };
  return [
    ...(await Promise.all(monitors.map(examineMonitor))),
    ...(await Promise.all(slos.map(examineSlo))),
    ...monitors.flatMap(({ id, enabled, webhook }) =>
      enabled ? examineWebhook(`monitor ${quoted(id)}`, webhook) : [],
    ),
    ...slos.flatMap(({ id, webhook }) => examineWebhook(`objective ${quoted(id)}`, webhook)),
  ];
};
