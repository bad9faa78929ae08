import { StoreUnavailable } from './unavailable.ts';

/** Remembers whether the last change of a store failed because the store was away: only then does a ping of it try to write. */
export const watchWrites = () => {
  let isFaulty = false;
  return {
    isFaulty: (): boolean => isFaulty,
    /** Watches a change, whose outcome it returns. */
    watched: async <T>(change: Promise<T>): Promise<T> => {
      try {
        const done = await change;
        isFaulty = false;
        return done;
      } catch (error) {
        if (error instanceof StoreUnavailable) isFaulty = true;
        throw error;
      }
    },
  };
};
