import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../model/program-file.ts';
import { hasLog, tidyAfterReading } from './connection.ts';

/** The pages and rows; then also that the indexes hold what their tables hold. @see SQLite, "PRAGMA integrity_check" */
export type CheckStep = 'quick_check' | 'integrity_check';
/** What the checking process says, a line each. A fault names tables, indexes, pages and row numbers, never a value. */
export type CheckLine = { readonly fault: string } | { readonly ended: CheckStep } | { readonly failed: string };

export type Checked = {
  /** What is damaged, in SQLite's words: the first of each step, up to ten. */
  readonly faults: readonly string[];
  /** The steps that came to their end. */
  readonly ended: readonly CheckStep[];
  /** The code of the driver, where the check itself could not go on. */
  readonly failed?: string;
  readonly seconds: number;
};

/**
 * Reads a file for damage, beside a service that may run on it, in a process that is ended when the time is over. While it reads, a
 * service can move its log into the file, but not begin it anew.
 * @param lockOf the data file whose lock says that a service runs, where it is not this file
 */
export const checkFile = async (path: string, seconds: number, lockOf = path): Promise<Checked> => {
  const hadLog = hasLog(path);
  const startedAt = performance.now();
  const program = fileURLToPath(programFile(new URL('./check-program.ts', import.meta.url)));
  const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'ignore'] });
  const deadline = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  const faults = new Set<string>();
  const ended: CheckStep[] = [];
  let failed: string | undefined;
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as CheckLine;
    if ('fault' in line) faults.add(line.fault);
    else if ('ended' in line) ended.push(line.ended);
    else failed = line.failed;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(deadline);
  if (!hadLog) tidyAfterReading(path, lockOf);
  // A crash of the engine on a damaged file is a finding as well.
  if (signal !== 'SIGKILL' && code !== 0) failed ??= `the check ended with ${signal ?? code}`;
  return {
    faults: [...faults],
    ended,
    ...(failed === undefined ? {} : { failed }),
    seconds: (performance.now() - startedAt) / 1000,
  };
};
