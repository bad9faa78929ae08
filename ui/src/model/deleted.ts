/**
 * What was deleted from a list here and still stands in what was read of it. A list that was read without it is up to date: should the same
 * id come again, somebody stored it again.
 */
export const stillListed = (deleted: ReadonlySet<string>, listed: readonly string[]): ReadonlySet<string> => {
  const left = deleted.intersection(new Set(listed));
  return left.size === deleted.size ? deleted : left;
};
