/** Codes of the system that a start meets, in words; the path or address stands beside them. */
const causes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is taken by another process; choose another --port',
  EADDRNOTAVAIL: 'no interface of this machine has the address; choose another --host',
  ENOTFOUND: 'the host name is not known; choose another --host',
  EAI_AGAIN: 'the host name could not be looked up; choose another --host',
  EACCES: 'access is denied',
  EPERM: 'access is denied',
  EROFS: 'the file system cannot be written',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'the path is a directory',
  ENOENT: 'there is no such path',
};

/** Why the start cannot go on, from a part that knows: its message is the line for the operator. */
export class StartRefused extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.name = 'StartRefused';
    this.exitCode = exitCode;
  }
}

/**
 * One line for what a start can meet on a machine: a taken port, a path that may not be written.
 * @returns `undefined` for anything else, which is a bug and deserves its stack
 */
export const describeStartFailure = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { code, path, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const cause = code === undefined ? undefined : causes[code];
  if (cause === undefined) return undefined;
  const where = path ?? (address === undefined ? undefined : `${address}${port === undefined ? '' : `:${port}`}`);
  return where === undefined ? cause : `${where}: ${cause}`;
};
