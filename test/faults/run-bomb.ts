/**
 * Starts a run whose definition starts itself fifty times over, beside the runs of another project. Writes the pace of that project
 * alone, beside the bomb and while it is cancelled, how long the cancel took, and what the service held meanwhile.
 * Run as a command: `node test/faults/run-bomb.ts --seconds 20`. Its exit status is 1 where that project kept less than half of its pace.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { peakMebibytes, processorSeconds } from './figures.ts';

const FAN_OUT = 50;
/** Runs of the other project that are under way at once, and how many its worker claims. */
const AT_ONCE = 16;
/** The other project keeps at least this much of its pace. */
const LEAST_PACE = 0.5;
/** A tree that has not ended by then is not ended by the cancel. */
const CANCEL_PATIENCE_MS = 120_000;

export type RunBombFigures = {
  readonly seconds: number;
  /** Runs of the other project that succeeded in a second. */
  readonly paceAlone: number;
  readonly paceBeside: number;
  readonly paceWhileCancelled: number;
  /** Runs of the other project for each second of the service's processor time: those beside the bomb over those alone. */
  readonly shareBeside: number;
  /** Runs that the bomb had started when it was cancelled. */
  readonly bombRuns: number;
  /** Runs of the bomb that began after the cancel was answered, give or take as many as the other project has under way. */
  readonly begunAfterCancel: number;
  readonly cancelAnswerMs: number;
  /** From the call until no run of the bomb is open. */
  readonly cancelMs: number;
  /** Timers that were due and not yet taken, at their most. */
  readonly overdueTimers: number;
  readonly peakMebibytes: number;
  readonly stopMs: number;
};

type Reply = { readonly status: number; readonly body: Record<string, unknown> };

/**
 * @throws Error when the other project is refused anything, when the cancel is refused, or when runs of the bomb stay open
 */
