/**
 * Ends the process at once, whatever its threads do. `process.exit` waits until each of them has left its native code, and one in a
 * long SQLite statement leaves it when that has ended. A signal to itself does nothing where the process is the first of a container.
 * What was acknowledged is on the disk.
 * @see https://nodejs.org/api/process.html#processexecvefile-args-env
 */
export const exitNow = (code: number): never => {
  process.execve?.(process.execPath, [process.execPath, '--eval', `process.exit(${code})`], {});
  return process.exit(code); // a platform without it
};
