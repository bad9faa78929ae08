import { describe, expect, it } from 'vitest';
import { findRouteFaults } from '../../../src/http/contract/route-faults.ts';
import { anIngestDoor, startService } from '../service.ts';

describe('a service whose routes are not in order does not start', () => {
  const door = anIngestDoor(() => ({}));
  it.each([
    ['a route without a scope', { ...door, scope: undefined as unknown as 'open' }, 'declares no scope'],
    [
      'a route without an operation',
      { ...door, operationId: 'nothingLikeIt' },
      'which spec/openapi.yaml does not have',
    ],
    ['a scope other than the document’s', { ...door, scope: 'read' as const }, 'spec/openapi.yaml says ingest'],
    ['another path', { ...door, path: '/v1/other' }, 'which is POST /v1/ingest'],
    ['another method', { ...door, method: 'PUT' as const }, 'which is POST /v1/ingest'],
    [
      'an operation that is served twice',
      { ...door, path: '/v1/api/traces', method: 'GET' as const, operationId: 'listTraces' },
      'serves already',
    ],
  ])('%s', async (_name, route, fault) => {
    await expect(startService({ moreRoutes: [route] })).rejects.toThrow(fault);
  });
  it('a body that the document does not know', () => {
    const { body: _body, ...bodyless } = door;
    expect(findRouteFaults([bodyless]).routes.join()).toContain('disagree on whether there is a body');
  });
});
