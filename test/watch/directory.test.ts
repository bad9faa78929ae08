import { describe, expect, it } from 'vitest';
import { createActorDirectory } from '../../src/actors/service/actor-directory.ts';
import type { Position } from '../../src/model/page.ts';
import { createWatchActors } from '../../src/watch/directory.ts';
import { aDefinition, codeOf, createHarness, must, tasks } from '../actors/run-harness.ts';
import { aMonitor, anSlo, createWatchHarness } from './watch-harness.ts';

const watching = () =>
  createWatchHarness({
    monitors: [aMonitor({ id: 'b' }), aMonitor({ id: 'a' }), aMonitor({ id: 'theirs', project: 'other' })],
    slos: [anSlo({ id: 'c' })],
  }).watchers;

/** As with `--runs-data off`. */
const withoutRuns = () => createActorDirectory(createWatchActors(watching()));

describe('the actor list', () => {
  it('shows monitors and SLOs with `--runs-data off`', async () => {
    const directory = withoutRuns();
    const { items, next } = must(await directory.listActors({ reach: 'all', limit: 50 }));
    expect(items.map(({ type, id, value }) => [type, id, value])).toEqual([
      ['monitor', 'a', 'nominal'],
      ['monitor', 'b', 'nominal'],
      ['monitor', 'theirs', 'nominal'],
      ['slo', 'c', 'nominal'],
    ]);
    expect(next).toBeUndefined();
    expect(Object.keys(items[0] ?? {}).toSorted()).toEqual(
      ['id', 'machine', 'status', 'type', 'updatedAt', 'value', 'version'].toSorted(),
    );
    expect(codeOf(await directory.getActor({ reach: 'all', type: 'run', id: 'x' }))).toBe('not_found');
  });

  it('shows a key the actors of its projects', async () => {
    const directory = withoutRuns();
    const { items } = must(await directory.listActors({ reach: ['other'], limit: 50 }));
    expect(items.map(({ id }) => id)).toEqual(['theirs']);
    const ask = (id: string) => directory.getActor({ reach: ['other'], type: 'monitor', id });
    expect(must(await ask('theirs'))).toMatchObject({ machineVersion: 1, context: { rule: { threshold: 0.1 } } });
    expect(codeOf(await ask('a'))).toBe('forbidden');
    expect(codeOf(await ask('nobody'))).toBe('not_found');
  });

  it('filters by type and status', async () => {
    const directory = withoutRuns();
    const ids = async (filter: { type?: string; status?: 'active' | 'done' }) =>
      must(await directory.listActors({ reach: 'all', limit: 50, ...filter })).items.map(({ id }) => id);
    expect([await ids({ type: 'slo' }), await ids({ type: 'run' }), await ids({ status: 'done' })]).toEqual([
      ['c'],
      [],
      [],
    ]);
  });

  it.each([1, 2, 3, 4, 5, 6, 50])('is paged without gap or repeat over all kinds, %i a page', async (limit) => {
    const { runs, start } = await createHarness({ definitions: [aDefinition('d', tasks('one'))] });
    for (let n = 0; n < 3; n += 1) await start('d');
    const directory = createActorDirectory([...createWatchActors(watching()), ...runs.actors]);
    const seen: string[] = [];
    let after: Position | undefined;
    let pages = 0;
    do {
      const page = must(await directory.listActors({ reach: 'all', limit, ...(after === undefined ? {} : { after }) }));
      expect(page.items.length).toBeLessThanOrEqual(limit);
      expect(page.items.length).toBeGreaterThan(0);
      seen.push(...page.items.map(({ type, id }) => `${type}/${id}`));
      after = page.next;
      pages += 1;
    } while (after !== undefined);
    expect([new Set(seen).size, seen.length, pages]).toEqual([10, 10, Math.ceil(10 / limit)]);
    await runs.close();
  });

  it('shows a monitor as it was after an entry of its journal, to the keys that reach it', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()], slos: [anSlo()] });
    const directory = createActorDirectory(createWatchActors(harness.watchers));
    const startedAt = harness.time.now();
    await harness.start();
    harness.now.failed = 50;
    await harness.pass();
    const trippedAt = harness.time.now();
    await harness.pass();
    const at = (atSeq: number, reach: 'all' | string[] = 'all', id = 'errors') =>
      directory.getActor({ reach, type: 'monitor', id, atSeq });
    expect(must(await at(1))).toMatchObject({ value: 'nominal', version: 1, updatedAt: startedAt });
    expect(must(await at(2))).toEqual({
      type: 'monitor',
      id: 'errors',
      machine: 'monitor',
      machineVersion: 1,
      value: 'tripped',
      status: 'active',
      version: 3,
      updatedAt: trippedAt,
      mailbox: 0,
      context: {
        rule: { compare: 'above', threshold: 0.1, minSamples: 20 },
        reading: { samples: 100, value: 0.5 },
        evaluatedAt: trippedAt,
        trippedAt,
      },
    });
    expect(must(await directory.getActor({ reach: 'all', type: 'slo', id: 'works', atSeq: 2 })).value).toBe('tripped');
    expect([codeOf(await at(0)), codeOf(await at(3))]).toEqual(['not_found', 'not_found']);
    expect([codeOf(await at(2, ['other'])), codeOf(await at(1, 'all', 'nobody'))]).toEqual(['forbidden', 'not_found']);
  });
});
