import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holdTimers, shiftClock } from '../../held-timers.ts';
import { until } from '../../until.ts';
import { type FakeJudge, says, startFakeJudge } from '../../scoring/fake-judge.ts';
import {
  ago,
  aRootSpan,
  type EvaluationOptions,
  type EvaluationService,
  spanIdOf,
  startEvaluation,
  traceIdOf,
} from './evaluation-service.ts';

let service: EvaluationService;
let model: FakeJudge | undefined;
const start = async (options: EvaluationOptions = {}): Promise<void> => {
  service = await startEvaluation(options);
};
afterEach(async () => {
  await service.close();
  await model?.close();
  model = undefined;
});
const score = (body: unknown, key?: string) =>
  service.ask('/v1/api/score', { body, ...(key === undefined ? {} : { key }) });
const storedScores = async (query = '') => (await service.ask(`/v1/api/scores?limit=1000${query}`)).body.scores;
const runs = (...numbers: number[]): Promise<void> => service.send(numbers.map((n) => aRootSpan(n)));

describe('GET /v1/api/scorers', () => {
  it('lists the thirteen built-in scorers with a `needs_config` flag, and no configured criteria', async () => {
    model = await startFakeJudge();
    await start({ judge: judgeOf(model) });
    const { status, body } = await service.ask('/v1/api/scorers');
    expect(status).toBe(200);
    expect(body.scorers).toHaveLength(13);
    expect(
      body.scorers
        .filter((one: { needs_config: boolean }) => one.needs_config)
        .map((one: { scorer_id: string }) => one.scorer_id),
    ).toEqual(['span_present', 'tool_succeeded']);
    expect(body.scorers[2]).toEqual({
      scorer_id: 'exact_match',
      scorer_version: '1',
      description: 'the answer equals the expected one',
      declines: expect.any(String),
      needs_config: false,
      config: ['expected', 'case_sensitive'],
    });
  });
});

