import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { checkBodyHeaders, type IncomingBody, readBody, streamBody } from '../../ingest/body.ts';
import type { OtlpSignal, Payload } from '../../ingest/decode.ts';
import { createLineSplitter, isBlank } from '../../ingest/lines.ts';
import type { IngestResult, Intake, Pipeline } from '../../ingest/pipeline.ts';
import { tooManyBatches } from '../../ingest/limits.ts';
import { type Failure, Refusal } from '../../model/failure.ts';
import { discardBody, incomingBodyOf } from '../body/incoming-body.ts';
import { encodeStatus, encodeExportResponse, JSON_TYPE, PROTOBUF } from '../answer/otlp-answer.ts';
import { statusOf } from '../answer/problem.ts';
import type { RefusalLog } from '../answer/refusal-log.ts';
import { partialSuccessText } from '../answer/refusals.ts';
import type { Route } from '../route.ts';

export type IngestRoutesDependencies = {
  readonly pipeline: Pipeline;
  readonly log: Logger;
  /** What the doors of OTLP take in protobuf: traces alone, as specified, or logs and metrics too. */
  readonly otlpProtobuf?: 'traces' | 'all';
  /** Where refused signals are counted. */
  readonly refusals?: RefusalLog;
};

/** Reads a body and hands what it holds to the intake. */
type BodyReader = (body: IncomingBody, intake: Intake, abandoned: AbortSignal) => Promise<void>;

const rejectedKey = { traces: 'rejectedSpans', logs: 'rejectedLogRecords', metrics: 'rejectedDataPoints' } as const;

/** @see Interface specification, "Errors": protobuf on logs or metrics */
const jsonOnly = (signal: OtlpSignal): string =>
  `body is not valid JSON: /v1/${signal} takes JSON only. Set OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL=http/json or =grpc ` +
  '(the same port serves gRPC), or start the service with --otlp-protobuf all';

/** The door as the document names it, whatever the client wrote. */
const doorOf = (request: FastifyRequest): string => request.routeOptions.url ?? '';

const mediaType = (request: FastifyRequest): string =>
  (request.headers['content-type'] ?? JSON_TYPE).split(';', 1)[0]?.trim().toLowerCase() ?? JSON_TYPE;

/**
 * The doors through which clients send. They share one way in: the headers are judged first, then the body is let in, read
 * under its bounds, decoded and written; the answer follows the commit.
 * @see Interface specification, "OTLP ingest", "Native ingest"
 */
