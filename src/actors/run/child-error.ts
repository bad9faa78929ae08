import type { RunError } from '../../model/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import { contextOf } from './stored-context.ts';

/** Most of a child's message that is repeated with its parent: a parent may have ten thousand children, and a tree repeats it at each level. */
export const MESSAGE_CHARACTERS = 2000;

/** The error of a child, as it is shown with its parent. */
export const briefly = (error: RunError): RunError =>
  error.message.length <= MESSAGE_CHARACTERS
    ? error
    : { ...error, message: error.message.slice(0, MESSAGE_CHARACTERS) };

/** Why a stored child failed; `undefined` where it did not. */
export const errorOfChild = ({ status, snapshot }: Pick<RunRecord, 'status' | 'snapshot'>): RunError | undefined => {
  const error = status === 'failed' ? contextOf({ snapshot }).error : undefined;
  return error === undefined ? undefined : briefly(error);
};
