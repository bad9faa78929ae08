import { type CompiledDefinition, compileDefinition, resolveNext } from '../../src/model/definition/compile.ts';
import { type ChildStep, END, leadsOn, type TaskStep } from '../../src/model/definition/definition.ts';
import type { ExpressionScope } from '../../src/model/definition/expression-scope.ts';
import { hashDefinition } from '../../src/model/definition/hash.ts';
import { compileInputSchema } from '../../src/model/definition/input-schema/compile.ts';
import { parseDefinition } from '../../src/model/definition/parse.ts';
import type { StepError } from '../../src/model/definition/step-error.ts';
import { render, renderAsText } from '../../src/model/definition/template.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';

/**
 * A second engine for durable runs: no store, no statecharts, no concurrency, everything in plain objects that are changed
 * in place, and every question answered by looking at all of them. It was written from the interface decisions, and exists
 * to disagree with the real one. It shares with it what reads a definition and evaluates its expressions, and nothing else.
 * @see Interface decisions, "9. Durable runs"; interface specification, "Lease / attempt" and "Run"
 */

export type Usage = {
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cost?: number;
};
export type RunError = StepError & { readonly stepId?: string };
export type Entry = {
  readonly kind: string;
  readonly at: number;
  readonly stepId?: string;
  readonly visit?: number;
  readonly attempt?: number;
  readonly worker?: string;
};
export type Attempt = {
  readonly run: Run;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly worker: string;
  readonly offeredAt: number;
  status: 'offered' | 'running' | 'succeeded' | 'failed' | 'orphaned' | 'unservable' | 'lapsed' | 'cancelled';
  /** False once nobody holds it any more. */
  live: boolean;
  /** Its own complete or fail was taken. */
  applied: boolean;
  startedAt?: number;
  endedAt?: number;
  expiresAt: number;
  timeoutAt?: number;
  output?: Json;
  error?: StepError;
  usage?: readonly Usage[];
  cost?: number;
  details?: Json;
};
export type Run = {
  /** In order of creation, from 0. */
  readonly no: number;
  readonly program: CompiledDefinition;
  readonly project: string;
  readonly input: Json;
  readonly correlation: JsonObject;
  readonly key?: string;
  readonly createdAt: number;
  readonly startAt?: number;
  readonly deadlineAt?: number;
  readonly parent?: { readonly run: Run; readonly stepId: string; readonly visit: number; readonly index: number };
  /** Where it stands, paused or not; `held` waits for its definition before its first step. */
  status: 'scheduled' | 'held' | 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
  paused?: { readonly by: 'call' | 'parent'; readonly since: number };
  /** What acts when it is resumed: the step whose door it stands at, an event that came, or children that ended. */
  kept?: () => void;
  /** The timer that was taken off. */
  resting?: { readonly name: string; readonly dueAt?: number; readonly stepId?: string };
  cursor?: string;
  state: JsonObject;
  outputs: Record<string, { output?: Json }>;
  visits: Record<string, number>;
  stepCount: number;
  last: Json | undefined;
  event?: JsonObject;
  handled?: JsonObject;
  output?: Json;
  error?: RunError;
  endedAt?: number;
  updatedAt: number;
  inputTokens: number;
  outputTokens: number;
  cost?: number;
  readonly journal: Entry[];
  readonly attempts: Attempt[];
  readonly timers: Map<string, { readonly dueAt?: number; readonly stepId?: string }>;
  readonly children: Run[];
  /** For what it waits: one event, or the first of several. */
  waits: readonly {
    readonly event: string;
    readonly key: string;
    readonly to: string | undefined;
    readonly stepId: string;
    readonly since: number;
    readonly deadlineAt?: number;
  }[];
  /** What one visit of the step at the cursor remembers. */
  here: Visit;
};
type Visit = {
  readonly visit: number;
  readonly input?: Json;
  spent: number;
  orphans: number;
  leases: number;
  /** Since when the step can be offered; its age in the queue. */
  since: number;
  details?: Json;
  readonly items?: readonly Json[];
  readonly results: (Json | undefined)[];
  started: number;
  finished: number;
};
export type Answer =
  | { readonly code: 'ok'; readonly value: JsonObject; readonly run?: Run }
  | { readonly code: string; readonly value?: undefined; readonly run?: undefined };

type Parked = {
  readonly project: string;
  readonly event: string;
  readonly key: string;
  readonly payload: Json;
  readonly at: number;
  readonly id?: string;
};
export type Config = {
  readonly leaseTtlMs: number;
  readonly reclaimWindowMs: number;
  readonly offerTtlMs: number;
  /** What chance gives, always. */
  readonly random: number;
  readonly price: (usage: Usage) => number | undefined;
};

const DAY = 24 * 3600_000;
const UNSERVABLE_MS = 5 * 60_000;
const LAST_ORPHAN = 10;
const YEAR_2262 = Date.parse('2262-01-01T00:00:00Z');
const LONGEST = 3650 * DAY;

export const isOver = ({ status }: Run): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';
/** The status under which it is shown. */
export const shown = (run: Run): string => {
  if (isOver(run)) return run.status;
  if (run.paused !== undefined) return 'paused';
  return run.status === 'held' ? 'queued' : run.status;
};

/** Compiling costs more than all the rest of a history. */
const checks = new Map<string, ReturnType<typeof compileInputSchema>>();
const checkOf = (schema: Json): ReturnType<typeof compileInputSchema> => {
  const text = JSON.stringify(schema);
  const check = checks.get(text) ?? compileInputSchema(schema);
  checks.set(text, check);
  return check;
};

const parses = new Map<string, ReturnType<typeof parseDefinition>>();
const parsedOf = (document: Json): ReturnType<typeof parseDefinition> => {
  const text = JSON.stringify(document);
  const parsed = parses.get(text) ?? parseDefinition(document);
  parses.set(text, parsed);
  return parsed;
};

