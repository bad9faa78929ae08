import { afterEach, describe, expect, it } from 'vitest';
import { type AuditMode, createAuditLog } from '../../../src/http/access/audit-log.ts';
import { keyFingerprint } from '../../../src/http/access/auth.ts';
import { createCounters } from '../../../src/model/counters.ts';
import type { AuditEntry } from '../../../src/store/signals/query.ts';
import { aSpan, aTrace, SPAN, TRACE } from '../factories.ts';
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

const rowsOf = async (service: Service): Promise<AuditEntry[]> => {
  await service.audit.flush();
  return service.audited.splice(0);
};

const keys = {
  topLevel: { read: ['reader'], write: ['writer'], admin: ['admin'] },
  projects: { alpha: { read: ['alpha-reader'] } },
};
/** One trace, of project beta. */
const store = {
  findTrace: async (traceId: string, reach: unknown) =>
    traceId === TRACE && (reach === 'all' || (reach as string[]).includes('beta'))
      ? { trace: aTrace({ project: 'beta' }), spans: [aSpan({ correlation: { project: 'beta' } })] }
      : undefined,
  findSpan: async (_traceId: string, _spanId: string, reach: unknown) =>
    reach === 'all' ? aSpan({ correlation: { project: 'beta' } }) : undefined,
};

describe('reads of stored payloads are written to an audit log', () => {
  it('an allowed read: operation, project of the stored object, key fingerprint, remote address, resource, outcome', async () => {
    const service = await start({ keys, store });
    await service.ask(`/v1/api/traces/${TRACE}?include=all`, { key: 'reader' });
    expect(await rowsOf(service)).toEqual([
      {
        auditId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        at: NOW,
        operation: 'get_trace',
        project: 'beta',
        keyFingerprint: keyFingerprint('reader'),
        remoteAddress: '127.0.0.1',
        resource: `/v1/api/traces/${TRACE}`,
        outcome: 'allowed',
      },
    ]);
  });

  it('a rejected read is recorded against the project owning the run', async () => {
    const service = await start({ keys, store });
    // Another project's key, a key without the scope: the trace is of beta both times.
    expect((await service.ask(`/v1/api/traces/${TRACE}`, { key: 'alpha-reader' })).status).toBe(403);
    expect((await service.ask(`/v1/api/traces/${TRACE}`, { key: 'writer' })).status).toBe(403);
    expect((await service.ask(`/v1/api/traces/${TRACE}/spans/${SPAN}`, { key: 'alpha-reader' })).status).toBe(403);
    expect((await service.ask(`/v1/api/traces/${TRACE}`, { method: 'DELETE', key: 'reader' })).status).toBe(403);
    expect((await rowsOf(service)).map((row) => [row.operation, row.project, row.outcome])).toEqual([
      ['get_trace', 'beta', 'refused'],
      ['get_trace', 'beta', 'refused'],
      ['get_span', 'beta', 'refused'],
      ['delete_trace', 'beta', 'refused'],
    ]);
  });

  it('a read without a known key is recorded against the project it asked for', async () => {
    const service = await start({ keys, store });
    await service.ask('/v1/api/traces?project=alpha');
    await service.ask(`/v1/api/traces/${TRACE}`, { key: 'guess' });
    const rows = await rowsOf(service);
    expect(rows.map((row) => [row.project, row.outcome, row.keyFingerprint])).toEqual([
      ['alpha', 'refused', undefined],
      ['default', 'refused', keyFingerprint('guess')],
    ]);
    expect(service.calls.filter((call) => call.method === 'findTrace')).toEqual([]); // strangers cost no read
  });

  it('lists are recorded once for each project they answer for', async () => {
    const service = await start({
      keys: { topLevel: { read: ['reader'] }, projects: { a: { read: ['both'] }, b: { read: ['both'] } } },
    });
    await service.ask('/v1/api/traces', { key: 'both' });
    await service.ask('/v1/api/spans?project=*', { key: 'reader' });
    expect((await rowsOf(service)).map((row) => [row.operation, row.project])).toEqual([
      ['list_traces', 'a'],
      ['list_traces', 'b'],
      ['list_spans', '*'],
    ]);
  });

  it('a list of a project out of reach is recorded against that project', async () => {
    const service = await start({ keys });
    await service.ask('/v1/api/logs?project=beta', { key: 'alpha-reader' });
    expect((await rowsOf(service)).map((row) => [row.operation, row.project, row.outcome])).toEqual([
      ['list_logs', 'beta', 'refused'],
    ]);
  });

  it('what read nothing leaves nothing: 400 and 404', async () => {
    const service = await start({ keys, store });
    await service.ask('/v1/api/traces?limit=0', { key: 'reader' });
    expect((await service.ask(`/v1/api/traces/${'a'.repeat(32)}`, { key: 'reader' })).status).toBe(404);
    expect((await service.ask(`/v1/api/traces/${'a'.repeat(32)}`, { key: 'alpha-reader' })).status).toBe(404);
    expect(await rowsOf(service)).toEqual([]);
  });

  it('query text never gets into the log', async () => {
    const service = await start({ keys });
    await service.ask('/v1/api/traces?q=my+secret+illness', { key: 'reader' });
    expect((await rowsOf(service))[0]?.resource).toBe('/v1/api/traces');
  });
});

