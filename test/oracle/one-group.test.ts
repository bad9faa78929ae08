import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { ALL, aDefinition, createHarness, must } from '../actors/run-harness.ts';

const sqlite = async (): Promise<{ store: RunStore; remove: () => void }> => {
  const folder = mkdtempSync(join(tmpdir(), 'runs-group-'));
  const store = await openSqliteRunStore({ path: join(folder, 'runs.db') });
  return { store, remove: () => rmSync(folder, { recursive: true }) };
};
const memory = async () => ({ store: createMemoryRunStore(), remove: () => {} });

describe.each([
  ['memory', memory],
  ['sqlite', sqlite],
] as const)('what one commit both sets and clears, on %s', (_name, open) => {
  it('leaves no wait and no timer behind', async () => {
    const { store, remove } = await open();
    const waiting = aDefinition(
      'flow',
      [
        { id: 'first', kind: 'task' },
        { id: 'ask', kind: 'wait_event', event: 'go', key: 'k', timeout_ms: 60_000 },
        { id: 'then', kind: 'task' },
      ],
      { limits: { run_timeout_ms: 600_000 } },
    );
    const service = await createHarness({ store, definitions: [waiting] });
    const { runs } = service;
    const { runId } = await service.start('flow');
    const lease = await service.take();
    const event = { project: 'p', event: 'go', key: 'k', payload: 1 };
    const [completed, published] = await Promise.all([
      service.complete(lease),
      runs.publishEvent({ ...ALL, ...event }),
    ]);
    expect(must(completed)).toMatchObject({ runStatus: expect.any(String) });
    expect(must(published).outcome).toBe('delivered');
    expect(await service.detail(runId)).toMatchObject({ cursor: 'then', waits: [], timers: [{ name: 'run_timeout' }] });

    // Parked, as no wait is open: neither in the run nor in the table that events are matched against.
    expect(must(await runs.publishEvent({ ...ALL, ...event })).outcome).toBe('parked');
    await store.close();
    remove();
  });

  it('a run that starts and ends in one turn leaves no timer', async () => {
    const { store, remove } = await open();
    const atOnce = aDefinition('flow', [{ id: 'done', kind: 'succeed' }], { limits: { run_timeout_ms: 1000 } });
    const service = await createHarness({ store, definitions: [atOnce] });
    const { runId } = await service.start('flow');
    expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', timers: [] });
    await store.close();
    remove();
  });
});
