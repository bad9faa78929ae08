import { SERVICE } from '../../../src/model/definition/owner.ts';
import { describe, expect, it } from 'vitest';
import { createPrograms } from '../../../src/actors/run/program.ts';
import { snapshotAt } from '../../../src/actors/run/replay.ts';
import recorded from './journal-with-may-start.json' with { type: 'json' };
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task } from '../run-harness.ts';

onEachEngine('looking back', ({ createHarness }) => {
  it('the snapshot at any seq is what the run was after that entry', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 30', to: 'end' }, { to: 'one' }] })]),
      ],
    });
    const { runId } = await service.start('flow');
    const seen = new Map<number, unknown>();
    const note = async (): Promise<void> => {
      const seq = (await service.journal(runId)).at(-1)?.seq ?? -1;
      seen.set(seq, must(await service.runs.getActor({ ...ALL, type: 'run', id: runId })));
    };
    await note();
    for (let n = 0; n < 30; n += 1) {
      const [lease] = await service.claim();
      await note();
      must(await service.complete(lease as never));
      await note();
    }
    for (const [seq, now] of seen) {
      const { value, context } = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
      expect({ value, context }).toEqual({
        value: (now as { value: unknown }).value,
        context: (now as { context: unknown }).context,
      });
    }
    expect(codeOf(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: 100_000 }))).toBe('not_found');
  });

  it('the snapshot at any seq knows how many children were started, also where one commit could not start all', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('parent', [
          { id: 'kids', kind: 'child', definition: 'kid', for_each: '${input.items}', max_parallel: 110 },
        ]),
        aDefinition('kid', [task('one')]),
      ],
    });
    const { runId } = await service.start('parent', { items: Array.from({ length: 112 }, (_, n) => n) });
    const at = async (atSeq?: number) =>
      must(
        await service.runs.getActor({
          ...ALL,
          type: 'run',
          id: runId,
          ...(atSeq === undefined ? {} : { atSeq }),
        }),
      ).context as { readonly children?: object; readonly dueAt?: number };
    await service.pass(1000);
    for (const started of [110, 111, 112, 112]) {
      const now = await at();
      expect(now.children).toMatchObject({ started });
      expect(await at((await service.journal(runId)).at(-1)?.seq)).toEqual(now);
      must(await service.complete(await service.take(), 1));
    }
    // The first commit took a hundred: the rest was due at once.
    const { seq } = (await service.journal(runId)).filter(({ kind }) => kind === 'child.started')[99] ?? {};
    expect(await at(seq)).toMatchObject({ children: { total: 112, started: 100, finished: 0 } });
    expect((await at(seq)).dueAt).toBeTypeOf('number');
  });

  it('ends a page of the journal before its limit where its rows are heavy, says so, and goes on after it', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', [task('one')])] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take()));
    const whole = await service.journal(runId);
    const read = [];
    let pages = 0;
    for (let after = -1; ; pages += 1) {
      const page = must(await service.runs.journal({ ...ALL, runId, after, limit: 1000, maxBytes: 1 }));
      expect(page.isCut).toBe(page.events.length === 0 ? undefined : true);
      if (page.events.length === 0) break;
      read.push(...page.events);
      after = page.nextAfter;
    }
    expect(read).toEqual(whole);
    expect(pages).toBeGreaterThan(2);
    expect(
      must(await service.runs.journal({ ...ALL, runId, after: -1, limit: 1000, maxBytes: 1e6 })).isCut,
    ).toBeUndefined();
  });

  it('looks back past a checkpoint', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 300', to: 'end' }, { to: 'one' }] })]),
      ],
    });
    const { runId } = await service.start('flow');
    for (let n = 0; n < 300; n += 1) must(await service.complete(await service.take()));
    expect(await service.store.checkpoint(runId, 10_000)).toBeDefined();
    const end = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId }));
    const journal = [];
    for (let after = -1; ; ) {
      const page = must(await service.runs.journal({ ...ALL, runId, after, limit: 500 }));
      if (page.events.length === 0) break;
      journal.push(...page.events);
      after = page.nextAfter;
    }
    expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, index) => index));
    const atEnd = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: journal.length - 1 }));
    expect({ value: atEnd.value, context: atEnd.context }).toEqual({ value: end.value, context: end.context });
    const leased = journal.filter(({ kind }) => kind === 'step.leased')[200];
    const then = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: leased?.seq ?? -1 }));
    expect(then.value).toEqual({ active: { one: 'leased' } });
    expect(then.context).toMatchObject({ visits: { one: 201 }, leaseId: leased?.leaseId });
  });
});

describe('a journal of an earlier release', () => {
  // Recorded from a run of the release before `children.started`: a commit took a hundred children, the step wanted 110.
  const { definition, rows, snapshots } = recorded;
  const program = createPrograms()({
    owner: SERVICE,
    id: definition.id,
    version: definition.version,
    document: JSON.stringify(definition),
    hash: 'recorded',
    createdAt: 0,
  });
  const store = {
    checkpoint: async () => undefined,
    journal: async (runId: string, after: number) =>
      rows
        .filter(({ lastSeq }) => lastSeq > after)
        .map(({ events, ...row }) => ({ ...row, runId, entries: '[]', events: JSON.stringify(events) })),
  };

  it.each(snapshots.map((snapshot) => [snapshot.seq, snapshot] as const))(
    'gives the snapshot after entry %i as that release did',
    async (seq, then) => {
      const now = await snapshotAt(store, program, 'r', seq);
      const { waits, ...context } = now?.context ?? {};
      expect(JSON.parse(JSON.stringify({ value: now?.value, context }))).toEqual({
        value: then.value,
        context: then.context,
      });
      // Waits are counted since, and are found in older journals too.
      expect(waits).toBe(/created|opening/.test(JSON.stringify(then.value)) ? 0 : 1);
    },
  );

  it('still says in its events what a commit could take', () => {
    expect(
      rows.flatMap(({ events }) => events.flat()).filter((one) => JSON.stringify(one).includes('mayStart')),
    ).toHaveLength(5);
  });
});
