/** Commands that send a first trace, to be run as they are. */
export type Sample = {
  readonly origin: string;
  readonly project: string | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly nowMs: number;
};

const attribute = (key: string, value: object): string => `{"key":"${key}","value":${JSON.stringify(value)}}`;

/** A text as it stands between the single quotes of a shell. */
const inQuotes = (text: string): string => text.replaceAll("'", "'\\''");

const resourceOf = (project: string | undefined): string => {
  const attributes = [
    attribute('service.name', { stringValue: 'hello' }),
    ...(project === undefined ? [] : [attribute('svc.project', { stringValue: project })]),
  ];
  return `"resource":{"attributes":[${attributes.join(',')}]}`;
};

export const firstTraceCommand = ({ origin, project, traceId, spanId, nowMs }: Sample): string => {
  const end = BigInt(nowMs) * 1_000_000n;
  return [
    `curl ${origin}/v1/traces -H 'content-type: application/json' -d '`,
    `{"resourceSpans":[{${inQuotes(resourceOf(project))},"scopeSpans":[{"spans":[{`,
    `  "traceId":"${traceId}","spanId":"${spanId}","name":"first trace",`,
    `  "startTimeUnixNano":"${end - 1_200_000_000n}","endTimeUnixNano":"${end}","status":{"code":1},`,
    '  "attributes":[',
    `    ${attribute('gen_ai.operation.name', { stringValue: 'chat' })},`,
    `    ${attribute('gen_ai.request.model', { stringValue: 'gpt-4o-mini' })},`,
    `    ${attribute('gen_ai.usage.input_tokens', { intValue: '1200' })},`,
    `    ${attribute('gen_ai.usage.output_tokens', { intValue: '300' })},`,
    `    ${attribute('input.value', { stringValue: 'What is the weather in Paris?' })},`,
    `    ${attribute('output.value', { stringValue: 'Sunny, 21 degrees.' })}`,
    "  ]}]}]}]}'",
  ].join('\n');
};

export const otelEnvironment = ({ origin }: Sample): string =>
  [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${origin}`,
    'export OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    'export OTEL_SERVICE_NAME=my-agent',
  ].join('\n');

const MS_OF_SAMPLE = 1_200;

export const nativeCommand = ({ origin, project, traceId, spanId, nowMs }: Sample): string => {
  const instant = (ms: number): string => new Date(ms).toISOString();
  const span = {
    trace_id: traceId,
    span_id: spanId,
    name: 'first trace',
    kind: 'model_generation',
    status: 'ok',
    start_time: instant(nowMs - MS_OF_SAMPLE),
    end_time: instant(nowMs),
    model: 'gpt-4o-mini',
    usage: { input_tokens: 1200, output_tokens: 300 },
    input: 'What is the weather in Paris?',
    output: 'Sunny, 21 degrees.',
    ...(project === undefined ? {} : { correlation: { project } }),
  };
  return [
    `curl ${origin}/v1/ingest -H 'content-type: application/json' -d '`,
    `${inQuotes(JSON.stringify({ spans: [span] }, null, 1))}'`,
  ].join('\n');
};
