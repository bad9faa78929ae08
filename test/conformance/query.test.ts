import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  type Answer,
  ingest,
  type Json,
  nativeSpan,
  newSpanId,
  newTraceId,
  newWord,
  nowIso,
} from './client.ts';

// "Query API" of the interface specification; "Conventions", "Signals" and "Analytics" of its decisions.

const service = await aDaemon();
const get = (path: string): Promise<Answer> => service.get(`/v1/api/${path}`);
const idsOf = ({ json }: Answer): string[] => json.traces.map((trace: Json) => trace.trace_id);
const refusal = ({ status, json }: Answer): unknown[] => [status, json?.code, json?.field];

/** A project of its own with runs `r0` to `rN`, one second apart, oldest first. */
const aProject = async (runs: readonly object[]): Promise<{ project: string; ids: string[] }> => {
  const project = newWord('p');
  const spans = runs.map((more, index) => {
    const { correlation, ...rest } = more as { correlation?: object };
    return nativeSpan({
      start_time: nowIso(-60_000 + index * 1000),
      end_time: nowIso(-60_000 + index * 1000 + 100 * (index + 1)),
      ...rest,
      correlation: { ...correlation, project },
    });
  });
  await ingest(service, { spans });
  return { project, ids: spans.map((span) => span.trace_id) };
};

describe('trace list', () => {
  it('an item carries what "Trace summary and detail" lists', async () => {
    const { project, ids } = await aProject([
      {
        name: 'run',
        status: 'error',
        error: { message: 'no' },
        start_time: '2026-03-01T10:00:00Z',
        end_time: '2026-03-01T10:00:00.000000005Z',
      },
    ]);
    const trace_id = ids[0];
    const correlation = { project };
    await ingest(service, {
      scores: [0, 1, 1].map((value) => ({ trace_id, scorer_id: 'good', scorer_version: '1', value, correlation })),
      feedback: ['up', 'down'].map((value) => ({ trace_id, kind: 'thumbs', value, correlation })),
    });
    await ingest(service, { feedback: [{ trace_id, kind: 'comment', value: 'well', correlation }] });
    const { traces } = (await get(`traces?project=${project}`)).json;
    expect(traces).toEqual([
      {
        trace_id,
        name: 'run',
        status: 'error',
        start_time: '2026-03-01T10:00:00Z',
        duration_ns: 5,
        span_count: 1,
        error_count: 1,
        models: [],
        correlation: { project },
        scores: [{ scorer_id: 'good', scorer_version: '1', mean: 2 / 3, count: 3 }],
        feedback: { thumbs: 2, comment: 1 },
        thumbs: { up: 1, down: 1 },
      },
    ]);
  });
  it('"`duration_ns` (nullable)": null while nothing has ended', async () => {
    const { project } = await aProject([{ end_time: undefined, status: 'unset' }]);
    const [trace] = (await get(`traces?project=${project}`)).json.traces;
    expect(trace.duration_ns).toBeNull();
    expect(trace.status).toBe('unset');
  });
  it('each filter of the list keeps what holds, and nothing else', async () => {
    const rows: readonly [string, object, string][] = [
      ['status=error', { status: 'error', error: { message: 'm' } }, 'status=unset'],
      ['name=special', { name: 'special' }, 'name=speci'],
      ['model=m-1', { model: 'm-1' }, 'model=m'],
      ['provider=pr', { provider: 'pr' }, 'provider=PR2'],
      ['entity_name=agent', { entity_name: 'agent' }, 'entity_name=agents'],
      ['kind=guardrail', { kind: 'guardrail' }, 'kind=retrieval'],
      ['user_id=ada', { correlation: { user_id: 'ada' } }, 'user_id=ad'],
      ['session_id=s1', { correlation: { session_id: 's1' } }, 'session_id=s'],
      ['thread_id=t1', { correlation: { thread_id: 't1' } }, 'thread_id=t'],
      ['environment=prod', { correlation: { environment: 'prod' } }, 'environment=pro'],
      ['service_name=api', { correlation: { service_name: 'api' } }, 'service_name=ap'],
      ['service_version=1.0', { correlation: { service_version: '1.0' } }, 'service_version=1'],
      ['release=r1', { correlation: { release: 'r1' } }, 'release=r'],
      ['tag=vip', { correlation: { tags: ['a', 'vip'] } }, 'tag=vi'],
      ['run_id=run1', { correlation: { run_id: 'run1' } }, 'run_id=run'],
      ['experiment_id=e1', { correlation: { experiment_id: 'e1' } }, 'experiment_id=e'],
      ['has_error=true', { status: 'error', error: { message: 'm' } }, ''],
      ['min_cost=0.5', { cost: { total_cost: 0.5, currency: 'USD', is_estimated: false } }, 'min_cost=0.51'],
      ['max_cost=0.5', { cost: { total_cost: 0.5, currency: 'USD', is_estimated: false } }, 'max_cost=0.49'],
      ['min_duration_ms=200', { start_time: nowIso(-1200), end_time: nowIso(-900) }, 'min_duration_ms=400'],
      [`q=needle`, { output: 'a Needle here' }, 'q=needles'],
    ];
    for (const [filter, more, other] of rows) {
      const { project, ids } = await aProject([{}, more]);
      expect([filter, idsOf(await get(`traces?project=${project}&${filter}`))]).toEqual([filter, [ids[1]]]);
      if (other !== '') expect([other, idsOf(await get(`traces?project=${project}&${other}`))]).toEqual([other, []]);
    }
  });
  it('`has_score`, "`score_below` (number; strict less-than; meaningful only with `has_score`)", `has_feedback`', async () => {
    const { project, ids } = await aProject([{}, {}, {}]);
    const correlation = { project };
    await ingest(service, {
      scores: [
        { trace_id: ids[0], scorer_id: 'good', value: 0.5, correlation },
        { trace_id: ids[1], scorer_id: 'good', value: 0.25, correlation },
        { trace_id: ids[2], scorer_id: 'other', value: 0, correlation },
      ],
      feedback: [{ trace_id: ids[1], kind: 'tag', value: 'odd', correlation }],
    });
    const list = async (filter: string): Promise<string[]> => idsOf(await get(`traces?project=${project}&${filter}`));
    expect(await list('has_score=good')).toEqual([ids[1], ids[0]]);
    expect(await list('has_score=good&score_below=0.5')).toEqual([ids[1]]);
    expect(await list('has_score=good&score_below=0.500001')).toEqual([ids[1], ids[0]]);
    expect(await list('has_feedback=tag')).toEqual([ids[1]]);
    expect(await list('has_feedback=thumbs')).toEqual([]);
    expect(await list('has_score=good&sort=score&order=asc')).toEqual([ids[1], ids[0]]);
    expect(refusal(await get(`traces?project=${project}&score_below=1`))).toEqual([
      400,
      'invalid_parameter',
      'score_below',
    ]);
    expect(refusal(await get(`traces?project=${project}&sort=score`))).toEqual([400, 'invalid_parameter', 'sort']);
  });
  it('sorts by start_time, duration, cost and span_count, both ways, and pages each whole', async () => {
    const cost = (total_cost: number) => ({ cost: { total_cost, currency: 'USD', is_estimated: false } });
    const { project, ids } = await aProject([cost(3), {}, cost(1), {}, cost(2)]);
    for (const sort of ['start_time', 'duration', 'cost', 'span_count'])
      for (const order of ['asc', 'desc']) {
        const whole = idsOf(await get(`traces?project=${project}&sort=${sort}&order=${order}`));
        expect(whole.toSorted()).toEqual(ids.toSorted());
        const paged: string[] = [];
        let cursor = '';
        do {
          const page = await get(`traces?project=${project}&sort=${sort}&order=${order}&limit=2${cursor}`);
          paged.push(...idsOf(page));
          cursor = page.json.next_cursor === undefined ? '' : `&cursor=${encodeURIComponent(page.json.next_cursor)}`;
        } while (cursor !== '');
        expect([sort, order, paged]).toEqual([sort, order, whole]);
      }
    const byCost = idsOf(await get(`traces?project=${project}&sort=cost&order=desc`));
    expect(byCost.slice(0, 3)).toEqual([ids[0], ids[4], ids[2]]);
    const byDuration = idsOf(await get(`traces?project=${project}&sort=duration&order=asc`));
    expect(byDuration).toEqual(ids);
    expect(idsOf(await get(`traces?project=${project}`))).toEqual(ids.toReversed());
  });
});