describe('POST /v1/api/score', () => {
  it('runs the deterministic scorers that need no configuration over the newest runs, and stores what they say', async () => {
    await start();
    await service.send([
      aRootSpan(1, { correlation: { environment: 'prod', user_id: 'u', tags: ['a'] } }),
      aRootSpan(2, { output: '' }),
    ]);
    const { status, body } = await score({ config: { max_ms: 400 } });
    expect(status).toBe(200);
    const of = (n: number) => body.scores.filter((one: { trace_id: string }) => one.trace_id === traceIdOf(n));
    expect(of(1).map((one: { scorer_id: string; value: number }) => [one.scorer_id, one.value])).toEqual([
      ['answered', 1],
      ['no_errors', 1],
      ['json_valid', 0],
      ['latency_budget', 0],
      ['no_tool_loop', 1],
      ['not_a_refusal', 1],
      ['no_leaked_secret', 1],
    ]);
    expect(of(2)[0]).toMatchObject({ scorer_id: 'answered', value: 0, reason: 'the answer of the run is empty' });
    expect(of(1)[0]).toMatchObject({
      source: 'offline',
      scorer_version: '1',
      min: 0,
      max: 1,
      correlation: { project: 'default', environment: 'prod', tags: ['a'] },
    });
    // For every run and scorer there is either a score or an entry of `skipped`.
    expect(body.scores.length + body.skipped.length).toBe(2 * 11);
    expect(body.scores_written).toBe(body.scores.length);
    expect(body.skipped).toContainEqual({
      trace_id: traceIdOf(1),
      scorer_id: 'cost_budget',
      reason: '`config.max_cost` is not set',
    });
    expect(body).not.toHaveProperty('cut_short');
    expect(await storedScores()).toHaveLength(body.scores_written);
  });

  it('a cancelled run neither succeeded nor failed: what judges success skips it, what looks for something bad does not', async () => {
    await start();
    await service.send([
      aRootSpan(1, { attributes: { 'svc.run.status': 'cancelled' }, output: 'so far', kind: 'workflow_run' }),
    ]);
    const config = {
      max_ms: 400,
      max_cost: 1,
      max_tool_calls: 1,
      expected: 'x',
      span_kind: 'tool_call',
      tool_name: 'pay',
    };
    const { body: listed } = await service.ask('/v1/api/scorers');
    const scorers = listed.scorers.map((one: { scorer_id: string }) => one.scorer_id);
    const { body } = await score({ config, scorers, dry_run: true });
    expect(body.scores.map((one: { scorer_id: string }) => one.scorer_id)).toEqual([
      'no_tool_loop',
      'tool_efficiency',
      'not_a_refusal',
      'no_leaked_secret',
    ]);
    const why = 'the run was cancelled: it neither succeeded nor failed';
    expect(
      body.skipped
        .filter((one: { reason: string }) => one.reason === why)
        .map((one: { scorer_id: string }) => one.scorer_id),
    ).toEqual([
      ...['answered', 'no_errors', 'exact_match', 'contains', 'json_valid', 'latency_budget'],
      ...['span_present', 'tool_succeeded'],
    ]);
  });

  it('`dry_run` stores nothing', async () => {
    await start();
    await runs(1);
    const { body } = await score({ dry_run: true, scorers: ['answered'] });
    expect(body).toMatchObject({ scores: [{ scorer_id: 'answered', value: 1 }], scores_written: 0, skipped: [] });
    expect(await storedScores()).toEqual([]);
  });

  it('scoring a run again replaces its score', async () => {
    await start();
    await runs(1);
    const ask = { scorers: ['latency_budget'] };
    const first = await score({ ...ask, config: { max_ms: 1 } });
    const second = await score({ ...ask, config: { max_ms: 10_000 } });
    expect(second.body.scores[0].score_id).toBe(first.body.scores[0].score_id);
    expect(await storedScores()).toMatchObject([{ value: 1 }]);
  });

  it('gives scores a UUIDv7 whose time is the start of the run, so that they sort as their runs do', async () => {
    await start();
    const startedAt = ago(3600);
    await service.send([aRootSpan(1, { start_time: startedAt })]);
    const { body } = await score({ scorers: ['answered'] });
    const { score_id: id } = body.scores[0];
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.parse(startedAt));
  });

  it('leaves a score that a client sent under the same scorer and version alone', async () => {
    await start();
    await runs(1);
    const sent = { trace_id: traceIdOf(1), scorer_id: 'answered', scorer_version: '1', source: 'offline', value: 0 };
    await service.ask('/v1/api/scores', { body: sent });
    for (const _call of ['first', 'second']) await score({ scorers: ['answered'] });
    expect((await storedScores()).map(({ value }: { value: number }) => value).toSorted()).toEqual([0, 1]);
  });

  it('scoring a run again replaces its score, also when an earlier span of the run arrived late in between', async () => {
    await start();
    const child = { span_id: spanIdOf(77), parent_span_id: spanIdOf(1), name: 'call', start_time: ago(0.9) };
    await service.send([aRootSpan(1, child)]);
    const first = await score({ scorers: ['answered', 'no_errors'] });
    await service.send([aRootSpan(1)]);
    const second = await score({ scorers: ['answered', 'no_errors'] });
    const ids = ({ body }: typeof first) => body.scores.map((one: { score_id: string }) => one.score_id);
    expect(ids(second)).toEqual(ids(first));
    expect(await storedScores()).toHaveLength(2);
  });

  describe('chooses', () => {
    const chosen = async (body: object): Promise<string[]> =>
      (await score({ scorers: ['answered'], ...body })).body.scores.map((one: { trace_id: string }) =>
        Number.parseInt(one.trace_id, 16),
      );

    beforeEach(async () => {
      await start();
      await runs(...Array.from({ length: 9 }, (_, i) => i + 1));
      await service.send([aRootSpan(20, { correlation: { project: 'other' } })]);
    });

    it('exactly `trace_ids` if given, each once', async () =>
      expect(await chosen({ trace_ids: [7, 3, 7].map(traceIdOf), limit: 1 })).toEqual([7, 3]));
    it('else the newest `limit` runs of the project, newest first', async () => {
      expect(await chosen({ limit: 3 })).toEqual([1, 2, 3]);
      expect(await chosen({})).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(await chosen({ project: 'other' })).toEqual([20]);
    });
    it('bounded by `from`: runs started at or after it', async () => {
      expect(await chosen({ from: ago(4) })).toEqual([1, 2, 3, 4]);
      expect(await chosen({ from: '-2s' })).toEqual([1, 2]);
    });
    it('nothing from an empty list', async () => expect(await chosen({ trace_ids: [] })).toEqual([]));
    it('and says of a run that the project does not hold that it does not', async () =>
      expect((await score({ trace_ids: [traceIdOf(20)], scorers: ['answered', 'no_errors'] })).body).toEqual({
        scores: [],
        scores_written: 0,
        skipped: ['answered', 'no_errors'].map((scorer_id) => ({
          trace_id: traceIdOf(20),
          scorer_id,
          reason: `no run ${traceIdOf(20)} is stored in project "default"`,
        })),
      }));
  });

  it('takes the expected answer of the newest captured case, else the configured one', async () => {
    await start();
    await runs(1, 2);
    await service.ask('/v1/api/datasets', { body: { name: 'golden' } });
    await service.ask('/v1/api/datasets/golden/capture', {
      body: { trace_ids: [traceIdOf(1)], use_output_as_expected: true },
    });
    const { body } = await score({ scorers: ['exact_match'] });
    expect(body.scores).toMatchObject([{ trace_id: traceIdOf(1), value: 1 }]);
    expect(body.skipped).toMatchObject([
      { trace_id: traceIdOf(2), reason: expect.stringContaining('no expected answer') },
    ]);
    expect((await score({ scorers: ['exact_match'], config: { expected: 'answer 2' } })).body.scores).toMatchObject([
      { trace_id: traceIdOf(1), value: 0 },
      { trace_id: traceIdOf(2), value: 1 },
    ]);
  });

  it('scores of a run in an experiment carry its id', async () => {
    await start();
    await service.send([aRootSpan(1, { correlation: { experiment_id: 'e-1' } })]);
    await score({ scorers: ['answered'] });
    expect(await storedScores('&experiment_id=e-1')).toMatchObject([{ scorer_id: 'answered', experiment_id: 'e-1' }]);
  });

  it('never repeats the secret that it found, neither to the caller nor in the store', async () => {
    await start();
    const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    await service.send([aRootSpan(1, { output: `Take ${secret}.` })]);
    const answer = await score({ scorers: ['no_leaked_secret'] });
    expect(answer.body.scores).toMatchObject([{ value: 0, reason: 'the answer holds a GitHub token' }]);
    expect(answer.text + JSON.stringify(await storedScores()) + service.logged.join('')).not.toContain(secret);
  });

  describe('refuses', () => {
    beforeEach(async () => {
      model = await startFakeJudge();
      await start({ judge: judgeOf(model) });
      await runs(1);
    });

    it('an unknown scorer, listing built-ins and configured criteria together', async () => {
      const { status, body } = await score({ scorers: ['answered', 'helpful'] });
      expect([status, body.code, body.field]).toEqual([400, 'unknown_scorer', 'scorers']);
      for (const id of ['helpful', 'answered', 'tool_succeeded', 'polite', 'factual'])
        expect(body.message).toContain(id);
      expect(await storedScores()).toEqual([]);
    });

    it('an unknown key of `config`, naming it', async () => {
      const { status, body } = await score({ config: { max_millis: 5 } });
      expect([status, body.code, body.field]).toEqual([400, 'invalid_parameter', 'config.max_millis']);
      expect(body.message).toContain('"max_millis"');
      expect(body.message).toContain('max_ms');
    });

    it.each([
      ['a body that is not JSON', '{"limit":', 400, 'the request body is not JSON'],
      ['no body', '', 400, 'the request body is not JSON'],
      ['a limit of another type', '{"limit":"9"}', 422, '`limit` must be an integer'],
      ['a limit of zero', '{"limit":0}', 422, '`limit` must be at least 1'],
      ['a limit over the bound', '{"limit":10001}', 422, '`limit` must be at most 10000'],
      ['a field it does not know, such as a misspelled one', '{"trace_id":"x"}', 422, '`trace_id` is not known here'],
      ['a budget that is no number', '{"config":{"max_ms":"5"}}', 422, '`config.max_ms` must be a number'],
      ['a kind that spans do not have', '{"config":{"span_kind":"tool"}}', 422, '`config.span_kind` must be one of'],
      ['no scorer at all', '{"scorers":[]}', 422, '`scorers`'],
    ])('%s, as text', async (_name, raw, status, message) => {
      const answer = await service.ask('/v1/api/score', { method: 'POST', raw });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain; charset=utf-8']);
      expect(answer.text).toContain(message);
    });

    it.each([
      [{ trace_ids: ['0'.repeat(32)] }, 'invalid_id', 'trace_ids'],
      [{ trace_ids: [traceIdOf(1), 'xyz'] }, 'invalid_id', 'trace_ids'],
      [{ from: 'yesterday' }, 'invalid_parameter', 'from'],
    ])('%j', async (body, code, field) => {
      const answer = await score(body);
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, code, field]);
    });
  });

  it('a score that would exceed the ceiling is not stored and is listed in `skipped`', async () => {
    await start({ quota: { projects: { default: 5 } } });
    await runs(1, 2);
    const { status, body } = await score({ scorers: ['answered', 'no_errors'] });
    expect(status).toBe(200);
    expect(body.scores_written).toBe(3);
    expect(body.skipped).toEqual([
      {
        trace_id: traceIdOf(2),
        scorer_id: 'no_errors',
        reason: expect.stringContaining('ceiling of 5 signals a minute'),
      },
    ]);
    expect(await storedScores()).toHaveLength(3);
  });

  it('needs the write scope, and a project in reach', async () => {
    const keys = {
      topLevel: { read: ['r'], write: ['w'] },
      projects: { alpha: { write: ['alpha-w'], read: ['alpha-r'] } },
    };
    await start({ keys });
    await service.send([aRootSpan(1, { correlation: { project: 'alpha' } }), aRootSpan(2)]);
    const ask = { scorers: ['answered'] };
    expect((await score(ask)).status).toBe(401);
    expect((await score(ask, 'r')).status).toBe(403);
    expect((await score(ask, 'w')).body.scores).toMatchObject([{ trace_id: traceIdOf(2) }]);
    expect((await score(ask, 'alpha-w')).body.scores).toMatchObject([{ trace_id: traceIdOf(1) }]);
    const beyond = await score({ ...ask, project: 'default' }, 'alpha-w');
    expect([beyond.status, beyond.body.code, beyond.body.field]).toEqual([403, 'forbidden', 'project']);
    // A run of another project is not there for it, whatever its id.
    expect((await score({ ...ask, trace_ids: [traceIdOf(2)] }, 'alpha-w')).body.scores).toEqual([]);
    expect(await service.audited()).toEqual([
      'score_runs default refused',
      'score_runs default refused',
      'score_runs default allowed',
      'score_runs alpha allowed',
      'score_runs default refused',
      'score_runs alpha allowed',
    ]);
  });

  it('reads a thousand runs a few at a time', async () => {
    await start();
    await service.send(Array.from({ length: 1_000 }, (_, i) => aRootSpan(i + 1)));
    const { body } = await score({ scorers: ['answered', 'no_errors'] });
    expect(body.scores_written).toBe(2_000);
    expect(await storedScores('&scorer_id=answered')).toHaveLength(1_000);
  });
});

