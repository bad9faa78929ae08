/** More rows of a list are not acted upon one by one. */
export const MAX_CHOSEN = 100;

/** The chosen rows after a press on one of them: one more, or one less. Beyond `MAX_CHOSEN` none is added. */
export const toggled = (chosen: ReadonlySet<string>, id: string): ReadonlySet<string> => {
  const next = new Set(chosen);
  if (!next.delete(id) && next.size < MAX_CHOSEN) next.add(id);
  return next;
};
