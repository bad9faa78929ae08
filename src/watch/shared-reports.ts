import type { Monitor, Slo } from '../model/watch.ts';
import type { Sharing } from '../store/signals/sharing.ts';
import type { WatchReport } from './report.ts';

/** What several services have between them that watch the same. */
export type SharedWatch = {
  /** Whether this service is the one that reports now. */
  readonly reports: () => boolean;
  readonly sharing: Pick<Sharing, 'reported' | 'noteReported'>;
};

type Tell = (definition: Monitor | Slo, said: WatchReport) => void;

/**
 * Reports of one of several services. All of them evaluate, so that each can answer; one reports. What the others would have reported
 * they keep, the last of each monitor and SLO: who takes over reports what its predecessor did not live to report. A predecessor that
 * died between a report and its note is repeated.
 */
export const createSharedReports = (
  tell: Tell,
  { reports, sharing }: SharedWatch,
): { readonly report: Tell; readonly takeOver: () => Promise<void> } => {
  const kept = new Map<string, readonly [Monitor | Slo, WatchReport]>();
  const report: Tell = (definition, said) => {
    const subject = `${said.type}/${said.id}`;
    if (!reports()) {
      kept.set(subject, [definition, said]);
      return;
    }
    kept.delete(subject);
    tell(definition, said);
    // Nobody waits for the note: without it, this report is repeated by who takes over.
    sharing.noteReported(subject, said.condition).catch(() => {});
  };
  return {
    report,
    takeOver: async () => {
      const reported = await sharing.reported().catch(() => new Map<string, string>());
      for (const [subject, [definition, said]] of kept)
        if ((reported.get(subject) ?? 'nominal') === said.condition) kept.delete(subject);
        else report(definition, said);
    },
  };
};
