/**
 * The names that a form may have for the field of a refusal, the nearest first: of `config.max_ms` and `spans[0].name` it may
 * have a field of its own, or one for all that they lie in.
 */
export const fieldNames = (path: string): readonly string[] => [
  path,
  ...[...path.matchAll(/[.[]/g)]
    .map(({ index }) => path.slice(0, index))
    .filter((name) => name !== '' && !name.endsWith(']'))
    .toReversed(),
];
