import { describe, expect, it } from 'vitest';
import {
  type ConfiguredKeys,
  createAuthenticator,
  type KeyLists,
  keyFingerprint,
  readPresentedKey,
} from '../../../src/http/access/auth.ts';
import { type Scope, scopes } from '../../../src/model/scope.ts';

/** One key a scope, named after it: `aKeyFor('read', 'write')` is `{ read: ['read-key'], write: ['write-key'] }`. */
const aKeyFor = (...names: Scope[]): KeyLists => Object.fromEntries(names.map((name) => [name, [`${name}-key`]]));

const decide = (keys: ConfiguredKeys, scope: Scope, key?: string): string => {
  const decision = createAuthenticator(keys).authorize(
    scope,
    key === undefined ? { kind: 'none' } : { kind: 'key', key },
  );
  return decision.kind === 'allowed' ? 'allowed' : decision.failure.code;
};

type Row = readonly [sentence: string, configured: Scope[], scope: Scope, key: string | undefined, expected: string];

const rows: Row[] = [
  ['with no ingest key configured anyone reaching the port can write', [], 'ingest', undefined, 'allowed'],
  ['with no ingest key configured a read key changes nothing', ['read'], 'ingest', undefined, 'allowed'],
  ['ingest endpoints need an ingest key when any is configured', ['ingest'], 'ingest', undefined, 'unauthorized'],
  ['an ingest key opens the ingest doors', ['ingest'], 'ingest', 'ingest-key', 'allowed'],
  ['a read key does not', ['ingest', 'read'], 'ingest', 'read-key', 'forbidden'],
  ['a write key does not', ['ingest', 'write'], 'ingest', 'write-key', 'forbidden'],

  ['with no read key anyone can read every stored prompt', [], 'read', undefined, 'allowed'],
  ['an admin key alone does not close read', ['admin'], 'read', undefined, 'allowed'],
  ['reads need read', ['read'], 'read', undefined, 'unauthorized'],
  ['a read key reads', ['read'], 'read', 'read-key', 'allowed'],
  ['an unknown key is unauthorized', ['read'], 'read', 'guessed-key', 'unauthorized'],
  ['an admin key holds read only where it is listed', ['read', 'admin'], 'read', 'admin-key', 'forbidden'],

  ['write is open when neither write nor ingest keys are configured', ['read', 'admin'], 'write', undefined, 'allowed'],
  [
    "when no write key is set, write falls back to the ingest keys' rule",
    ['ingest'],
    'write',
    undefined,
    'unauthorized',
  ],
  ['and an ingest key writes', ['ingest'], 'write', 'ingest-key', 'allowed'],
  ['when a write key is set, an ingest key does not write', ['ingest', 'write'], 'write', 'ingest-key', 'forbidden'],
  ['a write key writes', ['ingest', 'write'], 'write', 'write-key', 'allowed'],

  ['when no admin list is set the admin scope falls back to the read list', ['read'], 'admin', 'read-key', 'allowed'],
  ['and needs one of its keys', ['read'], 'admin', undefined, 'unauthorized'],
  ['with neither admin nor read keys admin is open', ['ingest'], 'admin', undefined, 'allowed'],
  ['when an admin list is set a read key cannot delete', ['read', 'admin'], 'admin', 'read-key', 'forbidden'],
  ['an admin key administers', ['read', 'admin'], 'admin', 'admin-key', 'allowed'],

  ['execute falls back to the write keys', ['write'], 'execute', 'write-key', 'allowed'],
  ['worker falls back to the write keys', ['write'], 'worker', 'write-key', 'allowed'],
  ['execute needs one of them', ['write'], 'execute', undefined, 'unauthorized'],
  ['an admin key holds execute beside an execute list', ['execute', 'admin'], 'execute', 'admin-key', 'allowed'],
  ['an admin key holds worker beside a worker list', ['worker', 'admin'], 'worker', 'admin-key', 'allowed'],
  ['an admin key holds execute by fallback too', ['write', 'admin'], 'execute', 'admin-key', 'allowed'],
  [
    'a read key that is admin by fallback holds no execute',
    ['read', 'execute', 'worker'],
    'execute',
    'read-key',
    'forbidden',
  ],
  [
    'when execute and worker lists are unset ingest keys reach the runs surface',
    ['ingest', 'write'],
    'execute',
    'ingest-key',
    'allowed',
  ],
  ['and as workers', ['ingest', 'write'], 'worker', 'ingest-key', 'allowed'],
  [
    'when execute and worker lists are unset read keys reach the runs surface',
    ['read', 'write'],
    'execute',
    'read-key',
    'allowed',
  ],
  ['and as workers too', ['read', 'write'], 'worker', 'read-key', 'allowed'],
  ['a read key alone guards the runs surface', ['read'], 'execute', undefined, 'unauthorized'],
  ['an execute list ends that for execute', ['read', 'write', 'execute'], 'execute', 'read-key', 'forbidden'],
  ['and for worker, which stays with the write keys', ['read', 'write', 'execute'], 'worker', 'read-key', 'forbidden'],
  ['where write keys still serve', ['read', 'write', 'execute'], 'worker', 'write-key', 'allowed'],
  ['an execute key is no worker', ['write', 'execute'], 'worker', 'execute-key', 'forbidden'],
  ['a worker key starts no run', ['write', 'worker'], 'execute', 'worker-key', 'forbidden'],
  ['an execute list is not reached by write keys', ['write', 'execute'], 'execute', 'write-key', 'forbidden'],
  ['with no key at all the runs surface is open', [], 'execute', undefined, 'allowed'],
  ['an admin key alone does not close it', ['admin'], 'worker', undefined, 'allowed'],

  ['an unknown key does no harm where none is asked for', [], 'read', 'some-key', 'allowed'],
];

