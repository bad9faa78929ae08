import { isDeepStrictEqual } from 'node:util';
import { hasEnded, type JournalEntry, type RunDetail } from '../../src/model/run.ts';
import type { Changes, RunStore } from '../../src/store/runs/run-store.ts';
import { type RunningRuns } from '../../src/actors/start.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import type { Result } from '../../src/model/failure.ts';
import { createKeyWatch } from './key-watch.ts';
import { isLinearizable } from './linearizable.ts';
import type { Ledger } from './ledger.ts';

export class Violation extends Error {}
const hold = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Violation(what);
};
const must = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Violation(`${result.failure.code}: ${result.failure.message}`);
  return result.value;
};
const ALL = { reach: 'all' } as const;

/** How late a timer may be: the service is down for half a minute at most, and may be so again before it gets to it. */
const LATEST_MS = 300_000;

/**
 * Looks at every commit as it lands: what must never be, not even for a moment.
 * @param now time as it passes, whatever the machine's clock says
 */
export const createWatch = (now: () => number) => {
  /** When leases were seen to be orphaned, by the passing of time: what the machine's clock said then is another matter. */
  const orphaned = new Map<string, number[]>();
  const erased = new Set<string>();
  const nextSeq = new Map<string, number>();
  const ended = new Map<string, string>();
  /** Timers that run for some time. `dueAt` is by the passing of time. */
  const due = new Map<string, { readonly dueAt: number; readonly setAt: number; readonly ms: number }>();
  /** Timers of times that somebody named, the `start_at` of a run and what counts from it: due by the machine's clock. */
  const named = new Map<string, number>();
  /** The `start_at` of runs that have not begun. */
  const startAt = new Map<string, number>();
  /** Those of them that had fallen due when the machine's clock was set back: they may still go off. */
  const reached = new Set<string>();
  /** By how much the steady clock of the present process is ahead of the passing of time. */
  let steadyAhead = 0;
  const fired = { timers: 0, starts: 0 };
  const keys = createKeyWatch(hold);
  /**
   * A timer may go off once, not before it is due, and no matter how the machine's clock is set, soon after.
   * @param at what the machine's clock said
   */
  const fire = (runId: string, name: string, at: number): void => {
    const key = `${runId} ${name}`;
    const namedAt = named.get(key);
    if (namedAt !== undefined) {
      hold(
        at >= namedAt || reached.has(key),
        `timer ${name} of run ${runId} is due at ${namedAt} and went off at ${at}, both by the machine's clock`,
      );
      named.delete(key);
      fired.timers += 1;
      return;
    }
    const timer = due.get(key);
    if (timer === undefined) throw new Violation(`timer ${name} of run ${runId} went off at ${now()}, and was not set`);
    const { dueAt } = timer;
    hold(now() >= dueAt, `timer ${name} of run ${runId} is due at ${dueAt} and went off at ${now()}`);
    hold(now() - dueAt <= LATEST_MS, `timer ${name} of run ${runId} is due since ${dueAt} and went off at ${now()}`);
    due.delete(key);
    fired.timers += 1;
  };
  /** A process starts: what is left of each timer is counted by the wall clock, or it begins again where that went back. */
  const restarted = (wall: number): void => {
    steadyAhead = wall - now();
    for (const [key, { setAt, ms }] of due) {
      const left = wall < setAt ? ms : Math.max(0, setAt + ms - wall);
      due.set(key, { dueAt: now() + left, setAt: Math.min(setAt, wall), ms });
    }
  };
  const look = (changes: Changes): void => {
    keys.look(changes);
    for (const { runId } of [
      ...changes.journal,
      ...changes.documents,
      ...changes.timersSet,
      ...changes.waitsOpened,
      ...changes.outbox,
    ])
      hold(!erased.has(runId), `run ${runId} was erased, and something of it was written later`);
    for (const { after } of changes.runsUpdated) {
      const end = ended.get(after.runId);
      hold(end === undefined || end === after.status, `run ${after.runId} had ended as ${end} and is ${after.status}`);
    }
    for (const run of changes.runsInserted) if (run.startAt !== undefined) startAt.set(run.runId, run.startAt);
    for (const row of changes.journal) {
      hold(
        row.firstSeq === (nextSeq.get(row.runId) ?? 0),
        `the journal of run ${row.runId} goes on at ${row.firstSeq} and not at ${nextSeq.get(row.runId) ?? 0}`,
      );
      const entries = JSON.parse(row.entries) as readonly JournalEntry[];
      hold(
        entries.length === row.lastSeq - row.firstSeq + 1,
        `the journal of run ${row.runId} counts ${entries.length}`,
      );
      nextSeq.set(row.runId, row.lastSeq + 1);
      // What fell due while a run was paused acts with its resume, without a row.
      let isResumed = false;
      for (const { kind, stepId, leaseId, data, at } of entries) {
        hold(!ended.has(row.runId), `run ${row.runId} had ended, and then ${kind}`);
        if (kind === 'cursor.moved') {
          const notBefore = startAt.get(row.runId) ?? at;
          hold(
            at >= notBefore || reached.has(`${row.runId} start_at`),
            `run ${row.runId} began at ${at}, before its start_at ${notBefore}`,
          );
          startAt.delete(row.runId);
        }
        if (kind === 'run.resumed' && stepId === undefined && !isResumed) {
          fire(row.runId, 'start_at', at);
          fired.starts += 1;
        }
        if (kind === 'step.orphaned' && leaseId !== undefined)
          orphaned.set(leaseId, [...(orphaned.get(leaseId) ?? []), now()]);
        if (kind === 'run.unpaused') isResumed = true;
        if (kind === 'step.requeued' && leaseId === undefined && !isResumed) fire(row.runId, 'backoff', at);
        if (kind === 'run.resumed' && stepId === 'nap' && !isResumed) fire(row.runId, 'sleep', at);
        if (kind === 'run.finished') {
          ended.set(row.runId, data['status'] as string);
          if ((data['error'] as JsonObject | undefined)?.['limit'] === 'run_timeout_ms')
            fire(row.runId, 'run_timeout', at);
        }
      }
    }
    for (const { runId, name } of changes.timersCleared) {
      const key = `${runId} ${name}`;
      const dueAt = due.get(key)?.dueAt ?? Infinity;
      hold(now() - dueAt <= LATEST_MS, `timer ${name} of run ${runId} is due since ${dueAt} and never went off`);
      due.delete(key);
      named.delete(key);
    }
    for (const { runId, name, countdown, dueAt } of changes.timersSet) {
      const key = `${runId} ${name}`;
      if (countdown !== undefined) {
        due.set(key, { ...countdown, dueAt: countdown.dueAt - steadyAhead });
        named.delete(key);
      } else if (startAt.has(runId) && dueAt !== undefined && (name === 'start_at' || name === 'run_timeout'))
        named.set(key, dueAt);
      else throw new Violation(`timer ${name} of run ${runId} follows the machine's clock`);
    }
    for (const runId of changes.erased) {
      hold(ended.has(runId), `run ${runId} was erased before it had ended`);
      erased.add(runId);
      nextSeq.delete(runId);
    }
  };
  /** @param wall what the machine's clock says before it is set */
  const clockSet = (wall: number): void => {
    for (const [key, dueAt] of named) if (wall >= dueAt) reached.add(key);
  };
  return {
    look,
    keys,
    restarted,
    clockSet,
    fired,
    runIds: () => [...nextSeq.keys()],
    ended,
    erased,
    orphaned,
    unfired: () => [...due.keys(), ...named.keys()],
  };
};
export type Watch = ReturnType<typeof createWatch>;

