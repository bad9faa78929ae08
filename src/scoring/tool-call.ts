import { toolKinds } from '../model/span.ts';
import type { StoredSpan } from '../store/signals/query.ts';

export type ToolCall = {
  /** The tool's own name where the span says it, else the span's name. */
  readonly tool: string;
  readonly span: StoredSpan;
};

const toolOf = (span: StoredSpan): string => span.entityName ?? span.name;

/** What a tool call may consist of besides other calls of tools; an agent in between calls anew. */
const isPartOfCall = ({ kind }: StoredSpan): boolean =>
  toolKinds.has(kind) || kind === 'http_request' || kind === 'generic';

type ByParent = { readonly outermost: StoredSpan[]; readonly inside: ReadonlyMap<string, StoredSpan[]> };

const byParentOf = (spans: readonly StoredSpan[]): ByParent => {
  const inside = new Map<string, StoredSpan[]>(spans.map(({ spanId }) => [spanId, []]));
  const outermost: StoredSpan[] = [];
  for (const span of spans) {
    const parent = span.parentSpanId === undefined ? undefined : inside.get(span.parentSpanId);
    (parent ?? outermost).push(span);
  }
  return { outermost, inside };
};

/**
 * The tool spans inside of a span of the same tool. Each span is entered once, with the tools that it is inside of at hand: a chain of
 * thousands of calls takes no longer than as many calls beside each other.
 */
const findRepeats = (spans: readonly StoredSpan[]): ReadonlySet<StoredSpan> => {
  const { outermost: starts, inside } = byParentOf(spans);
  const repeats = new Set<StoredSpan>();
  const entered = new Set<StoredSpan>();
  const depthInside = new Map<string, number>();

  const walkFrom = (first: StoredSpan): void => {
    /** Spans to enter, and those to leave once everything in them was entered. */
    const stack: { readonly span: StoredSpan; readonly leaves: boolean }[] = [{ span: first, leaves: false }];
    for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
      const { span, leaves } = step;
      const tool = toolOf(span);
      if (leaves) {
        depthInside.set(tool, (depthInside.get(tool) ?? 0) - 1);
        continue;
      }
      if (entered.has(span)) continue;
      entered.add(span);
      if (toolKinds.has(span.kind)) {
        const depth = depthInside.get(tool) ?? 0;
        if (depth > 0) repeats.add(span);
        depthInside.set(tool, depth + 1);
        stack.push({ span, leaves: true });
      }
      const children = inside.get(span.spanId) ?? [];
      if (isPartOfCall(span)) for (const child of children) stack.push({ span: child, leaves: false });
      else for (const child of children) starts.push(child);
    }
  };

  for (const start of starts) walkFrom(start); // which adds those in what is no part of a call
  // Spans that are inside of each other have no first one.
  for (const span of spans) walkFrom(span);
  return repeats;
};

/**
 * The tool calls of a run, in its order. One call that two layers recorded (an agent framework, and below it the MCP client)
 * is one call: a tool span inside of a span of the same tool is left out.
 */
export const toolCallsOf = (spans: readonly StoredSpan[]): ToolCall[] => {
  const repeats = findRepeats(spans);
  return spans
    .filter((span) => toolKinds.has(span.kind) && !repeats.has(span))
    .map((span) => ({ tool: toolOf(span), span }));
};
