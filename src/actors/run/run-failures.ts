import type { LeaseRefusal } from '../../machines/lease.ts';
import type { Failure, Result } from '../../model/failure.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';

/** The refusing half of a result: fits a result of any value. */
export type Refused = Extract<Result<never>, { ok: false }>;
export const refused = (failure: Failure): Refused => ({ ok: false, failure });

/** @param field the member of the body that names it; absent where the path does */
export const notFound = (what: string, id: string, field?: string): Refused =>
  refused({ code: 'not_found', message: `there is no ${what} ${id}`, ...(field === undefined ? {} : { field }) });

export const forbidden = (project: string, field?: string): Refused =>
  refused({
    code: 'forbidden',
    message: `the key does not reach project ${project}`,
    ...(field === undefined ? {} : { field }),
  });

/** For what is stored: a caller that did not name its project does not learn it here. */
export const outOfReach = (what: string): Refused =>
  refused({ code: 'forbidden', message: `the key does not reach the project of this ${what}` });

export const hasEndedAs = ({ runId, status }: Pick<RunRecord, 'runId' | 'status'>): Refused =>
  refused({ code: 'run_terminal', message: `run ${runId} has ended: ${status}` });

const reasons: Record<LeaseRefusal, string> = {
  already_applied: 'this lease has already ended by its own complete or fail; treat the call as done',
  run_terminal: 'the run has ended; stop the body and claim no more steps of this run',
  fenced: 'the lease is not held by this worker any more; abandon the body',
  not_started: 'the step is at_most_once and its body was never declared by started; call started before the body',
};
export const leaseRefused = (reason: LeaseRefusal): Refused => refused({ code: reason, message: reasons[reason] });

export const runTooLarge = (characters: number, limit: number): Refused =>
  refused({
    code: 'payload_too_large',
    message: `input, state and outputs of the run hold ${characters} characters, more than ${limit}; complete the step without output and state_patch, or fail it`,
  });

export const overloaded = (waiting: number, limit: number): Refused =>
  refused({
    code: 'overloaded',
    message: `${waiting} calls wait for the runs store, at most ${limit} may; try again in a second`,
    retryAfterSeconds: 1,
  });

export const tooManyOfCaller = (caller: string, waiting: number, limit: number): Refused =>
  refused({
    code: 'overloaded',
    message: `${waiting} calls of ${caller} wait for the runs store, at most half of what others leave of ${limit} may; try again in a second`,
    retryAfterSeconds: 1,
  });
