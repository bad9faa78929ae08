import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FakeService, refusal, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';
import { createInstrumentation, type Instrumentation } from '../../sdk/typescript/src/browser.ts';

/** The part of a page that is used. */
const aPage = (origin: string) => {
  const listeners = new Set<() => void>();
  const document = {
    visibilityState: 'visible',
    addEventListener: (_: string, listener: () => void) => listeners.add(listener),
    removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
  };
  vi.stubGlobal('document', document);
  vi.stubGlobal('location', { origin, href: `${origin}/shop/cart` });
  return {
    listeners,
    hide: () => {
      document.visibilityState = 'hidden';
      for (const listener of listeners) listener();
    },
  };
};

let service: FakeService;
let svc: Instrumentation | undefined;
beforeEach(async () => {
  service = await startFakeService();
});
afterEach(async () => {
  await svc?.close();
  svc = undefined;
  vi.unstubAllGlobals();
  await service.stop();
});
const sent = (signal: string) =>
  service.callsTo('ingest').flatMap(({ body }) => (body[signal] ?? []) as Record<string, unknown>[]);

describe('instrumentation in a page', () => {
  it('sends to the origin of the page, or below a path of it', async () => {
    aPage(service.url);
    svc = createInstrumentation({ delayMs: 1 });
    await svc.span('a', { input: 1 }, () => {});
    await svc.close();
    const below = createInstrumentation({ endpoint: '/observability/', delayMs: 1, apiKey: 'k' });
    await below.span('b', {}, () => {});
    await below.close();
    const [first, second] = service.callsTo('ingest');
    expect(first).toMatchObject({ path: '/v1/ingest', method: 'POST' });
    expect(second).toMatchObject({ path: '/observability/v1/ingest', headers: { authorization: 'Bearer k' } });
    expect(sent('spans')).toMatchObject([{ name: 'a', input: 1 }, { name: 'b' }]);
  });

  it('nests what runs before the first await, and what names its parent after it', async () => {
    aPage(service.url);
    svc = createInstrumentation({ delayMs: 1 });
    const inner: Promise<unknown>[] = [];
    await svc.span('outer', {}, async (outer) => {
      inner.push(svc?.span('before', {}, () => {}) ?? Promise.resolve());
      await Promise.all(inner);
      await svc?.span('lost', {}, () => {});
      await svc?.span('named', { traceparent: outer.traceparent }, () => {});
    });
    await svc.flush();
    const spanOf = (name: string) => sent('spans').find((span) => span['name'] === name);
    const outer = spanOf('outer');
    expect(spanOf('before')?.['parent_span_id']).toBe(outer?.['span_id']);
    expect(spanOf('lost')).not.toHaveProperty('parent_span_id');
    expect(spanOf('named')).toMatchObject({ trace_id: outer?.['trace_id'], parent_span_id: outer?.['span_id'] });
  });

  it('sends what is queued when the page is hidden, by a request that outlives it', async () => {
    const page = aPage(service.url);
    const fetched = vi.spyOn(globalThis, 'fetch');
    svc = createInstrumentation({ delayMs: 60_000 });
    await svc.span('last', {}, () => {});
    page.hide();
    await service.seen('ingest', 1);
    expect(sent('spans')).toMatchObject([{ name: 'last' }]);
    const ingest = fetched.mock.calls.find(([url]) => url === `${service.url}/v1/ingest`);
    expect(ingest?.[1]?.keepalive).toBe(true);
    await svc.close();
    expect(page.listeners.size).toBe(0);
  });

  it('tries again on 503, and never on another refusal', async () => {
    aPage(service.url);
    svc = createInstrumentation({ delayMs: 1, retry: { attempts: 3, baseMs: 1, maxMs: 2 } });
    service.answer('ingest', refusal(503, 'store_unavailable'));
    await svc.span('a', {}, () => {});
    await svc.flush();
    expect(service.callsTo('ingest')).toHaveLength(2);
    service.answer('ingest', refusal(400, 'invalid_body'));
    await svc.span('b', {}, () => {});
    await svc.flush();
    expect(service.callsTo('ingest')).toHaveLength(3);
    expect(svc.counters()).toMatchObject({ sent: 1, refused: 1 });
  });

  it('without an endpoint that can be read it names the problem, and does not throw', () => {
    svc = createInstrumentation({ endpoint: 'ftp://elsewhere', enabled: false });
    expect(svc.problems.join()).toContain('ftp://elsewhere');
  });
});
