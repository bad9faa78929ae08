import { afterEach, describe, expect, it } from 'vitest';
import { MONITOR_MACHINE_VERSION, monitorMachine } from '../../../src/machines/monitor.ts';
import { SLO_MACHINE_VERSION, sloMachine } from '../../../src/machines/slo.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../../src/model/time.ts';
import type { MonitorReading, RunShare, SloReading } from '../../../src/model/watch.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { createMemoryWatchJournal } from '../../../src/store/runs/memory/watch-journal.ts';
import type { WatchStore } from '../../../src/store/signals/watch.ts';
import { aMonitor, anSlo, createFakeSignals, createWatchHarness } from '../../watch/watch-harness.ts';
import { modelPaths, type Watching } from '../../machines/watch-rows.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

let service: Service | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});
type Harness = ReturnType<typeof createWatchHarness>;
const serve = async ({ watchers }: Harness, more: ServiceOptions = {}): Promise<Service['ask']> =>
  (service = await startService({ watchers, ...more })).ask;

const at = (ms: number) => formatTimestamp(unixNanoFromMillis(ms));

describe('GET /v1/api/monitors', () => {
  it('returns each monitor with its condition, last reading and trip time', async () => {
    const harness = createWatchHarness({
      monitors: [
        aMonitor({ project: 'default', webhook: 'https://user:s3cret@hooks.test/services/s3cret?key=s3cret' }),
        aMonitor({
          id: 'answers',
          name: 'answers',
          project: 'default',
          watch: 'score_mean',
          scorerId: 'answered',
          compare: 'below',
        }),
      ],
    });
    harness.now.failed = 50;
    await harness.tick();
    const ask = await serve(harness);
    const answer = await ask('/v1/api/monitors');
    expect(answer.body).toEqual({
      monitors: [
        {
          id: 'answers',
          name: 'answers',
          project: 'default',
          enabled: true,
          watch: 'score_mean',
          scorer_id: 'answered',
          compare: 'below',
          threshold: 0.1,
          window_seconds: 300,
          min_samples: 20,
          condition: 'nominal',
          samples: 0,
          detail:
            'score_mean of answered has no value over 0 scores of the last 5 min, reports when below 0.1; fewer than min_samples 20, so the condition stays',
          evaluated_at: at(harness.time.now()),
        },
        {
          id: 'errors',
          name: 'Errors of the refund bot',
          project: 'default',
          webhook: 'https://hooks.test',
          enabled: true,
          watch: 'error_rate',
          compare: 'above',
          threshold: 0.1,
          window_seconds: 300,
          min_samples: 20,
          condition: 'tripped',
          value: 0.5,
          samples: 100,
          detail: 'error_rate is 0.5 over 100 runs of the last 5 min, reports when above 0.1',
          evaluated_at: at(harness.time.now()),
          tripped_at: at(harness.time.now()),
        },
      ],
    });
    expect(answer.text).not.toContain('s3cret');
  });

  it('before its first evaluation a monitor has neither a value nor a time', async () => {
    const ask = await serve(createWatchHarness({ monitors: [aMonitor({ project: 'default' })] }));
    const [monitor] = (await ask('/v1/api/monitors')).body.monitors;
    expect(monitor).toMatchObject({ condition: 'nominal', samples: 0, detail: 'not evaluated yet' });
    expect(['value', 'evaluated_at', 'tripped_at'].filter((name) => name in monitor)).toEqual([]);
  });

  it('is filtered by project and paged by id', async () => {
    const harness = createWatchHarness({
      monitors: ['e', 'b', 'd', 'a', 'c'].map((id) => aMonitor({ id, project: id === 'd' ? 'other' : 'default' })),
    });
    const ask = await serve(harness);
    const seen: string[][] = [];
    let cursor: string | undefined;
    do {
      const next: string = cursor === undefined ? '' : `&cursor=${cursor}`;
      const { body } = await ask(`/v1/api/monitors?limit=2${next}`);
      seen.push(body.monitors.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([
      ['a', 'b'],
      ['c', 'e'],
    ]);
    expect((await ask('/v1/api/monitors?project=*')).body.monitors).toHaveLength(5);
    expect((await ask('/v1/api/monitors?project=other')).body.monitors).toHaveLength(1);
  });

  it.each(['window=1', 'limit=0', 'limit=1001', 'cursor=x'])('refuses ?%s', async (query) => {
    const ask = await serve(createWatchHarness());
    const answer = await ask(`/v1/api/monitors?${query}`);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([
      400,
      'invalid_parameter',
      query.split('=')[0],
    ]);
  });
});

describe('GET /v1/api/slos', () => {
  it('returns each objective with its success rate, budget_remaining (may be negative) and two burn rates', async () => {
    const harness = createWatchHarness({ slos: [anSlo({ project: 'default' })] });
    harness.now.failed = 10;
    await harness.tick();
    const ask = await serve(harness);
    expect((await ask('/v1/api/slos')).body).toEqual({
      slos: [
        {
          id: 'works',
          name: 'Refunds work',
          project: 'default',
          objective: 0.995,
          window_days: 30,
          min_samples: 20,
          condition: 'tripped',
          success_rate: 0.9,
          samples: 100,
          budget_remaining: -19,
          burn_rate_1h: 20,
          burn_rate_6h: 20,
          detail:
            'burn rate 20 over 1 h (100 runs) and burn rate 20 over 6 h (100 runs), reports when above 14.4 and 6; 90 % of 100 runs succeeded in 30 d, objective 99.5 %',
          evaluated_at: at(harness.time.now()),
          tripped_at: at(harness.time.now()),
        },
      ],
    });
  });

  it('of no runs says nothing that it does not know', async () => {
    const harness = createWatchHarness({ slos: [anSlo({ project: 'default' })] });
    harness.now.runs = 0;
    await harness.tick();
    const [slo] = (await (await serve(harness))('/v1/api/slos')).body.slos;
    expect(slo).toMatchObject({ condition: 'nominal', samples: 0 });
    for (const name of ['success_rate', 'budget_remaining', 'burn_rate_1h', 'burn_rate_6h'])
      expect(slo).not.toHaveProperty(name);
  });
});

describe('acknowledging over HTTP', () => {
  it('tells what is wrong: 404 unknown, 409 not tripped, 403 of another project, 400 for what is no id', async () => {
    const harness = createWatchHarness({
      monitors: [aMonitor({ project: 'shop' })],
      slos: [anSlo({ project: 'shop' })],
    });
    const keys = { topLevel: { write: ['w'], read: ['r'] }, projects: { other: { write: ['o'] } } };
    const ask = await serve(harness, { keys });
    const ack = async (path: string, key?: string) => {
      const answer = await ask(path, { method: 'POST', ...(key === undefined ? {} : { key }) });
      return [answer.status, answer.body.code];
    };
    expect([
      await ack('/v1/api/monitors/nobody/ack', 'w'),
      await ack('/v1/api/slos/errors/ack', 'w'),
      await ack('/v1/api/monitors/errors/ack', 'w'),
      await ack('/v1/api/slos/works/ack', 'w'),
      await ack('/v1/api/monitors/errors/ack', 'o'),
      await ack('/v1/api/monitors/errors/ack', 'r'),
      await ack('/v1/api/monitors/errors/ack'),
      await ack('/v1/api/monitors/%20/ack', 'w'),
    ]).toEqual([
      [404, 'not_found'],
      [404, 'not_found'],
      [409, 'conflict'],
      [409, 'conflict'],
      [403, 'forbidden'],
      [403, 'forbidden'],
      [401, 'unauthorized'],
      [400, 'invalid_parameter'],
    ]);
  });

  it('answers with the monitor as it stands, and the same again', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor({ project: 'default' })] });
    harness.now.failed = 50;
    await harness.tick();
    const ask = await serve(harness);
    harness.time.advance(1500);
    const first = await ask('/v1/api/monitors/errors/ack', { method: 'POST' });
    expect([first.status, first.body.condition, first.body.acknowledged_at]).toEqual([
      200,
      'acknowledged',
      at(harness.time.now()),
    ]);
    harness.time.advance(1500);
    expect((await ask('/v1/api/monitors/errors/ack', { method: 'POST' })).body).toEqual(first.body);
  });
});

