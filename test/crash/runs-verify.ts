/** How runs that have ended are held to the promises about journal, attempts and trace, whatever was done to the service meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Agent, request } from 'undici';
import type { components } from '../../src/model/generated/openapi.ts';
import { KEYS, NAP_MS, USAGE_TOKENS } from './runs-definitions.ts';

export type Run = components['schemas']['RunDetail'];
export type Entry = components['schemas']['JournalEntry'];
export type Trace = components['schemas']['TraceDetail'];

/** A run, and all that it started, with their journals. */
export type Tree = { readonly run: Run; readonly journal: readonly Entry[]; readonly children: readonly Tree[] };

export type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** Asks the service, and reads its answer. @throws Error when the connection broke */
export const call = async (dispatcher: Agent, method: 'GET' | 'POST', url: string, body?: object): Promise<Answer> => {
  const answer = await request(url, {
    method,
    dispatcher,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] };
};

/** Reads from the API. @throws Error for any answer but 200 */
export const readApi = async <T>(dispatcher: Agent, url: string, path: string): Promise<T> => {
  const { status, body } = await call(dispatcher, 'GET', `${url}/v1/api${path}`);
  if (status !== 200) throw new Error(`${path} answered ${status} ${JSON.stringify(body)}`);
  return body as T;
};

/**
 * Counts runs that have not ended. Statuses are read one after another, so a run that goes from one to another meanwhile is in neither
 * list: where something moved, none counts as one.
 */
export const countOpenRuns = async (dispatcher: Agent, url: string, definition?: string): Promise<number> => {
  const of = definition === undefined ? '' : `&definition_id=${definition}`;
  const list = async (query: string) =>
    (await readApi<{ runs: unknown[] }>(dispatcher, url, `/runs?project=*&${query}${of}`)).runs;
  const lastMoved = await list('limit=1');
  let count = 0;
  for (const status of ['scheduled', 'queued', 'running', 'waiting', 'paused'])
    count += (await list(`limit=1000&status=${status}`)).length;
  return count === 0 && !isDeepStrictEqual(await list('limit=1'), lastMoved) ? 1 : count;
};

/** Runs that have not ended, each with all that is known of it: what it waits for, and the end of its journal. */
export const describeOpenRuns = async (dispatcher: Agent, url: string): Promise<string> => {
  const open: string[] = [];
  for (const status of ['scheduled', 'queued', 'running', 'waiting', 'paused']) {
    const { runs } = await readApi<{ runs: Run[] }>(dispatcher, url, `/runs?project=*&limit=5&status=${status}`);
    for (const { run_id } of runs) {
      const { run, journal } = await readTree(dispatcher, url, run_id);
      open.push(JSON.stringify({ run, journal: journal.slice(-12) }));
    }
  }
  return open.join('\n');
};

export const readTree = async (dispatcher: Agent, url: string, runId: string): Promise<Tree> => {
  const run = await readApi<Run>(dispatcher, url, `/runs/${runId}`);
  const { events } = await readApi<{ events: Entry[] }>(dispatcher, url, `/runs/${runId}/events?limit=1000`);
  const children: Tree[] = [];
  for (const { run_id } of run.children) children.push(await readTree(dispatcher, url, run_id));
  return { run, journal: events, children };
};

export const treesIn = (tree: Tree): Tree[] => [tree, ...tree.children.flatMap(treesIn)];

export const journalFault = (entries: readonly Entry[]): string | undefined => {
  for (const [at, { seq }] of entries.entries()) if (seq !== at) return `journal entry ${at} has seq ${seq}`;
  if (entries[0]?.kind !== 'run.started') return `the journal begins with ${entries[0]?.kind}`;
  const ends = entries.filter(({ kind }) => kind === 'run.finished').length;
  if (ends !== 1 || entries.at(-1)?.kind !== 'run.finished')
    return `the journal has ${ends} ends, and its last entry is ${entries.at(-1)?.kind}`;
  const won = new Set<string>();
  for (const { kind, step_id, visit } of entries) {
    if (kind !== 'step.finished') continue;
    if (won.has(`${step_id} ${visit}`)) return `visit ${visit} of ${step_id} was finished twice`;
    won.add(`${step_id} ${visit}`);
  }
  const moved = entries.filter(({ kind }) => kind === 'cursor.moved');
  const nap = moved.findIndex(({ step_id }) => step_id === 'nap');
  const [from, to] = [moved[nap], moved[nap + 1]];
  if (from === undefined || to === undefined) return undefined;
  const slept = Date.parse(to.at) - Date.parse(from.at);
  return slept < NAP_MS ? `it slept ${slept} ms of ${NAP_MS}` : undefined;
};

