import { type Clock, systemClock } from '../actors/kernel/clock.ts';
import type { Sharing } from '../store/signals/sharing.ts';

/** How long a duty is held without being renewed, in milliseconds. When its holder dies, nobody does the work for so long. */
export const DUTY_MS = 15_000;
/** How often it is asked for and renewed, in milliseconds. */
export const RENEW_MS = 5_000;

/** Work that one of the services does that share a store. */
export type Duty = {
  /** Whether this service does it now. False as soon as another one may. */
  readonly isHeld: () => boolean;
  /** Stops asking, and gives the duty back, so that another service gets it at once. Waits for the store a second at the most. */
  readonly stop: () => Promise<void>;
};

export type DutyOptions = {
  readonly name: string;
  /** Names this process, and no other. */
  readonly holder: string;
  readonly sharing: Pick<Sharing, 'holdDuty' | 'endDuty'>;
  /** Called when this service takes the duty that it did not hold before. */
  readonly taken?: () => void;
  /** How long a stop waits for the store, in milliseconds. */
  readonly stopMs?: number;
  readonly clock?: Pick<Clock, 'after' | 'monotonic'>;
};

const STOP_MS = 1_000;

/** The duty of a service that has its store to itself. */
export const ownDuty: Duty = { isHeld: () => true, stop: async () => {} };

/**
 * Asks for a duty again and again. The time for which it is held counts from before the question, by a clock that does not jump, so this
 * service stops before the store gives the duty to another one. While the store is away nobody holds it.
 */
export const startDuty = ({
  name,
  holder,
  sharing,
  taken,
  stopMs = STOP_MS,
  clock = systemClock,
}: DutyOptions): Duty => {
  let heldUntil = Number.NEGATIVE_INFINITY;
  let cancel = (): void => {};
  let isStopped = false;
  const isHeld = (): boolean => !isStopped && clock.monotonic() < heldUntil;
  const ask = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    const wasHeld = isHeld();
    try {
      const held = await sharing.holdDuty(name, holder, DUTY_MS);
      heldUntil = held ? askedAt + DUTY_MS : Number.NEGATIVE_INFINITY;
      if (isHeld() && !wasHeld) taken?.();
    } catch {
      // The store is away: readyz says so. What was held lapses by itself.
    }
    if (!isStopped)
      cancel = clock.after(RENEW_MS, () => {
        asking = ask();
      });
  };
  let asking = ask();
  return {
    isHeld,
    stop: async () => {
      isStopped = true;
      cancel();
      const given = asking.then(() => sharing.endDuty(name, holder)).catch(() => {});
      let inTime = (): void => {};
      const late = new Promise<void>((resolve) => {
        inTime = clock.after(stopMs, resolve);
      });
      await Promise.race([given, late]);
      inTime();
    },
  };
};
