import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EvaluationOptions, type EvaluationService, startEvaluation, traceIdOf } from './evaluation-service.ts';

let service: EvaluationService;
const start = async (options: EvaluationOptions = {}): Promise<void> => {
  service = await startEvaluation(options);
};
afterEach(() => service.close());

const AT = '2026-11-20T09:00:00Z';
const record = (body: object, key?: string) =>
  service.ask('/v1/api/experiments', { body, ...(key === undefined ? {} : { key }) });
let drawn = 0;
/** Scores of one experiment through the native door. */
const send = (experimentId: string, values: readonly number[], given: object = {}): Promise<void> =>
  service.send([], {
    scores: values.map((value) => ({
      score_id: `s-${++drawn}`,
      trace_id: traceIdOf(drawn),
      scorer_id: 'grade',
      scorer_version: 'm-1',
      value,
      experiment_id: experimentId,
      ...given,
    })),
  });
const compare = (query = 'baseline=old&candidate=new', key?: string) =>
  service.ask(`/v1/api/experiments/compare?${query}`, key === undefined ? {} : { key });
/** So many values around a mean, the same each time. */
const around = (mean: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => mean + (i % 2 ? 0.1 : -0.1));

describe('POST /v1/api/experiments', () => {
  beforeEach(() => start({ redaction: { keys: ['iban'] } }));

  it('records an experiment and answers 201 with it as stored', async () => {
    const sent = { name: 'shorter prompt', dataset_id: 'd-1', service_version: '2.1.0', metadata: { prompt: 'v7' } };
    const { status, body } = await record(sent);
    expect(status).toBe(201);
    expect(body).toEqual({ ...sent, experiment_id: expect.any(String), project: 'default', created_at: AT });
    expect((await service.ask(`/v1/api/experiments/${body.experiment_id}`)).body).toEqual(body);
  });

  it('an id sent again replaces the record', async () => {
    await record({ experiment_id: 'e-1', name: 'first', metadata: { a: 1 } });
    const { status, body } = await record({ experiment_id: 'e-1', name: 'second' });
    expect([status, body]).toEqual([201, { experiment_id: 'e-1', name: 'second', project: 'default', created_at: AT }]);
    expect((await service.ask('/v1/api/experiments')).body.experiments).toEqual([body]);
  });

  it('its metadata passes redaction', async () => {
    const { text } = await record({ name: 'n', metadata: { owner: { iban: 'DE89-3704' } } });
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('3704');
  });

  it('refuses the id that the path of the comparison takes', async () => {
    const { status, body } = await record({ experiment_id: 'compare', name: 'n' });
    expect([status, body.code, body.field]).toEqual([400, 'invalid_parameter', 'experiment_id']);
  });

  it.each([
    ['{}', 422, 'missing field `name`'],
    ['{"name":"n","metadata":7}', 422, '`metadata` must be an object'],
    ['{"name":"n","hypothesis":"x"}', 422, '`hypothesis` is not known here'],
    ['nope', 400, 'the request body is not JSON'],
  ])('a body that does not decode (%s) is %i as text', async (raw, status, message) => {
    const answer = await service.ask('/v1/api/experiments', { method: 'POST', raw });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain(message);
  });

  it('pages, newest first', async () => {
    for (let i = 0; i < 3; i++) await record({ name: `n-${i}` });
    const first = (await service.ask('/v1/api/experiments?limit=2')).body;
    const second = (await service.ask(`/v1/api/experiments?limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.experiments, ...second.experiments].map(({ name }: { name: string }) => name)).toEqual([
      'n-2',
      'n-1',
      'n-0',
    ]);
  });

  it('one that is not there is 404', async () => {
    const { status, body } = await service.ask('/v1/api/experiments/none');
    expect([status, body.code]).toEqual([404, 'not_found']);
  });
});

describe('GET /v1/api/experiments/compare', () => {
  beforeEach(async () => {
    await start();
    await record({ experiment_id: 'old', name: 'before' });
    await record({ experiment_id: 'new', name: 'after' });
  });

  it('gives a per-scorer delta with the sample size on each side', async () => {
    await send('old', around(0.8, 30));
    await send('new', around(0.6, 20));
    const { status, body } = await compare();
    expect(status).toBe(200);
    expect(body).toEqual({
      baseline: 'old',
      candidate: 'new',
      scorers: [
        {
          scorer_id: 'grade',
          scorer_version: 'm-1',
          baseline: { mean: expect.closeTo(0.8, 9), count: 30, stddev: expect.closeTo(0.10171, 4) },
          candidate: { mean: expect.closeTo(0.6, 9), count: 20, stddev: expect.closeTo(0.1026, 4) },
          delta: expect.closeTo(-0.2, 9),
          p_value: expect.any(Number),
          decidable: true,
          regressed: true,
        },
      ],
      not_compared: [],
    });
    expect(body.scorers[0].p_value).toBeLessThan(1e-6);
  });

  it.each([
    [20, 20, true],
    [19, 20, false],
    [20, 19, false],
  ])(
    'with %i and %i observations `decidable` is %s, and only then something has regressed',
    async (a, b, decidable) => {
      await send('old', around(0.9, a));
      await send('new', around(0.1, b));
      expect((await compare()).body.scorers[0]).toMatchObject({ decidable, regressed: decidable });
    },
  );

  it('an improvement has not regressed, nor has a difference that chance explains', async () => {
    await send('old', around(0.5, 25));
    await send('new', around(0.6, 25));
    await send('old', around(0.5, 25), { scorer_id: 'other' });
    await send('new', around(0.49, 25), { scorer_id: 'other' });
    const { scorers } = (await compare()).body;
    expect(scorers.map(({ regressed }: { regressed: boolean }) => regressed)).toEqual([false, false]);
    expect(scorers[1].p_value).toBeGreaterThan(0.5);
  });

  it('a single score on a side has neither deviation nor p-value, and null is never sent for them', async () => {
    await send('old', [0.5]);
    await send('new', around(0.5, 25));
    const [scorer] = (await compare()).body.scorers;
    expect(scorer.baseline).toEqual({ mean: 0.5, count: 1 });
    expect(scorer).not.toHaveProperty('p_value');
    expect(scorer.decidable).toBe(false);
  });

  it('only equal scorer versions compare', async () => {
    await send('old', around(0.5, 25), { scorer_version: 'm-1' });
    await send('new', around(0.5, 25), { scorer_version: 'm-2' });
    const { body } = await compare();
    expect(body.scorers).toEqual([]);
    expect(body.not_compared).toEqual([
      { scorer_id: 'grade', scorer_version: 'm-1', side: 'baseline', count: 25 },
      { scorer_id: 'grade', scorer_version: 'm-2', side: 'candidate', count: 25 },
    ]);
  });

  it('scores that carry an id that nobody recorded compare too', async () => {
    await send('old', around(0.5, 2));
    await send('never-recorded', around(0.5, 2));
    expect((await compare('baseline=old&candidate=never-recorded')).body.scorers).toHaveLength(1);
  });

  it.each([
    ['candidate=new', 400, 'invalid_parameter', 'baseline'],
    ['baseline=old', 400, 'invalid_parameter', 'candidate'],
    ['baseline=old&candidate=none', 404, 'not_found', 'candidate'],
    ['baseline=none&candidate=new', 404, 'not_found', 'baseline'],
    ['baseline=old&candidate=new&by=mean', 400, 'invalid_parameter', 'by'],
  ])('%s is refused', async (query, status, code, field) => {
    const answer = await compare(query);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([status, code, field]);
  });
});

describe('keys and projects', () => {
  beforeEach(() =>
    start({
      keys: {
        topLevel: { read: ['r'], write: ['w'] },
        projects: { alpha: { read: ['alpha-r'], write: ['alpha-w'] } },
      },
    }),
  );

  it('an experiment and its scores are seen by the keys of its project', async () => {
    await record({ experiment_id: 'old', name: 'n' }, 'alpha-w');
    await record({ experiment_id: 'new', name: 'n' }, 'alpha-w');
    await send('old', around(0.5, 20), { correlation: { project: 'alpha' } });
    await send('new', around(0.5, 20), { correlation: { project: 'alpha' } });
    // Scores of another project that carry the same id are none of this experiment's.
    await send('new', [0, 0, 0]);
    for (const key of ['r', 'alpha-r'])
      expect((await compare(undefined, key)).body.scorers).toMatchObject([{ candidate: { count: 20 } }]);
    await record({ experiment_id: 'top', name: 'n' }, 'w');
    expect((await service.ask('/v1/api/experiments/top', { key: 'alpha-r' })).status).toBe(404);
    expect((await compare('baseline=top&candidate=new', 'alpha-r')).status).toBe(404);
    expect((await record({ name: 'n', project: 'default' }, 'alpha-w')).status).toBe(403);
    expect((await record({ name: 'n' }, 'r')).status).toBe(403);
    expect((await compare(undefined, 'w')).status).toBe(403);
    expect((await compare()).status).toBe(401);
  });
});
