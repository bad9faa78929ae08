import type { components } from '../model/generated/openapi.ts';

type DurableRun = components['schemas']['RunDetail'];
type Attempt = DurableRun['attempts'][number];

/** The attempt that the error of a run is about: the last one of the step that failed it. */
export const failingAttempt = ({ status, error, attempts }: DurableRun): Attempt | undefined =>
  status !== 'failed' || error?.step_id === undefined
    ? undefined
    : attempts.findLast(
        (attempt) => attempt.step_id === error.step_id && attempt.status !== 'succeeded' && attempt.status !== 'lapsed',
      );

/** Whether an attempt came to a bad end of its own; what was cancelled or lapsed did not. */
export const hasFailed = ({ status }: Attempt): boolean =>
  status === 'failed' || status === 'orphaned' || status === 'unservable';

/** Children that have not ended. */
export const openChildren = ({ children }: Pick<DurableRun, 'children'>): DurableRun['children'] =>
  children.filter(({ status }) => status !== 'succeeded' && status !== 'failed' && status !== 'cancelled');
