import { toolKinds } from '../model/span.ts';
import type { StoredSpan } from '../store/signals/query.ts';

export type ToolCall = {
  /** The tool's own name where the span says it, else the span's name. */
  readonly tool: string;
  readonly span: StoredSpan;
};

const toolOf = (span: StoredSpan): string => span.entityName ?? span.name;

/**
 * The tool calls of a run, in its order. One call that two layers recorded (an agent framework, and below it the MCP client)
 * is one call: a tool span inside of a span of the same tool is left out.
 */
export const toolCallsOf = (spans: readonly StoredSpan[]): ToolCall[] => {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const isRepeat = (span: StoredSpan): boolean => {
    const seen = new Set<string>();
    for (let id = span.parentSpanId; id !== undefined && !seen.has(id); ) {
      seen.add(id);
      const parent = byId.get(id);
      if (parent === undefined) return false;
      if (toolKinds.has(parent.kind) && toolOf(parent) === toolOf(span)) return true;
      // Only through what a tool call directly consists of; an agent in between calls anew.
      if (!toolKinds.has(parent.kind) && parent.kind !== 'http_request' && parent.kind !== 'generic') return false;
      id = parent.parentSpanId;
    }
    return false;
  };
  return spans
    .filter((span) => toolKinds.has(span.kind) && !isRepeat(span))
    .map((span) => ({ tool: toolOf(span), span }));
};
