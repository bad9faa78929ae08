import { describe, expect, it } from 'vitest';
import { idlenessOf } from '../../../src/actors/schedule/idle-schedules.ts';
import { scheduleMachine, type ScheduleContext } from '../../../src/machines/schedule.ts';
import { initialSnapshot } from '../../../src/machines/transition.ts';
import type { FiringRecord, SkipReason } from '../../../src/model/schedule/schedule.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, must, task } from '../run-harness.ts';

const MINUTE = 60_000;

const snapshotOf = (value: 'active' | 'paused' | 'ended', given: Partial<ScheduleContext>) => {
  const first = initialSnapshot(scheduleMachine);
  return { ...first, value, context: { ...first.context, ...given } } as typeof first;
};
const started = (nominalAt: number): FiringRecord => ({
  nominalAt,
  outcome: 'started',
  firedAt: nominalAt,
  runId: `r-${nominalAt}`,
});
const skipped = (nominalAt: number, reason: SkipReason, triggerId?: string): FiringRecord => ({
  nominalAt,
  outcome: 'skipped',
  at: nominalAt,
  reason,
  ...(triggerId === undefined ? {} : { triggerId }),
});
const row = (count: number, reason: SkipReason): FiringRecord[] =>
  Array.from({ length: count }, (_, n) => skipped(10 + n, reason));
const judged = (firings: readonly FiringRecord[], value: 'active' | 'paused' | 'ended' = 'active') =>
  idlenessOf(snapshotOf(value, { firings, started: 1, skipped: firings.length }), 1000);

describe('an active schedule that starts no runs', () => {
  it('never fired, though it was due a minute ago', () => {
    const due = snapshotOf('active', { dueAt: 1000 });
    expect(idlenessOf(due, 1000 + MINUTE - 1)).toBeUndefined();
    expect(idlenessOf(due, 1000 + MINUTE)).toEqual({ kind: 'never_fired', dueAt: 1000 });
    expect(idlenessOf(snapshotOf('active', { dueAt: 1000, started: 1 }), 1000 + MINUTE)).toBeUndefined();
    expect(idlenessOf(snapshotOf('active', {}), 1000 + MINUTE)).toBeUndefined();
  });

  it.each(['missed', 'input_invalid', 'definition_unknown', 'refused', 'catch_up_window'] as const)(
    'skipped its last three times as %s',
    (reason) => {
      expect(judged([started(1), ...row(2, reason)])).toBeUndefined();
      expect(judged([started(1), ...row(3, reason)])).toEqual({ kind: 'skipping', skipped: 3, since: 10, reason });
      expect(judged([...row(3, reason), started(99)])).toBeUndefined();
    },
  );

  it('skipped all ten times that are remembered because a run of it is open', () => {
    expect(judged([started(1), ...row(9, 'overlap')])).toBeUndefined();
    expect(judged(row(10, 'overlap'))).toEqual({ kind: 'skipping', skipped: 10, since: 10, reason: 'overlap' });
    expect(judged([...row(3, 'overlap'), skipped(99, 'refused')])).toMatchObject({ skipped: 4, reason: 'refused' });
  });

  it('is not one that somebody paused, whose triggers were skipped, or whose times have their runs', () => {
    expect(judged(row(10, 'paused'))).toBeUndefined();
    expect(judged(row(10, 'already_started'))).toBeUndefined();
    expect(judged([1, 2, 3].map((at) => skipped(at, 'refused', `t-${at}`)))).toBeUndefined();
    for (const value of ['paused', 'ended'] as const) {
      expect(judged(row(3, 'refused'), value)).toBeUndefined();
      expect(idlenessOf(snapshotOf(value, { dueAt: 1 }), MINUTE + 1)).toBeUndefined();
    }
  });
});

onEachEngine('idle schedules', ({ createHarness }) => {
  it('are found among all projects', async () => {
    const harness = await createHarness({ definitions: [aDefinition('flow', [task('one')])], leaseTtlMs: 60 * MINUTE });
    const given = { definitionId: 'flow', everyMs: MINUTE, overlap: 'skip' } as const;
    must(await harness.runs.createSchedule({ ...ALL, project: 'p', id: 'often', given }));
    must(
      await harness.runs.createSchedule({
        ...ALL,
        project: 'q',
        id: 'rare',
        given: { ...given, everyMs: 99 * MINUTE },
      }),
    );
    const from = harness.time.now();
    expect(await harness.runs.findIdleSchedules(from + 2 * MINUTE - 1)).toEqual([]);
    expect(await harness.runs.findIdleSchedules(from + 2 * MINUTE)).toEqual([
      { id: 'often', project: 'p', idle: { kind: 'never_fired', dueAt: from + MINUTE } },
    ]);
    await harness.pass(10 * MINUTE);
    expect(await harness.runs.findIdleSchedules(harness.time.now())).toEqual([]);
    await harness.pass(MINUTE);
    expect(await harness.runs.findIdleSchedules(harness.time.now())).toEqual([
      {
        id: 'often',
        project: 'p',
        idle: { kind: 'skipping', skipped: 10, since: from + 2 * MINUTE, reason: 'overlap' },
      },
    ]);
  });
});
