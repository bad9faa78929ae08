import { FileRefused } from '../signals/connection.ts';
import { describeFault, driverCode, isStorageFault } from '../signals/driver-error.ts';
import type { ErrorInfo } from '../signals/wire.ts';
import { RUNS_FILE } from './schema.ts';
import { RowMoved } from './write-changes.ts';

/** An error as it crosses to the main thread: its cause for an operator, never a stored value. */
export const faultOf = (path: string, error: unknown): ErrorInfo => {
  if (error instanceof FileRefused) return { unavailable: true, message: error.message };
  const code = driverCode(error);
  return {
    unavailable: error instanceof RowMoved || (code !== undefined && isStorageFault(code)),
    message: describeFault(path, error, RUNS_FILE.store),
  };
};
