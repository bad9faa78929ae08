import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { aSpan, hex, type Stage, useStage } from './stage.ts';

/** Another server of this machine. Its page is empty, and under `/sandboxed` the browser gives it no origin. */
const other = createServer(({ url }, response) => {
  const sandbox = { 'content-security-policy': 'sandbox allow-scripts allow-forms' };
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    ...(url === '/sandboxed' ? sandbox : {}),
  });
  response.end('<!doctype html><title>Another site</title>');
});
other.listen(0, '127.0.0.1');
await once(other, 'listening');
afterAll(() => other.close());
const { port } = other.address() as AddressInfo;

const ANOTHER_PORT = `http://127.0.0.1:${port}`;
const ANOTHER_NAME = `http://localhost:${port}`;
/** A page that is not of the service, with the `Origin` that the browser says for it. */
type Stranger = { readonly address: string; readonly origin: string };
const NAMED: Stranger = { address: `${ANOTHER_PORT}/`, origin: ANOTHER_PORT };
const UNNAMED: readonly Stranger[] = [
  { address: `${ANOTHER_NAME}/`, origin: ANOTHER_NAME },
  { address: `${ANOTHER_PORT}/sandboxed`, origin: 'null' },
];
const strangers = [NAMED, ...UNNAMED];

type Way = 'fetch' | 'fetch no-cors' | 'fetch no-cors of a Blob' | 'sendBeacon' | 'form';
/** One request, as a page makes it. */
type Sent = {
  readonly way: Way;
  readonly method: string;
  readonly path: string;
  /** Its content type; of a form its encoding. */
  readonly type?: string | undefined;
  readonly body?: string | Uint8Array | undefined;
};
/** The status of the answer, or `no answer`: the browser asked first and was not allowed, or it withheld what came. */
type Outcome = number | 'no answer';

/** Lets a page send a request to the service, and waits for its end. */
const send = async (page: Page, service: string, { way, method, path, type, body }: Sent): Promise<Outcome> => {
  const url = new URL(path, service).href;
  // The question that a browser asks first is no request of the page.
  const isSent = page.waitForRequest((request) => request.url() === url && request.method() === method);
  await page.evaluate(
    ({ way, method, url, type, body }) => {
      const bytes = body === null ? null : new Uint8Array(body);
      const blob = bytes === null ? null : new Blob([bytes], { type: type ?? '' });
      const headers = type === null ? {} : { 'content-type': type };
      const request = (init: RequestInit): void => void fetch(url, { method, ...init }).catch(() => undefined);
      switch (way) {
        case 'fetch':
          request({ headers, body: bytes });
          break;
        case 'fetch no-cors':
          request({ mode: 'no-cors', headers, body: bytes });
          break;
        case 'fetch no-cors of a Blob':
          request({ mode: 'no-cors', body: blob });
          break;
        case 'sendBeacon':
          navigator.sendBeacon(url, blob);
          break;
        case 'form': {
          const form = document.createElement('form');
          form.method = method;
          form.action = url;
          form.enctype = type ?? '';
          // A form of plain text sends `name=value`, so a body with one `=` in it arrives as it is.
          const [name = '', value = ''] = new TextDecoder().decode(bytes ?? undefined).split('=');
          const field = document.createElement('textarea');
          field.name = name;
          field.value = value;
          if (bytes !== null) form.append(field);
          document.body.append(form);
          form.submit();
        }
      }
    },
    { way, method, url, type: type ?? null, body: body === undefined ? null : [...Buffer.from(body)] },
  );
  const answer = await (await isSent).response();
  // The answer to a form is the next document of the page.
  if (way === 'form') await page.waitForURL(url);
  return answer?.status() ?? 'no answer';
};

/** Where pages that send from the service itself stand: a document that asks nothing. */
const ownAddress = (stage: Stage): string => new URL('/healthz', stage.url).href;