const KEY = 'judge-key-4711-do-not-show';
const judgeOf = (fake: FakeJudge, timeoutSeconds = 10) => ({
  endpoint: fake.url,
  model: 'gpt-4o-mini',
  apiKey: KEY,
  timeoutSeconds,
  criteria: { polite: 'Is the answer polite?', factual: 'Is the answer true?' },
});

describe('a judged pass', () => {
  const startJudged = async (
    options: EvaluationOptions & { readonly timeoutSeconds?: number } = {},
  ): Promise<FakeJudge> => {
    model = await startFakeJudge();
    await start({ judge: judgeOf(model, options.timeoutSeconds), ...options });
    return model;
  };

  it('runs only when named', async () => {
    const fake = await startJudged();
    await runs(1);
    await score({});
    expect(fake.calls).toEqual([]);
  });

  it('is one model call per run and scorer; the judge model is the version, the cost is on the score', async () => {
    const fake = await startJudged();
    await runs(1);
    fake.behave(says('{"value": 0.5, "reason": "curt"}', { usage: { prompt_tokens: 1_000, completion_tokens: 10 } }));
    const { body } = await score({ scorers: ['polite', 'answered'], trace_ids: [traceIdOf(1)] });
    expect(fake.calls).toHaveLength(1);
    expect(body.scores.map((one: { scorer_id: string }) => one.scorer_id)).toEqual(['answered', 'polite']);
    const stored = (await storedScores('&scorer_id=polite'))[0];
    expect(stored).toMatchObject({
      scorer_version: 'gpt-4o-mini',
      value: 0.5,
      min: 0,
      max: 1,
      reason: 'curt',
      source: 'offline',
      cost: { currency: 'USD', is_estimated: true, price_book_id: 'builtin' },
    });
    expect(stored.cost.total_cost).toBeCloseTo(0.000156, 9);
  });

  it('a request naming more runs than fit is refused with 400 naming the cap before any model call', async () => {
    const fake = await startJudged();
    await runs(1, 2, 3, 4);
    for (const more of [{ limit: 4 }, { trace_ids: [1, 2, 3, 4].map(traceIdOf) }]) {
      const { status, body } = await score({ scorers: ['polite'], ...more });
      expect([status, body.code, body.field]).toEqual([400, 'cap_exceeded', Object.keys(more)[0]]);
      expect(body.message).toContain('at most 3 runs fit');
    }
    expect((await score({ scorers: ['polite', 'factual'], limit: 2 })).body.message).toContain('at most 1 run fits');
    expect(fake.calls).toEqual([]);
    expect((await score({ scorers: ['polite'], limit: 3 })).body.scores_written).toBe(3);
  });

  it('with `limit` omitted it grades as many newest runs as fit', async () => {
    const fake = await startJudged();
    await runs(1, 2, 3, 4, 5);
    const { body } = await score({ scorers: ['polite'] });
    expect(body.scores.map((one: { trace_id: string }) => one.trace_id)).toEqual([1, 2, 3].map(traceIdOf));
    expect(fake.calls).toHaveLength(3);
  });

  it('is refused where not even one run fits', async () => {
    const fake = await startJudged({ timeoutSeconds: 31 });
    const { status, body } = await score({ scorers: ['polite'] });
    expect([status, body.code]).toEqual([400, 'cap_exceeded']);
    expect(body.message).toContain('at most 0 runs fit');
    expect(fake.calls).toEqual([]);
  });

  it('each judged score is stored as soon as the model answers', async () => {
    const fake = await startJudged();
    await runs(1, 2);
    const storedAtCall: number[] = [];
    fake.behave((reply, call) => {
      const answer = async (): Promise<void> => {
        storedAtCall.push((await storedScores()).length);
        says('{"value": 1}')(reply, call);
      };
      void answer();
    });
    await score({ scorers: ['polite'], limit: 2 });
    expect(storedAtCall).toEqual([0, 1]);
  });

  it('a cancelled run is not judged, and no call is made', async () => {
    const fake = await startJudged();
    await service.send([aRootSpan(1, { attributes: { 'svc.run.status': 'cancelled' } })]);
    const { body } = await score({ scorers: ['polite'], limit: 1 });
    expect(body.skipped).toMatchObject([{ reason: 'the run was cancelled: it neither succeeded nor failed' }]);
    expect(fake.calls).toHaveLength(0);
  });

  it('a run without an answer is declined without a call; one decline does not stop the others', async () => {
    const fake = await startJudged();
    await service.send([aRootSpan(1, { output: '' }), aRootSpan(2), aRootSpan(3)]);
    let calls = 0;
    fake.behave((reply, call) =>
      calls++ === 0 ? void reply.writeHead(500).end('no') : says('{"value": 1}')(reply, call),
    );
    const { status, body } = await score({ scorers: ['polite'], limit: 3 });
    expect(status).toBe(200);
    expect(body.skipped).toEqual([
      { trace_id: traceIdOf(1), scorer_id: 'polite', reason: 'the run has no answer' },
      { trace_id: traceIdOf(2), scorer_id: 'polite', reason: 'the judge answered status 500: no' },
    ]);
    expect(body.scores).toMatchObject([{ trace_id: traceIdOf(3), value: 1 }]);
  });

  it('over the ceiling a judged score is not stored and is listed in `skipped`', async () => {
    await startJudged({ quota: { projects: { default: 3 } } });
    await runs(1, 2);
    const { body } = await score({ scorers: ['polite'], limit: 2 });
    expect(body.scores_written).toBe(1);
    expect(body.skipped).toMatchObject([{ trace_id: traceIdOf(2), reason: expect.stringContaining('ceiling of 3') }]);
  });

  it('answers with what was finished when the deadline comes, not 503', async () => {
    const fake = await startJudged({ requestTimeoutSeconds: 400, timeoutSeconds: 200 });
    await runs(1, 2);
    // The second call may take what is left of the request, which is less than its own timeout.
    const secondCall = holdTimers((ms) => ms > 140_000 && ms < 149_000);
    const letPass = shiftClock();
    let calls = 0;
    fake.behave((reply, call) => {
      calls += 1;
      if (calls > 1) return;
      letPass(250_000);
      says('{"value": 1}')(reply, call);
    });
    const scored = score({ scorers: ['polite'], limit: 2 });
    await until(() => calls === 2);
    expect(secondCall.armed()).toBe(1);
    secondCall.fire();
    const { status, body } = await scored;
    expect(status).toBe(200);
    expect(body.scores).toMatchObject([{ trace_id: traceIdOf(1) }]);
    expect(body.skipped).toEqual([
      { trace_id: traceIdOf(2), scorer_id: 'polite', reason: 'the request deadline leaves no time' },
    ]);
  });

  it('sends the run between marks, with its input, and the expected answer where there is one', async () => {
    const fake = await startJudged();
    await service.send([aRootSpan(1, { output: 'return 1' })]);
    await score({ scorers: ['polite'], limit: 1, config: { expected: 'Friday' } });
    const content = fake.calls[0]?.body.messages[1].content as string;
    expect(content).toMatch(/<<<input \w+>>>\n\{"question":"question 1"\}\n<<<end of input/);
    expect(content).toMatch(/<<<answer \w+>>>\nreturn 1\n<<<end of answer/);
    expect(content).toMatch(/<<<expected answer \w+>>>\nFriday\n<<<end of expected answer/);
  });

  it('`dry_run` asks the model and stores nothing', async () => {
    await startJudged();
    await runs(1);
    const { body } = await score({ scorers: ['polite'], limit: 1, dry_run: true });
    expect(body).toMatchObject({ scores: [{ value: 1 }], scores_written: 0 });
    expect(await storedScores()).toEqual([]);
  });

  it('never shows its key: not in an answer, not in a log', async () => {
    const fake = await startJudged();
    await runs(1);
    fake.behave((reply) => void reply.writeHead(401).end(`Incorrect API key provided: ${KEY}`));
    const answer = await score({ scorers: ['polite'], limit: 1 });
    expect(answer.text).toContain('status 401');
    expect(answer.text + service.logged.join('')).not.toContain(KEY);
  });

  it('knows spans, not only roots: the last model output is the answer of a run whose root has none', async () => {
    const fake = await startJudged();
    await service.send([
      aRootSpan(1, { output: undefined }),
      {
        ...aRootSpan(1, {
          span_id: spanIdOf(900),
          parent_span_id: spanIdOf(1),
          kind: 'model_generation',
          output: 'said by the model',
        }),
      },
    ]);
    await score({ scorers: ['polite'], limit: 1 });
    expect(fake.calls[0]?.body.messages[1].content).toContain('said by the model');
  });
});
