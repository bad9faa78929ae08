/**
 * Starts a tree that is as wide as one run may make it: a `for_each` over many branches, each of which is a `for_each` over many leaves
 * that wait for an event. Writes how many runs began, how many branches were refused for the bound on descendants, and how long start,
 * cancel and stop took. Run as a command: `node test/faults/wide-tree.ts --branches 510 --leaves 1000 --over 1`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { peakMebibytes } from './figures.ts';

const LOOK_EVERY_MS = 200;
/** The tree does not move any more when nothing of it has begun or ended for so long, and no timer of it is due. */
const QUIET_LOOKS = 10;

export type WideTreeFigures = {
  /** The bound on descendants of the root. */
  readonly most: number;
  readonly branchesOpen: number;
  readonly branchesFailed: number;
  readonly leavesOpen: number;
  readonly startMs: number;
  /** From the call until no run of the tree is open. */
  readonly cancelMs: number;
  readonly peakMebibytes: number;
  readonly stopMs: number;
};

/**
 * @param options.over how many runs the tree would have beyond its bound
 * @throws Error when a branch failed for another reason than the bound, or the stop was not clean
 */
export const wideTree = async (options: {
  readonly branches: number;
  readonly leaves: number;
  readonly over: number;
  readonly folder: string;
}): Promise<WideTreeFigures> => {
  const { branches, leaves, over } = options;
  const most = branches + branches * leaves - over;
  const daemon = await startDaemon(options.folder, ['--max-descendants', String(most)]);
  const agent = new Agent({ headersTimeout: 120_000, bodyTimeout: 120_000, pipelining: 0 });
  const must = async (method: 'GET' | 'POST', path: string, sent?: object): Promise<Record<string, unknown>> => {
    const answer = await request(daemon.url + path, {
      method,
      dispatcher: agent,
      ...(sent === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(sent) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path} was answered ${answer.statusCode}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  };
  /** A step that starts a run for each of so many items. */
  const each = (definition: string, count: number) => ({
    id: 'each',
    kind: 'child',
    definition,
    for_each: Array.from({ length: count }, (_, n) => n),
    max_parallel: 1000,
    on_item_error: 'collect',
  });
  await must('POST', '/v1/api/definitions', {
    definitions: [
      { id: 'leaf', version: 1, steps: [{ id: 'wait', kind: 'wait_event', event: 'never', key: 'k' }] },
      { id: 'branch', version: 1, steps: [each('leaf', leaves)] },
      { id: 'tree', version: 1, steps: [each('branch', branches)] },
    ],
  });
  const openRuns = async (definition: string): Promise<number> => {
    const { versions } = (await must('GET', `/v1/api/definitions/${definition}`)) as {
      versions: { open_runs: number }[];
    };
    return versions.reduce((sum, { open_runs }) => sum + open_runs, 0);
  };
  const open = async () => ({ branches: await openRuns('branch'), leaves: await openRuns('leaf') });
  const settled = async (): Promise<Awaited<ReturnType<typeof open>>> => {
    for (let [quiet, before] = [0, await open()]; ; ) {
      await sleep(LOOK_EVERY_MS);
      const now = await open();
      quiet = now.branches === before.branches && now.leaves === before.leaves ? quiet + 1 : 0;
      before = now;
      const { mailbox } = (await must('GET', '/v1/api/actors/timer/main')) as { mailbox?: number };
      if (quiet >= QUIET_LOOKS && (mailbox ?? 0) === 0) return now;
    }
  };

  const begun = performance.now();
  const { run_id } = await must('POST', '/v1/api/runs', {
    definition_id: 'tree',
    input: {},
  });
  const tree = await settled();
  const startMs = Math.round(performance.now() - begun - QUIET_LOOKS * LOOK_EVERY_MS);
  let branchesFailed = 0;
  for (let cursor = ''; ; ) {
    const page = (await must('GET', `/v1/api/runs?definition_id=branch&status=failed&limit=200${cursor}`)) as {
      runs: { run_id: string; error?: { limit?: string } }[];
      next_cursor?: string;
    };
    branchesFailed += page.runs.length;
    for (const { run_id: branch, error } of page.runs)
      if (error?.limit !== 'descendants') throw new Error(`branch ${branch} failed: ${JSON.stringify(error)}`);
    if (page.next_cursor === undefined) break;
    cursor = `&cursor=${page.next_cursor}`;
  }

  const cancelled = performance.now();
  await must('POST', `/v1/api/runs/${String(run_id)}/cancel`, {});
  for (let now = await open(); now.branches + now.leaves > 0; now = await open()) await sleep(LOOK_EVERY_MS);
  const cancelMs = Math.round(performance.now() - cancelled);
  const peak = peakMebibytes(daemon.process.pid);
  await agent.destroy();
  const stopped = performance.now();
  const exit = await daemon.stop();
  if (exit !== 0) throw new Error(`the stop ended with ${exit}`);
  return {
    most,
    branchesOpen: tree.branches,
    branchesFailed,
    leavesOpen: tree.leaves,
    startMs,
    cancelMs,
    peakMebibytes: peak,
    stopMs: Math.round(performance.now() - stopped),
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      branches: { type: 'string', default: '510' },
      leaves: { type: 'string', default: '1000' },
      over: { type: 'string', default: '0' },
    },
  });
  const folder = temporaryFolder();
  try {
    const { branches, leaves, over } = values;
    const counts = { branches: Number(branches), leaves: Number(leaves), over: Number(over) };
    console.log(JSON.stringify(await wideTree({ ...counts, folder: folder.path })));
  } finally {
    folder.remove();
  }
}
