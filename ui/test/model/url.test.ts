import { describe, expect, it } from 'vitest';
import { firstTraceCommand, nativeCommand } from '../../src/model/first-trace.ts';
import { DEFAULT_PREFS, homeOf, paramsOfHome, parsePrefs } from '../../src/model/prefs.ts';
import { rangeName, withZone } from '../../src/model/time-range.ts';
import {
  asCurl,
  flag,
  formatQuery,
  formatState,
  keepShared,
  list,
  number,
  oneOf,
  parseQuery,
  parseState,
  text,
} from '../../src/model/url.ts';

const grammar = {
  q: text(),
  min_cost: number(),
  has_error: flag(),
  sort: oneOf(['start_time', 'cost'], 'start_time'),
  cols: list(),
} as const;

describe('the grammar of addresses', () => {
  it('reads a query into a state and writes it back the same', () => {
    const query = '?q=refund&min_cost=0.5&has_error=true&sort=cost&cols=name,cost';
    const state = parseState(grammar, parseQuery(query));
    expect(state).toEqual({ q: 'refund', min_cost: 0.5, has_error: true, sort: 'cost', cols: ['name', 'cost'] });
    expect(formatQuery(formatState(grammar, state))).toBe(query);
  });

  it('leaves out defaults, empty texts and empty lists', () => {
    expect(formatState(grammar, { sort: 'start_time', q: '', cols: [] })).toEqual({});
    expect(parseState(grammar, {})).toEqual({ sort: 'start_time' });
  });

  it('shows the default for a value that is none: a damaged address opens', () => {
    expect(parseState(grammar, { sort: 'colour', min_cost: 'much', has_error: 'maybe' })).toEqual({
      sort: 'start_time',
    });
  });

  it('carries any text there and back', () => {
    for (const q of ['a&b=c', '100% "sure"', 'größe 🚀', "' OR 1=1", '+'])
      expect(parseQuery(formatQuery(formatState(grammar, { q })))).toEqual({ q });
  });

  it('takes project, time and environment along to another page, and nothing else', () => {
    expect(keepShared({ project: 'p', from: '-24h', q: 'x', span: 's', environment: 'prod' })).toEqual({
      project: 'p',
      from: '-24h',
      environment: 'prod',
    });
  });
});

describe('a call as curl', () => {
  it('has the parameters of the address, quotes them for a shell, and names the key without writing it', () => {
    expect(asCurl('http://h:1', '/v1/api/traces', { q: "it's" }, false)).toBe(
      "curl 'http://h:1/v1/api/traces?q=it%27s'",
    );
    expect(asCurl('http://h:1', '/v1/api/traces', {}, true)).toContain('$SVC_KEY');
  });
});

describe('the time on top', () => {
  it('is named as it is offered, else as it stands in the address', () => {
    expect([rangeName('-24h', undefined), rangeName('-36h', undefined), rangeName('-2h', '-1h')]).toEqual([
      'Last 24 hours',
      'Since -36h',
      '-2h to -1h',
    ]);
  });

  it('takes a day and a time without a zone as UTC, and leaves the rest as it is given', () => {
    expect(['2026-11-20', '2026-11-20 09:00', '-36h', ' ', '2026-11-20T09:00:00+01:00'].map(withZone)).toEqual([
      '2026-11-20T00:00:00Z',
      '2026-11-20T09:00:00Z',
      '-36h',
      undefined,
      '2026-11-20T09:00:00+01:00',
    ]);
  });
});

describe('preferences', () => {
  it('are the defaults where nothing, nonsense or another version is stored', () => {
    for (const stored of [null, '', '{', '[]', 'null', '{"version":2,"theme":"dark"}'])
      expect(parsePrefs(stored)).toEqual(DEFAULT_PREFS);
  });

  it('keep what is understood and drop the rest', () => {
    expect(parsePrefs('{"version":1,"theme":"dark","zone":"mars","pollSeconds":-1,"shortcuts":false}')).toEqual({
      ...DEFAULT_PREFS,
      theme: 'dark',
      shortcuts: false,
    });
  });

  it('hold the view with which a page opens from the rail, and no more of it than an address takes', () => {
    const homes = {
      '/traces': '?status=error',
      '/runs': 7,
      'https://elsewhere': '?a=b',
      '/cost': `?q=${'x'.repeat(1997)}`,
    };
    const kept = parsePrefs(JSON.stringify({ version: 1, homes }));
    expect(kept.homes).toEqual({ '/traces': '?status=error', '/cost': homes['/cost'] });
    expect(parsePrefs(JSON.stringify({ version: 1, homes: { '/cost': `?q=${'x'.repeat(1998)}` } })).homes).toEqual({});
    expect(paramsOfHome(kept, '/traces')).toEqual({ status: 'error' });
    expect(paramsOfHome(kept, '/runs')).toEqual({});
    expect(paramsOfHome(kept, 'constructor')).toEqual({});
  });

  it('keep of an address what its page alone says, and not the row that is peeked at', () => {
    expect(homeOf('?project=a&from=-24h&status=error&peek=0123&q=refund')).toBe('?status=error&q=refund');
    expect(homeOf('?project=a')).toBe('');
    expect(homeOf('')).toBe('');
  });
});

describe('the commands of the first run', () => {
  const sample = { origin: 'http://h:1', traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), nowMs: 1_800_000_000_000 };

  it('send to this very address, with a body that can be read, also for a project with a quote', () => {
    for (const command of [firstTraceCommand, nativeCommand])
      for (const project of [undefined, 'p', "it's"]) {
        const shown = command({ ...sample, project });
        expect(shown).toContain('http://h:1/v1/');
        const body = shown.slice(shown.indexOf("-d '") + 4, -1).replaceAll("'\\''", "'");
        const text = JSON.stringify(JSON.parse(body));
        expect(text.includes('project')).toBe(project !== undefined);
        if (project !== undefined) expect(text).toContain(project);
      }
  });
});
