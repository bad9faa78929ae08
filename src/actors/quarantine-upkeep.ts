import type { UnixMs } from '../model/run.ts';
import type { Found, RunStore } from '../store/runs/run-store.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Message } from './kernel/message.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import type { RunMessage } from './run/messages.ts';
import { Damaged, type Quarantined } from './run/quarantined.ts';
import type { UpkeepMessage } from './upkeep-actor.ts';

/** How long a timer or lease of a run that cannot be loaded is left alone. */
const DEFERRED_MS = 60 * 60 * 1000;
/** Runs that one group tries to release. */
const SLICE = 100;

/**
 * Runs that this release cannot load: they are marked, their deadlines deferred, and a start that can load them releases
 * them.
 * @param host.closing ends the release between two slices
 */
export const createQuarantine = (host: {
  readonly store: Pick<RunStore, 'load'>;
  readonly kernel: Pick<Kernel, 'send' | 'handle'>;
  readonly leases: Pick<LeaseWatch, 'defer'>;
  readonly upkeep: (body: UpkeepMessage) => Promise<unknown>;
  readonly steady: () => UnixMs;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, kernel, upkeep } = host;
  let releaseFailed = false;

  const markRun = async (fault: Quarantined): Promise<void> => {
    const message: RunMessage = {
      kind: 'quarantine',
      ...(fault instanceof Damaged ? { damage: fault.fault } : {}),
    };
    await kernel.send({ type: 'run', id: fault.runId, body: message });
  };
  /** Runs that reads found damaged, while their messages are on their way. */
  const beingMarked = new Set<string>();

  /** Marks the run, and defers its timer or lease, which would fail every second. */
  const mark = async (fault: Quarantined, { type, id, body }: Message): Promise<void> => {
    const { runId } = fault;
    await markRun(fault);
    if (type === 'lease') host.leases.defer(id, DEFERRED_MS);
    const timer = type === 'run' ? (body as RunMessage) : undefined;
    if (timer?.kind === 'timer')
      await upkeep({
        kind: 'defer_timer',
        runId: id,
        name: timer.name,
        because: runId,
        dueAt: timer.dueAt,
        ms: DEFERRED_MS,
        steadyUntil: host.steady() + DEFERRED_MS,
      });
  };

  const release = async (): Promise<void> => {
    let after = '';
    releaseFailed = false;
    try {
      while (!host.closing.aborted) {
        const [ids] = (await store.load([{ kind: 'quarantined', after, limit: SLICE }])) as [Found['quarantined']];
        const last = ids.at(-1);
        if (last === undefined) return;
        const body: RunMessage = { kind: 'release' };
        const answers = await kernel.handle(ids.map((id) => ({ type: 'run', id, body })));
        releaseFailed ||= answers.some(({ status }) => status === 'rejected');
        after = last;
      }
    } catch (error) {
      releaseFailed = true;
      host.onFault(error);
    }
  };

  return {
    /** A turn met a run that cannot be loaded. */
    quarantine: (fault: Quarantined, message: Message): void => {
      mark(fault, message).catch(host.onFault);
    },
    /** A read met a row of a run that is damaged. Reads of one run may come by the hundred: one message at a time. */
    damaged: (damage: Damaged): void => {
      if (beingMarked.has(damage.runId)) return;
      beingMarked.add(damage.runId);
      markRun(damage)
        .catch(host.onFault)
        .finally(() => beingMarked.delete(damage.runId));
    },
    /** Releases the runs in quarantine that this release can load. Once a start. */
    release,
    /** Tries them again where the store failed meanwhile. */
    retryRelease: async (): Promise<void> => {
      if (releaseFailed) await release();
    },
  };
};
