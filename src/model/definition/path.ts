/** Steps from a root name of the scope down to a value: `['steps', 'pay', 'output', 'items', 0]`. */
export type Path = readonly (string | number)[];

const PLAIN = /^[A-Za-z0-9_-]+$/;

/** Writes a path as a template would: `input.items[0]["odd key"]`. */
export const formatPath = (path: Path): string =>
  path
    .map((segment, index) => {
      if (typeof segment === 'number') return `[${segment}]`;
      if (!PLAIN.test(segment)) return `[${JSON.stringify(segment)}]`;
      return index === 0 ? segment : `.${segment}`;
    })
    .join('');

/**
 * Checks a path against the definition it stands in.
 * @param stepIds the steps of the definition
 * @returns what is wrong with it; `undefined` when nothing is
 */
export const findPathFault = (path: Path, stepIds: ReadonlySet<string>): string | undefined => {
  const [root, id] = path;
  if (root !== 'steps' && root !== 'visits') return undefined;
  if (typeof id !== 'string') return `${root} is read one step at a time: name the step, as in ${root}.<step>`;
  if (!stepIds.has(id)) return `${formatPath(path)}: there is no step ${JSON.stringify(id)}`;
  if (root === 'steps' && path.length > 2 && path[2] !== 'output')
    return `${formatPath(path)}: a step has an output and nothing else to read: ${formatPath(['steps', id, 'output'])}`;
  return undefined;
};
