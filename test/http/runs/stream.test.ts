import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService, type WireEntry } from './service.ts';
import { streamTiming } from '../../../src/http/answer/event-stream.ts';
import { holdTimers } from '../../held-timers.ts';
import { until } from '../../until.ts';

let service: RunsHttp;
const open = async (options: RunsServiceOptions = {}): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one'), aTask('two')])], ...options });
};
afterEach(() => service.close());

type Received = { readonly id: number; readonly entry: WireEntry };

/** Reads a journal stream as it comes. */
const follow = async (runId: string, headers: Record<string, string> = {}, query = '') => {
  const over = new AbortController();
  const response = await fetch(`${service.url}/v1/api/runs/${runId}/events${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: over.signal,
  });
  const received: Received[] = [];
  const comments: string[] = [];
  let rest = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      rest += decoder.decode(piece, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const [first = '', second = ''] = block.split('\n');
        if (first.startsWith(':')) comments.push(first);
        else
          received.push({
            id: Number(/^id: (\d+)$/.exec(first)?.[1]),
            entry: JSON.parse(second.replace(/^data: /, '')) as WireEntry,
          });
      }
    }
  };
  const ended = read().then(
    () => 'ended' as const,
    () => 'broken' as const,
  );
  return { response, received, comments, ended, hangUp: () => over.abort() };
};

const serve = async (): Promise<void> => service.must(service.complete(await service.take(), { output: 1 }));

describe('a journal as a stream', () => {
  it('brings what there is and what comes, in committed order, id = seq, and ends when the run ends', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const stream = await follow(run_id);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.response.headers.get('access-control-allow-origin')).toBe('*');
    expect(stream.response.headers.get('x-request-id')).toEqual(expect.any(String));
    await until(() => stream.received.length === 2);
    await serve();
    await serve();
    expect(await stream.ended).toBe('ended');
    const entries = await service.journal(run_id);
    expect(stream.received.map(({ entry }) => entry)).toEqual(entries);
    expect(stream.received.map(({ id }) => id)).toEqual(entries.map(({ seq }) => seq));
    expect(stream.received.at(-1)?.entry.kind).toBe('run.finished');
  });

  it('goes on after `after`, and after Last-Event-ID, which goes first', async () => {
    await open();
    const { run_id } = await service.start('flow');
    await serve();
    await serve();
    const first = async (headers: Record<string, string>, query: string) => {
      const stream = await follow(run_id, headers, query);
      await stream.ended;
      return stream.received[0]?.id;
    };
    expect(await first({}, '')).toBe(0);
    expect(await first({}, '?after=3')).toBe(4);
    expect(await first({ 'last-event-id': '5' }, '?after=3')).toBe(6);
    expect(await first({ 'last-event-id': '' }, '?after=3')).toBe(4);
    expect(await first({ 'last-event-id': '1000' }, '')).toBeUndefined();
    const wrong = await follow(run_id, { 'last-event-id': 'x' });
    expect(wrong.response.status).toBe(400);
  });

  it('an EventSource that saw the end is answered 204; one that did not gets the rest', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const first = await follow(run_id, { 'last-event-id': '1' });
    expect(first.response.status).toBe(200);
    await serve();
    await serve();
    await first.ended;
    const end = first.received.at(-1);
    expect(end?.entry.kind).toBe('run.finished');
    const again = await follow(run_id, { 'last-event-id': String(end?.id) });
    expect(again.response.status).toBe(204);
    const before = await follow(run_id, { 'last-event-id': String((end?.id ?? 0) - 1) });
    expect(before.response.status).toBe(200);
    await before.ended;
    expect(before.received.map(({ id }) => id)).toEqual([end?.id]);
  });

  it('a page is answered to a client that prefers JSON, and to HEAD', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const page = await service.get(`/runs/${run_id}/events`, {
      headers: { accept: 'application/json, text/event-stream;q=0.5' },
    });
    expect(page.body.events).toHaveLength(2);
    const head = await fetch(`${service.url}/v1/api/runs/${run_id}/events`, {
      method: 'HEAD',
      headers: { accept: 'text/event-stream' },
    });
    expect(head.status).toBe(200);
    expect((await service.get(`/runs/${run_id}/events`, { headers: { accept: 'text/html' } })).status).toBe(406);
  });

  it('a run that is not there is 404, before any stream', async () => {
    await open();
    const answer = await service.get('/runs/nobody/events', { headers: { accept: 'text/event-stream' } });
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    await service.must(service.get('/machines'));
  });

  it('a comment comes in every interval in which nothing else does', async () => {
    await open();
    const interval = holdTimers((ms) => ms === streamTiming.commentEveryMs);
    const { run_id } = await service.start('flow');
    const stream = await follow(run_id);
    await until(() => stream.comments.length === 1); // the stream is open
    for (const comments of [2, 3]) {
      interval.fire();
      await until(() => stream.comments.length === comments);
    }
    stream.hangUp();
    await stream.ended;
    await until(() => interval.armed() === 0);
    expect(stream.comments).toEqual([': open', ':', ':']);
  });

  it('the interval is 15 seconds', async () => {
    await open();
    expect(streamTiming.commentEveryMs).toBe(15_000);
  });

  it('is exempt from the request deadline', async () => {
    await open({ requestTimeoutSeconds: 29 });
    const deadline = holdTimers((ms) => ms === 29_000);
    const { run_id } = await service.start('flow');
    const stream = await follow(run_id);
    await until(() => stream.received.length === 2);
    expect(deadline.armed()).toBe(0);
    const page = service.get(`/runs/${run_id}/events`); // what is no stream is not
    await deadline.untilArmed();
    expect((await page).status).toBe(200);
    stream.hangUp();
  });

  it('ends in good order when it is old, and goes on where it was', async () => {
    await open();
    const age = holdTimers((ms) => ms === streamTiming.maxAgeMs);
    const { run_id } = await service.start('flow');
    const stream = await follow(run_id);
    await until(() => stream.received.length === 2);
    age.fire();
    expect(await stream.ended).toBe('ended');
    const last = stream.received.at(-1)?.id;
    expect(last).toBe(1);
    const lease = await service.offered();
    const next = await follow(run_id, { 'last-event-id': String(last) });
    await until(() => next.received.length === 1);
    age.fire();
    await next.ended;
    expect(next.received[0]?.entry).toMatchObject({ seq: 2, kind: 'step.leased', lease_id: lease.lease_id });
  });

  it('is bounded in number by key and in all, with 429 and Retry-After; one that ends makes room', async () => {
    await open({ streamBounds: { perKey: 2, total: 3 } });
    const { run_id } = await service.start('flow');
    const streams = [await follow(run_id), await follow(run_id)];
    const third = await follow(run_id);
    expect(third.response.status).toBe(429);
    expect(third.response.headers.get('retry-after')).toBe('5');
    streams[0]?.hangUp();
    await until(async () => {
      const again = await follow(run_id);
      again.hangUp();
      return again.response.status === 200;
    });
  });

  it('a reader that does not read is cut, and holds nothing', async () => {
    await open({
      definitions: [aFlow('flow', [aTask('one', { next: [{ when: 'visits.one > 40', to: 'end' }, { to: 'one' }] })])],
      streamTiming: { slowReaderMs: 9_999 }, // a length that no other timer has
      streamBounds: { perKey: 1, total: 1 },
    });
    const patience = holdTimers((ms) => ms === 9_999);
    const { run_id } = await service.start('flow');
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `GET /v1/api/runs/${run_id}/events HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    let cut = false;
    socket.once('close', () => {
      cut = true;
    });
    // Failures carry their message in the journal: enough of them to fill every buffer between here and there.
    const serveOne = async (): Promise<void> => {
      const lease = await service.take();
      const error = { class: 'rate_limited', message: 'x'.repeat(65_000) };
      await service.must(service.fail(lease, 'rate_limited', { retry_after_ms: 0, error }));
      await service.pass(1000);
    };
    let served = 0;
    let roundsAtRest = 0;
    await until(async () => {
      if (served === 400) throw new Error('the buffers took everything');
      const before = patience.armed();
      await serveOne();
      served += 1;
      // Each piece is waited for, as it is too large to be taken at once: where no other is, the reader is stuck.
      roundsAtRest = before > 0 && patience.armed() === before ? roundsAtRest + 1 : 0;
      if (roundsAtRest >= 3) patience.fire();
      const other = await follow(run_id);
      other.hangUp();
      return other.response.status === 200;
    });
    socket.resume();
    await until(() => cut);
    expect(served).toBeLessThan(400);
  });

  it('is closed when the service stops', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const stream = await follow(run_id);
    await until(() => stream.received.length === 2);
    await service.close();
    expect(await stream.ended).toBe('ended');
    await open();
  });

  it('1,000 forced disconnects: sequences equal the pages', async () => {
    await open({
      definitions: [aFlow('flow', [aTask('one', { next: [{ when: 'visits.one >= 60', to: 'end' }, { to: 'one' }] })])],
    });
    const runs = await Promise.all(Array.from({ length: 10 }, () => service.start('flow')));
    const steps = 10 * 60;
    const work = async (): Promise<void> => {
      for (let done = 0; done < steps; ) {
        const leases = await service.claim('w1', { max: 4, wait_ms: 20_000 });
        done += leases.length;
        for (const lease of leases) {
          await service.must(service.started(lease));
          await service.must(service.complete(lease));
        }
      }
    };
    const worker = work();
    let disconnects = 0;
    const read = async (runId: string): Promise<readonly WireEntry[]> => {
      const seen: WireEntry[] = [];
      for (let n = 0; ; n += 1) {
        const last = seen.at(-1);
        const stream = await follow(runId, last === undefined ? {} : { 'last-event-id': String(last.seq) });
        if (n < 100) {
          // Cut at another place each time: before the first entry, between two, or within one.
          const wanted = n % 4;
          if (wanted > 0) await Promise.race([until(() => stream.received.length >= wanted), stream.ended]);
          stream.hangUp();
          disconnects += 1;
        }
        await stream.ended;
        seen.push(...stream.received.map(({ entry }) => entry));
        if (n >= 100 && seen.at(-1)?.kind === 'run.finished') return seen;
      }
    };
    const sequences = await Promise.all(runs.map(({ run_id }) => read(run_id)));
    await worker;
    expect(disconnects).toBe(1000);
    for (const [index, sequence] of sequences.entries()) {
      const pages: WireEntry[] = [];
      for (let after = -1; ; ) {
        const page = await service.must(service.get(`/runs/${runs[index]?.run_id}/events?after=${after}&limit=50`));
        if (page.events.length === 0) break;
        pages.push(...page.events);
        after = page.next_after;
      }
      expect(pages.map(({ seq }) => seq)).toEqual(pages.map((_, at) => at));
      expect(sequence).toEqual(pages);
    }
  });
});
