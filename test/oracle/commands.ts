import * as fc from 'fast-check';
import type { Json } from '../../src/model/json.ts';
import { definitions, ids, plain } from './definitions.ts';
import { type Attempt, isOver, type Run } from './engine.ts';
import { config, events, keys, type Pair, projects } from './pair.ts';

/** What fast-check remembers between commands: all of it is in the pair, so the model is empty. */
type Model = object;
type Command = fc.AsyncCommand<Model, Pair>;

const inputs: readonly Json[] = [
  { k: '1', l: [1, 2, 3], n: 1, at: '2026-03-01T12:00:09.000Z', ticket: 7, doc: 1 },
  { k: 'k', l: [], at: 'tomorrow', ticket: 7 },
  { k: '1', l: [1, 'no number'], at: '2400-01-01T00:00:00Z' },
  { k: '', l: 'no list', ticket: 7 },
  {},
];
const payloads: readonly Json[] = [{ yes: true }, 5, null];
const usages = [
  undefined,
  undefined,
  undefined,
  [{ model: 'm', inputTokens: 100, outputTokens: 50 }],
  [{ model: 'x', inputTokens: 7 }, { cost: 0.9 }],
] as const;

/** Something done to both engines; then all that they hold is compared. */
const act = <T>(
  name: string,
  value: fc.Arbitrary<T>,
  on: (pair: Pair, value: T) => Promise<void>,
): fc.Arbitrary<Command> =>
  value.map((drawn) => ({
    check: () => true,
    run: async (_model, pair) => {
      pair.engine.note(`operation ${name}`);
      await on(pair, drawn);
      await pair.compare();
    },
    toString: () => `${name}(${JSON.stringify(drawn)})`,
  }));

const nth = fc.nat(7);
const fromNewest = <T>(list: readonly T[], n: number): T | undefined => list.at(-1 - (n % (list.length + 1)));
/** Mostly one that still lives, else one that has ended, and now and then none. */
const leaseAt = (pair: Pair, n: number) =>
  n === 7 && pair.leases.length % 2 === 0
    ? undefined
    : fromNewest(
        pair.leases.filter(({ attempt }) => attempt.live === n < 5),
        n % 5,
      );
const runAt = (pair: Pair, n: number): Run | undefined => {
  const open = pair.engine.runs.filter((run) => !isOver(run));
  return n < 5 && open.length > 0 ? fromNewest(open, n) : fromNewest(pair.engine.runs, n);
};
/** Mostly one that is paused. */
const pausedAt = (pair: Pair, n: number): Run | undefined => {
  const paused = pair.engine.runs.filter((run) => run.paused !== undefined);
  return n < 6 && paused.length > 0 ? fromNewest(paused, n % paused.length) : runAt(pair, n);
};
const definitionId = fc.constantFrom(...ids, 'any', 'any', 'unknown');
const holder = (one: { readonly attempt: Attempt } | undefined, right: boolean): string =>
  right && one !== undefined ? one.attempt.worker : 'w3';
const right = fc.nat(9).map((n) => n > 0);
const worker = fc.oneof(
  { weight: 6, arbitrary: fc.constant('w1') },
  { weight: 2, arbitrary: fc.constant('w2') },
  fc.constantFrom('w3', 'w4', 'stranger'),
);
const patch = fc.constantFrom(undefined, undefined, { n: 1 }, { n: 2, wanted: 'w' }, { n: 'text' });
const error = fc.record({
  class: fc.constantFrom('retryable', 'retryable', 'rate_limited', 'fatal', 'unservable', 'mine'),
  code: fc.constantFrom(undefined, 'odd'),
});
const errorOf = ({ class: cls, code }: { class: string; code: string | undefined }) => ({
  class: cls,
  message: 'm',
  ...(code === undefined ? {} : { code }),
});
const retryAfterMs = fc.constantFrom(undefined, undefined, 0, 2_009, 5_000);
const eventId = fc.constantFrom(undefined, undefined, undefined, 'e1', 'e2');

export const registerAll = async (pair: Pair, any: Json): Promise<void> => {
  await pair.register('w1', [...definitions, any]);
  await pair.register('w2', [plain(1), any], 'q');
  await pair.register('w3', [definitions[1] ?? null, plain(1)]);
};

/** Claims everything of the newest runs, declares and ends it: so that histories come far. */
const serve = async (pair: Pair, of: number, output: Json | undefined): Promise<void> => {
  for (const lease of await pair.claim('w1', of)) {
    await pair.started(lease, 'w1');
    await pair.complete(lease, 'w1', output);
  }
};

