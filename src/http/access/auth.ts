import { createHash, timingSafeEqual } from 'node:crypto';
import type { Failure } from '../../model/failure.ts';
import { type ProjectReach, type Scope, scopes } from '../../model/scope.ts';

export type KeyLists = Readonly<Partial<Record<Scope, readonly string[]>>>;

/** The keys of the operator's configuration, in plain text; only their digests are kept. */
export type ConfiguredKeys = {
  /** Keys that reach every project. */
  readonly topLevel: KeyLists;
  /** Keys that reach one project, by its name. */
  readonly projects?: Readonly<Record<string, KeyLists | undefined>>;
};

/** Projects by scope; a scope that is not held is absent. */
export type Grants = Readonly<Partial<Record<Scope, ProjectReach>>>;

/** What a request presented: no key, one, or headers that disagree. */
export type Presented =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'conflict' };

export type Decision =
  | {
      readonly kind: 'allowed';
      readonly scopes: readonly Scope[];
      readonly reach: ProjectReach;
      readonly keyFingerprint?: string;
    }
  | { readonly kind: 'refused'; readonly failure: Failure; readonly keyFingerprint?: string };

/** How one scope is guarded, and by whose keys: its own, or those of the scopes it falls back to. */
export type ScopeDescription = {
  readonly scope: Scope;
  /** Anyone may use it, without a key. */
  readonly open: boolean;
  /** How many keys are configured for this very scope. */
  readonly ownKeys: number;
  /** The scopes whose keys hold this one as well. */
  readonly inheritsFrom: readonly Scope[];
  /** How many different keys hold it in all. */
  readonly keys: number;
};

export type Authenticator = {
  /** Decides whether the presented key may do what the scope allows, and in which projects. */
  readonly authorize: (scope: Scope, presented: Presented) => Decision;
  /** Everything that the presented key may do; what is open to everyone is part of it. */
  readonly identify: (presented: Presented) => Decision & { readonly grants: Grants };
  readonly describeScopes: () => readonly ScopeDescription[];
};

const FINGERPRINT_DIGITS = 8;

const digestOf = (key: string): Buffer => createHash('sha256').update(key, 'utf8').digest();

/** First eight hex digits of the SHA-256 of a key: enough to tell keys apart in the audit log, useless for guessing. */
export const keyFingerprint = (key: string): string => digestOf(key).toString('hex').slice(0, FINGERPRINT_DIGITS);

/**
 * Whose keys hold a scope beside its own, given which scopes have keys.
 * - admin, without keys of its own, falls back to read
 * - write, without keys of its own, falls back to the ingest keys' rule
 * - execute and worker, each without keys of its own, fall back to write; when neither has any, ingest and read keys hold
 *   them too; admin keys hold both always
 * @see Interface specification, "Authentication"; Interface decisions, "3. Keys and scopes"
 */
const inheritance = (isConfigured: (scope: Scope) => boolean, scope: Scope): Scope[] => {
  const writers: Scope[] = isConfigured('write') ? ['write'] : ['ingest'];
  switch (scope) {
    case 'ingest':
    case 'read':
      return [];
    case 'write':
      return isConfigured('write') ? [] : writers;
    case 'admin':
      return isConfigured('admin') ? [] : ['read'];
    case 'execute':
    case 'worker': {
      const heirs = new Set<Scope>(['admin']);
      if (!isConfigured(scope)) for (const writer of writers) heirs.add(writer);
      if (!isConfigured('execute') && !isConfigured('worker')) heirs.add('ingest').add('read');
      return [...heirs];
    }
    default:
      return scope satisfies never;
  }
};

const widen = (a: ProjectReach | undefined, b: ProjectReach): ProjectReach =>
  a === 'all' || b === 'all' ? 'all' : [...new Set([...(a ?? []), ...b])];

type HeldKey = { readonly digest: Buffer; readonly own: Partial<Record<Scope, ProjectReach>> };

const unauthorized = (message: string): Failure => ({ code: 'unauthorized', message });

/**
 * Compiles the configured keys into the one place that decides who may do what. Whether a scope has keys is asked over
 * the whole configuration: one project's admin key ends the fallback of admin to read everywhere, because an operator
 * who names an administrator anywhere does not expect readers to delete.
 */
