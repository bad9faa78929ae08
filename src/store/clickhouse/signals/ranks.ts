/**
 * The values of a column in order, as an array; and the one at the nearest rank of a share. The quantiles of ClickHouse count ranks in
 * another way.
 * @see nearestRank
 */
export const ranked = (column: string, share: string): string =>
  `arraySort(groupArray(${column}))[toUInt64(greatest(1., least(toFloat64(count(${column})), ceil(${share} * count(${column})))))]`;
