/** What becomes of a step whose wait ends without the event, as its definition says. @param definition a stored one */
export const afterDeadline = (definition: unknown, step: string): string => {
  const steps: unknown =
    typeof definition === 'object' && definition !== null && 'steps' in definition ? definition.steps : [];
  const found = (Array.isArray(steps) ? (steps as readonly unknown[]) : []).find(
    (one): one is { readonly on_timeout?: unknown } =>
      typeof one === 'object' && one !== null && 'id' in one && one.id === step,
  );
  return found?.on_timeout === 'continue' ? 'it continues without output' : 'it fails';
};