type Folded = {
  readonly stepCount: number;
  readonly visits: Readonly<Record<string, number>>;
  readonly cursor?: string;
  readonly phase?: string;
  readonly leaseId?: string;
  readonly attempt: number;
  readonly paused?: 'call' | 'parent';
  readonly end?: string;
};

/** What the entries of a journal say of their run, read without the machine that wrote them. */
export const foldJournal = (entries: readonly JournalEntry[]): readonly Folded[] => {
  const states: Folded[] = [];
  let now: Folded = { stepCount: 0, visits: {}, attempt: 0 };
  const legal = (isLegal: boolean, { seq, kind }: JournalEntry): void => {
    hold(isLegal, `entry ${seq}, ${kind}, cannot follow on ${JSON.stringify(now)}`);
  };
  for (const entry of entries) {
    const { kind, stepId, visit, leaseId, attempt, seq } = entry;
    legal(seq === states.length && now.end === undefined, entry);
    const { leaseId: _lease, ...free } = now;
    switch (kind) {
      case 'run.started':
        legal(seq === 0, entry);
        break;
      case 'cursor.moved': {
        const visits = (now.visits[stepId ?? ''] ?? 0) + 1;
        legal(visits === visit && now.leaseId === undefined, entry);
        now = {
          stepCount: now.stepCount + 1,
          visits: { ...now.visits, [stepId ?? '']: visits },
          ...(stepId === undefined ? {} : { cursor: stepId }),
          phase: 'opening',
          attempt: 0,
          ...(now.paused === undefined ? {} : { paused: now.paused }),
        };
        break;
      }
      case 'step.leased':
        legal(
          attempt === now.attempt + 1 && now.leaseId === undefined && stepId === now.cursor && now.paused === undefined,
          entry,
        );
        now = { ...now, phase: 'leased', attempt: now.attempt + 1, ...(leaseId === undefined ? {} : { leaseId }) };
        break;
      case 'step.started':
      case 'step.orphaned':
        legal(leaseId === now.leaseId && leaseId !== undefined, entry);
        break;
      case 'step.finished':
        legal(leaseId === now.leaseId && leaseId !== undefined, entry);
        now = { ...free, phase: 'routing' };
        break;
      case 'step.failed':
        legal(leaseId === now.leaseId, entry);
        now = { ...free, phase: 'failed' };
        break;
      case 'step.requeued':
        legal(
          leaseId === undefined ? now.phase === 'backoff' : now.leaseId === leaseId || now.phase === 'failed',
          entry,
        );
        now = { ...free, phase: 'queued' };
        break;
      case 'run.waiting':
        legal(now.leaseId === undefined, entry);
        now = { ...now, phase: now.phase === 'failed' ? 'backoff' : 'waiting' };
        break;
      case 'run.held':
        legal(now.leaseId === undefined && stepId === now.cursor, entry);
        now = { ...now, phase: 'held' };
        break;
      case 'run.admitted':
        legal(now.phase === 'held' && stepId === now.cursor, entry);
        now = { ...now, phase: 'queued' };
        break;
      case 'event.delivered':
        legal(now.phase === 'waiting' || now.phase === 'opening', entry);
        now = { ...now, phase: now.phase === 'waiting' ? 'waiting' : 'routing' };
        break;
      case 'run.resumed':
        legal(now.phase === 'waiting', entry);
        now = { ...now, phase: 'routing' };
        break;
      case 'child.started':
      case 'child.finished':
        legal(now.phase === 'waiting', entry);
        break;
      case 'run.paused':
        legal(now.paused !== (entry.data['by'] ?? 'call') && now.paused !== 'call', entry);
        now = { ...now, paused: entry.data['by'] === 'parent' ? 'parent' : 'call' };
        break;
      case 'run.unpaused': {
        legal(now.paused !== undefined, entry);
        const { paused: _paused, ...running } = now;
        now = running;
        break;
      }
      case 'run.finished': {
        const { cursor: _cursor, phase: _phase, ...over } = free;
        now = { ...over, end: entry.data['status'] as string };
        break;
      }
      default:
        kind satisfies never;
    }
    states.push(now);
  }
  return states;
};

