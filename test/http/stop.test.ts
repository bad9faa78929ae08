import { describe, expect, it } from 'vitest';
import { anIngestDoor, startService } from './service.ts';

describe('stopping', () => {
  it('lets requests in flight finish and takes no new connection', async () => {
    let release: (answer: object) => void = () => {};
    let entered: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const service = await startService({
      moreRoutes: [
        anIngestDoor(() => {
          entered();
          return new Promise((resolve) => {
            release = resolve;
          });
        }),
      ],
    });
    const answer = service.ask('/v1/ingest', { method: 'POST', body: '{}' });
    await inside;
    const closed = service.close();
    await expect(service.ask('/healthz', { headers: { connection: 'close' } })).rejects.toThrow('fetch failed');
    release({ finished: true });
    expect((await answer).body).toEqual({ finished: true });
    await closed;
  });

  it('ends registered streams, which would hold it up indefinitely', async () => {
    const service = await startService();
    let ended = false;
    const opened = service.streams.open('k', () => {
      ended = true;
    });
    expect(opened.ok).toBe(true);
    await service.close();
    expect(ended).toBe(true);
    expect(service.streams.open('k', () => {})).toMatchObject({ ok: false, failure: { code: 'overloaded' } });
  });

  it('writes the audit rows that still wait', async () => {
    const service = await startService();
    await service.ask('/v1/api/traces');
    await service.close();
    expect(service.audited).toHaveLength(1);
  });
});
