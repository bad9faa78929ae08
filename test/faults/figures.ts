import { readFileSync } from 'node:fs';

// What campaigns and tests read off a service under load.

/** By the nearest rank, to a tenth. */
export const quantile = (values: readonly number[], q: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0) * 10) / 10;
};

/** @see proc(5), `/proc/[pid]/status` */
const mebibytes = (pid: number | undefined, field: 'VmHWM' | 'VmRSS'): number =>
  Math.round(
    Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
  );

/** The most memory that a process of Linux has held so far. */
export const peakMebibytes = (pid: number | undefined): number => mebibytes(pid, 'VmHWM');
/** The memory that a process of Linux holds. */
export const residentMebibytes = (pid: number | undefined): number => mebibytes(pid, 'VmRSS');
