import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { openedBlocks } from '../store/sqlite/stored-payloads.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** OTLP traces, as far as attributes can stand in them. */
const traceRequest = protobuf
  .parse(
    `syntax = "proto3";
    message Request { repeated ResourceSpans resourceSpans = 1; }
    message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
    message Resource { repeated KeyValue attributes = 1; }
    message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
    message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
    message Span {
      bytes traceId = 1; bytes spanId = 2; string name = 5; fixed64 startTimeUnixNano = 7; fixed64 endTimeUnixNano = 8;
      repeated KeyValue attributes = 9; repeated Event events = 11; repeated Link links = 13;
    }
    message Event { fixed64 timeUnixNano = 1; string name = 2; repeated KeyValue attributes = 3; }
    message Link { bytes traceId = 1; bytes spanId = 2; repeated KeyValue attributes = 4; }
    message KeyValue { string key = 1; AnyValue value = 2; }
    message AnyValue { oneof value { string stringValue = 1; ArrayValue arrayValue = 5; KvList kvlistValue = 6; } }
    message ArrayValue { repeated AnyValue values = 1; }
    message KvList { repeated KeyValue values = 1; }`,
    { keepCase: true },
  )
  .root.lookupType('Request');

type AnyValue = object;
const text = (stringValue: string): AnyValue => ({ stringValue });
const list = (...values: AnyValue[]): AnyValue => ({ arrayValue: { values } });
const entry = (key: string, value: AnyValue) => ({ key, value });
const map = (...values: object[]): AnyValue => ({ kvlistValue: { values } });

