const TRAILING_DATE = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * Finds what a model id is called in a book, trying in order: the id as given, case-folded; the part after the last slash; the
 * segment after the last dot; each of these without a trailing `-YYYY-MM-DD` or `-YYYYMMDD`.
 * @param has whether the book holds a lower-case id
 * @returns the book's id, `undefined` when it holds none of them
 * @see Interface specification, "Cost", "Model id resolution"
 */
export const resolveModelId = (model: string, has: (id: string) => boolean): string | undefined => {
  const whole = model.toLowerCase();
  if (has(whole)) return whole;
  const spellings = [whole, whole.slice(whole.lastIndexOf('/') + 1), whole.slice(whole.lastIndexOf('.') + 1)];
  const undated = spellings.filter((id) => TRAILING_DATE.test(id)).map((id) => id.replace(TRAILING_DATE, ''));
  return [...spellings, ...undated].find(has);
};
