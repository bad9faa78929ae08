import type { Look } from './deployment.ts';
import { counted, type Finding, listed, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';

/** Configured projects against projects that hold runs. */
export const examineProjects = async (look: Look): Promise<Finding[]> => {
  const { signals, settings, from, windowDays } = look;
  if ('unread' in signals) return [skipped(signals.unread)];
  const stored = await look.projects(signals.reads);
  const holding = stored.filter(({ traceCount }) => traceCount > 0);
  if (holding.length === 0) return [skipped('no project holds a trace yet, so there is nothing to compare with')];

  const configured = Object.keys(settings.projects);
  const known = new Set([...configured, settings.project]);
  const names = new Set(holding.map(({ project }) => project));
  const active = holding.filter(({ lastSeen }) => lastSeen !== undefined && lastSeen >= from);
  const window = `the last ${counted(windowDays, 'day')}`;

  const findings: Finding[] = [
    active.length === 0
      ? warning(
          `no project has a trace of ${window}`,
          'check that the senders run, and that their exporters name this address and a key of it',
        )
      : ok(
          `${counted(holding.length, 'project')} with ${counted(
            holding.reduce((sum, { traceCount }) => sum + traceCount, 0),
            'trace',
          )}; ${active.length} active in ${window}: ${listed(active.map(({ project }) => project))}`,
        ),
  ];
  for (const project of configured)
    if (!names.has(project))
      findings.push(
        warning(
          `project ${quoted(project)} is configured and holds no trace`,
          `send to it (svc.project, SVC_PROJECT), correct its name, or take projects.${project} out of the config file`,
        ),
      );
  const strangers = holding.filter(({ project }) => !known.has(project)).map(({ project }) => project);
  if (strangers.length > 0)
    findings.push(
      warning(
        `${counted(strangers.length, 'project')} named by senders alone: ${listed(strangers)}; no retention reaches them, and no ceiling, sampling or key of their own`,
        'add them to the projects block of the config file, or correct the senders',
      ),
    );
  return findings;
};
