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
/** Ticks of a second in what Linux says about processor time. */
const TICKS = 100;
/**
 * Processor time that a process of Linux has used so far, with its threads: while others keep the cores busy it passes more slowly.
 * @see proc(5), `/proc/[pid]/stat`, fields 14 and 15
 */
export const processorSeconds = (pid: number | undefined): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** The memory that a process of Linux holds. */
export const residentMebibytes = (pid: number | undefined): number => mebibytes(pid, 'VmRSS');
