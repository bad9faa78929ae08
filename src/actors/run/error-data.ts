import type { JsonObject } from '../../model/json.ts';
import type { RunError } from '../../model/run.ts';

/** An error as the journal and the outputs of steps hold it, in wire spelling. */
export const errorData = (error: RunError): JsonObject => ({
  class: error.class,
  message: error.message,
  ...(error.code === undefined ? {} : { code: error.code }),
  ...(error.limit === undefined ? {} : { limit: error.limit }),
  ...(error.stepId === undefined ? {} : { step_id: error.stepId }),
});