describe('keys and scopes', () => {
  it.each(rows)('%s (keys for %j; %s by %s: %s)', (_sentence, configured, scope, key, expected) => {
    expect(decide({ topLevel: aKeyFor(...configured) }, scope, key)).toBe(expected);
  });

  it('holds exactly the specified inheritance for every combination of configured scopes', () => {
    // Written apart from the implementation, as sets of configured lists that hold each scope.
    for (let mask = 0; mask < 1 << scopes.length; mask += 1) {
      const configured = new Set(scopes.filter((_, bit) => (mask & (1 << bit)) !== 0));
      const has = (scope: Scope) => configured.has(scope);
      const write: Scope[] = has('write') ? ['write'] : ['ingest'];
      const everyone: Scope[] = !has('execute') && !has('worker') ? ['ingest', 'read'] : [];
      const holders: Record<Scope, Scope[]> = {
        ingest: ['ingest'],
        read: ['read'],
        write,
        admin: has('admin') ? ['admin'] : ['read'],
        execute: [...(has('execute') ? (['execute'] as const) : [...write, ...everyone]), 'admin'],
        worker: [...(has('worker') ? (['worker'] as const) : [...write, ...everyone]), 'admin'],
      };
      const authenticator = createAuthenticator({ topLevel: aKeyFor(...configured) });
      for (const scope of scopes) {
        const guarded = holders[scope].some((holder) => has(holder) && (holder !== 'admin' || scope === 'admin'));
        expect(authenticator.authorize(scope, { kind: 'none' }).kind).toBe(guarded ? 'refused' : 'allowed');
        for (const holder of configured) {
          const allowed = !guarded || holders[scope].includes(holder);
          const decision = authenticator.authorize(scope, { kind: 'key', key: `${holder}-key` });
          expect(`${[...configured].join()} ${scope} by ${holder}: ${decision.kind}`).toBe(
            `${[...configured].join()} ${scope} by ${holder}: ${allowed ? 'allowed' : 'refused'}`,
          );
        }
      }
    }
  });

  it('recognises every one of several keys of a list', () => {
    const keys = { topLevel: { read: ['first', 'second', 'third'] } };
    for (const key of keys.topLevel.read) expect(decide(keys, 'read', key)).toBe('allowed');
    expect(decide(keys, 'read', 'second ')).toBe('unauthorized');
    expect(decide(keys, 'read', '')).toBe('unauthorized');
  });

  it('keeps digests only: no key can be read back from the authenticator', () => {
    const authenticator = createAuthenticator({ topLevel: { read: ['a-very-secret-key'] } });
    expect(JSON.stringify([authenticator, authenticator.describeScopes()])).not.toContain('secret');
  });

  it('never puts the presented key into the refusal', () => {
    const decision = createAuthenticator({ topLevel: { read: ['right'] } }).authorize('read', {
      kind: 'key',
      key: 'wrong-secret',
    });
    expect(JSON.stringify(decision)).not.toContain('wrong-secret');
  });

  it('names a key by the first eight hex digits of its SHA-256', () => {
    expect(keyFingerprint('abc')).toBe('ba7816bf');
  });
});