/** Before its first step a run can only wait for its `start_at`. */
const valueOf = ({ end, cursor, phase }: Folded): Json =>
  end ?? (cursor === undefined ? 'scheduled' : { active: { [cursor]: phase ?? '' } });
const isTelling = new Set(['step.leased', 'run.waiting', 'run.finished']);

const checkRun = async (runs: RunningRuns, detail: RunDetail, lookBack: boolean): Promise<void> => {
  const { runId } = detail;
  const entries = must(await runs.journal({ ...ALL, runId, after: -1, limit: 10_000 })).events;
  const folded = foldJournal(entries);
  const last = folded.at(-1);
  hold(last?.end === detail.status, `run ${runId} is ${detail.status}, and its journal says ${last?.end}`);
  hold(
    last?.stepCount === detail.stepCount,
    `run ${runId} counts ${detail.stepCount} steps, its journal ${last?.stepCount}`,
  );
  const leased = entries.filter(({ kind }) => kind === 'step.leased').map(({ leaseId }) => leaseId);
  hold(
    isDeepStrictEqual(new Set(leased), new Set(detail.attempts.map(({ leaseId }) => leaseId))),
    `the attempts of run ${runId} are not those of its journal`,
  );
  if (!lookBack) return;
  for (const [seq, state] of folded.entries()) {
    const kind = entries[seq]?.kind ?? '';
    if (!isTelling.has(kind) && kind !== 'cursor.moved') continue;
    const { value, context } = must(await runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
    const { stepCount, visits, leaseId } = context as { stepCount: number; visits: JsonObject; leaseId?: string };
    const same = (a: unknown, b: unknown, what: string): void => {
      hold(
        isDeepStrictEqual(a, b),
        `at ${seq} (${kind}) of run ${runId} ${what} is ${JSON.stringify(a)}, folded ${JSON.stringify(b)}`,
      );
    };
    if (kind === 'run.finished' && entries[seq - 1]?.kind === 'cursor.moved') continue;
    same(stepCount, state.stepCount, 'the number of steps');
    same(visits, state.visits, 'the visits');
    if (isTelling.has(kind)) same(value, valueOf(state), 'the place');
    if (kind === 'step.leased') same(leaseId, state.leaseId, 'the lease');
  }
};

/**
 * Looks at everything once the world has come to rest.
 * @throws Violation that names the first promise that was not kept
 */
export const checkAtRest = async (
  runs: RunningRuns,
  file: RunStore,
  watch: Watch,
  ledger: Ledger,
  spans: ReadonlySet<string>,
): Promise<{ runs: number; attempts: number; entries: number; calls: number }> => {
  const details: RunDetail[] = [];
  for (const runId of watch.runIds()) details.push(must(await runs.getRun({ ...ALL, runId })));
  const byLease = new Map(details.flatMap((run) => run.attempts.map((attempt) => [attempt.leaseId, attempt] as const)));
  hold((await runs.findStuckRuns()).length === 0, 'a run is stuck');
  watch.keys.checkAtRest();
  hold(watch.unfired().length === 0, `timers that were set and never went off: ${watch.unfired().join(', ')}`);
  let entries = 0;
  const takers = new Map<string, number>();
  for (const [index, run] of details.entries()) {
    const { runId } = run;
    hold(hasEnded(run.status), `run ${runId} (${run.definitionId}) is ${run.status} at ${run.cursor} indefinitely`);
    hold(
      run.timers.length + run.waits.length === 0,
      `run ${runId} has ended and keeps ${JSON.stringify([run.timers, run.waits])}`,
    );
    // Its children end at once: its longest time ends it while it waits for them only where it was forgotten. Elsewhere a clock that leapt
    // over a restart may.
    hold(
      run.definitionId !== 'burst' || run.error?.limit === undefined || run.error.stepId !== 'grains',
      `run ${runId} waited for children in vain`,
    );
    await checkRun(runs, run, index % 4 === 0);
    entries += (await file.journal(runId, -1, 10_000)).length;
    const winners = new Map<string, number>();
    let cost: number | undefined;
    for (const attempt of run.attempts) {
      hold(attempt.endedAt !== undefined, `lease ${attempt.leaseId} lives on in an ended run`);
      hold(spans.has(attempt.spanId), `the span of lease ${attempt.leaseId} never came`);
      const place = `${attempt.stepId} ${attempt.visit}`;
      if (attempt.status === 'succeeded') winners.set(place, (winners.get(place) ?? 0) + 1);
      if (attempt.cost !== undefined) cost = (cost ?? 0) + attempt.cost.totalCost;
    }
    hold(Math.max(0, ...winners.values()) <= 1, `a step of run ${runId} has two winners`);
    hold(
      cost === undefined ? run.cost === undefined : Math.abs(cost - (run.cost?.totalCost ?? -1)) < 1e-6,
      `run ${runId} costs ${run.cost?.totalCost}, its attempts ${cost}`,
    );
    const taken = (await file.findRun(runId))?.documents.steps.find(([stepId]) => stepId === 'ask')?.[1];
    const event = taken === undefined ? undefined : (JSON.parse(taken) as { id?: string }).id;
    if (event !== undefined) takers.set(event, (takers.get(event) ?? 0) + 1);
  }
  for (const [event, { outcome, runId }] of ledger.events) {
    if (runId !== undefined && watch.erased.has(runId)) continue;
    const count = takers.get(event) ?? 0;
    hold(count <= 1, `event ${event} was taken ${count} times`);
    hold(outcome !== 'delivered' || count === 1, `event ${event} was said to be delivered and nobody has it`);
  }
  for (const [key, runId] of ledger.started) {
    if (watch.erased.has(runId)) continue;
    const run = details.find((one) => one.idempotencyKey === key);
    hold(run?.runId === runId, `key ${key} was answered with run ${runId} and is now ${run?.runId}`);
  }
  const keys = details.flatMap(({ idempotencyKey }) => (idempotencyKey === undefined ? [] : [idempotencyKey]));
  hold(new Set(keys).size === keys.length, 'one idempotency key has two runs');
  for (const runId of ledger.cancelled)
    hold(watch.ended.has(runId), `the cancel of run ${runId} was acknowledged, and it never ended`);
  for (const [body, times] of ledger.bodies)
    hold(times <= 1 || !body.endsWith('at_most_once'), `body ${body} began ${times} times`);

  let calls = 0;
  for (const [leaseId, lease] of ledger.leases) {
    if (watch.erased.has(lease.runId)) continue;
    const attempt = byLease.get(leaseId);
    hold(attempt !== undefined, `lease ${leaseId} was handed out and is in no run`);
    for (const { verb, answer } of lease.calls) {
      calls += 1;
      if (answer !== 'ok') continue;
      if (verb === 'complete')
        hold(attempt?.status === 'succeeded', `the complete of ${leaseId} was taken; it is ${attempt?.status}`);
      if (verb === 'fail')
        hold(
          attempt?.status === 'failed' || attempt?.status === 'unservable',
          `the fail of ${leaseId} was taken; it is ${attempt?.status}`,
        );
      if (verb === 'complete' && lease.usage !== undefined)
        hold(
          JSON.stringify(attempt?.usage) === JSON.stringify(lease.usage),
          `the usage of ${leaseId} is not what was reported`,
        );
    }
    for (const promise of ledger.promises.get(leaseId) ?? [])
      for (const at of watch.orphaned.get(leaseId) ?? [])
        hold(
          at < promise.at || at >= promise.until,
          `lease ${leaseId} was promised until ${promise.until} and orphaned at ${at}`,
        );
    hold(
      isLinearizable(lease.calls, lease.delivery),
      `the calls on lease ${leaseId} (${lease.delivery}) fit no order of the lease table: ${JSON.stringify(lease.calls)}`,
    );
  }
  return { runs: details.length, attempts: byLease.size, entries, calls };
};

/**
 * What is left once everything has ended, a day later: the ids of events are known as long as the runs that took them, and
 * erasure and retention leave nothing.
 * @returns how many ids were sent again
 */
export const checkAfterwards = async (
  runs: RunningRuns,
  file: RunStore,
  watch: Watch,
  ledger: Ledger,
): Promise<number> => {
  const takers = new Map<string, string>();
  for (const runId of watch.runIds()) {
    const steps = (await file.findRun(runId))?.documents.steps ?? [];
    const taken = steps.find(([stepId]) => stepId === 'ask')?.[1];
    const event = taken === undefined ? undefined : (JSON.parse(taken) as { id?: string }).id;
    if (event !== undefined) takers.set(event, runId);
  }
  const send = async (eventId: string) => {
    const { key } = ledger.events.get(eventId) ?? { key: '' };
    return must(
      await runs.publishEvent({ ...ALL, project: 'p', event: 'paid', key, payload: { id: eventId }, eventId }),
    );
  };
  for (const [event, runId] of takers) {
    const { outcome, runId: named } = await send(event);
    hold(
      outcome === 'duplicate' && named === runId,
      `event ${event} was taken by run ${runId}; sent again it is ${outcome} of run ${named}`,
    );
  }
  const [userId] = (await file.listRuns({ reach: 'all', limit: 1 })).flatMap((run) => run.userId ?? []);
  if (userId !== undefined) {
    const { runsInFlight } = must(
      await runs.eraseSubject({ ...ALL, userId }, async () => ({ deleted: 0, pending: false })),
    );
    hold(runsInFlight === 0, `nothing moves any more, and ${runsInFlight} runs of ${userId} are in flight`);
    const left = await file.listRuns({ reach: 'all', userId, limit: 1 });
    hold(left.length === 0, `run ${left[0]?.runId} of ${userId} outlived the erasure`);
  }
  while ((await runs.trimFinishedRuns('p', Number.MAX_SAFE_INTEGER, 50)) > 0);
  const [left] = await file.listRuns({ reach: 'all', limit: 1 });
  hold(left === undefined, `run ${left?.runId} outlived its retention`);
  hold((await file.readOutbox(0, 1)).length === 0, 'a span of an erased run waits in the outbox');
  for (const event of takers.keys()) {
    const { outcome } = await send(event);
    hold(outcome === 'parked', `the run that took event ${event} is gone; sent again it is ${outcome}`);
  }
  return takers.size;
};
