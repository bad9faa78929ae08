import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import {
  aFeedback,
  aLog,
  aNote,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  inDefault,
  spanIdOf,
  T0,
  traceIdOf,
  traces,
} from './factories.ts';
import { idsOf, type OpenStore, storesOf } from './opening.ts';
import { holdsText } from './search-oracle.ts';

const LONG = `${'long '.repeat(2_000)}ü😀`;

/** What every engine promises of texts that somebody means ill with, or only means to be long. */
export const hostileContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: texts from outside`, () => {
    const { empty, holding } = storesOf(open);

    /** Every list and every look-up with this text wherever one may stand; all of them must find nothing. */
    const askEverywhere = async (store: SignalStore, text: string): Promise<void> => {
      const paging = { ...inDefault, projects: ['default', text] };
      const none = { items: [] };
      for (const filter of [
        ...['name', 'model', 'provider', 'entityName', 'userId', 'sessionId', 'threadId', 'environment'],
        ...['serviceName', 'serviceVersion', 'release', 'tag', 'runId', 'experimentId', 'hasScore', 'q'],
      ])
        expect([filter, await store.listTraces(traces({ [filter]: text }))]).toEqual([filter, none]);
      expect(await store.listTraces(traces({ projects: [text] }))).toEqual(none);
      expect(await store.findTrace(text, 'all', true)).toBeUndefined();
      expect(await store.readTrace(text, 'all', true, () => {})).toBeUndefined();
      expect(await store.projectsOfTrace(text, 'all')).toEqual([]);
      expect(await store.findSpan(text, text, 'all')).toBeUndefined();
      expect(await store.findSpan(traceIdOf(1), text, 'all')).toBeUndefined();
      const spans = { ...paging, order: 'asc', payloads: true } as const;
      for (const filter of ['traceId', 'name', 'model', 'provider', 'entityName', 'sessionId', 'userId', 'environment'])
        expect([filter, await store.listSpans({ ...spans, [filter]: text })]).toEqual([filter, none]);
      expect(await store.listSpans({ ...spans, traceId: traceIdOf(1), spanIds: [text] })).toEqual(none);
      for (const filter of ['traceId', 'spanId', 'logger', 'serviceName', 'environment', 'sessionId', 'userId'])
        expect([filter, await store.listLogs({ ...paging, order: 'asc', [filter]: text })]).toEqual([filter, none]);
      expect(await store.listMetricPoints({ ...paging, name: text, order: 'asc' })).toEqual(none);
      for (const filter of ['scorerId', 'source', 'traceId', 'experimentId'])
        expect(await store.listScores({ ...paging, [filter]: text })).toEqual(none);
      expect(await store.listFeedback(text, paging)).toEqual(none);
      expect(await store.listAspectNotes({ ...paging, traceId: text })).toEqual(none);
      expect(await store.listAspectNotes({ ...paging, aspect: text })).toEqual(none);
      expect(await store.listAudit({ ...paging, operation: text })).toEqual(none);
      expect(await store.isWritten(text)).toBe(false);
      expect(await store.findDataset(text, 'all', 'all')).toBeUndefined();
      expect(await store.findItem({ project: text, datasetId: text }, text)).toBeUndefined();
      expect(await store.findExpected(text, text)).toBeUndefined();
      expect(await store.findExperiment(text, 'all')).toBeUndefined();
      expect(await store.scoreStatistics(text, [text])).toEqual([]);
      expect(await store.findView(text, 'all')).toBeUndefined();
      expect(await store.deleteTraces([text], 'all')).toMatchObject({ deleted: 0 });
      expect(await store.trim(text, T0, 10)).toBe(0);
      expect(await store.runTotals({ project: text, from: 0n, to: T0 })).toMatchObject({ runs: 0 });
      const after = [text, text];
      for (const page of [
        await store.listTraces(traces({ after })),
        await store.listSpans({ ...spans, after }),
        await store.listMetricNames({ ...paging, after }),
        await store.listProjects({ ...paging, after }),
      ])
        expect(page.items.length).toBeLessThanOrEqual(1);
    };

    it.each([
      ['with U+0000', 'a\0b'],
      ['of U+0000 alone', '\0'],
      ['with half a character', 'a\ud800b\udc00'],
      ['with quotes, backslashes and patterns', `'"\\%_*?[](){};--/*$1$$ :x @y`],
      ['that is empty', ''],
      ['of 10 KB', LONG],
    ])('a text %s fails no question, and finds nothing', async (_title, text) => {
      const store = await holding({
        spans: [aSpan()],
        logs: [aLog()],
        metrics: [aPoint()],
        scores: [aScore()],
        feedback: [aFeedback()],
        aspectNotes: [aNote()],
      });
      await askEverywhere(store, text);
      expect(idsOf(await store.listTraces(traces()))).toEqual([traceIdOf(1)]);
    });

    it('ids and names of 10 KB are stored, found, replaced and deleted like short ones', async () => {
      const other = `${LONG}!`;
      const store = await empty();
      const correlation = { userId: LONG, sessionId: LONG, environment: LONG, serviceName: LONG, tags: [LONG] };
      const unit = (id: string) =>
        aUnit(
          {
            spans: [aSpan({ spanId: spanIdOf(1), name: id, model: id, correlation, input: LONG })],
            logs: [aLog({ logId: id, logger: id, correlation })],
            metrics: [aPoint({ name: id })],
            scores: [aScore({ scoreId: id, scorerId: id, experimentId: id })],
            feedback: [aFeedback({ feedbackId: id })],
            aspectNotes: [aNote({ noteId: id, aspect: id })],
          },
          id,
        );
      for (const id of [LONG, other, LONG]) await store.write(unit(id));
      expect(await store.write(unit(other))).toBe('duplicate');
      for (const id of [LONG, other]) {
        expect(idsOf(await store.listTraces(traces({ hasScore: id, userId: LONG, tag: LONG })))).toEqual([
          traceIdOf(1),
        ]);
        expect((await store.listScores({ ...inDefault, scorerId: id })).items).toHaveLength(1);
        expect((await store.listAspectNotes({ ...inDefault, aspect: id })).items).toHaveLength(1);
        expect((await store.listLogs({ ...inDefault, order: 'asc', logger: id, userId: LONG })).items).toHaveLength(1);
      }
      expect(idsOf(await store.listTraces(traces({ name: other, model: other })))).toEqual([traceIdOf(1)]);
      expect((await store.listTraces(traces({ name: LONG }))).items).toEqual([]);
      expect((await store.listMetricNames(inDefault)).items.map(({ name }) => name)).toEqual([LONG, other].toSorted());
      expect((await store.listRollUps({ ...inDefault, of: 'user' })).items).toMatchObject([{ id: LONG }]);
      const dataset = { project: 'default', datasetId: LONG, name: LONG, createdAt: T0 };
      expect(await store.putDataset(dataset)).toMatchObject({ datasetId: LONG });
      expect(await store.putDataset({ ...dataset, datasetId: other })).toBeUndefined();
      expect(await store.findDataset(LONG, 'all', [])).toMatchObject({ name: LONG });
      await store.deleteTraces([traceIdOf(1)], 'all');
      expect((await store.listScores(inDefault)).items).toEqual([]);
    });

    it('of two payloads with 80,000 different words every word is found', async () => {
      const wordOf = (n: number): string => n.toString(36).padStart(5, 'w');
      const text = (from: number): string => Array.from({ length: 40_000 }, (_, n) => wordOf(from + n)).join(' ');
      const store = await holding({ spans: [aSpan({ input: text(0), output: text(40_000) })] });
      for (const n of [0, 1, 39_999, 40_000, 60_000, 79_999])
        expect([n, idsOf(await store.listTraces(traces({ q: wordOf(n) })))]).toEqual([n, [traceIdOf(1)]]);
      expect((await store.listTraces(traces({ q: wordOf(80_000) }))).items).toEqual([]);
    });

    it('any search finds of any texts what the rule says', async () => {
      const word = fc.constantFrom(
        ...[
          'red',
          'Red',
          'reds',
          're',
          'blue',
          'BLUE',
          'ΑΣ',
          'ας',
          'naïve',
          'NAÏVE',
          'nai\u0308ve',
          '東京',
          '42',
          'v1',
        ],
        ...['K', 'ſ', '१२', 'ᏸ', '🤣', '\u0301'],
      );
      const between = fc.constantFrom(' ', '-', '_', '.', '@', '\n', '…', '“', '"', '');
      const text = fc
        .array(fc.tuple(word, between), { maxLength: 8 })
        .map((pieces) => pieces.map((piece) => piece.join('')).join(''));
      const asked = fc
        .array(
          fc.oneof(
            { weight: 6, arbitrary: word },
            { weight: 2, arbitrary: fc.constantFrom('*', '* ', '"', ' "', '\0', '\ud800', '()', ' OR ') },
            { weight: 5, arbitrary: fc.constant(' ') },
          ),
          { maxLength: 7 },
        )
        .map((pieces) => pieces.join(''));
      const span = fc.record({ input: text, output: text });
      await fc.assert(
        fc.asyncProperty(
          fc.array(span, { minLength: 1, maxLength: 6 }),
          fc.array(asked, { minLength: 15, maxLength: 15 }),
          async (drawn, questions) => {
            const spans = drawn.map((payloads, n) => aSpan({ traceId: traceIdOf(n + 1), ...payloads }));
            const store = await holding({ spans });
            for (const q of questions) {
              const expected = spans.filter((one) => holdsText(one, q)).map(({ traceId }) => traceId);
              expect([q, idsOf(await store.listTraces(traces({ q }))).toSorted()]).toEqual([q, expected]);
            }
          },
        ),
        { numRuns: 12 },
      );
    });
  });
};
