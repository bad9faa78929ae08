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
 * The reports of several services that watch the same. All of them evaluate, so that each can answer; the one that holds the duty
 * reports. The others keep what they would have reported, the last report of each monitor and SLO. A service that takes the duty over makes
 * the reports that the one before it did not make. It repeats a report whose note was not written.
 */
export const createSharedReports = (
  tell: Tell,
  { reports, sharing }: SharedWatch,
): { readonly report: Tell; readonly takeOver: () => Promise<void> } => {
  const kept = new Map<string, readonly [Monitor | Slo, WatchReport]>();
  /** The last condition of each subject that is still to be noted. */
  const unnoted = new Map<string, string>();
  let noting: Promise<void> | undefined;
  /** One note after the other: two at once could reach the store in the other order. */
  const note = async (): Promise<void> => {
    for (const [subject, condition] of unnoted) {
      unnoted.delete(subject);
      await sharing.noteReported(subject, condition).catch(() => {});
    }
    noting = undefined;
  };
  const report: Tell = (definition, said) => {
    const subject = `${said.type}/${said.id}`;
    if (!reports()) {
      kept.set(subject, [definition, said]);
      return;
    }
    kept.delete(subject);
    tell(definition, said);
    // Nobody waits for the note: without it, the next service with the duty makes this report again.
    unnoted.set(subject, said.condition);
    noting ??= note();
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
