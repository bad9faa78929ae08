/** What a query string holds; a repeated parameter is a list, so that it can be refused. */
export const parseQueryString = (text: string): Record<string, string | string[]> => {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return values;
};
