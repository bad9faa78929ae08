import type { ProjectSummary } from '../../store/signals/query.ts';
import { formatTimestamp } from '../../model/time.ts';
import { retentionWindows } from '../retention.ts';
import { type Look, NANOS_PER_DAY } from './deployment.ts';
import { counted, type Finding, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';

/** Projects that get a line of their own; more are counted in one. */
const MOST_LINES = 100;
/** The hourly pass, and a service that was down for a while. */
const GRACE_DAYS = 2n;

/** How far back each project's data goes, and whether anything will delete it. @see Interface specification, "Limits", Retention */
export const examineRetention = async (look: Look): Promise<Finding[]> => {
  const { signals, settings, now } = look;
  if ('unread' in signals) return [skipped(signals.unread)];
  const windows = new Map(retentionWindows(settings).map(({ project, days }) => [project, days]));
  const known = new Set([...Object.keys(settings.projects), settings.project]);

  const judge = ({ project, firstSeen }: ProjectSummary): Finding => {
    const days = windows.get(project);
    const age = firstSeen === undefined ? undefined : (now - firstSeen) / NANOS_PER_DAY;
    const reach =
      firstSeen === undefined
        ? `${quoted(project)} holds no trace`
        : `${quoted(project)} goes back to ${formatTimestamp(firstSeen).slice(0, 10)}`;
    if (!known.has(project))
      return warning(
        `${reach}, and nothing will ever delete it: only senders name this project, so not even --retention-days reaches it`,
        'add it to the projects block of the config file',
      );
    if (days === undefined)
      return warning(
        `${reach}, and nothing will ever delete it: the file grows without end`,
        `set --retention-days, or projects.${project}.retention_days`,
      );
    if (age !== undefined && age > BigInt(days) + GRACE_DAYS)
      return warning(
        `${reach}, which is ${age} days, though it is kept for ${days}: no retention pass has come by`,
        'keep the service running: it deletes a minute after its start and then hourly; its log tells of failed passes',
      );
    return ok(`${reach}; kept for ${counted(days, 'day')}`);
  };

  const findings = (await look.projects(signals.reads)).map(judge);
  if (findings.length === 0) return [skipped('nothing is stored yet')];
  const left = findings.slice(MOST_LINES);
  const leftWarnings = left.filter(({ level }) => level === 'warning').length;
  if (left.length === 0) return findings;
  const rest = `${counted(left.length, 'further project')}, ${leftWarnings} of them with a warning`;
  return [
    ...findings.slice(0, MOST_LINES),
    leftWarnings === 0 ? ok(rest) : warning(rest, 'GET /v1/api/projects lists them; bring them under retention alike'),
  ];
};
