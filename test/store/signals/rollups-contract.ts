import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import type { Order, RollUpSort } from '../../../src/store/signals/query.ts';
import { aLog, aSpan, inDefault, T0, traceIdOf } from './factories.ts';
import { allPages, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of sessions, users and projects. */
export const rollupsContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { holding } = storesOf(open);

    describe('sessions, users, projects', () => {
      const visit = (n: number, user: string, session: string, extra: Parameters<typeof aSpan>[0] = {}): Span =>
        aSpan({
          traceId: traceIdOf(n),
          startTime: T0 + BigInt(n),
          correlation: { userId: user, sessionId: session },
          ...extra,
        });
      const seeded = () =>
        holding({
          spans: [
            visit(1, 'ann', 's1', { cost: { totalCost: 0.5, currency: 'USD', isEstimated: true } }),
            visit(2, 'bob', 's2'),
            visit(3, 'ann', 's3', { status: 'error', error: { message: 'x' } }),
            aSpan({ traceId: traceIdOf(4), startTime: T0 + 4n }),
          ],
        });
      it('rolls traces up by user and by session, the one seen last first', async () => {
        const store = await seeded();
        const users = await store.listRollUps({ ...inDefault, of: 'user' });
        expect(users.items).toEqual([
          {
            id: 'ann',
            project: 'default',
            traceCount: 2,
            errorCount: 1,
            totalCost: 0.5,
            currency: 'USD',
            firstSeen: T0 + 1n,
            lastSeen: T0 + 3n,
          },
          { id: 'bob', project: 'default', traceCount: 1, errorCount: 0, firstSeen: T0 + 2n, lastSeen: T0 + 2n },
        ]);
        const sessions = await allPages((after) =>
          store.listRollUps({ ...inDefault, of: 'session', limit: 1, ...(after && { after }) }),
        );
        expect(sessions.map(({ id }) => id)).toEqual(['s3', 's2', 's1']);
      });
      it('a window counts only the traces inside it', async () => {
        const store = await seeded();
        const { items } = await store.listRollUps({ ...inDefault, of: 'user', to: T0 + 3n });
        expect(items.map(({ id, traceCount }) => [id, traceCount])).toEqual([
          ['bob', 1],
          ['ann', 1],
        ]);
        expect((await store.listRollUps({ ...inDefault, of: 'user', from: T0 + 4n })).items).toEqual([]);
      });
      it('sorts by each figure in both directions, page by page; one without a cost comes last in both', async () => {
        const cost = (totalCost: number) => ({ cost: { totalCost, currency: 'USD', isEstimated: true } });
        const store = await holding({
          spans: [
            visit(1, 'ann', 's', cost(0.25)),
            visit(2, 'bob', 's', cost(3)),
            visit(3, 'cid', 's', { status: 'error', error: { message: 'x' } }),
            visit(4, 'ann', 's', cost(0.5)),
            visit(5, 'dan', 's', cost(0.75)),
            visit(6, 'ann', 's', { status: 'error', error: { message: 'x' } }),
            visit(7, 'eve', 's', { correlation: { project: 'b', userId: 'eve' } }),
            visit(8, 'cid', 's', { status: 'error', error: { message: 'x' } }),
          ],
        });
        const listed = async (sort: RollUpSort, order: Order): Promise<readonly string[]> => {
          const of = { projects: 'all', of: 'user', sort, order } as const;
          const { items } = await store.listRollUps({ ...of, limit: 10 });
          const paged = await allPages((after) => store.listRollUps({ ...of, limit: 2, ...(after && { after }) }));
          expect(paged).toEqual(items);
          return items.map(({ id }) => id);
        };
        expect(await listed('last_seen', 'desc')).toEqual(['cid', 'eve', 'ann', 'dan', 'bob']);
        expect(await listed('last_seen', 'asc')).toEqual(['bob', 'dan', 'ann', 'eve', 'cid']);
        expect(await listed('first_seen', 'asc')).toEqual(['ann', 'bob', 'cid', 'dan', 'eve']);
        expect(await listed('first_seen', 'desc')).toEqual(['eve', 'dan', 'cid', 'bob', 'ann']);
        expect(await listed('trace_count', 'desc')).toEqual(['ann', 'cid', 'eve', 'dan', 'bob']);
        expect(await listed('error_count', 'desc')).toEqual(['cid', 'ann', 'eve', 'dan', 'bob']);
        expect(await listed('cost', 'desc')).toEqual(['bob', 'ann', 'dan', 'cid', 'eve']);
        expect(await listed('cost', 'asc')).toEqual(['dan', 'ann', 'bob', 'eve', 'cid']);
        const { items } = await store.listRollUps({
          ...inDefault,
          of: 'user',
          sort: 'cost',
          order: 'asc',
          to: T0 + 4n,
        });
        expect(items.map(({ id, totalCost }) => [id, totalCost])).toEqual([
          ['ann', 0.25],
          ['bob', 3],
          ['cid', undefined],
        ]);
      });
      it('lists projects that hold any signal, by name', async () => {
        const store = await holding({
          spans: [aSpan({ correlation: { project: 'b' } })],
          logs: [aLog({ correlation: { project: 'a' } })],
        });
        expect((await store.listProjects({ projects: 'all', limit: 10 })).items).toEqual([
          { project: 'a', traceCount: 0 },
          { project: 'b', traceCount: 1, firstSeen: T0, lastSeen: T0 },
        ]);
        expect((await store.listProjects({ projects: ['b'], limit: 10 })).items.map(({ project }) => project)).toEqual([
          'b',
        ]);
        const paged = await allPages((after) =>
          store.listProjects({ projects: 'all', limit: 1, ...(after && { after }) }),
        );
        expect(paged.map(({ project }) => project)).toEqual(['a', 'b']);
      });
    });
  });
};
