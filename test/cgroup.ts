import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Short, so that who has used up its part stands still for milliseconds, and not for the tenth of a second that is usual. */
const PERIOD_US = 10_000;

export type Cgroup = {
  readonly folder: string;
  /** Puts a process into it, with all its threads. */
  readonly add: (pid: number) => void;
  /** Once what was in it has ended. */
  readonly remove: () => void;
};

let made = 0;
/** A cgroup of either version. @throws Error without the right to make one */
const makeCgroup = (
  controller: string,
  bound: (isFirst: boolean) => readonly (readonly [string, string])[],
): Cgroup => {
  const isFirst = existsSync(join(ROOT, controller));
  const folder = join(ROOT, isFirst ? controller : '', `svc-${process.pid}-${(made += 1)}`);
  mkdirSync(folder);
  for (const [file, value] of bound(isFirst)) writeFileSync(join(folder, file), value);
  return {
    folder,
    add: (pid) => writeFileSync(join(folder, 'cgroup.procs'), String(pid)),
    remove: () => rmdirSync(folder),
  };
};

export const boundMemory = (bytes: number): Cgroup =>
  makeCgroup('memory', (isFirst) => [[isFirst ? 'memory.limit_in_bytes' : 'memory.max', String(bytes)]]);

/** @param cores processors that it may use, as a fraction of one, or several */
export const boundProcessor = (cores: number): Cgroup => {
  const quota = String(Math.round(cores * PERIOD_US));
  return makeCgroup('cpu', (isFirst) =>
    isFirst
      ? [
          ['cpu.cfs_period_us', String(PERIOD_US)],
          ['cpu.cfs_quota_us', quota],
        ]
      : [['cpu.max', `${quota} ${PERIOD_US}`]],
  );
};