const all = {
  start: act(
    'start',
    fc.record({
      id: fc.constantFrom(...ids, 'any', 'any', 'any'),
      input: fc.constantFrom(...inputs, inputs[0], inputs[0]),
      key: fc.constantFrom(undefined, undefined, undefined, 'key'),
      version: fc.constantFrom(undefined, undefined, 1, 2),
      project: fc.constantFrom('p', 'p', 'q'),
      afterMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 5_000, 20_000),
    }),
    (pair, { id, input, key, version, project, afterMs }) =>
      pair.start(project, id, version, input ?? {}, { user_id: 'u' }, key, afterMs),
  ),
  claim: act(
    'claim',
    fc.record({ worker, max: fc.integer({ min: 1, max: 3 }), only: fc.option(nth, { freq: 4 }) }),
    async (pair, { worker: who, max, only }) => {
      await pair.claim(who, max, only === null ? undefined : runAt(pair, only));
    },
  ),
  serve: act(
    'serve',
    fc.record({
      of: fc.integer({ min: 1, max: 4 }),
      output: fc.constantFrom<Json | undefined>(undefined, 1, { ok: true }),
    }),
    (pair, { of, output }) => serve(pair, of, output),
  ),
  begin: act('begin', worker, async (pair, who) => {
    for (const lease of await pair.claim(who, 1)) await pair.started(lease, who);
  }),
  started: act('started', fc.record({ nth, right }), (pair, { nth: n, right: mine }) => {
    const lease = leaseAt(pair, n);
    return pair.started(lease, holder(lease, mine));
  }),
  heartbeat: act(
    'heartbeat',
    fc.record({ nth, right, details: fc.constantFrom(undefined, { page: 1 }, 'half') }),
    (pair, { nth: n, right: mine, details }) => {
      const lease = leaseAt(pair, n);
      return pair.heartbeat(lease, holder(lease, mine), details);
    },
  ),
  complete: act(
    'complete',
    fc.record({
      nth,
      right,
      output: fc.constantFrom<Json | undefined>(undefined, 3, { b: [] }),
      patch,
      usage: fc.constantFrom(...usages),
    }),
    (pair, { nth: n, right: mine, output, patch: state, usage }) => {
      const lease = leaseAt(pair, n);
      return pair.complete(lease, holder(lease, mine), output, state, usage);
    },
  ),
  fail: act(
    'fail',
    fc.record({ nth, right, error, retryAfterMs, usage: fc.constantFrom(...usages) }),
    (pair, { nth: n, right: mine, error: why, retryAfterMs: later, usage }) => {
      const lease = leaseAt(pair, n);
      return pair.fail(lease, holder(lease, mine), errorOf(why), later, usage);
    },
  ),
  giveBack: act('give back', nth, (pair, n) => pair.giveBack(leaseAt(pair, n))),
  abandon: act(
    'abandon',
    fc.record({ times: fc.constantFrom(1, 1, 1, 2, 10), only: nth }),
    async (pair, { times, only }) => {
      const run = runAt(pair, only);
      for (let n = 0; n < times; n += 1) {
        for (const lease of await pair.claim('w1', 1, run)) await pair.started(lease, 'w1');
        await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
      }
    },
  ),
  publish: act(
    'publish',
    fc.record({
      project: fc.constantFrom(...projects, 'p'),
      event: fc.constantFrom(...events),
      key: fc.constantFrom(...keys),
      payload: fc.constantFrom(...payloads),
      eventId,
    }),
    (pair, { project, event, key, payload, eventId: id }) => pair.publish(project, event, key, payload, id),
  ),
  signal: act(
    'signal',
    fc.record({ nth, event: fc.constantFrom(...events), payload: fc.constantFrom(...payloads), eventId }),
    (pair, { nth: n, event, payload, eventId: id }) => pair.signal(runAt(pair, n), event, payload, id),
  ),
  cancel: act('cancel', nth, (pair, n) => pair.cancel(runAt(pair, n))),
  pause: act('pause', nth, (pair, n) => pair.pause(runAt(pair, n))),
  resume: act('resume', nth, (pair, n) => pair.resume(pausedAt(pair, n))),
  pauseDefinition: act('pause definition', definitionId, (pair, id) => pair.pauseDefinition(id)),
  resumeDefinition: act('resume definition', fc.tuple(definitionId, nth), (pair, [id, n]) =>
    pair.resumeDefinition(n < 6 ? (pair.engine.pausedDefinitions()[0] ?? id) : id),
  ),
  pass: act(
    'pass',
    fc.oneof(
      fc.integer({ min: 1, max: 4_000 }),
      fc.constantFrom(1000, 3000, 4000, 10_000),
      fc.integer({ min: 4_000, max: 30_000 }),
    ),
    (pair, ms) => pair.pass(ms),
  ),
  hop: act('hop', fc.constantFrom(9_000, 60_000, 299_000, 300_000, 24 * 3600_000 - 1, 24 * 3600_000), (pair, ms) =>
    pair.hop(ms),
  ),
  reopen: act('reopen', fc.constant(null), (pair) => pair.reopen()),
  register: act(
    'register',
    fc.record({
      who: fc.constantFrom('w3', 'w4'),
      documents: fc.constantFrom<readonly Json[]>(
        [plain(2)],
        [plain(1), plain(2)],
        [{ id: 'bad' }],
        [plain(2), { ...(plain(1) as object), output: 1 }],
      ),
    }),
    (pair, { who, documents }) => pair.register(who, documents),
  ),
};

/** How often each is drawn: most of all what makes a history come far. */
const weights: Readonly<Record<keyof typeof all, number>> = {
  start: 6,
  claim: 2,
  serve: 4,
  begin: 6,
  started: 2,
  heartbeat: 3,
  complete: 5,
  fail: 5,
  giveBack: 1,
  abandon: 1,
  publish: 4,
  signal: 2,
  cancel: 1,
  pause: 4,
  resume: 4,
  pauseDefinition: 1,
  resumeDefinition: 2,
  pass: 4,
  hop: 1,
  reopen: 1,
  register: 1,
};
export const histories = (size: number) =>
  fc.commands(
    Object.entries(weights).flatMap(([name, weight]) =>
      Array.from({ length: weight }, () => all[name as keyof typeof all]),
    ),
    { maxCommands: size, size: 'max' },
  );
