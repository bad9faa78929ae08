/** Where the service is and who calls. What code says wins over the environment. */
export type SettingsInput = {
  /** `SVC_ENDPOINT`; `http://127.0.0.1:4317` by default. */
  readonly endpoint?: string | undefined;
  /** `SVC_API_KEY`. */
  readonly apiKey?: string | undefined;
  /** `SVC_PROJECT`; absent: the project of the key, or the default of the service. */
  readonly project?: string | undefined;
  /** `SVC_ENVIRONMENT`. */
  readonly environment?: string | undefined;
  /** `SVC_SERVICE_NAME`. */
  readonly serviceName?: string | undefined;
  /** `SVC_SERVICE_VERSION`. */
  readonly serviceVersion?: string | undefined;
  /** `SVC_SAMPLE`: the fraction of traces to send, 0 to 1; 1 by default. */
  readonly sample?: number | undefined;
  /** `SVC_ENABLED`: `false` turns instrumentation into calls that do nothing. */
  readonly enabled?: boolean | undefined;
};

export type Settings = {
  readonly endpoint: string;
  readonly apiKey: string | undefined;
  readonly project: string | undefined;
  readonly environment: string | undefined;
  readonly serviceName: string | undefined;
  readonly serviceVersion: string | undefined;
  readonly sample: number;
  readonly enabled: boolean;
  /** What could not be used, and what is used instead. Instrumentation goes on; the caller may print it. */
  readonly problems: readonly string[];
};

export const DEFAULT_ENDPOINT = 'http://127.0.0.1:4317';

/**
 * Reads the settings of a client, a worker or instrumentation.
 * @param env the environment; an empty text there counts as absent
 */
export const readSettings = (
  code: SettingsInput = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Settings => {
  const problems: string[] = [];
  const text = (value: string | undefined, name: string): string | undefined => {
    const chosen = value ?? env[name];
    return chosen === undefined || chosen === '' ? undefined : chosen;
  };

  let endpoint = text(code.endpoint, 'SVC_ENDPOINT') ?? DEFAULT_ENDPOINT;
  if (!/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : '')) {
    problems.push(`endpoint ${JSON.stringify(endpoint)} is not an http or https URL; ${DEFAULT_ENDPOINT} is used`);
    endpoint = DEFAULT_ENDPOINT;
  }

  const sampleText = text(undefined, 'SVC_SAMPLE');
  let sample = code.sample ?? (sampleText === undefined ? 1 : Number(sampleText));
  if (!(sample >= 0 && sample <= 1)) {
    problems.push(`sample ${String(code.sample ?? sampleText)} is not between 0 and 1; 1 is used`);
    sample = 1;
  }

  return {
    endpoint,
    apiKey: text(code.apiKey, 'SVC_API_KEY'),
    project: text(code.project, 'SVC_PROJECT'),
    environment: text(code.environment, 'SVC_ENVIRONMENT'),
    serviceName: text(code.serviceName, 'SVC_SERVICE_NAME'),
    serviceVersion: text(code.serviceVersion, 'SVC_SERVICE_VERSION'),
    sample,
    enabled: code.enabled ?? env['SVC_ENABLED']?.trim().toLowerCase() !== 'false',
    problems,
  };
};
