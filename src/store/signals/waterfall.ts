/** How a waterfall reads a span, whatever form an engine has it in. */
export type WaterfallReader<T> = {
  readonly id: (span: T) => string;
  readonly parent: (span: T) => string | null;
  readonly start: (span: T) => bigint;
};

/**
 * Orders spans so that a waterfall can be drawn line by line: a parent before its children, siblings by start and then by
 * id; a span whose parent is missing stands at the top level. Spans in a ring of parents begin with the earliest of them.
 */
export const waterfall = <T>(spans: readonly T[], { id, parent, start }: WaterfallReader<T>): T[] => {
  const ordered = [...spans].sort((a, b) => {
    const startA = start(a);
    const startB = start(b);
    if (startA !== startB) return startA < startB ? -1 : 1;
    return id(a) < id(b) ? -1 : 1;
  });
  const present = new Set(ordered.map(id));
  const children = new Map<string, T[]>();
  const tops: T[] = [];
  for (const span of ordered) {
    const above = parent(span);
    if (above === null || !present.has(above)) tops.push(span);
    else {
      const siblings = children.get(above);
      if (siblings === undefined) children.set(above, [span]);
      else siblings.push(span);
    }
  }
  const lines: T[] = [];
  const drawn = new Set<T>();
  // A stack of our own: a chain of ten thousand spans would overflow that of the engine.
  const drawFrom = (top: T): void => {
    const stack = [top];
    for (let span = stack.pop(); span !== undefined; span = stack.pop()) {
      if (drawn.has(span)) continue;
      drawn.add(span);
      lines.push(span);
      const below = children.get(id(span));
      // Children of an id are drawn once, under its first bearer.
      if (below !== undefined) {
        children.delete(id(span));
        for (let i = below.length - 1; i >= 0; i--) stack.push(below[i] as T);
      }
    }
  };
  for (const top of tops) drawFrom(top);
  for (const span of ordered) if (!drawn.has(span)) drawFrom(span);
  return lines;
};
