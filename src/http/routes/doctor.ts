import { Refusal } from '../../model/failure.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { QueryOf } from '../contract/contract.ts';
import type { Route } from '../route.ts';

export type DoctorDeps = {
  /** Examines the running deployment, read-only and offline. */
  readonly examine: (windowDays: number) => Promise<components['schemas']['DoctorReport']>;
};

/** The check of the deployment, from inside. @see Interface decisions, "4. Signals, native names", GET /v1/api/doctor */
export const doctorRoutes = ({ examine }: DoctorDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/doctor',
    scope: 'admin',
    operationId: 'getDoctorReport',
    surface: 'query',
    neverRefused: true,
    handler: (request) => {
      const { window_days: windowDays } = request.query as QueryOf<'getDoctorReport'>;
      if (request.caller.reach !== 'all')
        throw new Refusal({
          code: 'forbidden',
          message: 'the check looks at the whole service: it needs an admin key that reaches every project',
        });
      return examine(windowDays ?? 7);
    },
  },
];