describe('the audit subject', () => {
  const ask = async (trustedRanges: string[]) => {
    const service = await start({ trustedRanges });
    await service.ask('/v1/api/traces', {
      headers: { 'x-svc-subject': 'ada@example.com', 'x-forwarded-for': '10.1.1.1' },
    });
    return (await rowsOf(service))[0]?.subject;
  };
  it('is taken from the header when the peer is inside a trusted range', async () =>
    expect(await ask(['127.0.0.0/8'])).toBe('ada@example.com'));
  it('is not taken from anywhere else', async () => expect(await ask([])).toBeUndefined());
  it('the range is held against the socket’s peer, never against X-Forwarded-For', async () =>
    expect(await ask(['10.0.0.0/8'])).toBeUndefined());
  it('a range of IPv4 addresses does not stop at IPv4-mapped ones', async () =>
    expect(await ask(['127.0.0.1/32'])).toBe('ada@example.com'));
});

describe('an audit write failure never fails the read', () => {
  it('it is counted in auditWriteFailures, one a row, and logged', async () => {
    const service = await start({ store: { appendAudit: () => Promise.reject(new Error('read-only')) } });
    const answer = await service.ask('/v1/api/traces');
    expect(answer.status).toBe(200);
    await service.ask('/v1/api/logs');
    await service.audit.flush();
    expect(service.counters.auditWriteFailures).toBe(2);
    expect(service.counters.requestErrors).toBe(0);
    expect((await service.ask('/metrics')).text).toMatch(/^svc_audit_write_failures_total 2$/m);
    expect(service.logged.join()).toContain('audit rows could not be written');
  });

  it('a store that hangs holds up no read', async () => {
    let release: () => void = () => {};
    const service = await start({
      store: {
        appendAudit: () =>
          new Promise((resolve) => {
            release = resolve;
          }),
      },
    });
    expect((await service.ask('/v1/api/traces')).status).toBe(200);
    expect((await service.ask('/v1/api/traces')).status).toBe(200);
    release();
    await new Promise(setImmediate);
    release();
  });

  const entry = {} as AuditEntry;
  const quiet = { warn: () => {} } as never;
  /** A store whose writes end by hand, on a clock that is set by hand. */
  const heldLog = (mode: AuditMode) => {
    let time = 0;
    const writes: (() => void)[] = [];
    const waits: (() => void)[] = [];
    const counters = createCounters();
    const audit = createAuditLog(
      {
        appendAudit: () =>
          new Promise<void>((resolve, reject) => {
            writes.push(resolve);
            failures.push(() => reject(new Error('no room')));
          }),
      },
      counters,
      quiet,
      {
        mode,
        now: () => time,
        after: (ms) => {
          expect(ms).toBe(1000);
          return new Promise<void>((resolve) => waits.push(resolve));
        },
      },
    );
    const failures: (() => void)[] = [];
    /** Takes a row, and says whether its answer may go. */
    const answer = async () => {
      let gone = false;
      audit.append(entry);
      const ready = audit.ready().then(() => (gone = true));
      await turnOfLoop();
      return { isGone: () => gone, ready };
    };
    const endWrite = async (afterMs: number, how = writes): Promise<void> => {
      time += afterMs;
      how.at(-1)?.();
      await turnOfLoop();
    };
    return { answer, endWrite, failures, counters, pass: (ms: number) => (time += ms), giveUp: () => waits.pop()?.() };
  };
  const turnOfLoop = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  };

  it('batched: an answer goes at once while rows are written within 50 ms, and waits for its row while they are not', async () => {
    const { answer, endWrite } = heldLog('batched');
    expect((await answer()).isGone()).toBe(true);
    await endWrite(50);
    expect((await answer()).isGone()).toBe(true);
    await endWrite(51);
    const late = await answer();
    expect(late.isGone()).toBe(false);
    await endWrite(1);
    expect(late.isGone()).toBe(true);
    expect((await answer()).isGone()).toBe(true);
  });

  it('batched: a write in hand for more than 50 ms holds the answers behind it, each until its own row is written', async () => {
    const { answer, endWrite, pass } = heldLog('batched');
    expect((await answer()).isGone()).toBe(true);
    pass(51);
    const second = await answer();
    expect(second.isGone()).toBe(false);
    await endWrite(0);
    expect(second.isGone()).toBe(false);
    await endWrite(0);
    expect(second.isGone()).toBe(true);
  });

  it('batched: a store that hangs holds up an answer for a second and no longer', async () => {
    const { answer, pass, giveUp } = heldLog('batched');
    await answer();
    pass(51);
    const second = await answer();
    expect(second.isGone()).toBe(false);
    giveUp();
    await second.ready;
    expect(second.isGone()).toBe(true);
  });

  it('sync: every answer waits for its row', async () => {
    const { answer, endWrite, pass } = heldLog('sync');
    const first = await answer();
    pass(60_000);
    await turnOfLoop();
    expect(first.isGone()).toBe(false);
    await endWrite(0);
    expect(first.isGone()).toBe(true);
  });

  it('sync: a row that could not be written is counted, and its read is answered', async () => {
    const { answer, endWrite, failures, counters } = heldLog('sync');
    const first = await answer();
    await endWrite(0, failures);
    expect(first.isGone()).toBe(true);
    expect(counters.auditWriteFailures).toBe(1);
  });

  it('rows beyond the bound are counted, not kept', async () => {
    const counters = createCounters();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let written = 0;
    const log = { warn: () => {} } as never;
    const audit = createAuditLog(
      {
        appendAudit: async (rows) => {
          await held;
          written += rows.length;
        },
      },
      counters,
      log,
    );
    for (let n = 0; n < 10_010; n += 1) audit.append({} as AuditEntry);
    expect(counters.auditWriteFailures).toBe(10);
    release();
    await audit.flush();
    expect(written).toBe(10_000);
  });
});

