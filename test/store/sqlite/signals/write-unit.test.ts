import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openSqliteSignalStore } from '../../../../src/store/sqlite/signals/open.ts';
import { DROP_UNUSED_CONTEXTS } from '../../../../src/store/sqlite/signals/write-unit.ts';
import { temporaryFolder } from '../../../daemon.ts';
import { aSpan, aUnit, spanIdOf } from '../../signals/factories.ts';

const ofRun = (runId: string, n: number) => {
  const span = aSpan({ spanId: spanIdOf(n) });
  return { ...span, correlation: { ...span.correlation, runId } };
};

describe('SQLite: the contexts of a trace', () => {
  it('are those that its spans name: one that a replaced span alone had named goes, and one that others share stays', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    await store.write(aUnit({ spans: [ofRun('shared', 1), ofRun('shared', 2), ofRun('gone', 3)] }));
    await store.write(aUnit({ spans: [ofRun('new', 2), ofRun('new', 3)] }));
    const db = new Database(path, { readonly: true });
    expect(db.prepare('SELECT run_id FROM trace_contexts ORDER BY run_id').pluck().all()).toEqual(['new', 'shared']);
    db.close();
    await store.close();
    folder.remove();
  });

  it('that no span names are found by one read of the spans, however many contexts there are', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    await (await openSqliteSignalStore({ path })).close();
    const db = new Database(path, { readonly: true });
    const plan = db
      .prepare<[number, number], { detail: string }>(`EXPLAIN QUERY PLAN ${DROP_UNUSED_CONTEXTS}`)
      .all(1, 1)
      .map(({ detail }) => detail)
      .join();
    db.close();
    folder.remove();
    expect(plan).toContain('LIST SUBQUERY');
    expect(plan).not.toContain('CORRELATED');
  });
});
