import { MEAN_SCALE } from '../../signals/judgements.ts';

/**
 * Values are divided by a power of two before they are added, which loses no digit, and the service multiplies what comes: so a sum that has
 * no number is infinite, and not absent, as an answer in JSON would have it. Null where nothing was added.
 */
export const scaledSum = (column: string): string => `sumOrNull(${column} / ${MEAN_SCALE})`;
