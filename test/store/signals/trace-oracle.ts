import * as fc from 'fast-check';
import type { Feedback, Score } from '../../../src/model/signal.ts';
import type { Span } from '../../../src/model/span.ts';
import type { TraceFilter } from '../../../src/store/signals/query.ts';
import type { TraceCondition, TraceFigure } from '../../../src/store/signals/trace-conditions.ts';
import type { TraceFacet } from '../../../src/store/signals/trace-facets.ts';
import { aFeedback, aScore, aSpan, running, spanIdOf, T0, traceIdOf } from './factories.ts';

// A naive reading of trace conditions, to hold engines against: it looks at the signals that were sent, and at no total.

const word = fc.constantFrom('a', 'b', 'c');
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const kind = fc.constantFrom('generic', 'tool_call', 'model_generation');
const MILLI = 1_000_000n;

export const aDrawnTrace = fc.record({
  name: word,
  status: fc.constantFrom('ok', 'error', 'unset'),
  start: fc.integer({ min: 0, max: 3 }),
  lengthMs: maybe(fc.integer({ min: 0, max: 3 })),
  tags: fc.uniqueArray(word),
  context: fc.record({
    userId: maybe(word),
    sessionId: maybe(word),
    threadId: maybe(word),
    environment: maybe(word),
    serviceName: maybe(word),
    serviceVersion: maybe(word),
    release: maybe(word),
    runId: maybe(word),
    experimentId: maybe(word),
  }),
  children: fc.array(
    fc.record({
      failed: fc.boolean(),
      kind,
      model: maybe(word),
      provider: maybe(word),
      entityName: maybe(word),
      cost: maybe(fc.integer({ min: 1, max: 3 })),
      input: maybe(fc.array(word, { maxLength: 3 })),
    }),
    { maxLength: 3 },
  ),
  scores: fc.array(fc.record({ scorerId: word, value: fc.integer({ min: 0, max: 2 }) }), { maxLength: 3 }),
  feedback: fc.array(fc.constantFrom('thumbs', 'tag', 'comment'), { maxLength: 2 }),
});
type Drawn = typeof aDrawnTrace extends fc.Arbitrary<infer T> ? T : never;

const filters = {
  status: fc.constantFrom('ok', 'error', 'unset'),
  name: word,
  model: word,
  provider: word,
  entityName: word,
  kind,
  userId: word,
  sessionId: word,
  threadId: word,
  environment: word,
  serviceName: word,
  serviceVersion: word,
  release: word,
  tag: word,
  runId: word,
  experimentId: word,
  hasFeedback: fc.constantFrom('thumbs', 'tag', 'comment'),
  hasScore: word,
  scoreBelow: fc.integer({ min: 0, max: 3 }),
  minCost: fc.integer({ min: 0, max: 4 }),
  maxCost: fc.integer({ min: 0, max: 9 }),
  minDurationMs: fc.integer({ min: 0, max: 3 }),
  maxDurationMs: fc.integer({ min: 0, max: 3 }),
  hasError: fc.boolean(),
  q: word,
  from: fc.integer({ min: 0, max: 3 }).map((n) => T0 + BigInt(n)),
  to: fc.integer({ min: 0, max: 4 }).map((n) => T0 + BigInt(n)),
} as const satisfies Record<keyof TraceFilter, fc.Arbitrary<unknown>>;

/** A filter of one to three demands, so that some traces meet it. */
export const aDrawnFilter: fc.Arbitrary<TraceFilter> = fc
  .tuple(
    fc.record(filters),
    fc.subarray(Object.keys(filters) as (keyof typeof filters)[], { minLength: 1, maxLength: 3 }),
  )
  .map(([all, names]) => Object.fromEntries(names.map((name) => [name, all[name]])));

/** What was sent of one trace: its root first, then its children, which say nothing of their context. */
export type Sent = {
  readonly spans: readonly [Span, ...Span[]];
  readonly scores: readonly Score[];
  readonly feedback: readonly Feedback[];
};

