import { Refusal } from '../../model/failure.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { QueryOf } from '../contract/contract.ts';
import type { Route } from '../route.ts';

export type DoctorDeps = {
  /** Examines the running deployment, offline. @param writes whether a probe span is written; else nothing is */
  readonly examine: (windowDays: number, writes: boolean) => Promise<components['schemas']['DoctorReport']>;
};

/** The check of the deployment, from inside. @see Interface decisions, "4. Signals, native names", GET /v1/api/doctor */
export const doctorRoutes = ({ examine }: DoctorDeps): Route[] => {
  const handler =
    (writes: boolean): Route['handler'] =>
    (request) => {
      const { window_days: windowDays } = request.query as QueryOf<'getDoctorReport' | 'probeDeployment'>;
      if (request.caller.reach !== 'all')
        throw new Refusal({
          code: 'forbidden',
          message: 'the check looks at the whole service: it needs an admin key that reaches every project',
        });
      return examine(windowDays ?? 7, writes);
    };
  const route = { path: '/v1/api/doctor', scope: 'admin', surface: 'query', neverRefused: true } as const;
  return [
    { ...route, method: 'GET', operationId: 'getDoctorReport', handler: handler(false) },
    { ...route, method: 'POST', operationId: 'probeDeployment', handler: handler(true) },
  ];
};