describe('a value that a rule matches (P24)', () => {
  it('reaches no file, no log line, no counter, no answer and no forwarded span, from any position of any door', async () => {
    const canaries = new Map<string, string>();
    /** A value of its own for one position of one door. Its first characters differ, so that an index stores it whole. */
    const canary = (where: string): string => {
      const value = hex(12);
      canaries.set(value, where);
      return value;
    };
    const marker = `marker${hex(6)}`;
    const answers: string[] = [];
    const statuses: number[] = [];

    const forwarded: string[] = [];
    const receiver = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const body = Buffer.concat(pieces);
        forwarded.push((request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('latin1'));
        response.end('{}');
      });
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const data = join(folder.path, 'canary');
    const config = join(folder.path, 'svc.json');
    writeFileSync(
      config,
      JSON.stringify({
        redaction: { keys: ['ssn'], hash_identifiers: ['user_id'], hash_key: 'a key of the hashes, long enough' },
        forward: { endpoint: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` },
      }),
    );
    const daemon = await startDaemon(data, ['--config-file', config, '--log-level', 'trace']);
    const send = async (path: string, body: string | Buffer, headers: Record<string, string>): Promise<void> => {
      const answer = await fetch(daemon.url + path, {
        method: 'POST',
        body: new Uint8Array(Buffer.from(body)),
        headers,
      });
      statuses.push(answer.status);
      answers.push(await answer.text(), JSON.stringify([...answer.headers]));
    };
    const json = { 'content-type': 'application/json' };

    /** Secrets in every form that an attribute list can hold them. */
    const attributesAt = (where: string) => [
      entry('api_key', text(canary(`${where}: plain`))),
      entry('http.request.header.Authorization', text(canary(`${where}: end of a dotted name`))),
      entry('Client-Secret', list(text(canary(`${where}: list`)))),
      entry('outer', map(entry('deep', list(map(entry('password', text(canary(`${where}: nested`)))))))),
      entry('config', text(`{"a":[{"SSN":"${canary(`${where}: JSON in a string`)}"}]}`)),
      entry('twice', text(JSON.stringify(JSON.stringify({ token: canary(`${where}: JSON in a string in a string`) })))),
      entry('secret', map(entry('anything', text(canary(`${where}: below a listed key`))))),
      entry('user.id', text(canary(`${where}: identifier`))),
    ];
    const spanAt = (where: string) => ({
      traceId: hex(16),
      spanId: hex(8),
      name: 'a span',
      startTimeUnixNano: '1763629200123456789',
      endTimeUnixNano: '1763629201957000000',
      attributes: [
        ...attributesAt(`${where} span`),
        entry('input.value', text(JSON.stringify({ question: marker, password: canary(`${where} input`) }))),
        entry('output.value', text(JSON.stringify([{ headers: { cookie: canary(`${where} output`) } }]))),
        entry('gen_ai.prompt.0.api_key', text(canary(`${where} flattened`))),
      ],
      events: [{ timeUnixNano: '1763629200123456789', name: 'e', attributes: attributesAt(`${where} event`) }],
      links: [{ traceId: hex(16), spanId: hex(8), attributes: attributesAt(`${where} link`) }],
    });
    const tracesAt = (where: string, ...more: object[]) => ({
      resourceSpans: [
        {
          resource: { attributes: attributesAt(`${where} resource`) },
          scopeSpans: [
            {
              scope: { name: 's', version: '1', attributes: attributesAt(`${where} scope`) },
              spans: [spanAt(where), ...more],
            },
          ],
        },
      ],
    });
    const asBytes = (request: ReturnType<typeof tracesAt>): Buffer => {
      const withBytes = JSON.parse(JSON.stringify(request), (key, value) =>
        key === 'traceId' || key === 'spanId' ? Buffer.from(value, 'hex').toString('base64') : value,
      );
      return Buffer.from(traceRequest.encode(traceRequest.fromObject(withBytes)).finish());
    };
    await send('/v1/traces', JSON.stringify(tracesAt('OTLP JSON')), json);
    await send('/v1/traces', gzipSync(JSON.stringify(tracesAt('OTLP JSON gzip'))), {
      ...json,
      'content-encoding': 'gzip',
    });
    await send('/v1/traces', asBytes(tracesAt('OTLP protobuf')), { 'content-type': 'application/x-protobuf' });
    // Bodies large enough to be decoded on the thread of its own.
    const oneOfMany = spanAt('off the main thread');
    const many = Array.from({ length: 1_500 }, (_, n) => ({ ...oneOfMany, spanId: hex(8), name: `${n}` }));
    await send('/v1/traces', JSON.stringify(tracesAt('OTLP JSON large', ...many.slice(0, 700))), json);
    await send('/v1/traces', asBytes(tracesAt('OTLP protobuf large', ...many)), {
      'content-type': 'application/x-protobuf',
    });
    await send(
      '/v1/traces',
      JSON.stringify(tracesAt('OTLP JSON refused', { ...spanAt('refused span'), traceId: '' })),
      json,
    );
    await send(
      '/v1/logs',
      JSON.stringify({
        resourceLogs: [
          {
            resource: { attributes: attributesAt('logs resource') },
            scopeLogs: [
              {
                scope: { name: 's', attributes: attributesAt('logs scope') },
                logRecords: [
                  {
                    timeUnixNano: '1763629200123456789',
                    body: text(JSON.stringify({ token: canary('log body text') })),
                    attributes: attributesAt('log'),
                  },
                  { timeUnixNano: '1763629200123456789', body: map(entry('jwt', text(canary('log body map')))) },
                ],
              },
            ],
          },
        ],
      }),
      json,
    );
    const point = (where: string) => ({
      timeUnixNano: '1763629200123456789',
      asDouble: 1,
      attributes: attributesAt(where),
      exemplars: [
        { timeUnixNano: '1763629200123456789', asDouble: 1, filteredAttributes: attributesAt(`${where} exemplar`) },
      ],
    });
    await send(
      '/v1/metrics',
      JSON.stringify({
        resourceMetrics: [
          {
            resource: { attributes: attributesAt('metrics resource') },
            scopeMetrics: [
              {
                scope: { name: 's', attributes: attributesAt('metrics scope') },
                metrics: [
                  { name: 'g', gauge: { dataPoints: [point('gauge')] } },
                  { name: 'c', sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point('sum')] } },
                  {
                    name: 'h',
                    histogram: {
                      aggregationTemporality: 2,
                      dataPoints: [
                        { ...point('histogram'), count: '1', sum: 1, bucketCounts: ['1'], explicitBounds: [] },
                      ],
                    },
                  },
                ],
              },
            ],
          },
        ],
      }),
      json,
    );

    const payloadAt = (where: string) => ({
      question: marker,
      api_key: canary(`${where}: plain`),
      'Set-Cookie': [canary(`${where}: list`)],
      deep: [{ er: { PassWord: canary(`${where}: nested`) } }],
      text: `{"Proxy-Authorization":"${canary(`${where}: JSON in a string`)}"}`,
      fenced: ['```json', `{"access_token": "${canary(`${where}: fenced JSON`)}"}`, '```'].join('\n'),
    });
    const now = new Date().toISOString();
    const traceId = hex(16);
    const batchAt = (where: string) => ({
      spans: [
        {
          trace_id: traceId,
          span_id: hex(8),
          name: 'a span',
          start_time: now,
          end_time: now,
          status: 'error',
          input: payloadAt(`${where} input`),
          output: JSON.stringify(payloadAt(`${where} output`)),
          attributes: { ...payloadAt(`${where} attributes`), 'headers.x-api-key': canary(`${where} flattened`) },
          error: { message: JSON.stringify({ password: canary(`${where} error message`) }), stack: 'at f' },
          events: [{ name: 'e', time: now, attributes: payloadAt(`${where} event`) }],
          links: [{ trace_id: hex(16), span_id: hex(8), attributes: payloadAt(`${where} link`) }],
          correlation: { user_id: canary(`${where} identifier`) },
        },
        { trace_id: 'bad', span_id: hex(8), name: 'refused', start_time: now, input: payloadAt(`${where} refused`) },
      ],
      logs: [
        {
          timestamp: now,
          severity: 'info',
          message: JSON.stringify(payloadAt(`${where} message`)),
          logger: 'l',
          attributes: payloadAt(`${where} log`),
        },
      ],
      metrics: [{ name: 'm', type: 'gauge', timestamp: now, value: 1, attributes: payloadAt(`${where} metric`) }],
      scores: [
        {
          score_id: '',
          trace_id: traceId,
          scorer_id: 'q',
          value: 1,
          timestamp: now,
          reason: JSON.stringify(payloadAt(`${where} reason`)),
        },
      ],
      feedback: [
        {
          feedback_id: '',
          trace_id: traceId,
          kind: 'comment',
          value: 'fine',
          timestamp: now,
          metadata: payloadAt(`${where} feedback`),
        },
      ],
      aspect_notes: [
        { trace_id: traceId, aspect: 'a', text: JSON.stringify(payloadAt(`${where} note`)), timestamp: now },
      ],
    });
    await send('/v1/ingest', JSON.stringify(batchAt('native')), json);
    const ndjson = { 'content-type': 'application/x-ndjson' };
    await send('/v1/ingest', `${JSON.stringify(batchAt('line 1'))}\n${JSON.stringify(batchAt('line 2'))}\n`, ndjson);
    await send(
      '/v1/ingest',
      `${JSON.stringify(batchAt('whole line'))}\n{"spans":[{"api_key":"${canary('broken line')}"`,
      ndjson,
    );
    await send('/v1/ingest', `{"spans":[{"password":"${canary('broken body')}",]}`, json);
    await send('/v1/traces', asBytes(tracesAt('truncated protobuf')).subarray(0, -9), {
      'content-type': 'application/x-protobuf',
    });
    const feedback = { feedback_id: '', trace_id: traceId, kind: 'comment', value: 'fine' };
    await send('/v1/api/feedback', JSON.stringify({ ...feedback, metadata: payloadAt('single feedback') }), json);
    await send(
      '/v1/api/feedback',
      JSON.stringify({ ...feedback, kind: 'x', metadata: payloadAt('refused feedback') }),
      json,
    );
    await send('/v1/api/feedback', `{"metadata":{"token":"${canary('broken feedback')}"}`, json);
    await send(
      '/v1/api/scores',
      JSON.stringify({
        score_id: '',
        trace_id: traceId,
        scorer_id: 'q',
        value: 1,
        min: 0,
        max: 1,
        reason: JSON.stringify(payloadAt('single score')),
      }),
      json,
    );
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(8);
    expect(statuses.every((status) => status < 500)).toBe(true);

    const read = async (path: string): Promise<string> => {
      const answer = await fetch(daemon.url + path);
      const body = await answer.text();
      answers.push(body);
      return body;
    };
    for (const path of [
      'spans?limit=1000',
      'logs',
      'metrics',
      'metrics/m/points',
      'metrics/g/points',
      'scores',
      `feedback?trace_id=${traceId}`,
      'aspect_notes',
      'users',
      'audit',
      `traces/${traceId}?include=all`,
    ])
      await read(`/v1/api/${path}`);
    expect(JSON.parse(await read(`/v1/api/traces?q=${marker}&limit=1000`)).traces.length).toBeGreaterThan(3);
    for (const value of [...canaries.keys()].slice(0, 50))
      expect(JSON.parse(await (await fetch(`${daemon.url}/v1/api/traces?q=${value}`)).text()).traces).toEqual([]);
    await read('/metrics');

    const searched = new Map<string, string>();
    const gather = (when: string): void => {
      for (const name of readdirSync(data)) searched.set(`${name} ${when}`, readFileSync(join(data, name), 'latin1'));
      searched.set(`blocks ${when}`, openedBlocks(join(data, 'svc.db')));
    };
    gather('while serving');
    await eventually('a forwarded batch', () => forwarded.length > 0);
    expect(await daemon.stop()).toBe(0);
    gather('after the stop');
    receiver.close();
    searched.set('log', daemon.lines.join('\n'));
    searched.set('answers', answers.join('\n'));
    searched.set('forwarded', forwarded.join('\n'));

    // The search itself works: what no rule matches is where it should be.
    for (const place of ['svc.db after the stop', 'blocks after the stop', 'answers', 'forwarded'])
      expect(searched.get(place)).toContain(marker);
    const leaks: string[] = [];
    for (const [place, content] of searched)
      for (const [value, where] of canaries) if (content.includes(value)) leaks.push(`${where} in ${place}`);
    expect(canaries.size).toBeGreaterThan(120);
    expect([...new Set(leaks)]).toEqual([]);
  });
});
