import { readSources } from './imports.ts';

type Graph = ReadonlyMap<string, readonly string[]>;

/** The shortest way from a file back to itself along its imports; it names the file once. */
const findCircleThrough = (graph: Graph, start: string): string[] | undefined => {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue)
    for (const imported of graph.get(file) ?? []) {
      if (imported === start) {
        const circle = [file];
        for (let at = cameFrom.get(file); at !== undefined; at = cameFrom.get(at)) circle.unshift(at);
        return circle;
      }
      if (cameFrom.has(imported)) continue;
      cameFrom.set(imported, file);
      queue.push(imported);
    }
  return undefined;
};

/** The same circle, beginning at its first file in the order of names. */
const fromFirst = (circle: readonly string[]): string[] => {
  const first = circle.indexOf(circle.toSorted()[0] ?? '');
  return [...circle.slice(first), ...circle.slice(0, first)];
};

/**
 * Finds files that import each other, directly or through others. Imports of types count: two files that need each other's
 * types cannot be read one after the other either. The linter's `import/no-cycle` does not see the type `import('./a.ts').A`
 * and dynamic imports.
 * @returns one line a circle, the shortest through each file that is part of one; empty when there are none
 */
export const findCircles = (root: string, folders?: readonly string[]): string[] => {
  const graph: Graph = new Map(readSources(root, folders).map(({ path, imports }) => [path, imports]));
  const circles = new Set<string>();
  for (const file of graph.keys()) {
    const circle = findCircleThrough(graph, file);
    if (circle === undefined) continue;
    const [first = file, ...rest] = fromFirst(circle);
    circles.add([first, ...rest, first].join(' → '));
  }
  return [...circles].map((circle) => `files import each other: ${circle}`);
};
