import type { components } from '../../model/generated/openapi.ts';
import type { Correlation } from '../../model/span.ts';

type Wire = components['schemas']['Correlation'];

/** Fields that hold `undefined` are left out when the answer is written. @see Interface specification, "Span", `correlation` */
export const correlationToWire = (correlation: Correlation): Wire =>
  ({
    project: correlation.project,
    environment: correlation.environment,
    service_name: correlation.serviceName,
    service_version: correlation.serviceVersion,
    session_id: correlation.sessionId,
    thread_id: correlation.threadId,
    user_id: correlation.userId,
    request_id: correlation.requestId,
    release: correlation.release,
    run_id: correlation.runId,
    resource_id: correlation.resourceId,
    experiment_id: correlation.experimentId,
    tags: correlation.tags === undefined || correlation.tags.length === 0 ? undefined : correlation.tags,
  }) as Wire;