export const attemptsFault = (attempts: Run['attempts']): string | undefined => {
  const succeeded = new Set<string>();
  for (const { step_id, visit, status } of attempts) {
    if (status === 'offered' || status === 'running') return `an attempt of ${step_id} is still ${status}`;
    if (status !== 'succeeded') continue;
    const place = `${step_id} ${visit}`;
    if (succeeded.has(place)) return `${place} succeeded twice`;
    succeeded.add(place);
  }
  return undefined;
};

const CHILDREN = 2;

/** Says what is wrong with a run of `runs-definitions.ts` that has ended, or nothing. */
export const runFault = ({ run, journal, children }: Tree): string | undefined => {
  const succeeded = run.attempts.filter(({ status }) => status === 'succeeded');
  const finished = new Set(journal.flatMap(({ kind, lease_id }) => (kind === 'step.finished' ? [lease_id] : [])));
  if (run.timers.length + run.waits.length > 0) return 'it has ended and still waits';
  if (run.usage.total_tokens !== succeeded.length * USAGE_TOKENS)
    return `it counts ${run.usage.total_tokens} tokens of ${succeeded.length} attempts`;
  if (succeeded.length !== finished.size || succeeded.some(({ lease_id }) => !finished.has(lease_id)))
    return `${succeeded.length} attempts succeeded, and the journal has ${finished.size}`;
  if (run.definition_id === 'load' && run.status === 'succeeded' && children.length !== CHILDREN)
    return `it has ${children.length} children`;
  const stray = children.find((child) => child.run.trace_id !== run.trace_id);
  if (stray !== undefined) return `its child ${stray.run.run_id} is not in its trace`;
  return journalFault(journal) ?? attemptsFault(run.attempts);
};

export type Span = readonly [from: number, to: number];

/** Most that go on at one moment. What ends in a millisecond has ended before what begins in it: a place is freed, then taken. */
export const mostAtOnce = (spans: readonly Span[]): number => {
  const changes = spans.flatMap(([from, to]) => [[from, 1] as const, [Math.max(from, to), -1] as const]);
  let now = 0;
  let most = 0;
  for (const [, by] of changes.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) most = Math.max(most, (now += by));
  return most;
};

/** From the entry into a run's first step to its end. */
export const spanOfRun = ({ journal }: Tree): Span[] => {
  const from = journal.find(({ kind }) => kind === 'cursor.moved');
  const to = journal.at(-1);
  return from === undefined || to === undefined ? [] : [[Date.parse(from.at), Date.parse(to.at)]];
};

const ATTEMPT_ENDS: ReadonlySet<string> = new Set(['step.finished', 'step.failed', 'step.requeued', 'run.finished']);
/** From the lease of each attempt of a step to its end. */
const spansOfStep = ({ journal }: Tree, step: string): Span[] =>
  journal.flatMap((entry, at): Span[] => {
    if (entry.kind !== 'step.leased' || entry.step_id !== step) return [];
    const end = journal.slice(at + 1).find(({ kind }) => ATTEMPT_ENDS.has(kind));
    return end === undefined ? [] : [[Date.parse(entry.at), Date.parse(end.at)]];
  });

