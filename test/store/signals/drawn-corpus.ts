import * as fc from 'fast-check';
import { metricTypes, type SignalBatch, severities } from '../../../src/model/signal.ts';
import {
  costGroupings,
  type Page,
  type Paging,
  type Position,
  type SpanQuery,
  traceSorts,
  type WrittenSpans,
} from '../../../src/store/signals/query.ts';
import type { SignalStore, WriteUnit } from '../../../src/store/signals/signal-store.ts';
import { aFeedback, aLog, aNote, aPoint, aScore, aUnit, SECOND, spanIdOf, T0, traceIdOf } from './factories.ts';
import { aDrawnFilter, aDrawnTrace, sentOf } from './trace-oracle.ts';

// Signals of all kinds, drawn, and every question about them: for tests that two stores hold the same.

const projectNames = ['one', 'two'];
const word = fc.constantFrom('a', 'b', 'c');
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const at = fc.integer({ min: 0, max: 3 }).map((n) => T0 + BigInt(n));
const ofTrace = fc.integer({ min: 1, max: 4 }).map(traceIdOf);
const ofSpan = fc.constantFrom(spanIdOf(1), spanIdOf(100));
const project = fc.constantFrom(...projectNames);
/** Drops what was not drawn. */
const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

const aDrawnRecord = fc.record({
  project,
  timestamp: at,
  traceId: maybe(ofTrace),
  spanId: maybe(ofSpan),
  name: word,
  other: maybe(word),
  severity: fc.constantFrom(...severities),
  type: fc.constantFrom(...metricTypes),
  value: fc.integer({ min: 0, max: 3 }),
});
type Record = typeof aDrawnRecord extends fc.Arbitrary<infer T> ? T : never;

export const aCorpus = fc.record({
  traces: fc.array(fc.tuple(aDrawnTrace, project), { minLength: 1, maxLength: 6 }),
  records: fc.array(aDrawnRecord, { maxLength: 8 }),
});

const signalsOf = (drawn: Record, place: number): Partial<SignalBatch> => {
  const { timestamp, name, other, severity, type, value } = drawn;
  const ids = given({ traceId: drawn.traceId, spanId: drawn.spanId });
  const correlation = { project: drawn.project, ...given({ userId: other, serviceName: other, sessionId: other }) };
  const of = { timestamp, correlation };
  const judged = drawn.traceId === undefined ? { spanId: spanIdOf(1) } : ids;
  const { traceId: _score, ...score } = aScore({ ...of, scoreId: `s${place}`, scorerId: name, value, max: 3 });
  const { traceId: _feedback, ...feedback } = aFeedback({ ...of, feedbackId: `f${place}`, value });
  return {
    logs: [aLog({ ...of, ...ids, logId: `l${place}`, severity, ...given({ logger: other }) })],
    metrics: [aPoint({ ...of, name, type, value, ...given({ unit: other }) })],
    scores: [{ ...score, ...judged, ...given({ experimentId: other, scorerVersion: other }) }],
    feedback: [{ ...feedback, ...judged }],
    aspectNotes: [aNote({ ...of, noteId: `n${place}`, aspect: name, ...given({ traceId: drawn.traceId }) })],
  };
};

const q = fc
  .array(fc.constantFrom('a', 'b', 'c', 'a*', '"a b"', '"b a"', '*', 'd'), { minLength: 1, maxLength: 3 })
  .map((words) => words.join(' '));
const window = fc.record({ from: maybe(at), to: maybe(at) }).map(given);
const reach = fc.constantFrom<Paging['projects']>('all', ['one'], ['two', 'one'], ['nobody'], ['on\ud800', 'a\0b']);
export const aQuestion = fc.record({
  projects: reach,
  limit: fc.integer({ min: 1, max: 5 }),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  sort: fc.constantFrom(...traceSorts),
  filter: aDrawnFilter,
  q: maybe(q),
  window,
  groupBy: fc.constantFrom(...costGroupings),
  word,
  other: maybe(word),
  traceId: maybe(ofTrace),
  spanFilter: fc
    .record({
      kind: maybe(fc.constantFrom('generic' as const, 'tool_call' as const)),
      status: maybe(fc.constantFrom('ok' as const, 'error' as const)),
      name: maybe(word),
      model: maybe(word),
      userId: maybe(word),
      environment: maybe(word),
    })
    .map(given),
  severity: maybe(fc.constantFrom(...severities)),
  maxBytes: maybe(fc.constantFrom(1, 40, 100_000)),
});
type Question = typeof aQuestion extends fc.Arbitrary<infer T> ? T : never;

