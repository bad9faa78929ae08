import { expect, it } from 'vitest';
import { mayUse } from '../../src/model/scopes.ts';

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