/** What runs of `runs-definitions.ts` took of their keys, by the times of their journals. */
export const createKeyUse = () => {
  const kids: Span[] = [];
  const desk: Span[] = [];
  const till: number[] = [];
  let held = 0;
  return {
    add: (tree: Tree): void => {
      for (const one of treesIn(tree)) {
        if (one.run.definition_id === 'kid') kids.push(...spanOfRun(one));
        desk.push(...spansOfStep(one, 'finish'));
        till.push(...spansOfStep(one, 'reserve').map(([from]) => from));
        held += one.journal.filter(({ kind }) => kind === 'run.held').length;
      }
    },
    /** How many waited for a key, in runs and in steps. */
    held: (): number => held,
    /** Says which key had more holders or more starts than it may, or nothing. */
    fault: (): string | undefined => {
      const inKids = mostAtOnce(kids);
      if (inKids > KEYS.kids.limit) return `${inKids} runs held the key of ${KEYS.kids.limit} at once`;
      const atDesk = mostAtOnce(desk);
      if (atDesk > KEYS.desk.limit) return `${atDesk} attempts held the key of ${KEYS.desk.limit} at once`;
      const starts = till.toSorted((a, b) => a - b);
      for (const [at, from] of starts.entries()) {
        const over = starts[at + KEYS.till.limit];
        if (over !== undefined && over - from < KEYS.till.per_ms)
          return `${KEYS.till.limit + 1} attempts began within ${over - from} ms, of ${KEYS.till.limit} in ${KEYS.till.per_ms}`;
      }
      return undefined;
    },
  };
};

/** Ids of a run's own span. @see Interface decisions, "12. Decided since", "Runs as traces" */
const spanIdOf = (runId: string): string => runId.replaceAll('-', '').slice(16);

/**
 * Says how the trace of a tree of ended runs differs from what the runs say of themselves, or nothing: one span a run, one an
 * attempt, one for the usage of each that succeeded, one for each visit of a step that starts children, and no other.
 */
const traceFault = (tree: Tree, trace: Trace | undefined): string | undefined => {
  const all = treesIn(tree);
  const attempts = all.flatMap(({ run }) => run.attempts);
  const named = new Set([...all.map(({ run }) => spanIdOf(run.run_id)), ...attempts.map(({ span_id }) => span_id)]);
  const others =
    attempts.filter(({ status }) => status === 'succeeded').length +
    all.flatMap(({ journal }) => journal).filter(({ kind, step_id }) => kind === 'cursor.moved' && step_id === 'sub')
      .length;
  const spans = trace?.spans ?? [];
  const found = new Set(spans.map(({ span_id }) => span_id));
  if (found.size !== spans.length) return `${spans.length - found.size} of its spans are there twice`;
  const missing = [...named].filter((id) => !found.has(id));
  if (missing.length > 0) return `the spans ${missing.join(', ')} of runs and attempts are missing`;
  if (found.size !== named.size + others) return `it has ${found.size} spans instead of ${named.size + others}`;
  const roots = spans.filter((span) => span.is_root);
  if (roots.length !== 1) return `it has ${roots.length} roots`;
  const open = spans.filter(({ end_time }) => end_time === undefined).length;
  if (open > 0) return `${open} of its spans have no end`;
  const { usage, cost } = trace?.trace ?? {};
  const { run } = tree;
  const spent = [(run.tree_usage ?? run.usage).total_tokens, (run.tree_cost ?? run.cost)?.total_cost ?? 0];
  const shown = [usage?.total_tokens ?? 0, cost?.total_cost ?? 0];
  return String(spent) === String(shown) ? undefined : `it shows ${String(shown)} where the run spent ${String(spent)}`;
};

/** Waits until the trace of a tree agrees with it, as spans are sent behind the commits. @throws Error with the last difference */
export const awaitTrace = async (dispatcher: Agent, url: string, tree: Tree, withinMs: number): Promise<Trace> => {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const { status, body } = await call(dispatcher, 'GET', `${url}/v1/api/traces/${tree.run.trace_id}?payloads=none`);
    const trace = status === 200 ? (body as unknown as Trace) : undefined;
    const fault = traceFault(tree, trace);
    if (trace !== undefined && fault === undefined) return trace;
    if (performance.now() > giveUpAt) throw new Error(`run ${tree.run.run_id}: its trace: ${fault}`);
    await sleep(100);
  }
};
