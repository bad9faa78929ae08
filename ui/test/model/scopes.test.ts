import { expect, it } from 'vitest';
import { mayUse, projectsOf, scopeRows } from '../../src/model/scopes.ts';

it('a key may use a scope in the projects that it is granted for', () => {
  const whoami = {
    scopes: ['read' as const, 'write' as const],
    projects: ['shop', 'lab'],
    grants: { read: ['shop', 'lab'], write: ['shop'] },
    version: '0',
    spec_version: '1',
  };
  expect(mayUse(whoami, 'write', 'shop')).toBe(true);
  expect(mayUse(whoami, 'write', 'lab')).toBe(false);
  expect(mayUse(whoami, 'write')).toBe(true);
  expect(mayUse(whoami, 'admin', 'shop')).toBe(false);
  expect(mayUse({ ...whoami, grants: { write: ['*'] } }, 'write', 'lab')).toBe(true);
});

it('the table of scopes has each once, and says in which projects a key has it', () => {
  expect(scopeRows.map(({ scope }) => scope)).toEqual(['ingest', 'read', 'write', 'admin', 'execute', 'worker']);
  const whoami = {
    scopes: ['read' as const, 'write' as const, 'admin' as const],
    projects: ['shop', 'lab'],
    grants: { write: ['shop'], admin: ['*'] },
    version: '0',
    spec_version: '1',
  };
  expect(scopeRows.map(({ scope }) => projectsOf(whoami, scope))).toEqual([
    undefined,
    'shop, lab',
    'shop',
    'all',
    undefined,
    undefined,
  ]);
});