describe('GET /v1/api/audit', () => {
  it('answers {entries, next_cursor}, newest first, to an admin key, and shows a read that was just made', async () => {
    const service = await start({ keys, store });
    await service.ask(`/v1/api/traces/${TRACE}`, { key: 'reader' });
    const answer = await service.ask('/v1/api/audit?project=*', { key: 'admin' });
    expect(answer.body).toEqual({
      entries: [
        {
          audit_id: expect.any(String),
          at: '2026-11-20T09:00:00Z',
          operation: 'get_trace',
          project: 'beta',
          key_fingerprint: keyFingerprint('reader'),
          remote_address: '127.0.0.1',
          resource: `/v1/api/traces/${TRACE}`,
          outcome: 'allowed',
        },
      ],
    });
  });
  it('waits for rows that are still being written', async () => {
    const stored: AuditEntry[] = [];
    const service = await start({
      store: {
        appendAudit: async (rows) => {
          for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
          stored.push(...rows);
        },
        listAudit: async () => ({ items: stored }),
      },
    });
    await service.ask('/v1/api/traces');
    expect((await service.ask('/v1/api/audit')).body.entries).toHaveLength(1);
  });
  it('is not for readers', async () => {
    const service = await start({ keys });
    expect((await service.ask('/v1/api/audit', { key: 'reader' })).status).toBe(403);
  });
});
