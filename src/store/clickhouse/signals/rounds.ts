import { randomUUID } from 'node:crypto';
import type { Sharing } from '../../signals/sharing.ts';

/** A round is over by then, or its service has stopped; then another service may begin one, in milliseconds. */
const ROUND_MS = 600_000;
/** How long a stop waits for the store, in milliseconds. */
const STOP_MS = 1_000;

export type Rounds = {
  /** Begins no more rounds, and gives the duty back, so that another service need not wait for its end. */
  readonly stop: () => Promise<void>;
};

export type RoundsOptions = {
  /** Names the duty that its holder alone does. */
  readonly duty: string;
  readonly everyMs: number;
  readonly sharing: Pick<Sharing, 'holdDuty' | 'endDuty'>;
  /** What it throws is tried again in the next round. */
  readonly work: () => Promise<void>;
};

/** Does work from time to time, in one of the services that share a store, and never twice at once. */
export const startRounds = ({ duty, everyMs, sharing, work }: RoundsOptions): Rounds => {
  const holder = randomUUID();
  let isUnderWay = false;
  let asked = Promise.resolve(false);
  const round = async (): Promise<void> => {
    if (isUnderWay) return;
    isUnderWay = true;
    try {
      asked = sharing.holdDuty(duty, holder, ROUND_MS);
      if (await asked) await work();
    } catch {
      // The store is away, or is being closed.
    } finally {
      isUnderWay = false;
    }
  };
  const timer = setInterval(() => void round(), everyMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      const given = asked.then((held) => (held ? sharing.endDuty(duty, holder) : undefined)).catch(() => {});
      let late: NodeJS.Timeout | undefined;
      const inTime = new Promise<void>((resolve) => {
        late = setTimeout(resolve, STOP_MS);
      });
      await Promise.race([given, inTime]);
      clearTimeout(late);
    },
  };
};
