import type { Result } from '../../model/failure.ts';
import { Damaged } from '../run/quarantined.ts';
import { attempt } from './calls.ts';

/**
 * Reads that cannot go round what is damaged: the run is quarantined, and the answer says why.
 * @param damaged a read met a row of a run that is damaged
 */
export const createReading =
  (damaged: (damage: Damaged) => void) =>
  <T>(work: () => Promise<Result<T>>): Promise<Result<T>> =>
    attempt(async () => {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Damaged) damaged(error);
        throw error;
      }
    });
export type Reading = ReturnType<typeof createReading>;