describe('paths that the machines generate, played through timer and HTTP', () => {
  /** A store that answers what the reading of an event says, or is away. */
  const playing = (reading: () => RunShare | undefined): WatchStore => ({
    ...createFakeSignals().signals,
    runTotals: async () => {
      const share = reading();
      if (share === undefined) throw new StoreUnavailable('away');
      return { ...share, cancelled: 0 };
    },
  });
  const shareOf = ({ value = 0, samples }: MonitorReading): RunShare => ({
    runs: samples,
    failed: Math.round(value * samples),
  });
  const monitorPaths: Watching<MonitorReading> = {
    machine: monitorMachine,
    version: MONITOR_MACHINE_VERSION,
    rule: { compare: 'above', threshold: 0.1, minSamples: 20 },
    outside: { value: 0.5, samples: 20 },
    inside: { value: 0.1, samples: 20 },
    fewOutside: { value: 1, samples: 19 },
    fewInside: { value: 0, samples: 19 },
  };
  const alike = (runs: number, failed: number): SloReading => ({
    window: { runs, failed },
    hour: { runs, failed },
    sixHours: { runs, failed },
  });
  const sloPaths: Watching<SloReading> = {
    machine: sloMachine,
    version: SLO_MACHINE_VERSION,
    rule: { objective: 0.995, minSamples: 20 },
    outside: alike(20, 2),
    inside: alike(20, 1),
    fewOutside: alike(19, 19),
    fewInside: alike(19, 0),
  };
  const cases = [
    ...modelPaths(monitorPaths).map((path) => ({
      ...path,
      plural: 'monitors',
      id: 'errors',
      shares: path.events.map((event) => (event.type === 'evaluation.ended' ? shareOf(event.reading) : undefined)),
    })),
    ...modelPaths(sloPaths).map((path) => ({
      ...path,
      plural: 'slos',
      id: 'works',
      shares: path.events.map((event) => (event.type === 'evaluation.ended' ? event.reading.hour : undefined)),
    })),
  ];

  it.each(cases)('$plural: $from, then $what: $to', async ({ events, shares, from, to, plural, id, isTaken }) => {
    let share: RunShare | undefined;
    const harness = createWatchHarness({
      monitors: [aMonitor({ project: 'default' })],
      slos: [anSlo({ project: 'default' })],
      signals: playing(() => share),
    });
    const ask = await serve(harness);
    const condition = async () => (await ask(`/v1/api/${plural}`)).body[plural][0].condition;
    for (const [index, { type }] of events.entries()) {
      const isLast = index === events.length - 1;
      if (isLast) expect(await condition()).toBe(from);
      if (type === 'trip.acknowledged') {
        const { status } = await ask(`/v1/api/${plural}/${id}/ack`, { method: 'POST' });
        // A repeated acknowledgement is no error for the one who sends it.
        expect([from, status]).toEqual([from, !isLast || isTaken || from === 'acknowledged' ? 200 : 409]);
      } else {
        share = shares[index];
        await harness.tick();
      }
    }
    expect(await condition()).toBe(to);
    const { body } = await ask(`/v1/api/${plural}/${id}/history`);
    expect(body.evaluations).toHaveLength(events.filter(({ type }) => type !== 'trip.acknowledged').length);
  });
});