describe('project keys', () => {
  const keys: ConfiguredKeys = {
    topLevel: { read: ['top-reader'] },
    projects: {
      alpha: { read: ['alpha-reader', 'both-reader'], ingest: ['alpha-sender'] },
      beta: { read: ['both-reader'], write: ['beta-writer'] },
    },
  };
  const reachOf = (scope: Scope, key: string): unknown => {
    const decision = createAuthenticator(keys).authorize(scope, { kind: 'key', key });
    return decision.kind === 'allowed' ? decision.reach : decision.failure.code;
  };

  it('a key configured at the top level reaches every project', () =>
    expect(reachOf('read', 'top-reader')).toBe('all'));
  it('such a key reaches its project only', () => expect(reachOf('read', 'alpha-reader')).toEqual(['alpha']));
  it('a key listed by several projects reaches each of them', () =>
    expect(reachOf('read', 'both-reader')).toEqual(['alpha', 'beta']));
  it('inherits within its project: a reader deletes there when no admin list is set', () =>
    expect(reachOf('admin', 'alpha-reader')).toEqual(['alpha']));
  it('an ingest key of any project closes the ingest doors for those without a key', () =>
    expect(decide(keys, 'ingest')).toBe('unauthorized'));
  it("one project's write list ends the fallback of write to ingest everywhere", () => {
    expect(reachOf('write', 'alpha-sender')).toBe('forbidden');
    expect(reachOf('write', 'beta-writer')).toEqual(['beta']);
  });
  it('tells the presented key its scopes and projects', () => {
    const identity = createAuthenticator(keys).identify({ kind: 'key', key: 'both-reader' });
    expect(identity.grants).toEqual({
      read: ['alpha', 'beta'],
      admin: ['alpha', 'beta'],
      execute: ['alpha', 'beta'],
      worker: ['alpha', 'beta'],
    });
    expect(identity.kind === 'allowed' && identity.reach).toEqual(['alpha', 'beta']);
  });
  it('refuses to tell an unknown key anything once keys are configured', () => {
    const identity = createAuthenticator(keys).identify({ kind: 'key', key: 'guess' });
    expect(identity.kind === 'refused' && identity.failure.code).toBe('unauthorized');
  });
  it('a key that is listed at the top level and in a project reaches every project', () => {
    const authenticator = createAuthenticator({ topLevel: { read: ['k'] }, projects: { alpha: { read: ['k'] } } });
    const decision = authenticator.authorize('read', { kind: 'key', key: 'k' });
    expect(decision.kind === 'allowed' && decision.reach).toBe('all');
  });
});

describe('describeScopes', () => {
  it('makes the inheritance of every scope explicit, including the case of no admin key', () => {
    const described = createAuthenticator({ topLevel: aKeyFor('read') }).describeScopes();
    expect(described).toEqual([
      { scope: 'ingest', open: true, ownKeys: 0, inheritsFrom: [], keys: 0 },
      { scope: 'read', open: false, ownKeys: 1, inheritsFrom: [], keys: 1 },
      { scope: 'write', open: true, ownKeys: 0, inheritsFrom: ['ingest'], keys: 0 },
      { scope: 'admin', open: false, ownKeys: 0, inheritsFrom: ['read'], keys: 1 },
      { scope: 'execute', open: false, ownKeys: 0, inheritsFrom: ['admin', 'ingest', 'read'], keys: 1 },
      { scope: 'worker', open: false, ownKeys: 0, inheritsFrom: ['admin', 'ingest', 'read'], keys: 1 },
    ]);
  });
});

describe('the presented key', () => {
  it.each([
    ['Authorization: Bearer', ['Authorization', 'Bearer abc'], { kind: 'key', key: 'abc' }],
    ['the scheme in any case', ['authorization', 'bearer abc'], { kind: 'key', key: 'abc' }],
    ['X-Svc-Key', ['X-Svc-Key', 'abc'], { kind: 'key', key: 'abc' }],
    ['both headers, alike', ['x-svc-key', 'abc', 'Authorization', 'Bearer abc'], { kind: 'key', key: 'abc' }],
    ['both headers, different', ['x-svc-key', 'abc', 'Authorization', 'Bearer abd'], { kind: 'conflict' }],
    [
      'Authorization twice, even alike',
      ['Authorization', 'Bearer a', 'authorization', 'Bearer a'],
      { kind: 'conflict' },
    ],
    ['X-Svc-Key twice', ['X-Svc-Key', 'a', 'x-svc-key', 'b'], { kind: 'conflict' }],
    ['another scheme', ['Authorization', 'Basic dTpw'], { kind: 'none' }],
    [
      'a proxy’s Basic beside a key of ours',
      ['Authorization', 'Basic dTpw', 'X-Svc-Key', 'abc'],
      { kind: 'key', key: 'abc' },
    ],
    ['an empty key', ['X-Svc-Key', ''], { kind: 'none' }],
    ['no header', ['Host', 'x'], { kind: 'none' }],
  ] as const)('%s', (_name, headers, expected) => {
    expect(readPresentedKey(headers)).toEqual(expected);
  });

  it('headers that disagree are refused even where no key is needed', () => {
    const decision = createAuthenticator({ topLevel: {} }).authorize('read', { kind: 'conflict' });
    expect(decision.kind === 'refused' && decision.failure.code).toBe('unauthorized');
  });
});
