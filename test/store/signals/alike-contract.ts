import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openTemporary } from '../sqlite/temporary-store.ts';
import { aCorpus, answersOf, aQuestion, unitsOf } from './drawn-corpus.ts';
import type { OpenStore } from './opening.ts';

/** An engine, on two replicas, answers drawn questions about drawn signals as the embedded store does. */
export const alikeContract = (engine: string, open: OpenStore): void => {
  describe(`${engine} and the embedded store`, () => {
    it('answer any question about any signals alike, whichever of two replicas wrote them', async () => {
      await fc.assert(
        fc.asyncProperty(aCorpus, fc.array(aQuestion, { minLength: 6, maxLength: 6 }), async (corpus, questions) => {
          const embedded = await openTemporary();
          const opened = await open();
          try {
            const replicas = [opened.store, await opened.replica()] as const;
            for (const [place, unit] of unitsOf(corpus).entries()) {
              await embedded.store.write(unit);
              await (replicas[place % 2] as SignalStore).write(unit);
            }
            await Promise.all(
              questions.map(async (question, place) => {
                const expected = await answersOf(embedded.store, question);
                const found = await answersOf(replicas[place % 2] as SignalStore, question);
                for (const [which, answer] of expected.entries()) expect(found[which]).toEqual(answer);
              }),
            );
          } finally {
            await embedded.remove();
            await opened.remove();
          }
        }),
        { numRuns: 4, endOnFailure: true },
      );
    });
  });
};
