import { afterEach, describe, expect, it } from 'vitest';
import type { NewSavedView } from '../../../src/store/signals/saved-views.ts';
import { NOW, type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

const save = ({ ask }: Service, body: object, key?: string) =>
  ask('/v1/api/views', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    ...(key === undefined ? {} : { key }),
  });
const savedOf = ({ calls }: Service) => calls.find(({ method }) => method === 'putView')?.arguments[0] as NewSavedView;

describe('saved views', () => {
  it('a path is kept as a browser would open it, with the person whom it names', async () => {
    const service = await start();
    const answer = await save(service, { name: '<b>mine</b>', path: '/cost/../traces?user_id=ann#top' });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        view_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: '<b>mine</b>',
        project: 'default',
        created_at: '2026-11-20T09:00:00Z',
        path: '/traces?user_id=ann',
      },
    ]);
    expect(savedOf(service)).toMatchObject({ userId: 'ann', createdAt: NOW });
  });

  it('a board has one to twelve views, each once', async () => {
    const ids = (count: number) => Array.from({ length: count }, (_, n) => `v-${n}`);
    const service = await start();
    expect((await save(service, { name: 'b', views: ids(12) })).body.views).toEqual(ids(12));
    expect((await save(service, { name: 'b', views: ['a', 'a', 'b'] })).body.views).toEqual(['a', 'b']);
    for (const views of [[], ids(13)])
      expect((await save(service, { name: 'b', views })).body).toMatchObject({
        code: 'invalid_parameter',
        field: 'views',
      });
  });

  it.each([
    [{ path: '/traces' }, 'name'],
    [{ name: '', path: '/traces' }, 'name'],
    [{ name: 'n'.repeat(101), path: '/traces' }, 'name'],
    [{ name: 'n' }, 'path'],
    [{ name: 'n', path: '/traces', views: ['a'] }, 'path'],
    [{ name: 'n', path: '//elsewhere.example/' }, 'path'],
    [{ name: 'n', path: 'https://elsewhere.example/traces' }, 'path'],
    [{ name: 'n', path: '/v1/api/traces' }, 'path'],
    [{ name: 'n', path: `/traces?q=${'x'.repeat(1991)}` }, 'path'],
    [{ name: 'n', path: '/', project: '*' }, 'project'],
    [{ name: 'n', path: '/', url: 'x' }, 'url'],
  ])('%j is refused by name, and nothing is stored', async (body, field) => {
    const service = await start();
    const answer = await save(service, body);
    expect([answer.status, answer.body.field]).toEqual([400, field]);
    expect(savedOf(service)).toBeUndefined();
  });

  it('a project that is full says so', async () => {
    const service = await start({ store: { putView: async () => undefined } });
    const { status, body } = await save(service, { name: 'n', path: '/' });
    expect([status, body.code, body.message]).toEqual([
      400,
      'cap_exceeded',
      expect.stringContaining('200 saved views'),
    ]);
  });

  it('a deleted view is gone, in the project that holds it, and the audit says who deleted it', async () => {
    const shows = { kind: 'page', path: '/' } as const;
    const service = await start({
      store: { findView: async (viewId) => ({ viewId, name: 'n', project: 'shop', createdAt: 1n, shows }) },
    });
    const answer = await service.ask('/v1/api/views/v-1', { method: 'DELETE' });
    expect([answer.status, answer.body]).toEqual([200, { deleted: true, deletes_pending: false }]);
    expect(service.calls.find(({ method }) => method === 'deleteView')?.arguments).toEqual(['shop', 'v-1']);
    expect(service.audited.map(({ operation, project }) => [operation, project])).toEqual([['delete_view', 'shop']]);
    const nothing = await start();
    expect((await nothing.ask('/v1/api/views/v-1', { method: 'DELETE' })).status).toBe(404);
  });
});