const allPages = async <T>(read: (paging: { readonly after?: Position }) => Promise<Page<T>>): Promise<T[]> => {
  const items: T[] = [];
  for (let after: Position | undefined; ; ) {
    const page = await read(after === undefined ? {} : { after });
    items.push(...page.items);
    if (page.next === undefined) return items;
    // A cursor goes over the wire as text.
    after = JSON.parse(JSON.stringify(page.next)) as Position;
  }
};
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `${one}n` : one));
/** Where two of one time may stand either way round. */
const sorted = (items: readonly unknown[]): string[] => items.map(textOf).sort();
const written = async (spans: WrittenSpans): Promise<string[]> =>
  sorted(
    JSON.parse(
      `[${Buffer.concat(await Array.fromAsync(spans))
        .toString()
        .slice(1)}]`,
    ) as unknown[],
  );

/** Every read of the interface, as this question asks it. */
export const answersOf = async (store: SignalStore, asked: Question): Promise<[string, unknown][]> => {
  const { projects, limit, order, groupBy, traceId, other, maxBytes } = asked;
  const sized = { projects, limit, ...given({ maxBytes }) };
  const filter = { ...asked.filter, ...given({ q: asked.q }) };
  const list = {
    ...sized,
    ...filter,
    order,
    sort: asked.sort,
    ...(asked.sort === 'score' ? { hasScore: asked.filter.hasScore ?? asked.word } : {}),
  };
  const spans: SpanQuery = {
    ...sized,
    ...asked.window,
    ...asked.spanFilter,
    ...given({ traceId }),
    order,
    payloads: true,
  };
  const report = { projects, from: T0, to: T0 + 3n, bookModels: ['a'] };
  const inWindow = { ...sized, ...asked.window };
  const run = { project: 'one', from: T0, to: T0 + 2n };
  const id = traceId ?? traceIdOf(1);
  const trace = await store.readTrace(id, projects, true, () => {});
  return [
    ['traces', await allPages((after) => store.listTraces({ ...list, ...after }))],
    ['facets', await store.countFacets({ projects, ...filter, limit, most: 1_000 })],
    ['trace', await store.findTrace(id, projects, limit > 2)],
    ['trace as JSON', trace && [trace.trace, trace.projects, await written(trace.spans)]],
    ['its projects', await store.projectsOfTrace(id, projects)],
    ['span', await store.findSpan(id, spanIdOf(100), ['one'])],
    ['spans', sorted(await allPages((after) => store.listSpans({ ...spans, ...after })))],
    ['spans as JSON', await written((await store.readSpans({ ...spans, limit: 100 }, () => {})).spans)],
    [
      'logs',
      sorted(
        await allPages((after) =>
          store.listLogs({
            ...inWindow,
            order,
            ...given({ traceId, userId: other, minSeverity: asked.severity }),
            ...after,
          }),
        ),
      ),
    ],
    ['metric names', await allPages((after) => store.listMetricNames({ projects, limit, ...after }))],
    [
      'metric points',
      sorted(await allPages((after) => store.listMetricPoints({ ...inWindow, name: asked.word, order, ...after }))),
    ],
    [
      'scores',
      sorted(
        await allPages((after) =>
          store.listScores({ ...inWindow, ...given({ traceId, scorerId: other }), minValue: 1, ...after }),
        ),
      ),
    ],
    ['feedback', sorted(await allPages((after) => store.listFeedback(id, { ...sized, ...after })))],
    [
      'notes',
      sorted(
        await allPages((after) => store.listAspectNotes({ ...sized, ...given({ traceId, aspect: other }), ...after })),
      ),
    ],
    ['users', sorted(await allPages((after) => store.listRollUps({ ...inWindow, of: 'user', ...after })))],
    ['sessions', sorted(await allPages((after) => store.listRollUps({ ...inWindow, of: 'session', ...after })))],
    ['projects', await allPages((after) => store.listProjects({ projects, limit, ...after }))],
    ['costs', await store.costReport({ ...report, groupBy })],
    ['costs over time', await store.costReport({ ...report, groupBy, bucketSeconds: 1, to: T0 + SECOND })],
    ['summary', await store.summaryReport(report)],
    ['summary of groups', await store.summaryReport({ ...report, groupBy })],
    ['runs', await store.runTotals(run)],
    ['latency', await store.latencyPercentile(run, 0.5)],
    ['scores of a scorer', await store.scoreSample(run, asked.word)],
    [
      'statistics',
      // Squares of no finite length are added in an order of each engine's own.
      (await store.scoreStatistics(asked.word, projects)).map(({ stddev, ...rest }) => ({
        ...rest,
        ...given({ stddev: stddev === undefined ? undefined : Number(stddev.toPrecision(12)) }),
      })),
    ],
  ];
};

type Corpus = typeof aCorpus extends fc.Arbitrary<infer T> ? T : never;

/** The units of a corpus, in the order of trace ids, so that arrival and identity order ties alike. */
export const unitsOf = (corpus: Corpus): WriteUnit[] => [
  ...corpus.traces.map(([trace, of], place) => aUnit(sentOf(trace, place, of))),
  ...corpus.records.map((record, place) => aUnit(signalsOf(record, place))),
];