describe('"Lists answer `{"<plural>": [...], "next_cursor": "..."}`; `next_cursor` is absent on the last page"', () => {
  const lists: readonly [string, string][] = [
    ['traces', 'traces'],
    ['spans', 'spans'],
    ['logs', 'logs'],
    ['metrics', 'metrics'],
    ['metrics/m0/points', 'points'],
    ['scores', 'scores'],
    ['aspect_notes', 'aspect_notes'],
    ['sessions', 'sessions'],
    ['users', 'users'],
  ];
  it('every list pages whole, two at a time, also while more is written', async () => {
    const project = newWord('p');
    const batch = (from: number, minutesAgo: number) => {
      const numbers = [0, 1, 2, 3, 4].map((n) => n + from);
      const timestamp = nowIso(-minutesAgo * 60_000);
      const correlation = (n: number) => ({ project, session_id: `s${n}`, user_id: `u${n}` });
      const trace_id = newTraceId();
      return {
        // All at the same instant: paging by time alone would skip or repeat.
        spans: numbers.map((n) =>
          nativeSpan({ start_time: timestamp, end_time: timestamp, correlation: correlation(n) }),
        ),
        logs: numbers.map((n) => ({ message: 'l', timestamp, correlation: correlation(n) })),
        metrics: numbers.flatMap((n) => [
          { name: `m${n}`, type: 'gauge', value: n, timestamp, correlation: correlation(n) },
          { name: 'm0', type: 'gauge', value: n + 0.5, timestamp, correlation: correlation(n) },
        ]),
        scores: numbers.map((n) => ({
          trace_id,
          scorer_id: `s${n}`,
          value: 1,
          timestamp,
          correlation: correlation(n),
        })),
        aspect_notes: numbers.map((n) => ({
          trace_id,
          aspect: `a${n}`,
          text: 't',
          timestamp,
          correlation: correlation(n),
        })),
      };
    };
    await ingest(service, batch(0, 5));
    const before = new Map<string, string[]>();
    const keysOf = (page: Json, plural: string): string[] =>
      page[plural].map((row: Json) => JSON.stringify({ ...row, trace_count: 0, points: 0, last_seen: '' }));
    for (const [path, plural] of lists) {
      const whole = await get(`${path}?project=${project}`);
      expect(whole.status, path).toBe(200);
      expect(whole.json, path).not.toHaveProperty('next_cursor');
      before.set(path, keysOf(whole.json, plural));
      expect(before.get(path)?.length, path).toBeGreaterThanOrEqual(5);
    }
    const seen = new Map<string, string[]>();
    const cursors = new Map<string, string | undefined>();
    for (const [path, plural] of lists) {
      const first = await get(`${path}?project=${project}&limit=2`);
      expect(first.json[plural], path).toHaveLength(2);
      seen.set(path, keysOf(first.json, plural));
      cursors.set(path, first.json.next_cursor);
    }
    await ingest(service, batch(100, 1));
    for (const [path, plural] of lists) {
      for (let cursor = cursors.get(path); cursor !== undefined; ) {
        const page = await get(`${path}?project=${project}&limit=2&cursor=${encodeURIComponent(cursor)}`);
        expect(page.status, path).toBe(200);
        seen.get(path)?.push(...keysOf(page.json, plural));
        cursor = page.json.next_cursor;
      }
      const rows = seen.get(path) ?? [];
      expect(new Set(rows).size, `${path} repeats`).toBe(rows.length);
      expect(before.get(path)?.length, path).toBeGreaterThan(2);
      for (const row of before.get(path) ?? []) expect(rows, `${path} skips`).toContain(row);
    }
  });
  it('"`limit` defaults to 50, at most 1000"', async () => {
    const { project } = await aProject(Array.from({ length: 51 }, () => ({})));
    const { json } = await get(`traces?project=${project}`);
    expect(json.traces).toHaveLength(50);
    expect(json.next_cursor).toEqual(expect.any(String));
    expect((await get(`traces?project=${project}&limit=1000`)).json.traces).toHaveLength(51);
    for (const limit of ['0', '1001', '-1', '1.5', 'x', '', '1e2', '0x10', ' 5'])
      for (const [path] of lists)
        expect([limit, path, ...refusal(await get(`${path}?limit=${encodeURIComponent(limit)}`))]).toEqual([
          limit,
          path,
          400,
          'invalid_parameter',
          'limit',
        ]);
  });
  it('"A cursor is … only valid with the filters it was made with: anything else is 400 `invalid_parameter` on `cursor`"', async () => {
    const { project } = await aProject([{}, {}, {}]);
    const { next_cursor } = (await get(`traces?project=${project}&limit=1`)).json;
    const cursor = encodeURIComponent(next_cursor);
    expect((await get(`traces?project=${project}&limit=2&cursor=${cursor}`)).status).toBe(200);
    for (const query of [
      `traces?limit=1&cursor=${cursor}`,
      `traces?project=${project}&limit=1&status=ok&cursor=${cursor}`,
      `traces?project=${project}&limit=1&order=asc&cursor=${cursor}`,
      `traces?project=${project}&limit=1&sort=cost&cursor=${cursor}`,
      `traces?project=${project}&limit=1&q=x&cursor=${cursor}`,
      `spans?project=${project}&limit=1&cursor=${cursor}`,
      `traces?project=${project}&limit=1&cursor=nonsense`,
      `traces?project=${project}&limit=1&cursor=${cursor.slice(0, -2)}`,
      `traces?project=${project}&limit=1&cursor=`,
      `traces?project=${project}&limit=1&cursor=${Buffer.from('{"v":1,"k":[1,2]}').toString('base64url')}`,
      `traces?project=${project}&limit=1&cursor=${'A'.repeat(4000)}`,
    ])
      expect([query, ...refusal(await get(query))]).toEqual([query, 400, 'invalid_parameter', 'cursor']);
  });
  it('a cursor with a relative time goes on in the window it began with', async () => {
    const { project, ids } = await aProject([{}, {}, {}]);
    const first = await get(`traces?project=${project}&from=-1h&limit=2`);
    const rest = await get(
      `traces?project=${project}&from=-1h&limit=2&cursor=${encodeURIComponent(first.json.next_cursor)}`,
    );
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(ids.toReversed());
  });
});

