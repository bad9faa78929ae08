import type { Json } from '../../src/model/json.ts';
import type { StoredSpan, TraceSummary } from '../../src/store/signals/query.ts';
import { findAnswer } from '../../src/scoring/answer.ts';
import type { RunUnderScore } from '../../src/scoring/built-in.ts';

const START = 1_795_165_200_000_000_000n;
const ms = (millis: number): bigint => BigInt(millis) * 1_000_000n;

let drawn = 0;

/** A span that began `at` milliseconds into its run and took `took`; without `took` it still runs. */
export const aSpan = ({
  at = 0,
  took = 10,
  ...given
}: Partial<StoredSpan> & { readonly at?: number; readonly took?: number | null } = {}): StoredSpan => ({
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: (++drawn).toString(16).padStart(16, '0'),
  parentSpanId: 'f'.repeat(16),
  name: 'step',
  kind: 'generic',
  status: 'ok',
  startTime: START + ms(at),
  ...(took === null ? {} : { endTime: START + ms(at + took) }),
  isEvent: false,
  receivedAt: START,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...given,
});

/** A root span is one without a parent. */
export const aRoot = (given: Parameters<typeof aSpan>[0] = {}): StoredSpan => {
  const { parentSpanId: _, ...root } = aSpan({ name: 'answer ticket', kind: 'agent_run', took: 1_500, ...given });
  return root;
};

export const aTool = (tool: string, given: Parameters<typeof aSpan>[0] = {}): StoredSpan =>
  aSpan({ name: `execute_tool ${tool}`, entityName: tool, kind: 'tool_call', ...given });

/** A run of these spans, with its answer found as scoring finds it. */
export const aRun = (
  spans: readonly StoredSpan[],
  given: { readonly trace?: Partial<TraceSummary>; readonly captured?: Json } = {},
): RunUnderScore => {
  const answer = findAnswer({ spans });
  return {
    trace: {
      traceId: '5b8efff798038103d269b633813fc60c',
      project: 'default',
      name: 'answer ticket',
      status: 'ok',
      startTime: START,
      durationNs: ms(1_500),
      spanCount: spans.length,
      errorCount: 0,
      models: [],
      tags: [],
      scores: [],
      feedback: {},
      ...given.trace,
    },
    spans,
    ...(answer === undefined ? {} : { answer }),
    ...(given.captured === undefined ? {} : { captured: given.captured }),
  };
};

/** A run that answered with this payload. */
export const answering = (output: Json, given: Parameters<typeof aRun>[1] = {}): RunUnderScore =>
  aRun([aRoot({ output })], given);
