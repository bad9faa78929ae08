import { MEAN_SCALE } from '../../signals/judgements.ts';

/**
 * PostgreSQL fails a statement whose sum of numbers has none. Values are divided by a power of two before they are added, which loses no
 * digit, and the service multiplies what comes: where the sum has no number it is infinite, as in the other engines.
 */
export const scaledSum = (column: string): string => `sum(${column} / ${MEAN_SCALE}.0::float8)`;