describe('parameters', () => {
  it('"Time parameters accept RFC 3339 or a relative shorthand such as `-7d`, `-1h`, `-0s`"', async () => {
    const { project, ids } = await aProject([
      { start_time: nowIso(-3 * 3600_000), end_time: nowIso(-3 * 3600_000) },
      {},
    ]);
    const list = async (window: string): Promise<string[]> => idsOf(await get(`traces?project=${project}&${window}`));
    expect(await list('from=-2h')).toEqual([ids[1]]);
    expect(await list('from=-7d')).toHaveLength(2);
    expect(await list('from=-1w')).toHaveLength(2);
    expect(await list('from=-240m&to=-120m')).toEqual([ids[0]]);
    expect(await list('from=-14400s&to=-0s')).toHaveLength(2);
    expect(await list(`from=${nowIso(-2 * 3600_000)}`)).toEqual([ids[1]]);
    expect(
      await list(`to=${encodeURIComponent(new Date(Date.now() - 3600_000).toISOString().replace('Z', '+00:00'))}`),
    ).toEqual([ids[0]]);
  });
  it('is exact to the nanosecond: `from` is inclusive', async () => {
    const { project, ids } = await aProject([
      { start_time: '2026-03-01T10:00:00.000000001Z', end_time: '2026-03-01T10:00:01Z' },
    ]);
    const list = async (window: string): Promise<string[]> => idsOf(await get(`traces?project=${project}&${window}`));
    expect(await list('from=2026-03-01T10:00:00.000000001Z')).toEqual(ids);
    expect(await list('from=2026-03-01T10:00:00.000000002Z')).toEqual([]);
    expect(await list('to=2026-03-01T10:00:00.000000002Z')).toEqual(ids);
  });
  it('an unusable time is 400 naming it; "A `from` after `to` is 400"', async () => {
    for (const value of [
      'yesterday',
      '7d',
      '-7',
      '-7y',
      '-d',
      '--7d',
      '-1.5h',
      '2026-03-01',
      '2026-13-01T00:00:00Z',
      '2026-02-30T00:00:00Z',
      '1763629200',
      '',
      '-99999999999999w',
    ])
      for (const name of ['from', 'to'])
        expect([value, name, ...refusal(await get(`traces?${name}=${encodeURIComponent(value)}`))]).toEqual([
          value,
          name,
          400,
          'invalid_parameter',
          name,
        ]);
    for (const path of ['traces', 'spans', 'logs', 'scores', 'analytics/cost', 'analytics/summary']) {
      const { status, json } = await get(`${path}?from=-1h&to=-2h`);
      expect([path, status, json.code]).toEqual([path, 400, 'invalid_parameter']);
    }
  });
  it('"An unknown query parameter, or a known one with an unusable value, is 400 `invalid_parameter` with `field`"', async () => {
    for (const path of [
      'traces',
      'spans',
      'logs',
      'metrics',
      'scores',
      'aspect_notes',
      'sessions',
      'users',
      'projects',
      'analytics/cost',
      'analytics/summary',
      `traces/${newTraceId()}`,
      'whoami',
      'audit',
      'scorers',
    ])
      expect([path, ...refusal(await get(`${path}?nonsense=1`))]).toEqual([path, 400, 'invalid_parameter', 'nonsense']);
    const rows = [
      'status=failed',
      'kind=llm',
      'sort=name',
      'order=up',
      'min_cost=x',
      'min_cost=-1',
      'max_duration_ms=',
      'has_error=yes',
      'has_feedback=stars',
      'score_below=NaN',
      'user_id=',
    ];
    for (const row of rows)
      expect([row, ...refusal(await get(`traces?${row}`))]).toEqual([row, 400, 'invalid_parameter', row.split('=')[0]]);
    expect(refusal(await get('traces?limit=1&limit=2'))).toEqual([400, 'invalid_parameter', 'limit']);
    expect(refusal(await get('traces?__proto__=1'))).toEqual([400, 'invalid_parameter', '__proto__']);
    expect((await get('traces?constructor=1')).status).toBe(400);
  });
  it('no value of any parameter of any read is a failure of the service, and a refusal names the parameter', async () => {
    const document = (await service.get('/openapi.json')).json;
    const resolve = (node: Json): Json =>
      node.$ref === undefined
        ? node
        : resolve(
            node.$ref
              .slice(2)
              .split('/')
              .reduce((at: Json, key: string) => at[key], document),
          );
    const odd = [
      '0',
      '-1',
      '1e308',
      '-1e308',
      '5e-324',
      '9'.repeat(20),
      '9007199254740993',
      '\0',
      '🚀',
      'a'.repeat(300),
    ];
    odd.push('-99999999999w', '9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z', '*', '"', "'", '[]', ' ');
    const wrong: unknown[] = [];
    for (const [path, item] of Object.entries<Json>(document.paths)) {
      if (item.get === undefined || path.endsWith('/events')) continue; // the journal may be a stream
      const here = path
        .replace('{trace_id}', newTraceId())
        .replace('{span_id}', newSpanId())
        .replace('{version}', '1')
        .replaceAll(/{\w+}/g, 'x');
      const parameters = [...(item.parameters ?? []), ...(item.get.parameters ?? [])].map(resolve);
      const inQuery = parameters.filter((parameter) => parameter.in === 'query');
      for (const { name } of inQuery)
        for (const value of odd) {
          const query = new URLSearchParams({ [name]: value });
          for (const other of inQuery) if (other.required && other.name !== name) query.set(other.name, newTraceId());
          const { status, json } = await service.get(`${here}?${query.toString()}`);
          if (status >= 500 || (status === 400 && json.field !== name)) wrong.push([here, name, value, status, json]);
        }
    }
    expect(wrong).toEqual([]);
  });
  it('"`project=*` spans all projects"', async () => {
    const one = await aProject([{ name: 'everywhere' }]);
    const two = await aProject([{ name: 'everywhere' }]);
    expect(idsOf(await get('traces?project=*&name=everywhere')).toSorted()).toEqual(
      [...one.ids, ...two.ids].toSorted(),
    );
    expect(idsOf(await get('traces?name=everywhere'))).toEqual([]);
    expect((await get('projects')).json.projects.map((row: Json) => row.project)).toEqual(
      expect.arrayContaining([one.project, two.project]),
    );
  });
});