export const createEngine = (config: Config, startAt: number) => {
  let now = startAt;
  const runs: Run[] = [];
  const programs = new Map<string, { readonly program: CompiledDefinition; readonly hash: string }>();
  const workers = new Map<string, { readonly definitions: ReadonlySet<string>; readonly project?: string }>();
  const parked: Parked[] = [];
  const eventIds = new Map<string, { readonly taker?: Run; readonly at: number }>();
  const refusedVersions = new Map<string, number>();
  const pausedDefinitions = new Set<string>();
  /** Messages between actors, handed on in order, before the answer is released. */
  const messages: (() => void)[] = [];
  const seen = new Set<string>();
  const note = (what: string): void => {
    seen.add(what);
  };
  const ok = (value: JsonObject = {}, run?: Run): Answer => ({
    code: 'ok',
    value,
    ...(run === undefined ? {} : { run }),
  });
  const refuse = (code: string): Answer => {
    note(`refused ${code}`);
    return { code };
  };
  const inOneTurn = (act: () => Answer): Answer => {
    const answer = act();
    for (let next = messages.shift(); next !== undefined; next = messages.shift()) next();
    // The answer tells what all of the turn made of the run.
    if (answer.code !== 'ok' || answer.run === undefined || !('runStatus' in (answer.value ?? {}))) return answer;
    const { nextStep: _nextStep, ...value } = answer.value;
    return { ...answer, value: { ...value, ...going(answer.run) } };
  };

  const stepOf = (run: Run) => {
    const step = run.program.steps.get(run.cursor ?? '');
    if (step === undefined) throw new Error('the run is nowhere');
    return step;
  };
  const taskOf = (run: Run): TaskStep => stepOf(run).step as TaskStep;
  const journal = (run: Run, kind: string, of: Omit<Entry, 'kind' | 'at'> = {}): void => {
    run.journal.push({ kind, at: now, ...of });
    // What a lease tells of itself changes the lease and not the run.
    if (kind !== 'step.started' && kind !== 'step.orphaned') run.updatedAt = now;
    note(`journal ${kind}`);
  };
  const here = (run: Run) => ({ stepId: run.cursor ?? '', visit: run.here.visit });
  const held = (one: Attempt) => ({ stepId: one.stepId, visit: one.visit, attempt: one.attempt });

  const scopeOf = (run: Run, item?: Json): ExpressionScope => ({
    input: run.input,
    state: run.state,
    steps: run.outputs,
    run: {
      definition_id: run.program.definition.id,
      definition_version: run.program.definition.version,
      project: run.project,
    },
    correlation: run.correlation,
    visits: run.visits,
    ...(run.event === undefined ? {} : { event: run.event }),
    ...(run.handled === undefined ? {} : { error: run.handled }),
    ...(item === undefined ? {} : { item }),
  });

  const finish = (
    run: Run,
    status: 'succeeded' | 'failed' | 'cancelled',
    with_: { output?: Json | undefined; error?: RunError },
  ) => {
    run.status = status;
    delete run.cursor;
    run.waits = [];
    run.timers.clear();
    delete run.paused;
    delete run.kept;
    delete run.resting;
    if (with_.output !== undefined) run.output = with_.output;
    if (with_.error !== undefined) run.error = with_.error;
    run.endedAt = now;
    for (const one of run.attempts.filter(({ live }) => live)) endLease(one, 'cancelled');
    journal(run, 'run.finished');
    note(`run ${status}`);
    for (const child of run.children.filter((one) => !isOver(one))) messages.push(() => cancelRun(child));
    const { parent } = run;
    if (parent !== undefined) messages.push(() => childEnded(parent.run, run));
  };
  const cancelRun = (run: Run): void => {
    if (!isOver(run)) finish(run, 'cancelled', {});
  };
  const hitLimit = (run: Run, limit: NonNullable<StepError['limit']>, stepId = run.cursor): void => {
    note(`limit ${limit}`);
    finish(run, 'failed', {
      error: { class: 'limit', message: '', limit, ...(stepId === undefined ? {} : { stepId }) },
    });
  };

  /** The step at the cursor ended well; `output` is the output of this visit. */
  const goOn = (run: Run, output: Json | undefined, to?: string): void => {
    const stepId = run.cursor ?? '';
    if (output === undefined) delete run.outputs[stepId];
    else run.outputs[stepId] = { output };
    run.last = output;
    if (to !== undefined) return moveTo(run, to);
    const next = resolveNext(stepOf(run).next, scopeOf(run));
    if (next.ok) return moveTo(run, next.value);
    // "Where no match fails the run": then no step is to blame, and no on_error is asked.
    if (next.error.message.startsWith('no branch')) {
      note('no branch');
      return finish(run, 'failed', { error: { ...next.error, stepId } });
    }
    note('failing condition');
    journal(run, 'step.failed', here(run));
    return failStep(run, next.error);
  };
  /** The step at the cursor failed for good: `on_error` decides, else the run fails with it. */
  const failStep = (run: Run, error: StepError): void => {
    const { step } = stepOf(run);
    const routes = leadsOn(step) ? step.onError : [];
    const matches = (wanted: string | undefined, has: string | undefined) => wanted === undefined || wanted === has;
    const to = routes.find((route) => matches(route.class, error.class) && matches(route.code, error.code))?.to;
    if (to === undefined) return finish(run, 'failed', { error: { ...error, stepId: step.id } });
    note(`on_error ${error.class}`);
    run.handled = { ...error, step_id: step.id };
    run.last = undefined;
    delete run.outputs[step.id];
    return moveTo(run, to);
  };
  const moveTo = (run: Run, to: string): void => {
    run.timers.delete('wait');
    run.timers.delete('sleep');
    run.timers.delete('backoff');
    run.waits = [];
    if (to === END) {
      const { output } = run.program;
      if (output === undefined) return finish(run, 'succeeded', { output: run.last });
      const rendered = render(output, scopeOf(run));
      return rendered.ok
        ? finish(run, 'succeeded', { output: rendered.value })
        : finish(run, 'failed', { error: { ...rendered.error, stepId: run.cursor ?? '' } });
    }
    return enter(run, to);
  };

  const failOnEntry = (run: Run, error: StepError): void => {
    journal(run, 'step.failed', here(run));
    note(`expression in ${stepOf(run).step.kind}`);
    failStep(run, error);
  };
  const arrive = (run: Run, stepId: string): number => {
    run.stepCount += 1;
    const visit = (run.visits[stepId] ?? 0) + 1;
    run.visits = { ...run.visits, [stepId]: visit };
    run.cursor = stepId;
    run.here = { visit, spent: 0, orphans: 0, leases: 0, since: now, results: [], started: 0, finished: 0 };
    journal(run, 'cursor.moved', here(run));
    return visit;
  };
  const enter = (run: Run, stepId: string): void => {
    arrive(run, stepId);
    if (run.paused === undefined) return open(run);
    note('paused at the door of a step');
    run.kept = () => open(run);
    // What the step before has cost is known already.
    const spender = tooDear(run);
    return spender === undefined ? undefined : endTooDear(run, spender);
  };
  const open = (run: Run): void => {
    const { stepId, visit } = here(run);
    if (run.stepCount > run.program.definition.limits.maxSteps) return hitLimit(run, 'max_steps');
    const spender = tooDear(run);
    if (spender !== undefined) return endTooDear(run, spender);
    const at = stepOf(run);
    const { step } = at;
    if (step.kind === 'task' && triedEnough(run, step)) return hitLimit(run, 'max_attempts_total');
    note(`step ${step.kind}`);
    if (visit > 1) note('second visit');
    switch (step.kind) {
      case 'task': {
        note(`delivery ${step.delivery}`);
        const input = at.input === undefined ? undefined : render(at.input, scopeOf(run));
        if (input?.ok === false) return failOnEntry(run, input.error);
        if (input?.value !== undefined) run.here = { ...run.here, input: input.value };
        run.here.since = now;
        run.status = 'queued';
        return undefined;
      }
      case 'sleep': {
        let dueAt: number | undefined;
        if (at.sleepUntil === undefined) dueAt = now + (step.sleepMs ?? 0);
        else {
          const text = renderAsText(at.sleepUntil, scopeOf(run));
          if (!text.ok) return failOnEntry(run, text.error);
          const time = Date.parse(text.value);
          if (Number.isNaN(time)) return failOnEntry(run, { class: 'expression', message: '' });
          dueAt = time >= YEAR_2262 ? undefined : time;
          if (dueAt === undefined) note('never due');
        }
        run.status = 'waiting';
        run.timers.set('sleep', { stepId, ...(dueAt === undefined ? {} : { dueAt }) });
        return journal(run, 'run.waiting', here(run));
      }
      case 'wait_event': {
        const awaited: { readonly event: string; readonly key: string; readonly to: string | undefined }[] = [];
        for (const [line, { event, to }] of step.awaited.entries()) {
          const template = at.keys?.[line];
          const key = template === undefined ? { ok: true as const, value: '' } : renderAsText(template, scopeOf(run));
          if (!key.ok) return failOnEntry(run, key.error);
          if (awaited.some((one) => one.event === event && one.key === key.value)) note('two lines of any come to one');
          else awaited.push({ event, key: key.value, to });
        }
        if (awaited.length > 1) note('wait for any');
        const found = step.acceptParked
          ? parked.find((one) => awaited.some(({ event, key }) => parkedFor(run.project, event, key) === one))
          : undefined;
        if (found !== undefined) {
          const taken = awaited.find(({ event, key }) => event === found.event && key === found.key);
          parked.splice(parked.indexOf(found), 1);
          if (found.id !== undefined) eventIds.set(found.id, { taker: run, at: now });
          note('parked event taken');
          if (awaited.length > 1) note('any of several took a parked event');
          return deliver(run, found.event, found.key, found.payload, taken?.to);
        }
        const deadlineAt = step.timeoutMs === undefined ? undefined : now + step.timeoutMs;
        run.status = 'waiting';
        run.waits = awaited.map((one) => ({
          ...one,
          stepId,
          since: now,
          ...(deadlineAt === undefined ? {} : { deadlineAt }),
        }));
        if (deadlineAt !== undefined) run.timers.set('wait', { stepId, dueAt: deadlineAt });
        return journal(run, 'run.waiting', here(run));
      }
      case 'child': {
        let items: readonly Json[] | undefined;
        if (at.forEach !== undefined) {
          const list = render(at.forEach, scopeOf(run));
          if (!list.ok) return failOnEntry(run, list.error);
          if (!Array.isArray(list.value)) return failOnEntry(run, { class: 'expression', message: '' });
          items = list.value as readonly Json[];
        }
        run.here = { ...run.here, ...(items === undefined ? {} : { items }) };
        if (items?.length === 0) {
          note('for_each over nothing');
          return goOn(run, []);
        }
        run.status = 'waiting';
        journal(run, 'run.waiting', here(run));
        return startChildren(run, 'entering');
      }
      case 'succeed': {
        const output =
          at.output === undefined ? { ok: true as const, value: run.last } : render(at.output, scopeOf(run));
        if (output.ok) return finish(run, 'succeeded', { output: output.value });
        note('expression in succeed');
        return failStep(run, output.error);
      }
      case 'fail': {
        const message =
          at.message === undefined ? { ok: true as const, value: '' } : renderAsText(at.message, scopeOf(run));
        if (!message.ok) return failStep(run, message.error);
        return finish(run, 'failed', {
          error: {
            class: 'fatal',
            message: message.value,
            stepId,
            ...(step.code === undefined ? {} : { code: step.code }),
          },
        });
      }
      default:
        throw new Error('unknown step');
    }
  };

  // Children.
  const startChildren = (run: Run, when: 'entering' | 'waiting' = 'waiting'): void => {
    const fails = (error: StepError): void => childStepFails(run, error, when);
    const at = stepOf(run);
    const step = at.step as ChildStep;
    const { items, visit } = run.here;
    const wanted = items?.length ?? 1;
    if (run.here.finished === wanted) {
      const output = items === undefined ? run.here.results[0] : run.here.results.map((one) => one ?? null);
      journal(run, 'run.resumed', here(run));
      note('children finished');
      if (run.paused === undefined) return goOn(run, output);
      note('children finished while paused');
      run.kept = () => goOn(run, output);
      return undefined;
    }
    if (run.paused !== undefined) return undefined;
    while (run.here.started < wanted && run.here.started - run.here.finished < step.maxParallel) {
      const index = run.here.started;
      const latest = latestOf(step.definition);
      if (latest === undefined) return fails({ class: 'fatal', code: 'child_failed', message: '' });
      const input = at.input === undefined ? undefined : render(at.input, scopeOf(run, items?.[index]));
      const value = input?.ok === true ? (input.value ?? {}) : {};
      const refusal =
        input?.ok === false
          ? input.error
          : misfit(latest, value)
            ? { class: 'fatal', code: 'input_invalid', message: '' }
            : undefined;
      if (refusal !== undefined && step.onItemError === 'fail_fast')
        return fails(refusal.class === 'expression' ? refusal : { class: 'fatal', code: 'child_failed', message: '' });
      run.here.started += 1;
      const child = newRun(latest, run.project, value, run.correlation, { run, stepId: step.id, visit, index });
      run.children.push(child);
      journal(run, 'child.started', here(run));
      const first = child.program.first.step.id;
      messages.push(() => {
        if (refusal === undefined) return begin(child);
        // It is there to say why it cannot be.
        note('item refused');
        arrive(child, first);
        return finish(child, 'failed', { error: refusal });
      });
    }
    return undefined;
  };
  const childStepFails = (run: Run, error: StepError, when: 'entering' | 'waiting' = 'waiting'): void => {
    for (const sibling of run.children.filter((one) => !isOver(one))) messages.push(() => cancelRun(sibling));
    // A step that could not start what it waits for never waited.
    if (when === 'waiting') journal(run, 'run.resumed', here(run));
    journal(run, 'step.failed', here(run));
    failStep(run, error);
  };
  /** What is listed of a child that did not succeed, but for what only the service can know: its message and its id. */
  const why = ({ error }: Run): JsonObject =>
    error === undefined
      ? { class: 'cancelled' }
      : {
          class: error.class,
          ...(error.code === undefined ? {} : { code: error.code }),
          ...(error.limit === undefined ? {} : { limit: error.limit }),
          ...(error.stepId === undefined ? {} : { step_id: error.stepId }),
        };
  const childEnded = (run: Run, child: Run): void => {
    const { stepId, visit, index } = child.parent ?? { stepId: '', visit: 0, index: 0 };
    if (isOver(run) || run.cursor !== stepId || run.here.visit !== visit) return undefined;
    journal(run, 'child.finished', { stepId, visit });
    note(`child ${child.status}`);
    if ((stepOf(run).step as ChildStep).onItemError === 'collect') {
      note(`collected ${child.status}`);
      run.here.results[index] = child.status === 'succeeded' ? { output: child.output ?? null } : { error: why(child) };
      run.here.finished += 1;
      return startChildren(run);
    }
    if (child.status === 'succeeded') {
      run.here.results[index] = child.output;
      run.here.finished += 1;
      return startChildren(run);
    }
    return childStepFails(
      run,
      child.status === 'cancelled'
        ? { class: 'cancelled', message: '' }
        : { class: 'fatal', code: 'child_failed', message: '' },
    );
  };

  // Events.
  const parkedFor = (project: string, event: string, key: string): Parked | undefined => {
    const fits = parked.filter(
      (one) => one.project === project && one.event === event && one.key === key && now - one.at < DAY,
    );
    if (fits.length > 1) note('the oldest of several parked events');
    return fits[0];
  };
  /** An id goes with its event: with the run that took it, or, where nobody did, when it can be taken no more. */
  const knownId = (id: string | undefined): { readonly taker?: Run } | undefined => {
    const before = id === undefined ? undefined : eventIds.get(id);
    if (before === undefined) return undefined;
    if (now - before.at < DAY) return before;
    note(before.taker === undefined ? 'expired event id used again' : 'taken event sent again a day later');
    return before.taker === undefined ? undefined : before;
  };
  const deliver = (run: Run, name: string, key: string, payload: Json, to: string | undefined): void => {
    run.event = { name, key, payload };
    journal(run, 'event.delivered', here(run));
    if (run.waits.length > 0) journal(run, 'run.resumed', here(run));
    if (to !== undefined) note('an event that leads on by itself');
    if (run.paused === undefined) return goOn(run, payload, to);
    note('an event came while paused');
    run.waits = [];
    delete run.resting;
    run.kept = () => goOn(run, payload, to);
    return undefined;
  };

  // Leases.
  const endLease = (one: Attempt, status: Attempt['status']): void => {
    one.status = status;
    one.live = false;
    one.endedAt = now;
    note(`attempt ${status}`);
  };
  const queueAgain = (run: Run, one: Attempt, since: number): void => {
    journal(run, 'step.requeued', held(one));
    run.status = 'queued';
    run.here.since = since;
  };
  /** A try failed: again, perhaps later, or never. Says whether again. */
  const tryAgain = (run: Run, one: Attempt, error: StepError, retryAfterMs?: number): boolean => {
    const { retry, delivery } = taskOf(run);
    journal(run, 'step.failed', held(one));
    one.error = error;
    const spends = error.class === 'retryable' || error.class === 'timeout';
    if (spends) run.here.spent += 1;
    const again =
      delivery === 'at_least_once' &&
      (error.class === 'rate_limited' || (spends && run.here.spent < retry.maxAttempts));
    if (!again) {
      if (spends && delivery === 'at_least_once') note('budget spent');
      failStep(run, error);
      return false;
    }
    // A rate-limited failure without a time waits for the first backoff, without jitter.
    let backoff = spends ? 0 : (retryAfterMs ?? retry.backoffMs);
    if (spends) {
      backoff = Math.min(retry.maxBackoffMs, retry.backoffMs * retry.multiplier ** (run.here.spent - 1));
      if (retry.jitter === 'full') backoff = Math.ceil(backoff * config.random);
    }
    const wait = Math.max(backoff, retryAfterMs ?? 0);
    note(`again after ${error.class}`);
    // What is rate limited waits for a look at the timers, however short it has to wait.
    if (wait === 0 && spends) {
      queueAgain(run, one, now);
      return true;
    }
    run.status = 'waiting';
    const backoffTimer = { stepId: one.stepId, dueAt: now + wait };
    if (run.paused === undefined) run.timers.set('backoff', backoffTimer);
    else run.resting = { name: 'backoff', ...backoffTimer };
    journal(run, 'run.waiting', here(run));
    return true;
  };
  const spend = (one: Attempt, usage: readonly Usage[] | undefined): void => {
    if (usage === undefined) return;
    one.usage = usage;
    const { run } = one;
    for (const use of usage) {
      run.inputTokens += use.inputTokens ?? 0;
      run.outputTokens += use.outputTokens ?? 0;
      const cost = use.cost ?? config.price(use);
      if (cost === undefined) continue;
      one.cost = (one.cost ?? 0) + cost;
      run.cost = (run.cost ?? 0) + cost;
    }
  };
  /** The attempts of one task in one run, whatever the visit. */
  const attemptsAt = (run: Run, stepId: string): readonly Attempt[] =>
    run.attempts.filter((one) => one.stepId === stepId);
  /** Who has spent all that it may: `run`, or the id of a task; no task of ours is called so. */
  const tooDear = (run: Run): string | undefined => {
    const { maxCostUsd } = run.program.definition.limits;
    if (maxCostUsd !== undefined && run.cost !== undefined && run.cost >= maxCostUsd) return 'run';
    return run.program.definition.steps.find((step) => {
      const most = step.kind === 'task' ? step.limits?.maxCostUsd : undefined;
      const costs = attemptsAt(run, step.id).flatMap(({ cost }) => cost ?? []);
      return most !== undefined && costs.length > 0 && Math.round(costs.reduce((a, b) => a + b) * 1e9) / 1e9 >= most;
    })?.id;
  };
  const endTooDear = (run: Run, who: string): void => {
    if (who !== 'run') note('limit max_cost_usd of a task');
    hitLimit(run, 'max_cost_usd', who === 'run' ? run.cursor : who);
  };
  /** Whether the task has had as many attempts as it may have in all its visits. */
  const triedEnough = (run: Run, step: TaskStep): boolean => {
    const most = step.limits?.maxAttemptsTotal;
    const counted = ['succeeded', 'failed', 'orphaned'];
    return (
      most !== undefined &&
      attemptsAt(run, step.id).filter(({ status, live }) => !live && counted.includes(status)).length >= most
    );
  };
  /** The task at the cursor is to be tried again: ends the run instead where a limit says so. */
  const stopTrying = (run: Run): boolean => {
    const spender = tooDear(run);
    if (spender !== undefined) endTooDear(run, spender);
    else if (triedEnough(run, taskOf(run))) hitLimit(run, 'max_attempts_total');
    return isOver(run);
  };
  /** The four refusals, in their order; the last is for those who report. */
  const refusal = (one: Attempt | undefined, worker: string): Answer | undefined => {
    if (one === undefined) return refuse('not_found');
    if (one.applied && one.worker === worker) return refuse('already_applied');
    if (isOver(one.run)) return refuse('run_terminal');
    if (!one.live || one.worker !== worker) {
      note(`fenced: ${one.live ? 'not its holder' : one.status}`);
      return refuse('fenced');
    }
    return undefined;
  };
  const notStarted = (one: Attempt): boolean =>
    one.startedAt === undefined && taskOf(one.run).delivery === 'at_most_once';
  const going = (run: Run): JsonObject => ({
    runStatus: shown(run),
    ...(run.cursor === undefined ? {} : { nextStep: run.cursor }),
  });

  // Runs.
  const latestOf = (id: string): CompiledDefinition | undefined =>
    [...programs.values()]
      .map(({ program }) => program)
      .filter(({ definition }) => definition.id === id)
      .toSorted((a, b) => b.definition.version - a.definition.version)[0];
  const misfit = ({ definition }: CompiledDefinition, input: Json): boolean => {
    if (definition.inputSchema === undefined) return false;
    const check = checkOf(definition.inputSchema);
    return check.ok && check.value(input) !== undefined;
  };
  const newRun = (
    program: CompiledDefinition,
    project: string,
    input: Json,
    correlation: JsonObject,
    parent?: Run['parent'],
    key?: string,
    startAt?: number,
  ): Run => {
    const timeout = program.definition.limits.runTimeoutMs;
    const deadlineAt = timeout === undefined ? undefined : (startAt ?? now) + timeout;
    const run: Run = {
      no: runs.length,
      program,
      project,
      input,
      correlation,
      createdAt: now,
      updatedAt: now,
      status: 'queued',
      state: {},
      outputs: {},
      visits: {},
      stepCount: 0,
      last: undefined,
      inputTokens: 0,
      outputTokens: 0,
      journal: [],
      attempts: [],
      timers: new Map(deadlineAt === undefined ? [] : [['run_timeout', { dueAt: deadlineAt }]]),
      children: [],
      waits: [],
      here: { visit: 0, spent: 0, orphans: 0, leases: 0, since: now, results: [], started: 0, finished: 0 },
      ...(startAt === undefined ? {} : { startAt }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
      ...(parent === undefined ? {} : { parent }),
      ...(key === undefined ? {} : { key }),
    };
    runs.push(run);
    journal(run, 'run.started');
    return run;
  };
  const isHeld = (run: Run): boolean => pausedDefinitions.has(run.program.definition.id);
  /** To its first step, unless its definition is paused. */
  const begin = (run: Run): void => {
    if (!isHeld(run)) return enter(run, run.program.first.step.id);
    note('held by its definition');
    run.status = 'held';
    return journal(run, 'run.held');
  };
  /** Its definition may be paused no more. */
  const admit = (run: Run): void => {
    if (run.status !== 'held' || run.paused !== undefined || isHeld(run)) return;
    note('admitted');
    journal(run, 'run.admitted');
    enter(run, run.program.first.step.id);
  };

  // Pauses.
  const awaits = (run: Run, { stepId, visit }: { readonly stepId: string; readonly visit: number }): boolean =>
    run.status === 'waiting' && run.kept === undefined && run.cursor === stepId && run.here.visit === visit;
  /** A child does what its parent is. One that was paused by name stays so. */
  const followParent = (child: Run): void => {
    const { parent } = child;
    if (parent === undefined || isOver(child) || !awaits(parent.run, parent)) return;
    if (parent.run.paused !== undefined && child.paused === undefined) {
      note('paused with its parent');
      pauseBy(child, 'parent');
    }
    if (parent.run.paused === undefined && child.paused !== undefined) {
      note(child.paused.by === 'parent' ? 'resumed with its parent' : 'stays paused by name');
      if (child.paused.by === 'parent') resumeNow(child);
    }
  };
  const tellChildren = (run: Run): void => {
    for (const child of run.children.filter((one) => !isOver(one))) messages.push(() => followParent(child));
  };
  const pauseBy = (run: Run, by: 'call' | 'parent'): void => {
    const before = run.paused;
    run.paused = { by, since: before?.since ?? now };
    journal(run, 'run.paused');
    if (before !== undefined) return note('paused by name, too');
    for (const [name, timer] of run.timers)
      if (name !== 'run_timeout') {
        note(`${name} rests`);
        run.timers.delete(name);
        run.resting = { name, ...timer };
      }
    return tellChildren(run);
  };
  const resumeNow = (run: Run): void => {
    const { kept, resting } = run;
    delete run.paused;
    delete run.kept;
    delete run.resting;
    journal(run, 'run.unpaused');
    if (run.status === 'held') messages.push(() => admit(run));
    else if (kept !== undefined) kept();
    else if (resting !== undefined) {
      const { name, ...timer } = resting;
      const isDue = timer.dueAt !== undefined && timer.dueAt <= now;
      note(`${name} ${isDue ? 'fell due while paused' : 'goes on'}`);
      if (isDue) messages.push(() => fire(run, name));
      else run.timers.set(name, timer);
    } else if (run.status === 'waiting' && stepOf(run).step.kind === 'child') {
      tellChildren(run);
      startChildren(run);
    }
  };

  const expire = (one: Attempt): void => {
    const { run } = one;
    if (one.timeoutAt !== undefined && one.timeoutAt <= now) {
      endLease(one, 'failed');
      note('timed out');
      if (tryAgain(run, one, { class: 'timeout', message: '' })) stopTrying(run);
    } else if (one.status === 'offered') {
      endLease(one, 'lapsed');
      queueAgain(run, one, run.here.since);
    } else if (one.status === 'running') {
      one.status = 'orphaned';
      one.expiresAt = now + config.reclaimWindowMs;
      journal(run, 'step.orphaned', held(one));
      note('orphaned');
    } else {
      endLease(one, 'orphaned');
      run.here.orphans += 1;
      note('reclaimed');
      const error = { class: 'orphaned', message: '' };
      one.error = error;
      if (taskOf(run).delivery === 'at_least_once' && run.here.orphans < LAST_ORPHAN) {
        queueAgain(run, one, now);
        stopTrying(run);
        return undefined;
      }
      if (run.here.orphans === LAST_ORPHAN) note('the tenth orphan');
      journal(run, 'step.failed', held(one));
      failStep(run, error);
    }
    return undefined;
  };
  const fire = (run: Run, name: string): void => {
    const at = run.here;
    run.timers.delete(name);
    note(`timer ${name}`);
    if (name === 'run_timeout') return hitLimit(run, 'run_timeout_ms');
    if (name === 'start_at') {
      journal(run, 'run.resumed');
      return begin(run);
    }
    if (name === 'backoff') {
      journal(run, 'step.requeued', here(run));
      run.status = 'queued';
      at.since = now;
      return undefined;
    }
    if (name === 'wait') {
      const { step } = stepOf(run);
      run.waits = [];
      if (step.kind === 'wait_event' && step.onTimeout === 'fail') {
        journal(run, 'run.resumed', here(run));
        journal(run, 'step.failed', here(run));
        return failStep(run, { class: 'timeout', message: '' });
      }
      note('wait went on without its event');
    }
    journal(run, 'run.resumed', here(run));
    return goOn(run, undefined);
  };

  const offerable = (
    worker: { definitions: ReadonlySet<string>; project?: string },
    workerId: string,
    runId?: Run,
  ): Run[] =>
    runs.filter((run) => {
      if (run.status !== 'queued' || run.paused !== undefined || isHeld(run) || (runId !== undefined && run !== runId))
        return false;
      const { id, version } = run.program.definition;
      if (!worker.definitions.has(id) || (worker.project !== undefined && worker.project !== run.project)) return false;
      const refusedUntil = refusedVersions.get(`${workerId} ${id}@${version}`) ?? 0;
      if (refusedUntil > now) note('unservable memory');
      return refusedUntil <= now;
    });

  return {
    now: () => now,
    runs,
    seen,
    note,
    programs,
    workers,
    parkedNow: () => parked.filter((one) => now - one.at < DAY),

    registerWorker: (workerId: string, documents: readonly Json[], project?: string): Answer => {
      const parsed = documents.map((document) => ({ document, definition: parsedOf(document) }));
      const stored: { id: string; version: number; stored: string }[] = [];
      const fresh = new Map<string, { program: CompiledDefinition; hash: string }>();
      if (parsed.some(({ definition }) => !definition.ok)) return refuse('definition_invalid');
      for (const { document, definition } of parsed) {
        if (!definition.ok) continue;
        const { id, version } = definition.value;
        const hash = hashDefinition(document);
        const known = programs.get(`${id}@${version}`);
        if (known !== undefined && known.hash !== hash) return refuse('definition_conflict');
        stored.push({ id, version, stored: known === undefined ? 'created' : 'unchanged' });
        if (known === undefined) fresh.set(`${id}@${version}`, { program: compileDefinition(definition.value), hash });
      }
      for (const [name, one] of fresh) programs.set(name, one);
      workers.set(workerId, {
        definitions: new Set(stored.map(({ id }) => id)),
        ...(project === undefined ? {} : { project }),
      });
      return ok({ definitions: stored });
    },

    /** The runs that a claim may be offered, each with what decides its place: lower goes first. */
    offerable: (
      workerId: string,
      only?: Run,
    ): Answer & { readonly order?: readonly { run: Run; age: number; fresh: boolean }[] } => {
      const worker = workers.get(workerId);
      if (worker === undefined) return refuse('not_found');
      const order = offerable(worker, workerId, only).map((run) => ({
        run,
        age: run.here.since,
        fresh: run.stepCount === 1 && run.here.leases === 0,
      }));
      return { ...ok(), order };
    },
    offer: (run: Run, workerId: string): Attempt => {
      run.here.leases += 1;
      const one: Attempt = {
        run,
        stepId: run.cursor ?? '',
        visit: run.here.visit,
        attempt: run.here.leases,
        worker: workerId,
        offeredAt: now,
        status: 'offered',
        live: true,
        applied: false,
        expiresAt: now + Math.min(config.offerTtlMs, config.leaseTtlMs),
      };
      run.attempts.push(one);
      run.status = 'running';
      journal(run, 'step.leased', { ...held(one), worker: workerId });
      return one;
    },
    /** What the lease of an attempt tells its worker. */
    leaseOf: (one: Attempt): JsonObject => {
      const { run } = one;
      const before = run.attempts.find(
        (other) => other.stepId === one.stepId && other.visit === one.visit && other.attempt === one.attempt - 1,
      );
      return {
        stepId: one.stepId,
        visit: one.visit,
        attempt: one.attempt,
        delivery: taskOf(run).delivery,
        steps: run.outputs,
        state: run.state,
        correlation: run.correlation,
        leaseExpiresAt: one.expiresAt,
        ...(run.here.input === undefined ? {} : { input: run.here.input }),
        ...(run.deadlineAt === undefined ? {} : { deadlineAt: run.deadlineAt }),
        ...(before?.details === undefined ? {} : { lastDetails: before.details }),
      };
    },

    started: (one: Attempt | undefined, worker: string): Answer => {
      const refused = refusal(one, worker);
      if (refused !== undefined || one === undefined) return refused ?? refuse('not_found');
      if (one.status !== 'running') {
        if (one.status === 'orphaned') note('revived by started');
        if (one.startedAt === undefined) {
          one.startedAt = now;
          const { timeoutMs } = taskOf(one.run);
          if (timeoutMs !== undefined) one.timeoutAt = now + timeoutMs;
          journal(one.run, 'step.started', held(one));
        }
        one.status = 'running';
      } else note('started again');
      one.expiresAt = now + config.leaseTtlMs;
      return ok({ runStatus: shown(one.run), leaseExpiresAt: one.expiresAt });
    },
    heartbeat: (one: Attempt | undefined, worker: string, details?: Json): Answer => {
      const refused = refusal(one, worker);
      if (refused !== undefined || one === undefined) return refused ?? refuse('not_found');
      if (details !== undefined) one.details = details;
      if (one.status === 'orphaned') {
        note('revived by heartbeat');
        one.status = 'running';
      }
      // An offer is not held by beating: only by declaring that the body runs.
      if (one.status === 'running') one.expiresAt = now + config.leaseTtlMs;
      else note('heartbeat before started');
      return ok({ leaseExpiresAt: one.expiresAt });
    },
    complete: (
      one: Attempt | undefined,
      worker: string,
      output?: Json,
      patch?: JsonObject,
      usage?: readonly Usage[],
    ): Answer =>
      inOneTurn(() => {
        const refused = refusal(one, worker);
        if (refused !== undefined || one === undefined) return refused ?? refuse('not_found');
        if (notStarted(one)) return refuse('not_started');
        if (one.status !== 'running') note(`complete from ${one.status}`);
        const { run } = one;
        one.applied = true;
        if (output !== undefined) one.output = output;
        spend(one, usage);
        endLease(one, 'succeeded');
        run.state = { ...run.state, ...patch };
        journal(run, 'step.finished', held(one));
        const spender = tooDear(run);
        if (spender === undefined) goOn(run, output);
        else endTooDear(run, spender);
        return ok(going(run), run);
      }),
    fail: (
      one: Attempt | undefined,
      worker: string,
      error: StepError,
      retryAfterMs?: number,
      usage?: readonly Usage[],
    ): Answer =>
      inOneTurn(() => {
        if (retryAfterMs !== undefined && retryAfterMs > LONGEST) return refuse('invalid_parameter');
        const refused = refusal(one, worker);
        if (refused !== undefined || one === undefined) return refused ?? refuse('not_found');
        const { run } = one;
        if (notStarted(one) && error.class !== 'unservable') return refuse('not_started');
        if (one.status !== 'running') note(`fail from ${one.status}`);
        one.applied = true;
        spend(one, usage);
        let willRetry = false;
        if (error.class === 'unservable') {
          const { id, version } = run.program.definition;
          const ran = one.startedAt !== undefined;
          one.error = error;
          endLease(one, 'unservable');
          refusedVersions.set(`${worker} ${id}@${version}`, now + UNSERVABLE_MS);
          willRetry = !(ran && taskOf(run).delivery === 'at_most_once');
          if (willRetry) queueAgain(run, one, run.here.since);
          else {
            journal(run, 'step.failed', held(one));
            failStep(run, error);
          }
        } else {
          endLease(one, 'failed');
          willRetry = tryAgain(run, one, error, retryAfterMs);
          // The money of a failed try is looked at wherever the run would go on.
          if (willRetry) willRetry = !stopTrying(run);
        }
        return ok({ ...going(run), willRetry }, run);
      }),
    giveBack: (one: Attempt): void => {
      if (!one.live || one.status !== 'offered') return;
      note('given back');
      endLease(one, 'lapsed');
      queueAgain(one.run, one, one.run.here.since);
    },

    startRun: (
      project: string,
      definitionId: string,
      version: number | undefined,
      input: Json,
      correlation: JsonObject,
      key?: string,
      afterMs = 0,
    ): Answer =>
      inOneTurn(() => {
        const earlier = key === undefined ? undefined : runs.find((run) => run.project === project && run.key === key);
        if (earlier !== undefined) {
          note('idempotency key used again');
          return ok({ created: false }, earlier);
        }
        const program =
          version === undefined ? latestOf(definitionId) : programs.get(`${definitionId}@${version}`)?.program;
        if (program === undefined) return refuse('not_found');
        if (misfit(program, input)) return refuse('input_invalid');
        const startAt = afterMs > 0 ? now + afterMs : undefined;
        const run = newRun(program, project, input, correlation, undefined, key, startAt);
        if (startAt === undefined) begin(run);
        else {
          run.status = 'scheduled';
          run.timers.set('start_at', { dueAt: startAt });
          journal(run, 'run.waiting');
        }
        return ok({ created: true }, run);
      }),
    pause: (run: Run | undefined): Answer => {
      const answer = inOneTurn(() => {
        if (run === undefined) return refuse('not_found');
        if (isOver(run)) return refuse('run_terminal');
        if (run.paused?.by === 'call') note('paused again');
        else pauseBy(run, 'call');
        return ok({}, run);
      });
      return answer.code === 'ok' && run !== undefined ? ok({ status: shown(run) }) : answer;
    },
    resume: (run: Run | undefined): Answer => {
      const answer = inOneTurn(() => {
        if (run === undefined) return refuse('not_found');
        if (isOver(run)) return refuse('run_terminal');
        if (run.paused !== undefined) resumeNow(run);
        return ok({}, run);
      });
      return answer.code === 'ok' && run !== undefined ? ok({ status: shown(run) }) : answer;
    },
    pauseDefinition: (id: string): Answer => {
      if (latestOf(id) === undefined) return refuse('not_found');
      pausedDefinitions.add(id);
      return ok();
    },
    resumeDefinition: (id: string): Answer => {
      if (latestOf(id) === undefined) return refuse('not_found');
      if (pausedDefinitions.delete(id))
        for (const run of runs)
          inOneTurn(() => {
            if (run.program.definition.id === id) admit(run);
            return ok();
          });
      return ok();
    },
    pausedDefinitions: (): readonly string[] => [...pausedDefinitions],
    /** Whether it gets no offer because its definition is paused. */
    waitsForDefinition: (run: Run): boolean => shown(run) === 'queued' && isHeld(run),
    cancel: (run: Run | undefined): Answer =>
      inOneTurn(() => {
        if (run === undefined) return refuse('not_found');
        if (isOver(run)) note('cancel after the end');
        cancelRun(run);
        return ok({}, run);
      }),
    signal: (run: Run | undefined, event: string, payload: Json, eventId?: string): Answer =>
      inOneTurn(() => {
        if (run === undefined) return refuse('not_found');
        const id = eventId === undefined ? undefined : `${run.project} ${eventId}`;
        const before = knownId(id);
        if (before !== undefined) {
          note('event duplicate');
          return ok({ outcome: 'duplicate' }, before.taker);
        }
        if (isOver(run)) return refuse('run_terminal');
        const wait = run.waits.find((one) => one.event === event);
        if (wait === undefined) return refuse('conflict');
        if (id !== undefined) eventIds.set(id, { taker: run, at: now });
        note('signal delivered');
        deliver(run, event, wait.key, payload, wait.to);
        return ok({ outcome: 'delivered' }, run);
      }),
    /** The oldest waits for an event: one of them takes it. More than one where they opened in the same millisecond. */
    oldestWaits: (project: string, event: string, key: string): readonly Run[] => {
      const open = runs.filter(
        (run) => run.project === project && run.waits.some((one) => one.event === event && one.key === key),
      );
      const since = ({ waits }: Run): number => waits[0]?.since ?? 0;
      const oldest = Math.min(...open.map(since));
      if (open.some((run) => since(run) !== oldest)) note('the oldest of several waits');
      return open.filter((run) => since(run) === oldest);
    },
    publish: (
      project: string,
      event: string,
      key: string,
      payload: Json,
      eventId: string | undefined,
      taker: Run | undefined,
    ): Answer =>
      inOneTurn(() => {
        const id = eventId === undefined ? undefined : `${project} ${eventId}`;
        const before = knownId(id);
        if (before !== undefined) {
          note('event duplicate');
          return ok({ outcome: 'duplicate' }, before.taker);
        }
        if (id !== undefined) eventIds.set(id, { at: now, ...(taker === undefined ? {} : { taker }) });
        if (taker === undefined) {
          note('event parked');
          parked.push({ project, event, key, payload, at: now, ...(id === undefined ? {} : { id }) });
          return ok({ outcome: 'parked' });
        }
        note('event delivered');
        deliver(taker, event, key, payload, taker.waits.find((one) => one.event === event && one.key === key)?.to);
        return ok({ outcome: 'delivered' }, taker);
      }),

    /**
     * How far time may go at once. Where several timers of one tree of runs are due together, nobody says which of them is first: time then
     * goes to the first of them.
     */
    atOnce: (ms: number): number => {
      const rootOf = (run: Run): Run => (run.parent === undefined ? run : rootOf(run.parent.run));
      const due = runs.flatMap((run) =>
        [...run.timers.values()].flatMap(({ dueAt }) =>
          dueAt === undefined || dueAt <= now || dueAt > now + ms ? [] : [{ root: rootOf(run), dueAt }],
        ),
      );
      const contested = due.filter((timer) => due.some((one) => one.root === timer.root && one !== timer));
      return contested.length === 0 ? ms : Math.min(...contested.map(({ dueAt }) => dueAt)) - now;
    },
    /** Time goes on; nothing happens by itself but what `tick` does. */
    advance: (ms: number): void => {
      now += ms;
    },
    /** What each second does: leases that are over first, then timers that are due, the oldest first. */
    tick: (): void => {
      const over = runs
        .flatMap((run) => run.attempts)
        .filter((one) => one.live && Math.min(one.expiresAt, one.timeoutAt ?? Infinity) <= now);
      for (const one of over)
        inOneTurn(() => {
          if (one.live) expire(one);
          return ok();
        });
      const due = runs.flatMap((run) =>
        [...run.timers]
          .map(([name, { dueAt }]) => ({ run, name, dueAt: dueAt ?? Infinity }))
          .filter(({ dueAt }) => dueAt <= now),
      );
      for (const { run, name, dueAt } of due.toSorted((a, b) => a.dueAt - b.dueAt))
        inOneTurn(() => {
          if (run.timers.get(name)?.dueAt === dueAt) fire(run, name);
          return ok();
        });
    },
    /** The service stopped and started: leases get a whole ttl, what only memory held is forgotten. */
    reopen: (): void => {
      refusedVersions.clear();
      for (const one of runs.flatMap((run) => run.attempts))
        if (one.live) one.expiresAt = Math.max(one.expiresAt, now + config.leaseTtlMs);
    },
  };
};
export type Engine = ReturnType<typeof createEngine>;