describe('histories', () => {
  it('of a monitor: newest first, in pages, also where nothing could be read', async () => {
    const { signals } = createFakeSignals();
    let isAway = false;
    const harness = createWatchHarness({
      monitors: [aMonitor({ project: 'default' })],
      signals: {
        ...signals,
        runTotals: (window) => (isAway ? Promise.reject(new StoreUnavailable('away')) : signals.runTotals(window)),
      },
    });
    await harness.tick();
    isAway = true;
    await harness.tick();
    isAway = false;
    await harness.tick();
    const ask = await serve(harness);
    const first = await ask('/v1/api/monitors/errors/history?limit=2');
    const now = harness.time.now();
    const detail = 'error_rate is 0 over 100 runs of the last 5 min, reports when above 0.1';
    expect(first.body.evaluations).toEqual([
      { evaluated_at: at(now), condition: 'nominal', detail, value: 0, samples: 100 },
      { evaluated_at: at(now - 60_000), condition: 'nominal', detail: 'nothing was read: the store is unavailable' },
    ]);
    // A page is by position: what is evaluated meanwhile neither shifts nor repeats it.
    await harness.tick();
    const second = await ask(`/v1/api/monitors/errors/history?limit=2&cursor=${first.body.next_cursor}`);
    expect(second.body).toEqual({
      evaluations: [{ evaluated_at: at(now - 120_000), condition: 'nominal', detail, value: 0, samples: 100 }],
      transitions: [],
    });
    const other = await ask(`/v1/api/monitors/errors/history?cursor=${String(first.body.next_cursor).slice(1)}`);
    expect([other.status, other.body.field]).toEqual([400, 'cursor']);
  });

  it('of an SLO: rates, budget and burn of each evaluation', async () => {
    const harness = createWatchHarness({ slos: [anSlo({ project: 'default' })] });
    harness.now.failed = 1;
    await harness.tick();
    const ask = await serve(harness);
    expect((await ask('/v1/api/slos/works/history')).body.evaluations).toMatchObject([
      {
        condition: 'nominal',
        samples: 100,
        success_rate: 0.99,
        budget_remaining: -1,
        burn_rate_1h: 2,
        burn_rate_6h: 2,
      },
    ]);
  });

  it('hold every transition, newest first: the start, what tripped it, who knew, what ended it', async () => {
    const harness = createWatchHarness({
      monitors: [aMonitor({ project: 'default' })],
      slos: [anSlo({ project: 'default' })],
    });
    const from = harness.time.now();
    await harness.start();
    harness.now.failed = 50;
    await harness.pass();
    const ask = await serve(harness);
    harness.time.advance(1500);
    await ask('/v1/api/monitors/errors/ack', { method: 'POST' });
    harness.now.failed = 10;
    await harness.pass();
    const tripped = 'error_rate is 0.5 over 100 runs of the last 5 min, reports when above 0.1';
    expect((await ask('/v1/api/monitors/errors/history')).body.transitions).toEqual([
      {
        seq: 4,
        at: at(from + 121_500),
        event: 'evaluation.ended',
        from: 'acknowledged',
        to: 'nominal',
        detail: 'error_rate is 0.1 over 100 runs of the last 5 min, reports when above 0.1',
      },
      {
        seq: 3,
        at: at(from + 61_500),
        event: 'trip.acknowledged',
        from: 'tripped',
        to: 'acknowledged',
        detail: tripped,
      },
      { seq: 2, at: at(from + 60_000), event: 'evaluation.ended', from: 'nominal', to: 'tripped', detail: tripped },
      {
        seq: 1,
        at: at(from),
        event: 'watch.started',
        to: 'nominal',
        detail: 'the service started: nominal until a reading says otherwise',
      },
    ]);
    const slo = (await ask('/v1/api/slos/works/history')).body.transitions;
    expect(slo.map(({ event, to }: Record<string, string>) => [event, to])).toEqual([
      ['evaluation.ended', 'tripped'],
      ['watch.started', 'nominal'],
    ]);
  });

  it.each([1, 2, 3, 50])(
    'page evaluations and transitions side by side, %i of each, without gap or repeat',
    async (limit) => {
      const harness = createWatchHarness({ monitors: [aMonitor({ project: 'default' })] });
      await harness.start();
      for (const failed of [0, 0, 50, 50, 0, 50]) {
        harness.now.failed = failed;
        await harness.pass();
      }
      const ask = await serve(harness);
      const seen = { evaluations: 0, seqs: [] as number[], pages: 0 };
      for (let cursor = ''; ; ) {
        const { body } = await ask(`/v1/api/monitors/errors/history?limit=${limit}${cursor}`);
        // What comes meanwhile is of no page that was begun before.
        await harness.pass();
        expect(Math.max(body.evaluations.length, body.transitions.length)).toBeLessThanOrEqual(limit);
        seen.evaluations += body.evaluations.length;
        seen.seqs.push(...body.transitions.map(({ seq }: { seq: number }) => seq));
        seen.pages += 1;
        if (body.next_cursor === undefined) break;
        cursor = `&cursor=${body.next_cursor}`;
      }
      expect(seen).toEqual({ evaluations: 7, seqs: [4, 3, 2, 1], pages: Math.ceil(7 / limit) });
    },
  );

  it('of a monitor that is evaluated no more still tell what it did', async () => {
    const journal = createMemoryWatchJournal();
    const before = createWatchHarness({ monitors: [aMonitor({ project: 'default' })], record: { journal, heads: [] } });
    before.now.failed = 50;
    await before.tick();
    await before.watchers.close();
    const after = createWatchHarness({
      monitors: [aMonitor({ project: 'default', enabled: false })],
      record: { journal, heads: await journal.heads() },
    });
    after.watchers.start();
    const { body } = await (await serve(after))('/v1/api/monitors/errors/history');
    expect([body.evaluations, body.transitions.map(({ to }: { to: string }) => to)]).toEqual([[], ['tripped']]);
  });

  it('are 503 while the runs store is away; the list of monitors answers', async () => {
    const away = () => Promise.reject(new StoreUnavailable('runs store: disk I/O error'));
    const journal = { ...createMemoryWatchJournal(), record: away, listEntries: away, findEntry: away };
    const harness = createWatchHarness({
      monitors: [aMonitor({ project: 'default' })],
      record: { journal, heads: [] },
    });
    harness.now.failed = 50;
    await harness.tick();
    const ask = await serve(harness);
    const answer = await ask('/v1/api/monitors/errors/history');
    expect([answer.status, answer.body.code]).toEqual([503, 'store_unavailable']);
    expect((await ask('/v1/api/monitors')).body.monitors[0].condition).toBe('tripped');
  });

  it('an unknown one is 404', async () => {
    const ask = await serve(createWatchHarness());
    expect((await ask('/v1/api/slos/nobody/history')).status).toBe(404);
    expect((await ask('/v1/api/monitors/nobody/history')).status).toBe(404);
  });
});