describe('"`q`: words are ANDed within one span, case-insensitive, whole words; `"a phrase"`; `word*` prefix"', () => {
  it('finds as the grammar says', async () => {
    const { project, ids } = await aProject([
      { input: { text: 'The quick brown Fox' }, output: 'jumps over' },
      { input: 'quick', output: 'a fox that is brown' },
      { name: 'not a payload: quick brown fox', output: 'slow' },
    ]);
    const traceId = ids[0] ?? '';
    await ingest(service, {
      spans: [
        nativeSpan({ trace_id: traceId, parent_span_id: newSpanId(), output: 'elsewhere', correlation: { project } }),
      ],
    });
    const find = async (q: string): Promise<number[]> =>
      idsOf(await get(`traces?project=${project}&q=${encodeURIComponent(q)}`))
        .map((id) => ids.indexOf(id))
        .toSorted((one, other) => one - other);
    expect(await find('quick')).toEqual([0, 1]);
    expect(await find('QUICK fOx')).toEqual([0, 1]);
    expect(await find('quic')).toEqual([]);
    expect(await find('quic*')).toEqual([0, 1]);
    expect(await find('"quick brown"')).toEqual([0]);
    expect(await find('"brown quick"')).toEqual([]);
    expect(await find('"quick brown" jumps')).toEqual([0]);
    expect(await find('jumps elsewhere')).toEqual([]);
    expect(await find('slow')).toEqual([2]);
  });
  it('"No other syntax: any input is a valid query"', async () => {
    const odd = [
      ...[
        '"',
        '""',
        '*',
        '"*"',
        'a"b',
        '"unclosed phrase',
        'a AND',
        'OR',
        'NOT x',
        'NEAR(a b)',
        'col:x',
        '-x',
        '+x',
        '^x',
        '(',
        ')',
        '{a}',
        '**',
        'a**',
        '*a',
        '"a"*',
        '"a b"*',
      ],
      ...[
        "'",
        "'; DROP TABLE spans; --",
        '\\',
        '%',
        '_',
        '\u0000',
        '\uFFFD',
        '😀',
        'é',
        '\t\n',
        ' ',
        ',',
        '"a" "',
        'a'.repeat(3000),
        'x '.repeat(400),
        '𠀀',
        'ﷺ',
        'İ',
      ],
    ];
    for (const q of odd) {
      const { status, text } = await get(`traces?q=${encodeURIComponent(q)}`);
      expect([q.slice(0, 20), status, status === 200 ? '' : text]).toEqual([q.slice(0, 20), 200, '']);
    }
  });
  it('operators of other grammars are words', async () => {
    const { project, ids } = await aProject([
      { output: 'salt and pepper' },
      { output: 'salt' },
      { output: 'pepper or mint' },
    ]);
    const find = async (q: string): Promise<string[]> =>
      idsOf(await get(`traces?project=${project}&q=${encodeURIComponent(q)}`));
    expect(await find('salt AND pepper')).toEqual([ids[0]]);
    expect(await find('salt OR pepper')).toEqual([]);
    expect(await find('pepper OR mint')).toEqual([ids[2]]);
    expect(await find('NOT salt')).toEqual([]);
    expect(await find('output:salt')).toEqual([]);
    expect(await find('salt-and')).toEqual([ids[0]]);
  });
  it('numbers, other scripts and keys of payloads', async () => {
    const { project, ids } = await aProject([{ input: { order_no: 'A-4711', city: 'Zürich', note: 'привет мир' } }]);
    for (const q of ['4711', 'Zürich', 'zürich', 'ПРИВЕТ', '"привет мир"'])
      expect([q, idsOf(await get(`traces?project=${project}&q=${encodeURIComponent(q)}`))]).toEqual([q, ids]);
  });
});

