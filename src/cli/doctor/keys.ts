import type { ScopeDescription } from '../../http/access/auth.ts';
import { isLoopbackHost } from '../../http/access/open-surfaces.ts';
import type { Scope } from '../../model/scope.ts';
import type { Look } from './deployment.ts';
import { counted, type Finding, fault, ok, warning } from './finding.ts';

/** What a stranger can do where a scope is open. Reading or deleting stored data is a fault; writing is a warning. */
const exposure: Readonly<
  Record<Scope, { readonly level: 'warning' | 'fault'; readonly what: string; readonly mend: string }>
> = {
  ingest: { level: 'warning', what: 'can write signals', mend: 'set --ingest-key' },
  read: { level: 'fault', what: 'can read every stored prompt and answer', mend: 'set --read-key' },
  write: {
    level: 'warning',
    what: 'can write scores, feedback, datasets and experiments',
    mend: 'set --write-key or --ingest-key',
  },
  admin: {
    level: 'fault',
    what: 'can delete traces and read the audit log',
    mend: 'set --admin-key, or --read-key',
  },
  execute: {
    level: 'warning',
    what: 'can start, signal and cancel durable runs',
    mend: 'set --execute-key or --write-key',
  },
  worker: {
    level: 'fault',
    what: 'can take steps of durable runs with their inputs, and answer them',
    mend: 'set --worker-key or --write-key',
  },
};

const isRunScope = (scope: Scope): boolean => scope === 'execute' || scope === 'worker';

/** The scope with its inheritance made explicit: whose keys hold it, and why. */
const guardOf = ({ ownKeys, inheritsFrom, keys }: ScopeDescription): string => {
  const own = ownKeys === 0 ? 'no key of its own' : counted(ownKeys, 'key') + ' of its own';
  const heirs =
    inheritsFrom.length === 0
      ? ''
      : `, ${ownKeys === 0 ? 'falls back to' : 'and holds for'} the keys of ${inheritsFrom.join(', ')}`;
  return `${own}${heirs}; ${counted(keys, 'key')} in all`;
};

/** Every scope, whose keys hold it, and who gets in without one. @see Interface specification, "Authentication" */
export const examineKeys = ({ scopes, settings }: Look): Finding[] => {
  const { host, runsData } = settings;
  const isReachable = !isLoopbackHost(host);
  const findings = scopes.map((description): Finding => {
    const { scope, open, ownKeys } = description;
    if (isRunScope(scope) && runsData === undefined) return ok(`${scope}: not served, durable runs are off`);
    if (open) {
      const { level, what, mend } = exposure[scope];
      if (!isReachable) return ok(`${scope}: no key guards it; ${host} is reached from this machine alone`);
      return { level, message: `${scope}: open on ${host}: anyone who reaches it ${what}`, mend };
    }
    if (scope === 'admin' && ownKeys === 0)
      return warning(
        `admin: no admin key is set, so the scope falls back to the read keys: a read key can delete traces and read the audit log; ${counted(description.keys, 'key')} in all`,
        'set --admin-key',
      );
    return ok(`${scope}: ${guardOf(description)}`);
  });
  return [
    ...findings,
    ...settings.warnings.map((message) => warning(message, 'put a long random key, or the right name, there')),
  ];
};

/** Whether the runs surface needs a key, in one line. */
export const examineRunsDoor = ({ scopes, settings: { host } }: Look): Finding => {
  const open = scopes.filter(({ scope, open: isOpen }) => isOpen && isRunScope(scope)).map(({ scope }) => scope);
  if (open.length === 0) return ok('starting durable runs and serving their steps needs a key');
  if (isLoopbackHost(host))
    return ok(`no key guards ${open.join(' and ')}; ${host} is reached from this machine alone`);
  const level = open.some((scope) => exposure[scope].level === 'fault') ? fault : warning;
  return level(
    `no key guards the runs surface on ${host}: ${open.map((scope) => `anyone ${exposure[scope].what}`).join('; ')}`,
    'set --execute-key and --worker-key, or --write-key, or --runs-data off',
  );
};
