/** What somebody typed as a case: JSON where it is JSON, else the text itself. @returns nothing for an empty text */
export const valueOfText = (text: string): unknown => {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    return text;
  }
};
