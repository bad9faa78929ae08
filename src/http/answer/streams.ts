import type { Result } from '../../model/failure.ts';

/** Event streams that are open at one time. @see Interface decisions, "3. Keys and scopes" */
export type StreamBounds = { readonly perKey: number; readonly total: number };

const defaultStreamBounds: StreamBounds = { perKey: 100, total: 1000 };

export type StreamRegistry = {
  /**
   * Lets a stream in.
   * @param holder what streams are counted by: the key's fingerprint, or the peer's address without one
   * @param end ends the stream in good order; called when the service stops
   * @returns what to call when the stream has ended; `overloaded` when there are too many
   */
  readonly open: (holder: string, end: () => void) => Result<() => void>;
  /** Ends every stream. Later ones are refused: the service stops. */
  readonly endAll: () => void;
};

const RETRY_AFTER_SECONDS = 5;

/** The register of open event streams: it bounds their number, and ends them at a stop, which would wait for them indefinitely. */
export const createStreamRegistry = (bounds: StreamBounds = defaultStreamBounds): StreamRegistry => {
  const ends = new Set<() => void>();
  const held = new Map<string, number>();
  let stopped = false;

  const overloaded = (message: string) =>
    ({ ok: false, failure: { code: 'overloaded', message, retryAfterSeconds: RETRY_AFTER_SECONDS } }) as const;

  return {
    open: (holder, end) => {
      if (stopped) return overloaded('the service is stopping; connect again in a moment');
      const mine = held.get(holder) ?? 0;
      if (ends.size >= bounds.total) return overloaded(`${bounds.total} event streams are open, the most there may be`);
      if (mine >= bounds.perKey)
        return overloaded(`this key has ${bounds.perKey} event streams open, the most it may have`);
      held.set(holder, mine + 1);
      const entry = (): void => end();
      ends.add(entry);
      return {
        ok: true,
        value: () => {
          if (!ends.delete(entry)) return;
          const left = (held.get(holder) ?? 1) - 1;
          if (left === 0) held.delete(holder);
          else held.set(holder, left);
        },
      };
    },
    endAll: () => {
      stopped = true;
      for (const end of ends) end();
    },
  };
};