export const runBomb = async (options: {
  readonly seconds: number;
  readonly folder: string;
  readonly flags?: readonly string[];
}): Promise<RunBombFigures> => {
  const daemon = await startDaemon(options.folder, options.flags);
  const agent = new Agent({ connections: 2 * AT_ONCE, headersTimeout: 120_000, bodyTimeout: 120_000 });
  const ask = async (method: 'GET' | 'POST', path: string, sent?: object, dispatcher = agent): Promise<Reply> => {
    const answer = await request(daemon.url + path, {
      method,
      dispatcher,
      ...(sent === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(sent) }),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  const must = async (...asked: Parameters<typeof ask>): Promise<Record<string, unknown>> => {
    const { status, body } = await ask(...asked);
    if (status >= 300) throw new Error(`${asked[1]} was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };

  const register = (worker: string, project: string, definition: object) =>
    must('POST', '/v1/api/workers/register', { worker_id: worker, project, definitions: [definition] });
  await register('beside', 'beside', { id: 'honest', version: 1, steps: [{ id: 'work', kind: 'task' }] });
  await register('bomber', 'bomber', {
    id: 'bomb',
    version: 1,
    steps: [
      {
        id: 'more',
        kind: 'child',
        definition: 'bomb',
        for_each: Array.from({ length: FAN_OUT }, (_, n) => n),
        max_parallel: FAN_OUT,
        on_item_error: 'collect',
      },
    ],
  });

  let isOver = false;
  let done = 0;
  const work = async (): Promise<void> => {
    while (!isOver) {
      const { leases } = (await must('POST', '/v1/api/steps/claim', {
        worker_id: 'beside',
        max: 1,
        wait_ms: 1000,
      })) as { leases: { lease_id: string }[] };
      for (const { lease_id } of leases) {
        await must('POST', `/v1/api/steps/${lease_id}/started`, { worker_id: 'beside' });
        await must('POST', `/v1/api/steps/${lease_id}/complete`, { worker_id: 'beside', output: { ok: true } });
        done += 1;
      }
    }
  };
  const starts = async (): Promise<void> => {
    while (!isOver)
      await must('POST', '/v1/api/runs', { definition_id: 'honest', project: 'beside', input: {}, wait_ms: 20_000 });
  };
  const looks = new Agent({ connections: 1 });
  let overdueTimers = 0;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const timer = (await must('GET', '/v1/api/actors/timer/main', undefined, looks)) as { mailbox?: number };
      overdueTimers = Math.max(overdueTimers, timer.mailbox ?? 0);
      await sleep(500);
    }
  };
  const paceFor = async (under: Promise<unknown>): Promise<{ pace: number; perProcessorSecond: number }> => {
    const [from, before, used] = [performance.now(), done, processorSeconds(daemon.process.pid)];
    await under;
    const runs = done - before;
    return {
      pace: Math.round(runs / ((performance.now() - from) / 1000)),
      perProcessorSecond: runs / (processorSeconds(daemon.process.pid) - used),
    };
  };
  /** Runs that have begun so far, but for those that succeeded: a run of the bomb never does. */
  const begunRuns = async (): Promise<number> => {
    const answer = await request(`${daemon.url}/metrics`, { dispatcher: looks });
    const counts = (await answer.body.text()).matchAll(/^svc_runs_(?:open|ended_total)\{status="(\w+)"\} (\d+)$/gm);
    return [...counts].reduce((sum, [, status, count]) => sum + (status === 'succeeded' ? 0 : Number(count)), 0);
  };
  const openRuns = async (): Promise<number> => {
    const { versions } = (await must('GET', '/v1/api/definitions/bomb', undefined, looks)) as {
      versions: { open_runs: number }[];
    };
    return versions.reduce((sum, { open_runs }) => sum + open_runs, 0);
  };

  const load = [...Array.from({ length: AT_ONCE }, () => [work(), starts()]).flat(), watch()];
  await sleep(2000);
  const alone = await paceFor(sleep(options.seconds * 1000));
  const { run_id } = await must('POST', '/v1/api/runs', { definition_id: 'bomb', project: 'bomber', input: {} });
  const beside = await paceFor(sleep(options.seconds * 1000));
  const bombRuns = await openRuns();
  const cancelled = performance.now();
  let [cancelAnswerMs, begunAtCancel] = [0, 0];
  const cancelTree = async (): Promise<void> => {
    await must('POST', `/v1/api/runs/${String(run_id)}/cancel`, {}, looks);
    cancelAnswerMs = Math.round(performance.now() - cancelled);
    begunAtCancel = await begunRuns();
    while ((await openRuns()) > 0) {
      if (performance.now() - cancelled > CANCEL_PATIENCE_MS)
        throw new Error(`${await openRuns()} runs are still open`);
      await sleep(100);
    }
  };
  const { pace: paceWhileCancelled } = await paceFor(cancelTree());
  const cancelMs = Math.round(performance.now() - cancelled);
  const begunAfterCancel = Math.max(0, (await begunRuns()) - begunAtCancel);
  isOver = true;
  await Promise.all(load);
  const peak = peakMebibytes(daemon.process.pid);
  await Promise.all([agent.destroy(), looks.destroy()]);
  const stopped = performance.now();
  await daemon.stop();
  const stopMs = Math.round(performance.now() - stopped);
  return {
    seconds: options.seconds,
    paceAlone: alone.pace,
    paceBeside: beside.pace,
    paceWhileCancelled,
    shareBeside: Math.round((beside.perProcessorSecond / alone.perProcessorSecond) * 100) / 100,
    bombRuns,
    begunAfterCancel,
    cancelAnswerMs,
    cancelMs,
    overdueTimers,
    peakMebibytes: peak,
    stopMs,
  };
};

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: 'string', default: '20' } },
    allowPositionals: true,
  });
  const folder = temporaryFolder();
  try {
    const figures = await runBomb({ seconds: Number(values.seconds), folder: folder.path, flags: positionals });
    const keptPace = figures.paceBeside / figures.paceAlone;
    console.log(JSON.stringify({ ...figures, keptPace: Math.round(keptPace * 100) / 100 }));
    if (!(keptPace >= LEAST_PACE)) process.exitCode = 1;
  } finally {
    folder.remove();
  }
}