export const ingestRoutes = ({
  pipeline,
  log,
  otlpProtobuf = 'traces',
  refusals,
}: IngestRoutesDependencies): readonly Route[] => {
  const { limits } = pipeline;

  const ingest = async (request: FastifyRequest, read: BodyReader): Promise<IngestResult> => {
    const body = incomingBodyOf(request);
    const { contentLength } = body;
    try {
      checkBodyHeaders(body, limits);
      const result = await pipeline.ingest(
        { reach: request.caller.reach, ...(contentLength === undefined ? {} : { announcedBytes: contentLength }) },
        (intake) => read(body, intake, request.abandoned),
      );
      refusals?.noteSignals(doorOf(request), result.refusals);
      return result;
    } catch (error) {
      discardBody(request, limits);
      throw error;
    }
  };

  const whole =
    (payloadOf: (body: Buffer) => Payload): BodyReader =>
    async (body, intake, abandoned) =>
      intake.add([payloadOf(await readBody(body, limits, intake.reservation, abandoned))]);

  const lineByLine: BodyReader = async (body, intake, abandoned) => {
    const splitter = createLineSplitter();
    let element = 0;
    const payloadsOf = (lines: readonly Buffer[]): Payload[] => {
      const batches = lines.filter((line) => !isBlank(line));
      if (batches.length < lines.length) intake.addBlank(lines.length - batches.length);
      // Each line counts as one signal at least: what is over the bound is not even begun.
      if (element + batches.length > limits.maxSignals) throw new Refusal(tooManyBatches(limits));
      return batches.map((line) => ({ kind: 'native_line', body: line, element: element++ }));
    };
    await streamBody(
      body,
      limits,
      intake.reservation,
      (piece) => {
        const payloads = payloadsOf(splitter.push(piece));
        return payloads.length === 0 ? undefined : intake.add(payloads);
      },
      abandoned,
    );
    const last = splitter.end();
    if (last !== undefined) await intake.add(payloadsOf([last]));
  };

  const otlp =
    (signal: OtlpSignal) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const isProtobuf = (request.headers['content-type'] ?? '').toLowerCase().includes('protobuf');
      if (isProtobuf && signal !== 'traces' && otlpProtobuf !== 'all') {
        discardBody(request, limits);
        throw new Refusal({ code: 'invalid_body', message: jsonOnly(signal) });
      }
      const answersProtobuf = isProtobuf && !/\bjson\b/i.test(request.headers.accept ?? '');
      const refuse = (failure: Failure): FastifyReply => {
        refusals?.note(doorOf(request), failure);
        if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
        return reply.code(statusOf[failure.code]).type(PROTOBUF).send(encodeStatus(failure));
      };
      let result: IngestResult;
      try {
        result = await ingest(
          request,
          whole((body) => (isProtobuf ? { kind: 'otlp_protobuf', signal, body } : { kind: 'otlp_json', signal, body })),
        );
      } catch (error) {
        if (!answersProtobuf || !(error instanceof Refusal)) throw error;
        if (error.failure.code === 'store_unavailable')
          log.warn({ err: error, request_id: request.id, route: request.routeOptions.url }, 'the store did not answer');
        return refuse(error.failure);
      }
      const rejected = result.refusals.length;
      const errorMessage = partialSuccessText(result);
      const quota = result.refusedByQuota;
      if (answersProtobuf) {
        if (quota !== undefined) return refuse(quota);
        return reply.type(PROTOBUF).send(encodeExportResponse(rejected, errorMessage));
      }
      const answer = { partialSuccess: { [rejectedKey[signal]]: rejected, errorMessage } };
      return answerJson(reply, answer, quota);
    };

  const native = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const type = mediaType(request);
    const isStream = type === 'application/x-ndjson' || type === 'application/jsonl';
    if (!isStream && type !== JSON_TYPE) {
      discardBody(request, limits);
      throw new Refusal({
        code: 'unsupported_media_type',
        message: `content-type ${JSON.stringify(type.slice(0, 128))} is not supported; use application/json, application/x-ndjson or application/jsonl`,
      });
    }
    const result = await ingest(request, isStream ? lineByLine : whole((body) => ({ kind: 'native', body })));
    const answer = {
      accepted: result.accepted,
      rejected: result.refusals.length,
      duplicate: result.duplicate,
      ...(result.sampledOut === 0 ? {} : { sampled_out: result.sampledOut }),
      errors: result.refusals,
    };
    return answerJson(reply, answer, result.refusedByQuota);
  };

  const door = (path: string, operationId: string, handler: Route['handler']): Route => ({
    method: 'POST',
    path,
    scope: 'ingest',
    operationId,
    surface: 'ingest',
    body: 'raw',
    handler,
  });
  return [
    door('/v1/traces', 'ingestTraces', otlp('traces')),
    door('/v1/logs', 'ingestLogs', otlp('logs')),
    door('/v1/metrics', 'ingestMetrics', otlp('metrics')),
    door('/v1/ingest', 'ingestBatch', native),
    // For exporters that can only name another product's path.
    door('/api/public/otel/v1/traces', 'ingestTracesCompatible', otlp('traces')),
  ];
};

/** The usual answer. When the ceiling refused all of it: 429, and the same body beside the code. */
const answerJson = (reply: FastifyReply, answer: object, quota: Failure | undefined): FastifyReply => {
  if (quota === undefined) return reply.type(JSON_TYPE).send(JSON.stringify(answer));
  return reply
    .code(statusOf.over_quota)
    .header('retry-after', quota.retryAfterSeconds ?? 60)
    .type(JSON_TYPE)
    .send(JSON.stringify({ code: quota.code, message: quota.message, ...answer }));
};
