import { errorInfo } from '../inbox.ts';
import type { ErrorInfo } from '../messages.ts';
import { RUNS_FILE } from './schema.ts';
import { RowMoved } from './write-changes.ts';

/** An error as it crosses to the main thread. A row that moved under the kernel makes the store unavailable, too. */
export const faultOf = (path: string, error: unknown): ErrorInfo => {
  const info = errorInfo(path, error, RUNS_FILE.store);
  return error instanceof RowMoved ? { ...info, unavailable: true } : info;
};