/** One page for each address, in a context of its own. They are closed with the browser of the stage. */
const pagesOf = (stage: Stage) => {
  const kept = new Map<string, Page>();
  const at = async (address: string, isOwn: boolean): Promise<Page> => {
    let page = kept.get(address);
    if (page === undefined) {
      // The policy of the service's own pages lets them send no form at all. That policy is not what is tested.
      page = await (await stage.browser.newContext({ bypassCSP: isOwn })).newPage();
      kept.set(address, page);
    }
    if (page.url() !== address) await page.goto(address);
    return page;
  };
  return {
    sendAsStranger: async ({ address, origin }: Stranger, sent: Sent): Promise<Outcome> => {
      const page = await at(address, false);
      expect(await page.evaluate(() => globalThis.origin)).toBe(origin);
      return send(page, stage.url, sent);
    },
    sendAsOwn: async (sent: Sent): Promise<Outcome> => {
      const page = await at(ownAddress(stage), true);
      // The service's pages tell no referrer, and a browser then hides the origin of a form.
      await page.evaluate(() => {
        const meta = document.createElement('meta');
        meta.name = 'referrer';
        meta.content = 'same-origin';
        document.head.append(meta);
      });
      return send(page, stage.url, sent);
    },
    readAsStranger: async ({ address }: Stranger, path: string): Promise<number> => {
      const page = await at(address, false);
      return page.evaluate(async (url) => (await fetch(url)).status, new URL(path, stage.url).href);
    },
  };
};

const JSON_TYPE = 'application/json';
const PLAIN = 'text/plain';
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