describe('trace detail', () => {
  it('"its `spans` (ordered so a waterfall renders directly)": a parent before its children', async () => {
    const trace_id = newTraceId();
    const at = (ms: number) => ({ start_time: nowIso(ms - 5000), end_time: nowIso(ms - 4990) });
    const root = nativeSpan({ trace_id, name: 'root', ...at(0) });
    const one = nativeSpan({ trace_id, name: 'one', parent_span_id: root.span_id, ...at(10) });
    const two = nativeSpan({ trace_id, name: 'two', parent_span_id: root.span_id, ...at(20) });
    const under = nativeSpan({ trace_id, name: 'one.one', parent_span_id: one.span_id, ...at(30) });
    const orphan = nativeSpan({ trace_id, name: 'orphan', parent_span_id: newSpanId(), ...at(5) });
    await ingest(service, { spans: [under, two, orphan, one, root] });
    const { json } = await get(`traces/${trace_id}`);
    const names = json.spans.map((span: Json) => span.name);
    expect(names.toSorted()).toEqual(['one', 'one.one', 'orphan', 'root', 'two']);
    expect(names.filter((name: string) => name !== 'orphan')).toEqual(['root', 'one', 'one.one', 'two']);
    expect(json.trace.name).toBe('root');
    for (const name of ['scores', 'feedback', 'logs']) expect(json).not.toHaveProperty(name);
  });
  it('"`include` is a comma list of `scores`, `feedback`, or `all` (adds logs)"', async () => {
    const { ids } = await aProject([{}]);
    const keys = async (include: string): Promise<string[]> =>
      Object.keys((await get(`traces/${ids[0]}?include=${include}`)).json).toSorted();
    expect(await keys('scores')).toEqual(['scores', 'spans', 'trace']);
    expect(await keys('feedback')).toEqual(['feedback', 'spans', 'trace']);
    expect(await keys('scores,feedback')).toEqual(['feedback', 'scores', 'spans', 'trace']);
    expect(await keys('all')).toEqual(['feedback', 'logs', 'scores', 'spans', 'trace']);
    expect(refusal(await get(`traces/${ids[0]}?include=everything`))).toEqual([400, 'invalid_parameter', 'include']);
  });
  it('"`?payloads=none` (spans without `input`, `output`, `attributes`)"', async () => {
    const { ids } = await aProject([{ input: 'i', output: 'o', attributes: { a: 1 }, model: 'm' }]);
    const [span] = (await get(`traces/${ids[0]}?payloads=none`)).json.spans;
    for (const name of ['input', 'output', 'attributes']) expect(span).not.toHaveProperty(name);
    expect(span.model).toBe('m');
  });
  it('404 `not_found` for a trace or span that is not there, 400 for what is no id', async () => {
    const { ids } = await aProject([{}]);
    for (const path of [`traces/${newTraceId()}`, `traces/${ids[0]}/spans/${newSpanId()}`])
      expect(refusal(await get(path))).toEqual([404, 'not_found', undefined]);
    for (const id of ['x', 'a'.repeat(31), 'g'.repeat(32)]) expect((await get(`traces/${id}`)).status, id).toBe(400);
  });
  it('"Reads over 8 KiB are compressed when the client accepts zstd, br or gzip"', async () => {
    const { ids } = await aProject([{ output: 'word '.repeat(4000) }]);
    for (const encoding of ['zstd', 'br', 'gzip'])
      expect(
        (await service.get(`/v1/api/traces/${ids[0]}`, { 'accept-encoding': encoding })).headers.get(
          'content-encoding',
        ),
      ).toBe(encoding);
    expect(
      (await service.get(`/v1/api/traces/${ids[0]}`, { 'accept-encoding': 'identity' })).headers.get(
        'content-encoding',
      ),
    ).toBeNull();
    expect(
      (await service.get('/v1/api/whoami', { 'accept-encoding': 'gzip' })).headers.get('content-encoding'),
    ).toBeNull();
  });
  it('"deleting traces needs admin": `{"deleted": true, "deletes_pending": false}`, and everything of it is gone', async () => {
    const { project, ids } = await aProject([{ output: 'vanishing' }, { output: 'vanishing' }]);
    const [trace_id, other] = ids;
    const correlation = { project };
    await ingest(service, {
      logs: [{ message: 'l', trace_id, correlation }],
      scores: [{ trace_id, scorer_id: 's', value: 1, correlation }],
      feedback: [{ trace_id, kind: 'thumbs', value: 'up', correlation }],
      aspect_notes: [{ trace_id, aspect: 'a', text: 't', correlation }],
    });
    const deleted = await service.delete(`/v1/api/traces/${trace_id}`);
    expect([deleted.status, deleted.json]).toEqual([200, { deleted: true, deletes_pending: false }]);
    expect((await get(`traces/${trace_id}`)).status).toBe(404);
    expect(idsOf(await get(`traces?project=${project}`))).toEqual([other]);
    expect(idsOf(await get(`traces?project=${project}&q=vanishing`))).toEqual([other]);
    for (const [path, plural] of [
      ['spans', 'spans'],
      ['logs', 'logs'],
      ['scores', 'scores'],
      ['aspect_notes', 'aspect_notes'],
    ] as const)
      expect(
        (await get(`${path}?project=${project}`)).json[plural].filter((row: Json) => row.trace_id === trace_id),
        path,
      ).toEqual([]);
    expect((await get(`feedback?trace_id=${trace_id}&project=${project}`)).json.feedback).toEqual([]);
    expect(refusal(await service.delete(`/v1/api/traces/${trace_id}`))).toEqual([404, 'not_found', undefined]);
    // Sent again it is a new trace, not a half of the old one.
    await ingest(service, { spans: [nativeSpan({ trace_id, correlation })] });
    expect((await get(`traces/${trace_id}`)).json.trace).toMatchObject({ span_count: 1, scores: [], feedback: {} });
  });
});

describe('span and log lists', () => {
  it('"span listing: exists and takes `order`", and filters by what a span has', async () => {
    const trace_id = newTraceId();
    const { project, ids } = await aProject([
      {},
      {
        trace_id,
        name: 'n',
        kind: 'tool_call',
        status: 'error',
        error: { message: 'm' },
        model: 'mo',
        provider: 'pr',
        entity_name: 'en',
        correlation: { session_id: 'se', user_id: 'us', environment: 'ev', service_name: 'sn' },
      },
      { start_time: undefined },
    ]);
    const list = async (query: string): Promise<string[]> =>
      (await get(`spans?project=${project}${query}`)).json.spans.map((span: Json) => span.trace_id);
    expect(await list('')).toEqual([ids[2], ids[1], ids[0]]);
    expect(await list('&order=asc')).toEqual(ids);
    for (const filter of [
      `trace_id=${trace_id}`,
      'kind=tool_call',
      'status=error',
      'name=n',
      'model=mo',
      'provider=pr',
      'entity_name=en',
      'session_id=se',
      'user_id=us',
      'environment=ev',
      'service_name=sn',
    ])
      expect([filter, await list(`&${filter}`)]).toEqual([filter, [trace_id]]);
    expect(await list('&kind=tool_call&status=ok')).toEqual([]);
  });
  it('logs filter by what a record has, and by severity exactly or at least', async () => {
    const project = newWord('p');
    const trace_id = newTraceId();
    const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
    await ingest(service, {
      logs: severities.map((severity, n) => ({
        severity,
        message: severity,
        timestamp: nowIso(-1000 + n),
        logger: `l${n}`,
        correlation: { project },
        ...(n === 3 && { trace_id }),
      })),
    });
    const list = async (query: string): Promise<string[]> =>
      (await get(`logs?project=${project}${query}`)).json.logs.map((log: Json) => log.message);
    expect(await list('')).toEqual(severities.toReversed());
    expect(await list('&order=asc')).toEqual(severities);
    for (const [n, severity] of severities.entries()) {
      expect(await list(`&severity=${severity}`)).toEqual([severity]);
      expect(await list(`&min_severity=${severity}&order=asc`)).toEqual(severities.slice(n));
      expect(await list(`&logger=l${n}`)).toEqual([severity]);
    }
    expect(await list(`&trace_id=${trace_id}`)).toEqual(['warn']);
  });
});

