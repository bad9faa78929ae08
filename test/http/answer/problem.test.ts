import { afterEach, describe, expect, it } from 'vitest';
import { problemBody, statusOf } from '../../../src/http/answer/problem.ts';
import { failureCodes, Refusal } from '../../../src/model/failure.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { anIngestDoor, type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('the shape of errors', () => {
  it('each code has the status of the table in the interface decisions', () => {
    const table: Record<number, string[]> = {
      400: 'invalid_parameter invalid_body invalid_id unknown_scorer cap_exceeded definition_invalid input_invalid judge_not_configured'.split(
        ' ',
      ),
      401: ['unauthorized'],
      403: ['forbidden'],
      404: ['not_found'],
      405: ['method_not_allowed'],
      406: ['not_acceptable'],
      409: 'already_applied fenced run_terminal not_started definition_conflict conflict limit_reached'.split(' '),
      413: ['payload_too_large'],
      415: ['unsupported_content_encoding', 'unsupported_media_type'],
      429: ['overloaded', 'over_quota'],
      500: ['internal'],
      503: ['runs_disabled', 'store_unavailable', 'request_timeout'],
    };
    for (const [status, codes] of Object.entries(table))
      for (const code of codes) expect([code, statusOf[code as keyof typeof statusOf]]).toEqual([code, Number(status)]);
    expect(Object.values(table).flat().toSorted()).toEqual([...failureCodes].toSorted());
  });

  it('is {code, message} and `field` only when one parameter is at fault', () => {
    expect(problemBody({ code: 'conflict', message: 'm' })).toEqual({ code: 'conflict', message: 'm' });
    expect(problemBody({ code: 'conflict', message: 'm', field: 'f', retryAfterSeconds: 3 })).toEqual({
      code: 'conflict',
      message: 'm',
      field: 'f',
    });
  });

  it('500 `internal` never carries a stack or a payload; the log has the error under the request id', async () => {
    const { ask, logged, counters } = await start({
      store: {
        listTraces: async () => {
          throw new TypeError('the secret prompt broke us');
        },
      },
    });
    const answer = await ask('/v1/api/traces');
    expect([answer.status, answer.body.code]).toEqual([500, 'internal']);
    expect(answer.text).not.toMatch(/secret|TypeError|\.ts/);
    expect(logged.filter((line) => line.includes(answer.headers.get('x-request-id') ?? '?'))).toHaveLength(1);
    expect(counters.requestErrors).toBe(1);
  });

  it('storage that fails or is away is 503 `store_unavailable` with Retry-After, never 500', async () => {
    const { ask, counters } = await start({
      store: {
        listTraces: async () => {
          throw new StoreUnavailable('the store does not answer: the disk is full');
        },
      },
    });
    const answer = await ask('/v1/api/traces');
    expect([answer.status, answer.body]).toEqual([
      503,
      { code: 'store_unavailable', message: 'the store does not answer: the disk is full' },
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(counters.requestErrors).toBe(1);
  });
});

describe('refusals thrown by handlers', () => {
  it('are answered as what they are, with Retry-After where a retry can help', async () => {
    const { ask } = await start({
      moreRoutes: [
        anIngestDoor(() => {
          throw new Refusal({ code: 'overloaded', message: 'full', retryAfterSeconds: 1.2 });
        }),
      ],
    });
    const answer = await ask('/v1/ingest', { method: 'POST', body: '{}' });
    expect([answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
      429,
      { code: 'overloaded', message: 'full' },
      '2',
    ]);
  });
});