const nowNano = (): string => `${Date.now()}000000`;
const native = (): string => JSON.stringify({ spans: [aSpan({ trace_id: hex(16) })] });
/** Spans of OTLP; the name has the `=` that a form needs. */
const otlpSpans = (): string => {
  const span = { traceId: hex(16), spanId: hex(8), name: 'a=b', startTimeUnixNano: nowNano() };
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
};
const otlpLogs = (): string => {
  const record = { timeUnixNano: nowNano(), body: { stringValue: `log=${hex(8)}` } };
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
};
const otlpMetrics = (): string => {
  const gauge = { dataPoints: [{ timeUnixNano: nowNano(), asDouble: 1 }] };
  return JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: `m=${hex(8)}`, gauge }] }] }] });
};
/** A field of protobuf with a length below 128. */
const field = (number: number, ...parts: readonly (Uint8Array | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
};
const protobufSpans = (): Uint8Array => {
  const start = Buffer.alloc(9, (7 << 3) | 1);
  start.writeBigUInt64LE(BigInt(nowNano()), 1);
  const span = [field(1, Buffer.from(hex(16), 'hex')), field(2, Buffer.from(hex(8), 'hex')), field(5, 'work'), start];
  return field(1, field(2, field(2, ...span)));
};

type DoorCase = {
  readonly title: string;
  readonly path: string;
  readonly way: Way;
  readonly type?: string;
  readonly body: () => string | Uint8Array;
  readonly stranger: Outcome;
  /** What a page of the service gets for it. */
  readonly own: number;
};
const doorCase = (
  way: Way,
  path: string,
  type: string | undefined,
  body: DoorCase['body'],
  stranger: Outcome,
  own = 200,
): DoorCase => ({
  title: `${way} of ${type ?? 'no content type'} to ${path}`,
  way,
  path,
  ...(type === undefined ? {} : { type }),
  body,
  stranger,
  own,
});
const asked = 'no answer';
/** The doors, by all that a page can send. Encodings of forms that are no JSON are refused to pages of the service too, later. */
const doorCases: readonly DoorCase[] = [
  doorCase('fetch no-cors', '/v1/traces', PLAIN, otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/traces', 'TEXT/PLAIN; charset=utf-8', otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/traces', `${PLAIN};x=application/x-protobuf`, protobufSpans, 403),
  doorCase('fetch no-cors', '/v1/traces', FORM, otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/traces', `${MULTIPART}; boundary=b`, otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/traces', undefined, otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/logs', PLAIN, otlpLogs, 403),
  doorCase('fetch no-cors', '/v1/metrics', PLAIN, otlpMetrics, 403),
  doorCase('fetch no-cors', '/api/public/otel/v1/traces', PLAIN, otlpSpans, 403),
  doorCase('fetch no-cors', '/v1/ingest', undefined, native, 403),
  doorCase('fetch no-cors', '/v1/ingest', PLAIN, native, 403, 415),
  // Without leave the browser takes these types off, or sends nothing.
  doorCase('fetch no-cors', '/v1/ingest', JSON_TYPE, native, 403),
  doorCase('fetch no-cors of a Blob', '/v1/ingest', JSON_TYPE, native, 403),
  doorCase('fetch no-cors of a Blob', '/v1/traces', PLAIN, otlpSpans, 403),
  doorCase('fetch', '/v1/traces', PLAIN, otlpSpans, asked),
  doorCase('fetch', '/v1/traces', JSON_TYPE, otlpSpans, asked),
  doorCase('fetch', '/v1/traces', 'application/x-protobuf', protobufSpans, asked),
  doorCase('fetch', '/v1/logs', JSON_TYPE, otlpLogs, asked),
  doorCase('fetch', '/v1/metrics', JSON_TYPE, otlpMetrics, asked),
  doorCase('fetch', '/api/public/otel/v1/traces', JSON_TYPE, otlpSpans, asked),
  doorCase('fetch', '/v1/ingest', JSON_TYPE, native, asked),
  doorCase('fetch', '/v1/ingest', 'application/x-ndjson', native, asked),
  doorCase('sendBeacon', '/v1/traces', PLAIN, otlpSpans, 403),
  doorCase('sendBeacon', '/v1/traces', JSON_TYPE, otlpSpans, asked),
  doorCase('sendBeacon', '/v1/traces', 'application/x-protobuf', protobufSpans, asked),
  doorCase('sendBeacon', '/v1/ingest', undefined, native, 403),
  doorCase('sendBeacon', '/v1/ingest', JSON_TYPE, native, asked),
  doorCase('form', '/v1/traces', PLAIN, otlpSpans, 403),
  doorCase('form', '/v1/logs', PLAIN, otlpLogs, 403),
  doorCase('form', '/v1/metrics', PLAIN, otlpMetrics, 403),
  doorCase('form', '/v1/traces', FORM, otlpSpans, 403, 400),
  doorCase('form', '/v1/traces', MULTIPART, otlpSpans, 403, 400),
  doorCase('form', '/v1/ingest', PLAIN, native, 403, 415),
];

/** What the cases of the query API write to. */
const JUDGED = hex(16);
const DATASET = 'cases';
const waitForApproval = (id: string) => ({
  id,
  version: 1,
  steps: [{ id: 'approval', kind: 'wait_event', event: 'approval', key: '${input.id}' }],
});
/** Runs have traces of their own, which are written as they go on. These do not mix with those that pages send. */
const startOf = (id: string) => ({ definition_id: 'order', project: 'runs', input: { id } });

const seed = async (stage: Stage): Promise<void> => {
  await stage.ingest({ spans: [aSpan({ trace_id: JUDGED })] });
  await stage.post('/v1/api/datasets', { dataset_id: DATASET, name: DATASET });
  await stage.post('/v1/api/definitions', { definitions: [waitForApproval('order')] });
};

type RunRow = { readonly run_id: string; readonly status: string };
const runsOf = async (stage: Stage): Promise<readonly RunRow[]> =>
  (await stage.get('/v1/api/runs?project=runs&limit=500'))['runs'] as RunRow[];
/** All that the service keeps, asked of it directly. A run counts with where it stands. */
const keptBy = async (stage: Stage): Promise<Record<string, unknown>> => {
  const lists = [
    ...['traces?project=default&limit=500', 'logs?project=default', 'metrics', 'scores', `feedback?trace_id=${JUDGED}`],
    ...['datasets', `datasets/${DATASET}/items`, 'experiments', 'views', 'definitions', 'schedules', 'events'],
  ];
  const runs = await runsOf(stage);
  const answers = await Promise.all(lists.map(async (list) => [list, await stage.get(`/v1/api/${list}`)] as const));
  return { ...Object.fromEntries(answers), runs: runs.map(({ run_id, status }) => [run_id, status]) };
};
const RESTING = ['waiting', 'cancelled'];
/** The same, once no run moves. */
const restingKeptBy = async (stage: Stage): Promise<Record<string, unknown>> => {
  await expect.poll(async () => (await runsOf(stage)).filter(({ status }) => !RESTING.includes(status))).toEqual([]);
  return keptBy(stage);
};

type Target = { readonly path: string; readonly body?: object };
type Write = { readonly title: string; readonly method: string; readonly aim: (stage: Stage) => Promise<Target> };

const aTrace = async (stage: Stage): Promise<string> => {
  const trace = hex(16);
  await stage.ingest({ spans: [aSpan({ trace_id: trace })] });
  return trace;
};
const aSchedule = async (stage: Stage): Promise<string> => {
  const id = `s-${hex(4)}`;
  await stage.post('/v1/api/schedules', { id, definition_id: 'order', cron: '0 0 1 1 *' });
  return id;
};
const aCase = async (stage: Stage): Promise<string> => {
  const { item_id } = await stage.post(`/v1/api/datasets/${DATASET}/items`, { input: hex(4) });
  return `/v1/api/datasets/${DATASET}/items/${String(item_id)}`;
};
const post = (title: string, path: string, body: () => object): Write => ({
  title,
  method: 'POST',
  aim: async () => ({ path, body: body() }),
});
/** One write of each kind. Its target is new, so that it can be carried out. */
const writes: readonly Write[] = [
  post('a score', '/v1/api/scores', () => ({ trace_id: JUDGED, scorer_id: 'polite', value: 1 })),
  post('feedback', '/v1/api/feedback', () => ({ trace_id: JUDGED, kind: 'thumbs', value: 'up' })),
  post('a dataset', '/v1/api/datasets', () => ({ name: hex(4) })),
  post('a case of a dataset', `/v1/api/datasets/${DATASET}/items`, () => ({ input: 'question' })),
  post('an experiment', '/v1/api/experiments', () => ({ name: hex(4) })),
  post('a saved view', '/v1/api/views', () => ({ name: hex(4), path: '/traces' })),
  post('a definition', '/v1/api/definitions', () => ({ definitions: [waitForApproval(`d-${hex(4)}`)] })),
  post('a worker with its definition', '/v1/api/workers/register', () => ({
    worker_id: hex(4),
    definitions: [waitForApproval(`w-${hex(4)}`)],
  })),
  post('the start of a run', '/v1/api/runs', () => startOf(hex(4))),
  post('an event', '/v1/api/events', () => ({ event: 'approval', key: hex(4), payload: {} })),
  post('a schedule', '/v1/api/schedules', () => ({ id: `s-${hex(4)}`, definition_id: 'order', cron: '0 0 1 1 *' })),
  {
    title: 'the cancel of a run',
    method: 'POST',
    aim: async (stage) => ({
      path: `/v1/api/runs/${String((await stage.post('/v1/api/runs', startOf(hex(4))))['run_id'])}/cancel`,
    }),
  },
  {
    title: 'the pause of a schedule',
    method: 'POST',
    aim: async (stage) => ({ path: `/v1/api/schedules/${await aSchedule(stage)}/pause` }),
  },
  {
    title: 'the change of a schedule',
    method: 'PUT',
    aim: async (stage) => ({
      path: `/v1/api/schedules/${await aSchedule(stage)}`,
      body: { definition_id: 'order', cron: '0 0 2 1 *' },
    }),
  },
  {
    title: 'the change of a case',
    method: 'PUT',
    aim: async (stage) => ({ path: await aCase(stage), body: { input: 'changed' } }),
  },
  {
    title: 'the deletion of a trace',
    method: 'DELETE',
    aim: async (stage) => ({ path: `/v1/api/traces/${await aTrace(stage)}` }),
  },
  {
    title: 'the deletion of a case',
    method: 'DELETE',
    aim: async (stage) => ({ path: await aCase(stage) }),
  },
  {
    title: 'the deletion of a schedule',
    method: 'DELETE',
    aim: async (stage) => ({ path: `/v1/api/schedules/${await aSchedule(stage)}` }),
  },
  {
    title: 'the erasure of a person',
    method: 'DELETE',
    aim: async (stage) => {
      const person = `u-${hex(4)}`;
      await stage.post('/v1/api/views', { name: person, path: `/traces?user_id=${person}` });
      return { path: `/v1/api/subjects/${person}` };
    },
  },
];

/** How a page of another origin may try a write, and what it gets. */
const attemptsOf = (method: string, target: Target): readonly (readonly [Sent, Outcome])[] => {
  const body = target.body === undefined ? undefined : JSON.stringify(target.body);
  const attempt = (way: Way, type: string | undefined, outcome: Outcome): readonly [Sent, Outcome] => [
    { way, method, path: target.path, type, body },
    outcome,
  ];
  // A browser sends no other method without asking first.
  if (method !== 'POST') return [attempt('fetch', body === undefined ? undefined : JSON_TYPE, asked)];
  if (body === undefined)
    return [
      attempt('fetch no-cors', undefined, 403),
      attempt('fetch', undefined, asked),
      attempt('sendBeacon', undefined, 403),
      attempt('form', FORM, 403),
    ];
  return [
    attempt('fetch no-cors', PLAIN, 415),
    attempt('fetch no-cors', FORM, 415),
    attempt('fetch no-cors', undefined, 415),
    attempt('fetch no-cors of a Blob', JSON_TYPE, 415),
    attempt('fetch', PLAIN, asked),
    attempt('fetch', JSON_TYPE, asked),
    attempt('sendBeacon', PLAIN, 415),
    attempt('sendBeacon', JSON_TYPE, asked),
    attempt('form', PLAIN, 415),
    attempt('form', FORM, 415),
    attempt('form', MULTIPART, 415),
  ];
};

/** The way in which a page of the service makes the same write. */
const honestly = (method: string, { path, body }: Target): Sent => ({
  way: 'fetch',
  method,
  path,
  ...(body === undefined ? {} : { type: JSON_TYPE, body: JSON.stringify(body) }),
});

describe('"Pages of other origins cannot write through a visitor\'s browser on a keyless service; honest clients with an Origin can"', () => {
  describe('no keys, and no origin named', () => {
    const stage = useStage({ own: true }, seed);
    const pages = pagesOf(stage);

    for (const { title, stranger, own, ...sent } of doorCases)
      it(`pages of other origins cannot write by ${title}, ${own === 200 ? 'a page of the service can' : 'and nobody can'}`, async () => {
        const before = await restingKeptBy(stage);
        const send = (): Sent => ({ ...sent, method: 'POST', body: sent.body() });
        for (const page of strangers) {
          expect([page.origin, await pages.sendAsStranger(page, send())]).toEqual([page.origin, stranger]);
          expect(await keptBy(stage)).toEqual(before);
        }
        expect(await pages.sendAsOwn(send())).toBe(own);
        if (own === 200) expect(await keptBy(stage)).not.toEqual(before);
        else expect(await keptBy(stage)).toEqual(before);
      });

    for (const { title, method, aim } of writes)
      it(`pages of other origins cannot write ${title}, a page of the service can`, async () => {
        const target = await aim(stage);
        const before = await restingKeptBy(stage);
        for (const page of strangers) {
          for (const [sent, outcome] of attemptsOf(method, target)) {
            const attempt = [page.origin, sent.way, sent.type];
            expect([...attempt, await pages.sendAsStranger(page, sent)]).toEqual([...attempt, outcome]);
          }
          expect(await keptBy(stage)).toEqual(before);
        }
        expect(await pages.sendAsOwn(honestly(method, target))).toBeOneOf([200, 201]);
        await expect.poll(() => keptBy(stage)).not.toEqual(before);
      });

    it('pages of other origins reach the service: they can read what the query API answers', async () => {
      for (const page of strangers) {
        const status = await pages.readAsStranger(page, `/v1/api/traces/${JUDGED}`);
        expect([page.origin, status]).toEqual([page.origin, 200]);
      }
    });

    for (const origin of [
      ANOTHER_NAME,
      'https://app.example',
      'chrome-extension://abcdefghijklmnop',
      'file://',
      'null',
    ])
      it(`honest clients with an Origin can: ${origin.replace(`:${port}`, '')}`, async () => {
        const sends: readonly (readonly [string, string, string | Uint8Array])[] = [
          ['/v1/ingest', JSON_TYPE, native()],
          ['/v1/ingest', 'application/x-ndjson', native()],
          ['/v1/traces', JSON_TYPE, otlpSpans()],
          ['/v1/traces', 'application/x-protobuf', protobufSpans()],
          ['/v1/logs', JSON_TYPE, otlpLogs()],
          ['/v1/metrics', JSON_TYPE, otlpMetrics()],
        ];
        for (const [path, type, body] of sends) {
          const before = await restingKeptBy(stage);
          const { status, headers } = await fetch(new URL(path, stage.url), {
            method: 'POST',
            headers: { origin, 'content-type': type },
            body: Buffer.from(body),
          });
          expect([path, type, status, headers.get('access-control-allow-origin')]).toEqual([path, type, 200, null]);
          expect(await keptBy(stage)).not.toEqual(before);
        }
      });
  });

  describe('no keys, and one origin named by --cors-origin', () => {
    const stage = useStage({ flags: ['--cors-origin', ANOTHER_PORT] }, seed);
    const pages = pagesOf(stage);

    for (const { title, method, aim } of writes)
      it(`pages of the named origin can write ${title}, those of others cannot`, async () => {
        const target = await aim(stage);
        const before = await restingKeptBy(stage);
        for (const page of UNNAMED) {
          const outcome = await pages.sendAsStranger(page, honestly(method, target));
          expect([page.origin, outcome]).toEqual([page.origin, asked]);
        }
        expect(await keptBy(stage)).toEqual(before);
        expect(await pages.sendAsStranger(NAMED, honestly(method, target))).toBeOneOf([200, 201]);
        await expect.poll(() => keptBy(stage)).not.toEqual(before);
      });

    it('pages of the named origin cannot write through the doors, which know no named origin', async () => {
      const before = await restingKeptBy(stage);
      for (const { title, stranger, ...sent } of doorCases) {
        const outcome = await pages.sendAsStranger(NAMED, { ...sent, method: 'POST', body: sent.body() });
        expect([title, outcome]).toEqual([title, stranger]);
      }
      expect(await keptBy(stage)).toEqual(before);
    });
  });
});
