/** Digits that a sum of money keeps: more than any price has, fewer than what adding doubles leaves in the last places. */
const SUM_DIGITS = 12;

/**
 * A sum of money as it is shown and stored: 0.1 and 0.2 are 0.3. What a span brought is no sum, and stays as received.
 * @see Interface decisions, "12. Decided since", "Analytics"
 */
export const roundSum = (sum: number): number => Number(sum.toPrecision(SUM_DIGITS));