describe('scores', () => {
  const post = (body: object | string): Promise<Answer> => service.post('/v1/api/scores', body);
  it('"answer 201 with the stored record; an id sent again replaces the record"', async () => {
    const trace_id = newTraceId();
    const first = await post({ trace_id, scorer_id: 's', value: 0.5 });
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({
      trace_id,
      scorer_id: 's',
      value: 0.5,
      min: 0,
      max: 1,
      correlation: { project: 'default' },
    });
    expect(first.json.score_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    await post({ score_id: first.json.score_id, trace_id, scorer_id: 's', value: 0.75 });
    const { scores } = (await get(`scores?trace_id=${trace_id}`)).json;
    expect(scores.map((score: Json) => [score.score_id, score.value])).toEqual([[first.json.score_id, 0.75]]);
  });
  it('"empty string makes the server generate one"', async () => {
    const { json } = await post({ score_id: '', trace_id: newTraceId(), scorer_id: 's', value: 1 });
    expect(json.score_id).not.toBe('');
    const feedback = await service.post('/v1/api/feedback', {
      feedback_id: '',
      trace_id: newTraceId(),
      kind: 'comment',
      value: 'x',
    });
    expect(feedback.json.feedback_id).toMatch(/-7/);
  });
  it('"Neither `trace_id` nor `span_id` gives 400", one of them is enough', async () => {
    expect((await post({ scorer_id: 's', value: 1 })).status).toBe(400);
    expect((await post({ span_id: newSpanId(), scorer_id: 's', value: 1 })).status).toBe(201);
  });
  it('"status 422 with content-type `text/plain` and a message naming a missing field; non-JSON syntax gives 400 as text"', async () => {
    for (const [path, body, field] of [
      ['scores', { trace_id: newTraceId(), value: 1 }, 'scorer_id'],
      ['scores', { trace_id: newTraceId(), scorer_id: 's' }, 'value'],
      ['feedback', { trace_id: newTraceId(), value: 'up' }, 'kind'],
      ['feedback', { trace_id: newTraceId(), kind: 'thumbs' }, 'value'],
    ] as const) {
      const missing = await service.post(`/v1/api/${path}`, body);
      expect([missing.status, missing.headers.get('content-type')]).toEqual([
        422,
        expect.stringMatching(/^text\/plain/),
      ]);
      expect(missing.text).toContain(field);
      const syntax = await service.post(`/v1/api/${path}`, '{"a":');
      expect([syntax.status, syntax.headers.get('content-type')]).toEqual([400, expect.stringMatching(/^text\/plain/)]);
    }
    for (const body of [{ trace_id: newTraceId(), scorer_id: 's', value: 'one' }, []])
      expect((await post(body)).status).toBe(422);
  });
  it('filters "`scorer_id`, `source`, `trace_id`, `experiment_id`, `min_value`, `max_value`, a time window"; "newest first"', async () => {
    const project = newWord('p');
    const correlation = { project };
    const [one, two] = [newTraceId(), newTraceId()];
    await ingest(service, {
      scores: [
        {
          score_id: `${project}a`,
          trace_id: one,
          scorer_id: 'x',
          value: 0,
          source: 'offline',
          timestamp: nowIso(-3000),
          correlation,
        },
        {
          score_id: `${project}b`,
          trace_id: two,
          scorer_id: 'y',
          value: 0.5,
          experiment_id: 'e',
          timestamp: nowIso(-2000),
          correlation,
        },
        {
          score_id: `${project}c`,
          trace_id: two,
          scorer_id: 'x',
          value: 1,
          source: 'manual',
          timestamp: nowIso(-3_600_000),
          correlation,
        },
      ],
    });
    const list = async (filter: string): Promise<string> =>
      (await get(`scores?project=${project}${filter}`)).json.scores
        .map((score: Json) => score.score_id.slice(-1))
        .join('');
    expect(await list('')).toBe('bac');
    expect(await list('&scorer_id=x')).toBe('ac');
    expect(await list('&source=offline')).toBe('a');
    expect(await list(`&trace_id=${two}`)).toBe('bc');
    expect(await list('&experiment_id=e')).toBe('b');
    expect(await list('&min_value=0.5')).toBe('bc');
    expect(await list('&max_value=0.5')).toBe('ba');
    expect(await list('&min_value=0.5&max_value=0.5')).toBe('b');
    expect(await list('&from=-10m')).toBe('ba');
    expect(await list('&to=-10m')).toBe('c');
    expect(refusal(await get('scores?source=guess'))).toEqual([400, 'invalid_parameter', 'source']);
  });
  it('"`order` on scores" is "refused by name"', async () => {
    const refused = await get('scores?order=asc');
    expect(refusal(refused)).toEqual([400, 'invalid_parameter', 'order']);
    expect(refused.json.message).toContain('order');
  });
  it('refuses a value that is no number, and a scale upside down', async () => {
    expect(
      (await post('{"trace_id":"5b8efff798038103d269b633813fc60c","scorer_id":"s","value":1e999}')).status,
    ).toBeGreaterThanOrEqual(400);
    expect((await post({ trace_id: newTraceId(), scorer_id: 's', value: 1, min: 2, max: 1 })).status).toBe(400);
  });
  it('a score on a span alone belongs to its trace once that is known', async () => {
    const { project, ids } = await aProject([{}]);
    const [span] = (await get(`traces/${ids[0]}`)).json.spans;
    const stored = await post({ span_id: span.span_id, scorer_id: 'only-span', value: 1, correlation: { project } });
    expect((await get(`scores?project=${project}&scorer_id=only-span`)).json.scores).toEqual([stored.json]);
    expect((await get(`scores?project=${project}&trace_id=${ids[0]}`)).json.scores).toEqual([stored.json]);
    expect((await get(`traces/${ids[0]}?include=scores`)).json.scores).toEqual([stored.json]);
  });
});

describe('feedback', () => {
  it('`GET /v1/api/feedback` "Requires `trace_id`"; "Without it: 400 naming the parameter"', async () => {
    const refused = await get('feedback');
    expect(refusal(refused)).toEqual([400, 'invalid_parameter', 'trace_id']);
    expect(refused.json.message).toContain('trace_id');
  });
  it('"`kind`, `from`, `to`, `cursor` are refused by name"', async () => {
    for (const name of ['kind', 'from', 'to', 'cursor']) {
      const refused = await get(`feedback?trace_id=${newTraceId()}&${name}=-1d`);
      expect(refusal(refused)).toEqual([400, 'invalid_parameter', name]);
      expect(refused.json.message).toContain(name);
    }
  });
  it('"`kind` … decides the shape of `value`"', async () => {
    const trace_id = newTraceId();
    const post = async (kind: string, value: unknown): Promise<number> =>
      (await service.post('/v1/api/feedback', { trace_id, kind, value })).status;
    for (const [kind, value] of [
      ['thumbs', 'up'],
      ['thumbs', 'down'],
      ['rating', 4.5],
      ['rating', -1],
      ['correction', 'text'],
      ['tag', 'wrong'],
      ['comment', 'prose'],
    ] as const)
      expect([kind, value, await post(kind, value)]).toEqual([kind, value, 201]);
    for (const [kind, value] of [
      ['thumbs', 'sideways'],
      ['thumbs', 1],
      ['rating', 'good'],
      ['correction', 5],
      ['tag', 5],
      ['comment', 5],
    ] as const)
      expect([400, 422], `${kind} ${value}`).toContain(await post(kind, value));
    expect([400, 422]).toContain(await post('stars', 5));
    expect((await get(`feedback?trace_id=${trace_id}`)).json.feedback).toHaveLength(7);
  });
  it('"Feedback `author_kind`: `end_user`, `expert`, `developer`, `system`"', async () => {
    const trace_id = newTraceId();
    for (const author_kind of ['end_user', 'expert', 'developer', 'system'])
      expect(
        (await service.post('/v1/api/feedback', { trace_id, kind: 'comment', value: 'x', author_kind })).status,
      ).toBe(201);
    expect([400, 422]).toContain(
      (await service.post('/v1/api/feedback', { trace_id, kind: 'comment', value: 'x', author_kind: 'robot' })).status,
    );
  });
});

describe('analytics', () => {
  const cost = (total_cost: number) => ({ total_cost, currency: 'USD', is_estimated: false });
  it('`cost`: groups by every key, largest first, `count` of model calls or of runs', async () => {
    const project = newWord('p');
    const trace_id = newTraceId();
    const correlation = { project, environment: 'prod', session_id: 's', user_id: 'u', service_name: 'sn' };
    const start = (ms: number) => ({ start_time: nowIso(-60_000), end_time: nowIso(-60_000 + ms) });
    const root = nativeSpan({ trace_id, name: 'run', correlation, ...start(1000) });
    const call = (model: string, total: number, tokens: number, more: object = {}) =>
      nativeSpan({
        trace_id,
        parent_span_id: root.span_id,
        kind: 'model_generation',
        model,
        provider: 'pr',
        entity_name: 'ag',
        cost: cost(total),
        usage: { input_tokens: tokens, output_tokens: 1 },
        correlation,
        ...start(100),
        ...more,
      });
    await ingest(service, {
      spans: [
        root,
        call('small', 0.25, 10),
        call('big', 2, 20),
        call('small', 0.25, 30, { status: 'error', error: { message: 'm' }, ...start(300) }),
      ],
    });
    const report = async (query: string): Promise<Json> =>
      (await get(`analytics/cost?project=${project}${query}`)).json;
    const byModel = await report('');
    expect(byModel).toMatchObject({
      currency: 'USD',
      total_cost: 2.5,
      from: expect.any(String),
      to: expect.any(String),
    });
    expect(byModel).not.toHaveProperty('series');
    expect(byModel.groups).toEqual([
      {
        key: 'big',
        count: 1,
        error_count: 0,
        total_cost: 2,
        input_tokens: 20,
        output_tokens: 1,
        latency: { mean: 100, max: 100 },
      },
      {
        key: 'small',
        count: 2,
        error_count: 1,
        total_cost: 0.5,
        input_tokens: 40,
        output_tokens: 2,
        latency: { mean: 200, max: 300 },
      },
    ]);
    expect(Date.parse(byModel.to) - Date.parse(byModel.from)).toBeCloseTo(7 * 86_400_000, -3);
    for (const [key, value] of [
      ['provider', 'pr'],
      ['entity_name', 'ag'],
    ]) {
      const { groups } = await report(`&group_by=${key}`);
      expect([key, groups.find((group: Json) => group.key === value)]).toMatchObject([
        key,
        { count: 3, total_cost: 2.5 },
      ]);
    }
    for (const [key, value] of [
      ['environment', 'prod'],
      ['status', 'ok'],
      ['session_id', 's'],
      ['user_id', 'u'],
      ['service_name', 'sn'],
      ['name', 'run'],
    ]) {
      const { groups, total_cost } = await report(`&group_by=${key}`);
      expect(total_cost).toBe(2.5);
      expect([key, groups.length, groups[0]]).toMatchObject([
        key,
        1,
        { key: value, count: 1, total_cost: 2.5, input_tokens: 60, output_tokens: 3 },
      ]);
    }
    for (const bucket of ['30s', '5m', '1h', '1d']) {
      const { series } = await report(`&from=-2h&bucket=${bucket}`).then(async (json) =>
        json.series === undefined ? report(`&from=-30m&bucket=${bucket}`) : json,
      );
      expect(series.reduce((sum: number, point: Json) => sum + (point.total_cost ?? 0), 0)).toBeCloseTo(2.5, 9);
    }
    expect(refusal(await get('analytics/cost?group_by=tag'))).toEqual([400, 'invalid_parameter', 'group_by']);
    expect(refusal(await get('analytics/cost?bucket=1m'))).toEqual([400, 'invalid_parameter', 'bucket']);
  });
  it('"at most 100" groups, "at most 5000 points"', async () => {
    const project = newWord('p');
    const spans = Array.from({ length: 103 }, (_, n) =>
      nativeSpan({ model: `m${n}`, cost: cost(n + 1), usage: { input_tokens: 1 }, correlation: { project } }),
    );
    await ingest(service, { spans });
    const { groups, total_cost } = (await get(`analytics/cost?project=${project}`)).json;
    expect(groups).toHaveLength(100);
    expect(groups[0].key).toBe('m102');
    expect(total_cost).toBe((103 * 104) / 2);
    const { status, json } = await get(`analytics/cost?project=${project}&from=-30d&bucket=30s`);
    expect(status === 400 || json.series.length <= 5000).toBe(true);
  });
  it('`summary`: totals and groups; "`latency: {mean, p50, p90, p95, p99, max}` in ms"', async () => {
    const { project } = await aProject([
      ...Array.from({ length: 9 }, (_, n) => ({
        name: 'quick',
        start_time: nowIso(-5000),
        end_time: nowIso(-5000 + (n + 1) * 10),
        cost: cost(0.5),
      })),
      { name: 'slow', status: 'error', error: { message: 'm' }, start_time: nowIso(-5000), end_time: nowIso(-4000) },
    ]);
    const { json } = await get(`analytics/summary?project=${project}&group_by=name`);
    expect(json).toMatchObject({ trace_count: 10, error_count: 1, error_rate: 0.1, total_cost: 4.5, currency: 'USD' });
    expect(json.latency.max).toBeCloseTo(1000, -1);
    expect(json.latency.mean).toBeCloseTo(145, -1);
    expect(json.latency.p50).toBeGreaterThanOrEqual(45);
    expect(json.latency.p50).toBeLessThanOrEqual(65);
    for (const [less, more] of [
      ['p50', 'p90'],
      ['p90', 'p95'],
      ['p95', 'p99'],
      ['p99', 'max'],
    ] as const)
      expect(json.latency[less]).toBeLessThanOrEqual(json.latency[more]);
    expect(json.groups.map((group: Json) => [group.key, group.trace_count]).toSorted()).toEqual([
      ['quick', 9],
      ['slow', 1],
    ]);
    const empty = (await get(`analytics/summary?project=${newWord('p')}`)).json;
    expect(empty).toMatchObject({ trace_count: 0, error_count: 0 });
    for (const name of ['error_rate', 'total_cost', 'latency']) expect(empty).not.toHaveProperty(name);
  });
  it('`/sessions`, `/users`: "roll-ups: trace count, cost, errors, first and last seen"', async () => {
    const correlation = { session_id: 's1', user_id: 'u1' };
    const { project } = await aProject([
      { correlation, cost: cost(1), start_time: '2026-03-01T10:00:00Z', end_time: '2026-03-01T10:00:01Z' },
      {
        correlation,
        status: 'error',
        error: { message: 'm' },
        cost: cost(2),
        start_time: '2026-03-02T10:00:00Z',
        end_time: '2026-03-02T10:00:01Z',
      },
    ]);
    const rollUp = {
      project,
      trace_count: 2,
      error_count: 1,
      cost: { total_cost: 3, currency: 'USD' },
      first_seen: '2026-03-01T10:00:00Z',
    };
    const { sessions } = (await get(`sessions?project=${project}`)).json;
    expect(sessions).toMatchObject([{ session_id: 's1', ...rollUp }]);
    const { users } = (await get(`users?project=${project}`)).json;
    expect(users).toMatchObject([{ user_id: 'u1', ...rollUp }]);
    expect(users[0].last_seen).toMatch(/^2026-03-02T10:00:0[01]Z$/);
  });
});

describe('answers', () => {
  it('"`request_id` is a response header, `x-request-id`, on every answer"', async () => {
    for (const path of [
      '/',
      '/healthz',
      '/metrics',
      '/v1/api/traces',
      '/v1/api/nowhere',
      '/nowhere',
      '/v1/api/traces?x=1',
    ])
      expect((await service.get(path)).headers.get('x-request-id'), path).toMatch(/./);
    expect((await service.post('/v1/ingest', '{')).headers.get('x-request-id')).toMatch(/./);
  });
  it('404 `not_found`, 405 `method_not_allowed`, 406 `not_acceptable`, in JSON', async () => {
    for (const path of [
      '/nowhere',
      '/v1',
      '/v1/api',
      '/v1/api/nowhere',
      '/v1/traces/x',
      '/%00',
      '/v1/api/%2e%2e/healthz',
    ]) {
      const { status, json } = await service.get(path);
      expect([path, status, json?.code]).toEqual([path, 404, 'not_found']);
    }
    for (const [method, path] of [
      ['GET', '/v1/traces'],
      ['PUT', '/v1/ingest'],
      ['DELETE', '/v1/api/traces'],
      ['POST', '/v1/api/sessions'],
      ['POST', '/healthz'],
      ['PATCH', '/v1/api/scores'],
    ] as const) {
      const { status, json, headers } = await service.call(method, path);
      expect([method, path, status, json?.code]).toEqual([method, path, 405, 'method_not_allowed']);
      expect(headers.get('allow')).toMatch(/[A-Z]/);
    }
    const refused = await service.get('/v1/api/traces', { accept: 'text/csv' });
    expect([refused.status, refused.json?.code]).toEqual([406, 'not_acceptable']);
    for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.5', 'application/json'])
      expect((await service.get('/v1/api/traces', { accept })).status).toBe(200);
  });
  it('"Absent means unknown; `null` is never sent for an absent value, except `duration_ns`"', async () => {
    const { project, ids } = await aProject([{}]);
    for (const path of [
      `traces?project=${project}`,
      `spans?project=${project}`,
      `traces/${ids[0]}?include=all`,
      `analytics/cost?project=${project}`,
      `analytics/summary?project=${project}`,
      `sessions?project=${project}`,
    ])
      expect([path, (await get(path)).text.replaceAll('"duration_ns":null', '')]).toEqual([
        path,
        expect.not.stringContaining('null'),
      ]);
  });
  it('serves `/openapi.json`, and `/` as HTML that loads nothing from elsewhere', async () => {
    expect((await service.get('/openapi.json')).json.openapi).toMatch(/^3\.1/);
    const page = await service.get('/');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.text).not.toMatch(/(?:src|href)="https?:/);
    expect((await service.get('/page.js')).text).toContain('/v1/traces');
  });
  it('HEAD answers as GET without a body', async () => {
    for (const path of ['/healthz', '/']) {
      const { status, text } = await service.call('HEAD', path);
      expect([status, text]).toEqual([200, '']);
    }
  });
});