const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

export const sentOf = (drawn: Drawn, index: number, project: string): Sent => {
  const traceId = traceIdOf(index + 1);
  const startTime = T0 + BigInt(drawn.start);
  const correlation = { project, tags: drawn.tags, ...defined(drawn.context) };
  const root = aSpan({ traceId, spanId: spanIdOf(100), name: drawn.name, startTime, correlation });
  const ended =
    drawn.lengthMs === undefined ? running(root) : { ...root, endTime: startTime + BigInt(drawn.lengthMs) * MILLI };
  const children = drawn.children.map(({ cost, input, kind: ofKind, model, provider, entityName }, n) =>
    running(
      aSpan({
        traceId,
        spanId: spanIdOf(n + 1),
        parentSpanId: spanIdOf(100),
        startTime,
        correlation: { project },
        kind: ofKind,
        ...defined({ model, provider, entityName }),
        ...(cost === undefined ? {} : { cost: { totalCost: cost, currency: 'USD', isEstimated: true } }),
        ...(input === undefined ? {} : { input: input.join(' ') }),
      }),
    ),
  );
  return {
    spans: [
      { ...ended, status: drawn.status },
      ...children.map((child, n): Span => ({ ...child, status: drawn.children[n]?.failed === true ? 'error' : 'ok' })),
    ],
    scores: drawn.scores.map((score) => aScore({ ...score, traceId, correlation: { project } })),
    feedback: drawn.feedback.map((of) => aFeedback({ kind: of, value: 'up', traceId, correlation: { project } })),
  };
};

/** Values that a trace has of a property, one a span: as they were sent. */
export const valuesOf = ({ spans, scores, feedback }: Sent, facet: TraceFacet): readonly (string | undefined)[] => {
  const [root] = spans;
  switch (facet) {
    case 'status':
    case 'name':
      return [root[facet]];
    case 'kind':
    case 'model':
    case 'provider':
    case 'entityName':
      return spans.map((span) => span[facet]);
    case 'tag':
      return root.correlation.tags ?? [];
    case 'hasError':
      return spans.map(({ status }) => (status === 'error' ? 'yes' : undefined));
    case 'feedback':
      return feedback.map((one) => one.kind);
    case 'score':
      return scores.map(({ scorerId }) => scorerId);
    case 'spanUserId':
    case 'spanSessionId':
    case 'spanEnvironment':
    case 'spanServiceName':
      return []; // of the list of spans
    default:
      return [root.correlation[facet]];
  }
};

const figureOf = ({ spans }: Sent, figure: TraceFigure): bigint | number | undefined => {
  const [root] = spans;
  switch (figure) {
    case 'startTime':
      return root.startTime;
    case 'durationNs':
      return root.endTime === undefined ? undefined : root.endTime - root.startTime;
    case 'totalCost': {
      const costs = spans.flatMap(({ cost }) => cost?.totalCost ?? []);
      return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0);
    }
    case 'errorCount':
      return spans.filter(({ status }) => status === 'error').length;
    default:
      return figure satisfies never;
  }
};

export const meets = (sent: Sent, condition: TraceCondition): boolean => {
  switch (condition.kind) {
    case 'has':
      return valuesOf(sent, condition.facet).includes(condition.value);
    case 'bound': {
      const figure = figureOf(sent, condition.figure);
      if (figure === undefined) return false;
      if (condition.is === 'at_least') return figure >= condition.value;
      return condition.is === 'at_most' ? figure <= condition.value : figure < condition.value;
    }
    case 'mean_below': {
      const values = sent.scores.filter(({ scorerId }) => scorerId === condition.scorerId).map(({ value }) => value);
      return values.length > 0 && values.reduce((sum, value) => sum + value, 0) / values.length < condition.value;
    }
    case 'text':
      return sent.spans.some(({ input }) => typeof input === 'string' && input.split(' ').includes(condition.q));
    default:
      return condition satisfies never;
  }
};
