import { type HeldRunKind, heldTables, type RunMoving } from '../../../src/store/runs/moving.ts';
import type { Columns } from '../../../src/store/runs/rows/encode-changes.ts';
import { noChanges, type RunStore } from '../../../src/store/runs/run-store.ts';
import { SERVICE } from '../../../src/model/definition/owner.ts';
import { AT, anActor, anAttempt, aRun } from './factories.ts';

/** What a sender may choose a key of: longer than an index entry, and with characters that no text of PostgreSQL holds. */
export const HOSTILE = ['k'.repeat(300), `${'k'.repeat(300)}2`, 'nul \0', 'mark \u001a0', 'half \ud800', '\u{1f600}'];

/** Writes rows of every kind, with every column that a row may have and with none. @param more runs besides */
export const fillEveryKind = async (store: RunStore, more = 0): Promise<void> => {
  const changes = noChanges();
  changes.definitions.push(
    ...[1, 2].map((version) => ({ owner: SERVICE, id: 'd', version, document: '{}', hash: 'h', createdAt: AT })),
  );
  changes.workers.push(
    { workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: AT },
    {
      ...{ workerId: 'x', name: 'n', version: '1', project: 'p', concurrency: 3, owner: SERVICE, lastSeenAt: AT },
      ...{ definitions: [{ id: 'd', version: 1 }], registeredBy: ['p'] },
    },
  );
  changes.runsInserted.push(
    aRun('a'),
    aRun('b', {
      ...{ userId: 'u', idempotencyKey: HOSTILE[0] ?? '', startAt: AT, deadlineAt: AT + 1, depth: 1, priority: -7 },
      ...{ parent: { runId: 'a', stepId: 's', visit: 2, index: 3 }, correlation: '{"session_id":"s"}' },
      ...{ restartedFrom: { runId: 'a', traceId: 't', stepId: 's', visit: 1 }, held: 'concurrency_key', queueOrder: 7 },
      ...{ endedAt: AT, fault: 'f', places: { run: { order: 5, concurrencyId: 'c', lineId: 'l' } } },
      descendants: { inputTokens: 1, outputTokens: 2, totalTokens: 3, cost: 0.1, prices: 1 },
    }),
    ...Array.from({ length: more }, (_, n) =>
      aRun(`more-${String(n).padStart(6, '0')}`, { snapshot: JSON.stringify({ m: 1, v: 'done', c: { n } }) }),
    ),
  );
  changes.treeSizes.push({ traceId: 't', descendants: 4 });
  changes.attemptsInserted.push(
    anAttempt('l', 'a'),
    anAttempt('m', 'b', {
      ...{ startedAt: AT, endedAt: AT, timeoutAt: AT, error: '{}', usage: '{}', cost: '{}', details: '{}' },
      ...{ bodyRan: true, state: 'succeeded', version: 3, delivery: 'at_most_once' },
    }),
  );
  changes.journal.push(
    ...[0, 2].map((firstSeq) => ({ runId: 'a', firstSeq, lastSeq: firstSeq + 1, entries: '[1,2]', events: '[]' })),
  );
  changes.checkpoints.push({ runId: 'a', seq: 1, snapshot: '{}' }, { runId: 'a', seq: 3, snapshot: '{}' });
  for (const [entry, body] of ['"first"', '"second"', '"third"'].entries())
    changes.documents.push(
      { runId: 'a', name: 'event', body, entry },
      ...HOSTILE.map((key) => ({ runId: 'a', name: `state/${key}`, body, entry }) as const),
    );
  changes.documents.push({ runId: 'a', name: 'input', body: '"half \\ud800"' });
  changes.outputs.push(
    ...[1, 2].map((visit) => ({ runId: 'a', stepId: 's', visit, body: JSON.stringify('o'.repeat(visit)) })),
  );
  changes.timersSet.push(
    { runId: 'a', name: 'sleep', dueAt: AT },
    { runId: 'a', name: 'run_timeout', stepId: 's', countdown: { dueAt: AT + 5, setAt: AT, ms: 5 } },
    { runId: 'p:nightly', name: 'schedule', dueAt: AT },
  );
  const events = HOSTILE.map((event, n) => ({ project: 'p', event, key: HOSTILE.at(-n) ?? '', order: 10 + n }));
  changes.waitsOpened.push(...events.map((one) => ({ ...one, runId: 'a', stepId: 's', since: AT })), {
    runId: 'b',
    project: 'p',
    event: 'e',
    key: 'k',
    stepId: 's',
    since: AT,
    order: 9,
    deadlineAt: AT,
  });
  changes.parked.push(
    ...events.map(({ order, ...one }) => ({ ...one, order: order + 100, payload: '"p"', at: AT, eventId: one.event })),
    { project: 'p', event: 'e', key: 'k', order: 99, payload: '1', at: AT },
  );
  changes.eventsSeen.push(...HOSTILE.map((eventId) => ({ project: 'p', eventId, at: AT })), {
    project: 'p',
    eventId: 'taken',
    at: AT,
    runId: 'a',
  });
  changes.actorsInserted.push(anActor('schedule', 'p:nightly'), anActor('bulk', 'p:b', { status: 'done', fault: 'f' }));
  const limit = {
    ...{ project: 'p', definitionOwner: SERVICE, definitionId: 'd', definitionVersion: 1, limit: 2, machineVersion: 1 },
    ...{ version: 1, used: 1, waiting: 1, lines: 1, steadyAt: AT, updatedAt: AT, movedAt: AT },
  } as const;
  changes.limitsInserted.push(
    { ...limit, state: 'full', limitId: 'c', kind: 'concurrency', key: HOSTILE[2] ?? '', starts: [] },
    {
      ...limit,
      state: 'free',
      limitId: 'r',
      kind: 'rate',
      stepId: 's',
      key: 'k',
      perMs: 60_000,
      starts: [AT - 2, AT],
      dueAt: AT,
    },
  );
  changes.linesSet.push({ lineId: 'l', waitsOn: 'c', waiting: 1, lead: { priority: 0, order: 5 } });
  changes.placesSet.push(
    { order: 5, priority: 0, runId: 'b', concurrencyId: 'c', lineId: 'l', since: AT },
    { order: 6, priority: 3, runId: 'a', stepId: 's', concurrencyId: 'c', rateId: 'r', since: AT },
  );
  changes.outbox.push({ no: 1, runId: 'a', span: '{}' }, { no: 2, runId: 'a', span: '{"n":1}' });
  await store.commit(changes);
};

/** Every row of every kind, read in pages of this size. */
export const everyRow = async (
  moving: RunMoving,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number } = { limit: 100, maxBytes: 1e9 },
): Promise<Record<HeldRunKind, string[]>> => {
  const found: [HeldRunKind, string[]][] = [];
  for (const { kind } of heldTables) {
    const rows: string[] = [];
    let after: Columns | undefined;
    do {
      const page = await moving.scan(kind, after, limit, maxBytes);
      rows.push(...page.rows.map((row) => JSON.stringify(row)));
      after = page.next;
    } while (after !== undefined);
    found.push([kind, rows.toSorted()]);
  }
  return Object.fromEntries(found) as Record<HeldRunKind, string[]>;
};
