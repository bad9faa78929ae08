import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/actors/kernel/message.ts';
import { callerOfProject, callerOfWorker, createCalls } from '../../../src/actors/service/calls.ts';
import type { RunStore } from '../../../src/store/runs/run-store.ts';
import { turn } from '../../until.ts';
import { onEachEngine } from '../engines.ts';
import {
  ALL,
  aDefinition,
  codeOf,
  createFakeClock,
  createHarness as createOn,
  must,
  settled,
  task,
} from '../run-harness.ts';

const MESSAGE: Message = { type: 'run', id: 'r', body: {} };
const [p, q, r] = ['p', 'q', 'r'].map(callerOfProject) as [string, string, string];

/** Calls to a kernel that answers when the test lets it. */
const aService = (ofItsOwn = 0) => {
  let answers: (() => void)[] = [];
  const calls = createCalls(
    {
      backlog: () => ofItsOwn + answers.length,
      send: () =>
        new Promise((resolve) => {
          answers.push(() => resolve({ ok: true, value: undefined }));
        }),
    },
    createFakeClock().clock,
  );
  return {
    calls,
    sent: () => answers.length,
    /** Makes that many calls, and says how many of them wait. */
    ask: (caller: string, count: number): number => {
      const before = answers.length;
      for (let n = 0; n < count; n += 1) void calls.ask(caller, MESSAGE);
      return answers.length - before;
    },
    answer: async (count: number) => {
      for (const answer of answers.slice(0, count)) answer();
      answers = answers.slice(count);
      await turn();
    },
  };
};

describe('calls that wait for the runs store', () => {
  it('of one project are 5,000 of 10,000, and not one more; the next project has half of what that leaves', () => {
    const { ask } = aService();
    expect([ask(p, 5000), ask(p, 1)]).toEqual([5000, 0]);
    expect([ask(q, 2500), ask(q, 1)]).toEqual([2500, 0]);
    expect([ask(r, 1250), ask(r, 1)]).toEqual([1250, 0]);
    expect(ask(p, 1)).toBe(0);
  });

  it('a refusal names the caller and the bound', async () => {
    const { calls, ask } = aService();
    ask(p, 5000);
    expect(await calls.ask(p, MESSAGE)).toEqual({
      ok: false,
      failure: {
        code: 'overloaded',
        message:
          '5000 calls of project p wait for the runs store, at most half of what others leave of 10000 may; try again in a second',
        retryAfterSeconds: 1,
      },
    });
  });

  it('a call that was answered leaves its place to the next', async () => {
    const { ask, answer } = aService();
    ask(p, 5000);
    await answer(3);
    expect([ask(p, 3), ask(p, 1)]).toEqual([3, 0]);
  });

  it("the service's own messages leave less to all, and at the bound nothing", async () => {
    const { ask } = aService(9000);
    expect([ask(p, 500), ask(p, 1)]).toEqual([500, 0]);
    const full = aService(10_000);
    expect(full.ask(p, 1)).toBe(0);
    expect(await full.calls.ask(p, MESSAGE)).toMatchObject({
      failure: { message: '10000 calls wait for the runs store, at most 10000 may; try again in a second' },
    });
    void full.calls.askAlways(MESSAGE);
    expect(full.sent()).toBe(1);
  });

  it('a worker counts with the projects of its key, and by itself where that reaches all', () => {
    expect(callerOfWorker('w', ['p'])).toBe(p);
    expect(callerOfWorker('w', ['p', 'q'])).toBe('projects p, q');
    expect(callerOfWorker('w', 'all')).toBe('worker w');
  });
});

onEachEngine('a full backlog', ({ open }) => {
  it('refuses the project that fills it; another still gets in, and a cancel passes', async () => {
    const store = await open();
    let letGo: (() => void) | undefined;
    let held: Promise<void> | undefined;
    const slow: RunStore = {
      ...store,
      commit: async (changes) => {
        await held;
        return store.commit(changes);
      },
    };
    const service = await createOn({ store: slow, definitions: [aDefinition('flow', [task('work')])] });
    const { runId } = await service.start('flow');
    held = new Promise((resolve) => {
      letGo = resolve;
    });
    const start = (project: string) => service.runs.startRun({ ...ALL, project, definitionId: 'flow', input: {} });
    const waiting = Array.from({ length: 5000 }, () => start('p'));
    expect(codeOf(await start('p'))).toBe('overloaded');
    const other = start('q');
    const cancelled = service.runs.cancelRun({ ...ALL, runId });
    letGo?.();
    must(await other);
    must(await cancelled);
    await Promise.all(waiting);
    await settled(service.runs);
    expect((await service.detail(runId)).status).toBe('cancelled');
    expect(service.faults).toEqual([]);
  });
});
