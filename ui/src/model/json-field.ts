/** What somebody typed as JSON: its value, nothing for an empty field, or what is wrong with it. */
export type JsonField<T> = { readonly value: T | undefined } | { readonly fault: string };

/** @param name of the field, for the fault */
export const readJson = (text: string, name: string): JsonField<unknown> => {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `The ${name} is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
};

export const readJsonObject = (text: string, name: string): JsonField<Record<string, unknown>> => {
  const read = readJson(text, name);
  if ('fault' in read || read.value === undefined) return read as JsonField<Record<string, unknown>>;
  const { value } = read;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { value: value as Record<string, unknown> }
    : { fault: `The ${name} must be a JSON object.` };
};