export const createAuthenticator = (configured: ConfiguredKeys): Authenticator => {
  const held = new Map<string, HeldKey>();
  const hold = (scope: Scope, keys: readonly string[] | undefined, reach: ProjectReach): void => {
    for (const key of keys ?? []) {
      const digest = digestOf(key);
      const id = digest.toString('hex');
      const entry = held.get(id) ?? { digest, own: {} };
      entry.own[scope] = widen(entry.own[scope], reach);
      held.set(id, entry);
    }
  };
  for (const scope of scopes) {
    hold(scope, configured.topLevel[scope], 'all');
    for (const [project, lists] of Object.entries(configured.projects ?? {})) hold(scope, lists?.[scope], [project]);
  }
  const keys = [...held.values()];

  const ownKeys = Object.fromEntries(
    scopes.map((scope) => [scope, keys.filter((key) => key.own[scope] !== undefined).length]),
  ) as Record<Scope, number>;
  const isConfigured = (scope: Scope): boolean => ownKeys[scope] > 0;
  const inherits = Object.fromEntries(scopes.map((scope) => [scope, inheritance(isConfigured, scope)])) as Record<
    Scope,
    Scope[]
  >;

  const grantsOf = (key: HeldKey): Grants => {
    const grants: Partial<Record<Scope, ProjectReach>> = {};
    for (const scope of scopes)
      for (const source of [scope, ...inherits[scope]]) {
        const reach = key.own[source];
        if (reach !== undefined) grants[scope] = widen(grants[scope], reach);
      }
    return grants;
  };
  const grants = keys.map(grantsOf);

  // An admin key also holds execute and worker, but does not close them: an operator who guards deletion alone has said
  // nothing about runs.
  const guards = (scope: Scope): Scope[] => [scope, ...inherits[scope].filter((source) => source !== 'admin')];
  const open = new Set(scopes.filter((scope) => !guards(scope).some(isConfigured)));
  const openGrants: Grants = Object.fromEntries([...open].map((scope) => [scope, 'all' as const]));

  /** Compares with every digest, always all of them, so that the time does not reveal which one matched. */
  const find = (key: string): { readonly index: number; readonly fingerprint: string } => {
    const digest = digestOf(key);
    let index = -1;
    for (const [at, candidate] of keys.entries()) if (timingSafeEqual(candidate.digest, digest)) index = at;
    return { index, fingerprint: digest.toString('hex').slice(0, FINGERPRINT_DIGITS) };
  };

  const conflict = unauthorized(
    'more than one key was sent: send one, in one Authorization header or in one X-Svc-Key header',
  );
  const needed = (scope: Scope): string =>
    `this call needs a key with the ${scope} scope: send it as "Authorization: Bearer <key>" or "X-Svc-Key: <key>"`;

  const identify = (presented: Presented): Decision & { readonly grants: Grants } => {
    if (presented.kind === 'conflict') return { kind: 'refused', failure: conflict, grants: {} };
    const found = presented.kind === 'key' ? find(presented.key) : undefined;
    const known = found !== undefined && found.index !== -1;
    if (found !== undefined && !known && keys.length > 0)
      return {
        kind: 'refused',
        failure: unauthorized('this key is not known'),
        keyFingerprint: found.fingerprint,
        grants: {},
      };
    const mine: Grants = { ...(known ? grants[found.index] : {}), ...openGrants };
    const heldScopes = scopes.filter((scope) => mine[scope] !== undefined);
    let reach: ProjectReach = [];
    for (const scope of heldScopes) reach = widen(reach, mine[scope] ?? []);
    return {
      kind: 'allowed',
      scopes: heldScopes,
      reach,
      ...(known ? { keyFingerprint: found.fingerprint } : {}),
      grants: mine,
    };
  };

  const authorize = (scope: Scope, presented: Presented): Decision => {
    if (presented.kind === 'conflict') return { kind: 'refused', failure: conflict };
    if (presented.kind === 'none') {
      if (open.has(scope)) return { kind: 'allowed', scopes: [...open], reach: 'all' };
      return { kind: 'refused', failure: unauthorized(needed(scope)) };
    }
    const { index, fingerprint } = find(presented.key);
    const mine = index === -1 ? undefined : grants[index];
    if (open.has(scope)) {
      // A client configured with a key must go on working where none is asked for.
      const heldScopes =
        mine === undefined ? [...open] : scopes.filter((held) => open.has(held) || mine[held] !== undefined);
      return {
        kind: 'allowed',
        scopes: heldScopes,
        reach: 'all',
        ...(mine === undefined ? {} : { keyFingerprint: fingerprint }),
      };
    }
    if (mine === undefined)
      return {
        kind: 'refused',
        failure: unauthorized(`the key that was sent is not known; ${needed(scope)}`),
        keyFingerprint: fingerprint,
      };
    const reach = mine[scope];
    if (reach === undefined)
      return {
        kind: 'refused',
        failure: { code: 'forbidden', message: `this key does not hold the ${scope} scope, which this call needs` },
        keyFingerprint: fingerprint,
      };
    const heldScopes = scopes.filter((held) => open.has(held) || mine[held] !== undefined);
    return { kind: 'allowed', scopes: heldScopes, reach, keyFingerprint: fingerprint };
  };

  return {
    authorize,
    identify,
    describeScopes: () =>
      scopes.map((scope) => ({
        scope,
        open: open.has(scope),
        ownKeys: ownKeys[scope],
        inheritsFrom: inherits[scope],
        keys: grants.filter((mine) => mine[scope] !== undefined).length,
      })),
  };
};

const BEARER = /^bearer +(\S+) *$/i;

/**
 * Reads the key out of the request's headers, as they came over the wire: Node keeps only the first of a repeated
 * Authorization header, and a proxy in front may have checked another one. A scheme other than Bearer is not for this
 * service (it may be a proxy's basic authentication) and is no key.
 * @param rawHeaders names and values in turns, `IncomingMessage.rawHeaders`
 */
export const readPresentedKey = (rawHeaders: readonly string[]): Presented => {
  let authorizations = 0;
  let svcKeys = 0;
  let bearer: string | undefined;
  let svcKey: string | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // Cheap by length first: this runs over every header of every request.
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      authorizations += 1;
      bearer = BEARER.exec(rawHeaders[at + 1] ?? '')?.[1];
    } else if (name.length === 9 && name.toLowerCase() === 'x-svc-key') {
      svcKeys += 1;
      svcKey = (rawHeaders[at + 1] ?? '').trim();
    }
  }
  if (authorizations > 1 || svcKeys > 1) return { kind: 'conflict' };
  if (bearer !== undefined && svcKey !== undefined && bearer !== svcKey) return { kind: 'conflict' };
  const key = bearer ?? svcKey;
  return key === undefined || key === '' ? { kind: 'none' } : { kind: 'key', key };
};
